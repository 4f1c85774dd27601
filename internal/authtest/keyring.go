package authtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const busConfig = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:dir=%s</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`

// SecretService starts a session bus and a GNOME Keyring for the time of a test, and returns
// the environment of programs that use them. The keyring is open if unlocked is set, else it
// stays locked. It is ready once a program gets an answer. The test is skipped if the two
// programs are not installed.
func SecretService(t testing.TB, unlocked bool) (env []string) {
	t.Helper()
	for _, name := range []string{"dbus-daemon", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed")
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	home, err := os.MkdirTemp("", "kc") //nolint:usetesting // the path of a socket has at most 108 bytes
	must(err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	config := filepath.Join(home, "bus.conf")
	must(os.WriteFile(config, fmt.Appendf(nil, busConfig, home), 0o600))

	begin := func(cmd *exec.Cmd) {
		t.Helper()
		must(cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		})
	}
	bus := exec.Command("dbus-daemon", "--config-file="+config, "--print-address=3", "--nofork", "--nopidfile") //nolint:noctx // Cleanup ends it
	from, to, err := os.Pipe()
	must(err)
	bus.ExtraFiles = []*os.File{to}
	begin(bus)
	must(to.Close())
	line := make([]byte, 1000)
	n, err := from.Read(line)
	must(err)
	must(from.Close())
	env = []string{
		"DBUS_SESSION_BUS_ADDRESS=" + strings.TrimSpace(string(line[:n])),
		"HOME=" + home, "XDG_DATA_HOME=" + home, "XDG_RUNTIME_DIR=" + home, "DISPLAY=", "WAYLAND_DISPLAY=",
	}
	args := []string{"--foreground", "--components=secrets", "--control-directory=" + home}
	if unlocked {
		args = append(args, "--unlock") // with the password on stdin
	}
	daemon := exec.Command("gnome-keyring-daemon", args...) //nolint:noctx // Cleanup ends it
	daemon.Env = append(os.Environ(), env...)
	daemon.Stdin = strings.NewReader("password")
	begin(daemon)
	return env
}
