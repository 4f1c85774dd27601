package transport

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// EnvPolicy selects the environment variables that a child process inherits.
type EnvPolicy uint8

const (
	// EnvSafe passes the variables that programs need to run, and none that
	// usually contain secrets. It is the default.
	EnvSafe EnvPolicy = iota
	// EnvAll passes all variables, as a shell does.
	EnvAll
	// EnvNone passes only [Command.Env].
	EnvNone
)

// safeNames are the variables of EnvSafe.
var safeNames = func() []string {
	if runtime.GOOS == "windows" {
		return []string{
			"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
			"PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
		}
	}
	return []string{"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}
}()

// environment returns the environment of a child: the policy's variables, then extra.
func environment(policy EnvPolicy, extra []string) []string {
	env := []string{} // never nil: exec takes nil to mean everything
	switch policy {
	case EnvAll:
		env = os.Environ()
	case EnvSafe:
		for _, kv := range os.Environ() {
			name, value, _ := strings.Cut(kv, "=")
			// Such a value is a shell function, which a shell in the child would run.
			if safe(name) && !strings.HasPrefix(value, "()") {
				env = append(env, kv)
			}
		}
	case EnvNone:
	}
	return append(env, extra...)
}

func safe(name string) bool {
	if runtime.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	return slices.Contains(safeNames, name) || strings.HasPrefix(name, "LC_")
}
