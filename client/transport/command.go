package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Command reaches a server that is a program of its own, over its stdin and
// stdout. Connect starts the program, in a process group of its own where the
// system has them and never through a shell.
type Command struct {
	// Argv is the program and its arguments.
	Argv []string
	// Dir is where it runs; "" means here.
	Dir string
	// Inherit says which variables of this process it gets, Env adds to them,
	// as "NAME=value".
	Inherit EnvPolicy
	Env     []string
	// Stderr gets a copy of the program's stderr. It is written to by one
	// goroutine; while it blocks, the program's stderr is not read. Close does
	// not wait for a write that does not return.
	Stderr io.Writer
	// StopGrace is how long Close waits after closing stdin, KillGrace how
	// long after the termination signal; 0 means 5 s each (decisions 26).
	StopGrace, KillGrace time.Duration
	// MaxNoise is how many stdout lines may be no messages before the
	// connection is given up; 0 means 10,000 (STDIO-03).
	MaxNoise int
	// Limits bounds what is taken from the server.
	Limits Limits
}

// Default waits of Close (decisions 26).
const (
	defaultStopGrace = 5 * time.Second
	defaultKillGrace = 5 * time.Second
	defaultMaxNoise  = 10_000
	// outputGrace is how long output may still arrive after the process has
	// ended: what it wrote last is in the pipe, but a child of it may hold the
	// pipe open for ever.
	outputGrace = 100 * time.Millisecond
)

// String implements [Transport]: the program's name, without its arguments,
// which may hold secrets.
func (c *Command) String() string {
	if len(c.Argv) == 0 {
		return "no program"
	}
	return c.Argv[0]
}

// Connect implements [Transport]. It does not wait for the program to answer
// anything.
func (c *Command) Connect(ctx context.Context, h Handler) (Conn, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, &Failure{Reason: ReasonCanceled, NotSent: true, Err: endOf(ctx)}
	}
	p := &process{
		argv: c.Argv, trace: h.Trace.Stderr, copy: c.Stderr,
		stop: orDefault(c.StopGrace, defaultStopGrace), kill: orDefault(c.KillGrace, defaultKillGrace),
		exited: make(chan struct{}), stderrDone: make(chan struct{}), handled: make(chan struct{}),
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
		if p.noise(line) > maxNoise {
			<-ready
			conn.rpc.Fail(errTooNoisy)
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
		// "[INFO] ready" begins like JSON, and is a log line all the same.
		var broken *jsonrpc.DecodeError
		if errors.As(err, &broken) && broken.Syntax {
			count(broken.Head)
		}
	}
	conn = &commandConn{streamConn: newStreamConn(stdout, stdin, c.Limits, h), p: p}
	close(ready)
	go p.watch(conn.rpc)
	return conn, nil
}

var errTooNoisy = errors.New("the program writes to stdout what is not MCP; it must log to stderr")

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
	close sync.Once
	err   error
}

// Call implements [Conn]: a failure carries what is known of the process.
func (c *commandConn) Call(ctx context.Context, req Request) (Answer, error) {
	answer, err := c.streamConn.Call(ctx, req)
	if err != nil {
		return answer, c.explain(err)
	}
	return answer, nil
}

// Notify implements [Conn].
func (c *commandConn) Notify(ctx context.Context, n jsonrpc.Notification) error {
	if err := c.streamConn.Notify(ctx, n); err != nil {
		return c.explain(err)
	}
	return nil
}

func (c *commandConn) explain(err error) error {
	var f *Failure
	if !errors.As(err, &f) || f.Reason == ReasonCanceled || f.Reason == ReasonClosed {
		return err
	}
	if f.Reason == ReasonLost {
		// The stream ends a moment before the process does.
		c.p.settle()
	}
	f.Process = c.p.evidence()
	return f
}

// Close implements [Conn]: it answers every call, then ends the program the
// way STDIO-06 says: close stdin, wait, terminate, wait, kill.
func (c *commandConn) Close() error {
	c.close.Do(func() {
		c.rpc.Fail(jsonrpc.ErrClosed)
		_ = c.rpc.CloseWrite() // a broken pipe is how a dead program shows
		c.p.end()
		c.err = c.streamConn.Close()
		c.p.release()
	})
	return c.err
}

// abortGrace is what a program gets at each step when connecting has failed:
// there is no session to end properly, and somebody waits for the error.
const abortGrace = 500 * time.Millisecond

// Abort is Close for a connection that never came to be: it waits less for the
// program. Not to be called at the same time as Close.
func (c *commandConn) Abort() error {
	c.p.stop, c.p.kill = min(c.p.stop, abortGrace), min(c.p.kill, abortGrace)
	return c.Close()
}

// process is a child process and what it has said.
type process struct {
	cmd        *exec.Cmd
	argv       []string
	began      time.Time
	stderr     *os.File
	copy       io.Writer
	trace      func(string)
	tail       ring
	stop, kill time.Duration

	noiseCount atomic.Int64
	firstNoise atomic.Pointer[string]

	exited     chan struct{} // closed when the process has been waited for
	ended      time.Time     // before exited is closed
	stderrDone chan struct{} // closed when stderr has been read to its end
	handled    chan struct{} // closed when watch has ended
}

// start runs the program and returns our ends of its stdin and stdout.
func (p *process) start(c *Command) (stdin, stdout *os.File, err error) {
	var opened []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				opened = append(opened, r, w)
			}
		}
		return r, w
	}
	inRead, inWrite := pipe()
	outRead, outWrite := pipe()
	errRead, errWrite := pipe()
	if err == nil && c.Dir != "" {
		_, err = os.Stat(c.Dir) // else the error would say that the program is not there
	}
	if err == nil {
		p.cmd = exec.Command(c.Argv[0], c.Argv[1:]...) //nolint:noctx // ends with Close, not with the context of connecting
		p.cmd.Dir = c.Dir
		p.cmd.Env = environment(c.Inherit, c.Env)
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inRead, outWrite, errWrite
		ownGroup(p.cmd)
		p.began = time.Now()
		err = p.cmd.Start()
	}
	if err != nil {
		for _, f := range opened {
			_ = f.Close()
		}
		return nil, nil, err
	}
	for _, f := range []*os.File{inRead, outWrite, errWrite} {
		_ = f.Close() // the child has its own copies
	}
	p.stderr = errRead
	go p.readStderr()
	go p.wait()
	return inWrite, outRead, nil
}

// wait reaps the process as soon as it ends, so that it is never a zombie.
func (p *process) wait() {
	_ = p.cmd.Wait() // the status is in ProcessState
	p.ended = time.Now()
	close(p.exited)
}

// watch ends the calls in flight soon after the process has, even when a child
// of it keeps stdout open.
func (p *process) watch(rpc *jsonrpc.Conn) {
	defer close(p.handled)
	<-p.exited
	// Children of the program are ended with it, at once: later its number may
	// be that of another group.
	kill(p.cmd)
	timer := time.NewTimer(outputGrace)
	defer timer.Stop()
	select {
	case <-rpc.Done():
	case <-timer.C:
		rpc.Fail(jsonrpc.ErrPeerClosed)
	}
}

// readStderr drains stderr for as long as it is open, so that the program
// never blocks on it.
func (p *process) readStderr() {
	defer close(p.stderrDone)
	lines := bufio.NewReaderSize(p.stderr, 16<<10)
	for {
		text, prefix, err := lines.ReadLine()
		if err != nil {
			return
		}
		line := strings.ToValidUTF8(string(text), "\uFFFD")
		for prefix && err == nil { // the rest of an overlong line is dropped
			_, prefix, err = lines.ReadLine()
		}
		p.tail.add(line)
		if p.copy != nil {
			_, _ = io.WriteString(p.copy, line+"\n") // a copy for people
		}
		if p.trace != nil {
			p.trace(line)
		}
	}
}

// noise counts a stdout line that is no message.
func (p *process) noise(line []byte) int64 {
	n := p.noiseCount.Add(1)
	if n == 1 {
		first := jsonrpc.Printable(string(line), 200)
		p.firstNoise.Store(&first)
	}
	return n
}

// settle waits, not for long, until the process has ended and what it wrote to
// stderr last is read. A child of it may hold stderr open for ever, and then
// its time has passed already.
func (p *process) settle() {
	if within(p.exited, outputGrace) {
		within(p.stderrDone, outputGrace-time.Since(p.ended))
	}
}

// evidence says what is known of the process.
func (p *process) evidence() *mcperrors.ProcessEvidence {
	e := &mcperrors.ProcessEvidence{Command: p.argv, PID: p.cmd.Process.Pid, Age: time.Since(p.began), Stderr: p.tail.tail()}
	if first := p.firstNoise.Load(); first != nil {
		e.Noise = *first
	}
	select {
	case <-p.exited:
		e.Exited = true
		e.Age = p.ended.Sub(p.began)
		e.Exit = p.cmd.ProcessState.ExitCode()
		e.Signal = signalName(p.cmd.ProcessState)
	default:
	}
	return e
}

// end ends the process: wait, terminate, wait, kill. stdin is closed already.
func (p *process) end() {
	if !within(p.exited, p.stop) {
		terminate(p.cmd)
		if !within(p.exited, p.kill) {
			kill(p.cmd)
			within(p.exited, time.Second) // a kill cannot be refused, only delayed
		}
	}
}

// release closes what is left and waits for the goroutines. One that is in the
// hands of a Stderr writer that does not return is not waited for.
func (p *process) release() {
	within(p.stderrDone, outputGrace) // the last words of the program
	_ = p.stderr.Close()
	within(p.stderrDone, outputGrace)
	select {
	case <-p.exited:
		<-p.handled
	default: // killed, and still not gone
	}
}

// within reports whether done is closed within d.
func within(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
