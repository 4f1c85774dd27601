package connect

import (
	"os"
	"runtime"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/hostfile"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
)

// named is how files of servers are found, and where their variables come from: --input, -e, and
// the environment.
func (d *Dialer) named() (target.Defaults, error) {
	inputs := map[string]string{}
	for _, given := range d.Flags.Inputs {
		id, value, found := strings.Cut(given, "=")
		if !found || id == "" {
			return target.Defaults{}, failure.Usage("--input takes K=VALUE, or K=@FILE")
		}
		if name, isFile := strings.CutPrefix(value, "@"); isFile {
			text, err := operand.ReadText(name)
			if err != nil {
				return target.Defaults{}, failure.Usage("--input %s: this file cannot be read: %s", id, failure.RootCause(err))
			}
			value = strings.TrimRight(string(text), "\r\n")
		}
		inputs[id] = value
	}
	lookup := func(name string) (string, bool) {
		if id, isInput := strings.CutPrefix(name, "input:"); isInput {
			value, ok := inputs[id]
			return value, ok
		}
		for _, given := range d.Flags.Env {
			if typed, value, found := strings.Cut(given, "="); found && typed == name {
				return value, true
			}
		}
		return d.Console.Env(name)
	}
	return target.Defaults{Lookup: lookup, System: d.system()}, nil
}

// system is this computer, for the files of hosts.
func (d *Dialer) system() hostfile.System {
	s := hostfile.System{OS: runtime.GOOS, Env: d.Console.Env}
	home := "HOME"
	if s.OS == "windows" {
		home = "USERPROFILE"
	}
	s.Home, _ = d.Console.Env(home)
	s.Folder, _ = os.Getwd() // without one there are no files of a project
	return s
}

// Names returns the servers of the files of hosts. literal leaves variables as they are written.
func (d *Dialer) Names(literal bool) (target.Names, error) {
	named, err := d.named()
	if err != nil {
		return target.Names{}, err
	}
	if literal {
		named.Lookup = func(name string) (string, bool) { return "${" + name + "}", true }
	}
	return target.Find(named.System, named.Lookup), nil
}

// InFile returns the servers of a file that the user names.
func (d *Dialer) InFile(path string) ([]target.Named, error) {
	named, err := d.named()
	if err != nil {
		return nil, err
	}
	servers, _, err := target.File(path, named)
	return servers, err
}
