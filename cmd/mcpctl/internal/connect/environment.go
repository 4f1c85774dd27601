package connect

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
)

// Command is how the program of a target is run, without its arguments. The flags win
// over what a file of servers says.
func (d *Dialer) Command(t target.Target) (transport.Command, error) {
	env, err := d.programEnv()
	c := transport.Command{
		Dir: d.Flags.Dir, Env: env, Inherit: inheritance[d.Flags.Inherits(t.Entry != nil)],
		StopGrace: ChildGrace, KillGrace: ChildGrace,
	}
	if t.Entry != nil {
		c.Dir, c.Env = cmp.Or(c.Dir, t.Entry.Dir), slices.Concat(t.Entry.Env, env)
	}
	if info, notThere := os.Stat(c.Dir); err == nil && c.Dir != "" && (notThere != nil || !info.IsDir()) {
		// The system's own error would be that the program is not there.
		f := failure.Unsent("--cwd: there is no folder %s", c.Dir)
		if d.Flags.Dir == "" {
			f.Kind, f.Message = failure.KindUnreachable, "cwd of the file of servers: there is no folder "+c.Dir
		}
		err = f
	}
	return c, err
}

var inheritance = map[string]transport.EnvPolicy{"none": transport.EnvNone, "safe": transport.EnvSafe, "all": transport.EnvAll}

// programEnv returns the variables of -e and --env-file; -e wins.
func (d *Dialer) programEnv() ([]string, error) {
	var out []string
	for _, name := range d.Flags.EnvFiles {
		data, err := operand.ReadText(name)
		if err != nil {
			return nil, failure.Usage("--env-file: %v", err)
		}
		lines, err := envLines(name, string(data))
		if err != nil {
			return nil, err
		}
		out = append(out, lines...)
	}
	for _, e := range d.Flags.Env {
		name, _, found := strings.Cut(e, "=")
		if name == "" {
			return nil, failure.Usage("-e needs a name before the =")
		}
		if !found {
			value, ok := d.Console.Env(name)
			if !ok {
				return nil, failure.Usage("%s: the variable is not set; give a value with -e NAME=VALUE", flags.Variable("-e ", name))
			}
			e = name + "=" + value
		}
		out = append(out, e)
	}
	for _, e := range out {
		name, value, _ := strings.Cut(e, "=")
		d.Secrets.Keep(name, value)
	}
	return out, nil
}

// envLines reads K=V lines. It skips empty lines and those that begin with #,
// accepts a leading export, and removes quotes around a value.
func envLines(file, text string) ([]string, error) {
	var out []string
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name = strings.TrimSpace(name)
		if !found || name == "" {
			return nil, failure.Usage("--env-file %s: line %d is not K=V", file, number)
		}
		value = strings.TrimSpace(value)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		out = append(out, name+"="+value)
	}
	return out, nil
}
