package transport

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Command starts a program and reaches it as a server over stdin and stdout.
// Connect never uses a shell. Where the system has process groups, the program
// runs in its own. The program and its children do not outlive this process: on
// Unix they get two seconds, on Windows none. On Unix a small sh in the group
// of the program ensures this. Without sh, Linux kills only the program itself
// at once, and other systems kill neither.
//
// Close ends the process group. On Unix a descendant that leaves the group
// (with setsid, as daemons do, or setpgid, as job control does) outlives Close
// and this process. On Windows a job object holds all descendants.
type Command struct {
	// Argv is the program and its arguments.
	Argv []string
	// Dir is the working directory. It is empty for the current one.
	Dir string
	// Inherit selects the environment variables that the program inherits. Env
	// adds variables of the form "NAME=value".
	Inherit EnvPolicy
	Env     []string
	// Stderr receives a copy of the program's stderr. One goroutine writes to it. While a write
	// blocks, the program's stderr is not read. Close does not wait for a blocked write.
	Stderr io.Writer
	// StopGrace is how long Close waits after closing stdin. KillGrace is how long
	// it waits after the termination signal. 0 means 5 s each.
	StopGrace, KillGrace time.Duration
	// MaxNoise is how many lines on stdout may not be messages before the program
	// is killed. An answer to a call resets the count. 0 means 10,000.
	MaxNoise int
	// Limits bound what the client accepts from the server.
	Limits Limits
}

// Default waits of Close.
const (
	defaultStopGrace = 5 * time.Second
	defaultKillGrace = 5 * time.Second
	defaultMaxNoise  = 10_000
	// outputGrace is how long output may still arrive after the process has exited: its last
	// output is in the pipe, but a child of it may hold the pipe open forever. A busy machine
	// needs more than 100 ms to read it.
	outputGrace = 500 * time.Millisecond
	// eofGrace is how long a program may run after it has closed its stdout, since it can send
	// nothing more.
	eofGrace = 2 * time.Second
)

// String implements [Transport]. It returns the name of the program without its
// arguments, which may contain secrets.
func (c *Command) String() string {
	if len(c.Argv) == 0 {
		return "no program"
	}
	return c.Argv[0]
}

// Connect implements [Transport]. It does not wait for an answer of the
// program.
func (c *Command) Connect(ctx context.Context, h Handler) (Conn, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, &Failure{Reason: ReasonCanceled, NotSent: true, Err: endOf(ctx)}
	}
	p := &process{
		argv: c.Argv, trace: h.Trace, copy: c.Stderr, failed: h.callbackFailed,
		stop: orDefault(c.StopGrace, defaultStopGrace), kill: orDefault(c.KillGrace, defaultKillGrace),
		exited: make(chan struct{}), stderrDone: make(chan struct{}), handled: make(chan struct{}), reaped: make(chan struct{}),
		over: make(chan struct{}), closing: make(chan struct{}),
	}
	stdin, stdout, err := p.start(c)
	if err != nil {
		return nil, &Failure{
			Reason: ReasonUnavailable, NotSent: true, Err: err,
			Process: &mcperrors.ProcessEvidence{Command: c.Argv},
		}
	}
	maxNoise := int64(c.MaxNoise)
	if maxNoise == 0 {
		maxNoise = defaultMaxNoise
	}
	var conn *commandConn
	ready := make(chan struct{})
	count := func(line []byte) {
		if p.noise(line) == maxNoise+1 { // the program writes only noise
			<-ready
			conn.Kill(errTooNoisy)
		}
	}
	noise, fault := h.Trace.Noise, h.OnFault
	h.Trace.Noise = func(line []byte) {
		if noise != nil {
			noise(line)
		}
		count(line)
	}
	h.OnFault = func(err error) {
		if fault != nil {
			fault(err)
		}
		// "[INFO] ready" begins like JSON, but is a log line.
		var broken *jsonrpc.DecodeError
		if errors.As(err, &broken) && broken.Syntax {
			count(broken.Head)
		}
	}
	conn = &commandConn{streamConn: newStreamConn(stdout, stdin, c.Limits, h), p: p, stdin: stdin}
	close(ready)
	go p.watch(conn.rpc)
	return conn, nil
}

var errTooNoisy = errors.New("the program writes other text than MCP to stdout; it must log to stderr")

func (c *Command) check() error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return optionError("no program to run: give its name and arguments")
	}
	for _, kv := range c.Env {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" {
			return optionError("environment entry must be NAME=value, got one without a name or without =")
		}
	}
	if c.Inherit > EnvNone {
		return optionError("unknown environment policy %d", c.Inherit)
	}
	if c.StopGrace < 0 || c.KillGrace < 0 || c.MaxNoise < 0 {
		return optionError("StopGrace, KillGrace and MaxNoise must not be negative")
	}
	return c.Limits.check()
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}

// commandConn is the connection to a child process.
type commandConn struct {
	*streamConn
	p     *process
	stdin *os.File
	close sync.Once
	err   error
	why   atomic.Pointer[error] // why it was killed, the first reason; nil if it was not
}

// Call implements [Conn]. A failure has the evidence of the process.
func (c *commandConn) Call(ctx context.Context, req Request) (Answer, error) {
	since := c.p.asks()
	answer, err := c.streamConn.Call(ctx, req)
	if err != nil {
		return answer, c.explain(err, since)
	}
	c.p.answered()
	return answer, nil
}

// Notify implements [Conn].
func (c *commandConn) Notify(ctx context.Context, n jsonrpc.Notification) error {
	since := c.p.asks()
	if err := c.streamConn.Notify(ctx, n); err != nil {
		return c.explain(err, since)
	}
	return nil
}

// UseVersion implements [Conn]. It ends the handshake, unless the revision was known before: then
// the first answer shows that the program works.
func (c *commandConn) UseVersion(version string) {
	c.streamConn.UseVersion(version)
	c.p.agreed.Store(true)
	c.p.works()
}

func (c *commandConn) explain(err error, since int64) error {
	var f *Failure
	givenUp := errors.As(err, &f) && f.Reason == ReasonCanceled && !errors.Is(f.Err, context.DeadlineExceeded)
	if f == nil || givenUp || f.Reason == ReasonClosed {
		return err
	}
	if f.Reason == ReasonLost {
		// The stream ends just before the process does.
		c.p.settle(c.rpc)
	}
	f.Process = c.p.evidence(since)
	return f
}

// Done implements [Conn]: it is also closed if the program has exited while another process holds
// its stdout open.
func (c *commandConn) Done() <-chan struct{} { return c.p.over }

// Kill kills the process and its children at once, without waiting.
func (c *commandConn) Kill(reason error) {
	c.why.CompareAndSwap(nil, &reason)
	c.rpc.Fail(reason)
	select {
	case <-c.p.exited:
	default:
		kill(c.p.cmd)
	}
}

// ReadNothing reports whether the process has exited and certainly read no byte of its stdin.
// Only Linux can prove it.
func (c *commandConn) ReadNothing() bool {
	select {
	case <-c.p.exited:
	default:
		return false
	}
	sent := c.rpc.Backlog()
	left, known := unread(c.stdin)
	// During a write, it is not known how much the pipe has accepted.
	return known && !sent.Waiting && uint64(left) == sent.Sent
}

// Exited returns a channel that is closed when the process has exited.
func (c *commandConn) Exited() <-chan struct{} { return c.p.exited }

// Ended returns why the connection ended, with the evidence of the process.
func (c *commandConn) Ended() *Failure {
	c.p.settle(c.rpc)
	f := &Failure{Reason: ReasonLost, NotSent: true, Process: c.p.evidence(math.MaxInt64), Err: jsonrpc.ErrPeerClosed}
	if why := c.why.Load(); why != nil {
		f.Err = *why
	}
	return f
}

// Traits implements [Conn].
func (c *commandConn) Traits() Traits { return Traits{Process: true} }

// Close implements [Conn]: it fails every call, then shuts the program down as the specification
// describes (lifecycle, "Shutdown"): close stdin, wait, terminate, wait, kill.
func (c *commandConn) Close() error {
	c.close.Do(func() {
		close(c.p.closing)
		c.rpc.Fail(jsonrpc.ErrClosed)
		_ = c.rpc.CloseWrite() // fails with a broken pipe if the program has exited
		c.p.end()
		c.err = c.streamConn.Close()
		c.p.release()
	})
	return c.err
}

// abortGrace is the wait for a program at each step after Connect has failed: there is no session
// to end, and the caller waits for the error.
const abortGrace = 500 * time.Millisecond

// Abort is Close after a failed Connect, with shorter waits. Do not call it at the same time as
// Close.
func (c *commandConn) Abort() error {
	c.p.stop, c.p.kill = min(c.p.stop, abortGrace), min(c.p.kill, abortGrace)
	return c.Close()
}
