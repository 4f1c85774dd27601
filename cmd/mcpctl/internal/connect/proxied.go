package connect

import (
	"io"
	"strconv"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
)

const (
	// depthVariable tells a program how many proxies are above it, each the server of the next.
	depthVariable = "MAINSTAY_PROXY_DEPTH"
	maxDepth      = 3
)

// depth returns how many proxies are above this one. A file of servers that has its own proxy as
// a server would start proxies without end.
func (d *Dialer) depth() (int, error) {
	value, _ := d.Console.Env(depthVariable)
	depth, err := strconv.Atoi(value)
	if err != nil || depth < 0 {
		return 0, nil //nolint:nilerr // no proxy has set it
	}
	if depth >= maxDepth {
		return 0, failure.Usage("this proxy is the server of %d other proxies, one behind the other: does a file of servers name a proxy that reads this file? (%s=%d)", depth, depthVariable, depth)
	}
	return depth, nil
}

// File returns the servers of a file. Those that cannot be used are left out with a warning.
func (d *Dialer) File(path string) ([]target.Named, error) {
	for name, set := range map[string]bool{
		"--server": d.Flags.Server != "", "--mcp-config": d.Flags.Config != "", "--header": len(d.Flags.Headers) > 0, "--auth": d.Flags.Auth != "auto",
		"--env": len(d.Flags.Env) > 0, "--env-file": len(d.Flags.EnvFiles) > 0, "--cwd": d.Flags.Dir != "",
	} {
		if set {
			return nil, failure.Usage("%s is for one server: with --config, put it into the file", name)
		}
	}
	named, err := d.named()
	if err != nil {
		return nil, err
	}
	servers, notes, err := target.File(path, named)
	if err != nil {
		return nil, err
	}
	for _, note := range notes {
		d.Console.Warn("%s", note)
	}
	for _, s := range servers {
		d.keepSecrets(s.Target)
	}
	return servers, nil
}

// labelled marks the lines of one program among those of several. Each write is one line.
type labelled struct {
	io.Writer
	label string
}

// Write implements [io.Writer].
func (l labelled) Write(line []byte) (int, error) {
	if _, err := io.WriteString(l.Writer, visible.Line(l.label)+": "+string(line)); err != nil {
		return 0, err
	}
	return len(line), nil
}
