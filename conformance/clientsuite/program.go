package clientsuite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// Placeholders in the arguments of a program. The suite replaces them with the place of
// the server.
const (
	URLMark     = "{url}"     // the endpoint
	CommandMark = "{command}" // the server's program and its arguments, an argument each
)

// Program is a client under test: make one with [Command].
type Program interface {
	// argv describes it.
	argv() []string
	// start runs it for one task.
	start(ctx context.Context, inv invocation) (running, error)
	// network is where it looks for servers.
	network() network
}

// invocation is one run of a program.
type invocation struct {
	task Task
	// lines gets what it writes on its standard output.
	lines io.Writer
}

// running is a program that runs.
type running interface {
	// done is closed when it has ended.
	done() <-chan struct{}
	// kill ends it and all it started.
	kill()
	// ended says how: nothing when it ended well. To be called after done.
	ended() string
	// stderr is the end of what it wrote to its standard error.
	stderr() string
}

type command struct {
	args []string
	env  []string
}

// Command returns the client that argv starts. In its arguments {url} becomes
// the URL of the server, over stdio {command} the server's own command: an
// argument that is nothing else becomes as many as the command has, within a
// longer one it is quoted for a shell. Without a mark the URL, or the command, is
// added at the end. env is the whole environment; nil means that of this process.
func Command(argv, env []string) Program {
	return &command{slices.Clone(argv), slices.Clone(env)}
}

func (c *command) argv() []string   { return c.args }
func (c *command) network() network { return loopback{} }

// filled is argv for one task.
func filled(argv []string, t Task) []string {
	mark, values := URLMark, []string{t.URL}
	if t.URL == "" {
		mark, values = CommandMark, t.Command
	}
	var out []string
	found := false
	for i, arg := range argv {
		switch {
		case i > 0 && arg == mark:
			out, found = append(out, values...), true
		case i > 0 && strings.Contains(arg, mark):
			out, found = append(out, strings.ReplaceAll(arg, mark, quoted(values))), true
		default:
			out = append(out, arg)
		}
	}
	if !found {
		out = append(out, values...)
	}
	return out
}

// quoted is a command as a shell reads it; a URL has nothing to quote.
func quoted(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(out, " ")
}

func (c *command) start(ctx context.Context, inv invocation) (running, error) {
	if len(c.args) == 0 {
		return nil, errors.New("no program to start")
	}
	task, err := json.Marshal(inv.task)
	if err != nil {
		return nil, err
	}
	args := filled(c.args, inv.task)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), args[0], args[1:]...) //nolint:gosec // the caller's own program; it is ended by kill, with its group
	cmd.Env = c.env
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(slices.Clip(cmd.Env), EnvTask+"="+string(task))
	said := &tail{}
	cmd.Stdout, cmd.Stderr = inv.lines, said
	cmd.WaitDelay = time.Second // a child that it left behind may hold the pipes
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &runningCommand{cmd: cmd, over: make(chan struct{}), said: said}
	go func() {
		defer close(r.over)
		r.err = cmd.Wait()
	}()
	return r, nil
}

type runningCommand struct {
	cmd  *exec.Cmd
	over chan struct{}
	err  error
	said *tail
}

func (r *runningCommand) done() <-chan struct{} { return r.over }
func (r *runningCommand) kill()                 { killGroup(r.cmd) }
func (r *runningCommand) stderr() string        { return r.said.String() }

func (r *runningCommand) ended() string {
	if r.err == nil {
		return ""
	}
	return r.err.Error()
}

// tail keeps the end of what is written to it. Safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const keptTail = 64 << 10

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - keptTail; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// String is the end, whole lines where there is more than one.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(bytes.TrimSpace(t.kept)), "\uFFFD")
}

// InProcess is a client that is a function of this process, for tests.
type InProcess struct {
	// Run does the task, writes its lines and returns.
	Run func(ctx context.Context, s Session)
	// Net is the network that is used; nil means loopback.
	Net network
}

// Session is what a client that is a function gets.
type Session struct {
	Task Task
	// Lines takes what a program writes on its standard output.
	Lines io.Writer
	// Dial reaches the server of the task.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}
