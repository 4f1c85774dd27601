package trial

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/clientdriver"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// Placeholders in the arguments of a program. The suite replaces them with the address of
// the server.
const (
	urlMark     = "{url}"     // the endpoint
	commandMark = "{command}" // the server's program and its arguments, an argument each
)

// Program is a client under test.
type Program interface {
	// Argv describes it in reports.
	Argv() []string
	// Start runs it for one task. Its standard output is written to out.
	Start(ctx context.Context, task Task, out io.Writer) (Running, error)
	// Network is where it connects to servers.
	Network() peer.Network
}

// Running is a program that was started.
type Running interface {
	// Done is closed when it has ended.
	Done() <-chan struct{}
	// Kill ends it and all its children.
	Kill()
	// Failure says how it ended, "" if it ended well. Call it after Done.
	Failure() string
	// Stderr returns the end of its standard error.
	Stderr() string
}

type command struct {
	args []string
	env  []string
}

// Command returns the client that argv starts. In its arguments {url} becomes the URL of
// the server, over stdio {command} the server's own command: an argument that is only the
// mark becomes as many as the command has, within a longer one the command is quoted for a
// shell. Without a mark the URL, or the command, is appended. env is the whole
// environment; nil means that of this process.
func Command(argv, env []string) Program {
	return &command{slices.Clone(argv), slices.Clone(env)}
}

// Argv implements [Program].
func (c *command) Argv() []string { return c.args }

// Network implements [Program].
func (c *command) Network() peer.Network { return peer.Loopback{} }

// fill returns argv for one task.
func fill(argv []string, t Task) []string {
	mark, values := urlMark, []string{t.URL}
	if t.URL == "" {
		mark, values = commandMark, t.Command
	}
	var out []string
	found := false
	for i, arg := range argv {
		switch {
		case i > 0 && arg == mark:
			out, found = append(out, values...), true
		case i > 0 && strings.Contains(arg, mark):
			out, found = append(out, strings.ReplaceAll(arg, mark, shellQuote(values))), true
		default:
			out = append(out, arg)
		}
	}
	if !found {
		out = append(out, values...)
	}
	return out
}

// shellQuote quotes a command for a shell. A URL is returned unchanged.
func shellQuote(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(out, " ")
}

// Start implements [Program].
func (c *command) Start(ctx context.Context, task Task, out io.Writer) (Running, error) {
	if len(c.args) == 0 {
		return nil, errors.New("no program to start")
	}
	text, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	args := fill(c.args, task)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), args[0], args[1:]...) //nolint:gosec // the caller's own program; Kill ends it, with its group
	cmd.Env = c.env
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(slices.Clip(cmd.Env), clientdriver.EnvTask+"="+string(text))
	stderr := wire.NewLog(nil)
	cmd.Stdout, cmd.Stderr = out, stderr
	cmd.WaitDelay = time.Second // a child that it left behind may hold the pipes
	wire.OwnGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &runningCommand{cmd: cmd, done: make(chan struct{}), stderr: stderr}
	go func() {
		defer close(r.done)
		r.err = cmd.Wait()
	}()
	return r, nil
}

type runningCommand struct {
	cmd    *exec.Cmd
	done   chan struct{}
	err    error
	stderr *wire.Log
}

// Done implements [Running].
func (r *runningCommand) Done() <-chan struct{} { return r.done }

// Kill implements [Running].
func (r *runningCommand) Kill() { wire.KillGroup(r.cmd) }

// Stderr implements [Running].
func (r *runningCommand) Stderr() string {
	return strings.ToValidUTF8(strings.TrimSpace(r.stderr.String()), "\uFFFD")
}

// Failure implements [Running].
func (r *runningCommand) Failure() string {
	if r.err == nil {
		return ""
	}
	return r.err.Error()
}
