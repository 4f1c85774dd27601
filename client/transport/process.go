package transport

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// process is a child process and its output.
type process struct {
	cmd         *exec.Cmd
	argv        []string
	began       time.Time
	stderr      *os.File
	copy        io.Writer
	trace       Trace
	failed      func(*callback.Error)
	stderrLines ring
	stop, kill  time.Duration

	// spoke is set once the program has answered, and agreed once the handshake is complete.
	// explainedAt is the number of stderr lines at the last answer after both. answeredAt is the
	// time of that answer, and askedAt the time of the first request after it, both since began
	// and 0 if there was none.
	spoke, agreed atomic.Bool
	explainedAt   atomic.Int64
	answeredAt    atomic.Int64
	askedAt       atomic.Int64

	noiseCount atomic.Int64
	firstNoise atomic.Pointer[string]

	exited     chan struct{} // closed when the process has been waited for
	ended      time.Time     // set before exited is closed
	stderrDone chan struct{} // closed when stderr was read to its end
	handled    chan struct{} // closed when watch has returned
	reaped     chan struct{} // closed when run has returned
	over       chan struct{} // closed when no more output can arrive
	closing    chan struct{} // closed when the client shuts the program down
}

// start starts the program and returns the client's ends of its stdin and stdout.
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
		_, err = os.Stat(c.Dir) // otherwise the error would be that the program does not exist
	}
	if err == nil {
		p.cmd = exec.Command(c.Argv[0], c.Argv[1:]...) //nolint:noctx // ends with Close, not with the context of Connect
		p.cmd.Dir = c.Dir
		p.cmd.Env = environment(c.Inherit, c.Env)
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inRead, outWrite, errWrite
		ownGroup(p.cmd)
		p.began = time.Now()
		started := make(chan error, 1)
		go p.run(started)
		err = <-started
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
	return inWrite, outRead, nil
}

// run starts the process and reaps it as soon as it exits, so that it is never a zombie. The
// process does not outlive this one: see lifeline.
func (p *process) run(started chan<- error) {
	defer close(p.reaped)
	watcher := shell()
	if watcher == "" && dieWithThread(p.cmd) {
		// The goroutine keeps its thread as long as the process runs.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	line := newLifeline(p.cmd, watcher)
	_ = p.cmd.Wait() // the status is in ProcessState
	p.ended = time.Now()
	close(p.exited)
	<-p.handled // the group is killed while the watcher still holds its id
	line.release()
}

// watch ends the calls in flight soon after the process has exited, even if a child of it keeps
// stdout open. It kills a process that keeps running after it has closed its stdout.
func (p *process) watch(rpc *jsonrpc.Conn) {
	defer close(p.handled)
	select {
	case <-p.exited:
		p.killChildren()
		if !within(rpc.Done(), outputGrace) {
			rpc.Fail(jsonrpc.ErrPeerClosed)
		}
		close(p.over)
	case <-rpc.Done():
		close(p.over)
		p.outlive()
		<-p.exited
		p.killChildren()
	}
}

// killChildren kills the children of a program that has exited. It is called before the program's
// id may be that of another group.
func (p *process) killChildren() {
	if p.trace.Exited != nil {
		p.trace.Exited()
	}
	kill(p.cmd)
}

// outlive kills a process that has closed its stdout, after a short time.
func (p *process) outlive() {
	timer := time.NewTimer(eofGrace)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-p.closing: // which gives it more time
	case <-timer.C:
		kill(p.cmd)
	}
}

// readStderr drains stderr as long as it is open, so that the program never blocks on it.
func (p *process) readStderr() {
	defer close(p.stderrDone)
	first := make([]byte, 1) // most programs write nothing to stderr: allocate a buffer only if needed
	if n, err := p.stderr.Read(first); n == 0 && err != nil {
		return
	}
	lines := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(first), p.stderr), 16<<10)
	for {
		text, prefix, err := lines.ReadLine()
		if err != nil {
			return
		}
		line := strings.ToValidUTF8(string(text), "\uFFFD")
		for prefix && err == nil { // the rest of an overlong line is dropped
			_, prefix, err = lines.ReadLine()
		}
		p.stderrLines.add(line)
		if p.copy != nil {
			callback.Aside("Command.Stderr", p.failed, func() {
				_, _ = io.WriteString(p.copy, line+"\n") // a copy for people
			})
		}
		if p.trace.Stderr != nil {
			p.trace.Stderr(line)
		}
	}
}

// noise counts a stdout line that is not a message, and returns how many there were since the
// last answer.
func (p *process) noise(line []byte) int64 {
	if p.firstNoise.Load() == nil {
		first := jsonrpc.Printable(string(line), 200)
		p.firstNoise.Store(&first)
	}
	return p.noiseCount.Add(1)
}

// answered records that the program speaks MCP, whatever else it writes.
func (p *process) answered() {
	if p.noiseCount.Load() != 0 { // rarely
		p.noiseCount.Store(0)
	}
	if !p.spoke.Load() {
		p.spoke.Store(true)
	}
	p.works()
}

// works records, once the program has answered and the handshake is complete, that its stderr up
// to now explains no later failure.
func (p *process) works() {
	if p.spoke.Load() && p.agreed.Load() {
		p.explainedAt.Store(p.stderrLines.count.Load())
		p.answeredAt.Store(int64(time.Since(p.began)))
		p.askedAt.Store(0)
	}
}

// asks records that a request is sent, and returns the number of stderr lines.
func (p *process) asks() int64 {
	if p.askedAt.Load() == 0 && p.answeredAt.Load() != 0 {
		p.askedAt.CompareAndSwap(0, int64(time.Since(p.began)))
	}
	return p.stderrLines.count.Load()
}

const (
	// stderrLag is how much later than an answer an earlier line of stderr may be read, since
	// they use two pipes.
	stderrLag = 20 * time.Millisecond
	// stderrQuick is the time after a request in which a line is not yet about it.
	stderrQuick = 3 * time.Millisecond
)

// old reports whether a line explains no failure of a request. since is the number of lines when
// the request was sent. A line that is read right after the last answer was written before it,
// unless it looks like an error. After an exit everything since the request counts: a program that
// crashes at once says so in words of its own.
func (p *process) old(line ringLine, since int64, exited bool) bool {
	if line.number < min(since, p.explainedAt.Load()) {
		return true
	}
	if exited && line.number >= since {
		return false
	}
	answered, asked := time.Duration(p.answeredAt.Load()), time.Duration(p.askedAt.Load())
	if read := line.at.Sub(p.began); answered == 0 || read-answered > stderrLag || asked != 0 && read-asked > stderrQuick {
		return false
	}
	return !mcperrors.ErrorLine(line.text)
}

// settle waits a short time until the process has exited and its last output is read: a write may
// fail before its stdout is read to the end. A child of it may hold both pipes open forever; then
// the time has already passed.
func (p *process) settle(rpc *jsonrpc.Conn) {
	if within(p.exited, outputGrace) {
		within(p.stderrDone, outputGrace-time.Since(p.ended))
		within(rpc.Done(), outputGrace-time.Since(p.ended))
	}
}

// evidence returns the evidence of the process. since is the number of stderr lines when the
// failed request was sent. Those lines explain nothing, unless they came after the last answer.
func (p *process) evidence(since int64) *mcperrors.ProcessEvidence {
	e := &mcperrors.ProcessEvidence{Command: p.argv, PID: p.cmd.Process.Pid, Age: time.Since(p.began)}
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
	e.Stderr, e.Earlier = p.stderrLines.lines(func(line ringLine) bool { return p.old(line, since, e.Exited) })
	return e
}

// end shuts the process down: wait, terminate, wait, kill. stdin is already closed.
func (p *process) end() {
	if !within(p.exited, p.stop) {
		terminate(p.cmd)
		if !within(p.exited, p.kill) {
			kill(p.cmd)
			within(p.exited, time.Second) // a kill can only be delayed
		}
	}
}

// release closes the pipes and waits for the goroutines, except one that is blocked in the
// application's Stderr writer.
func (p *process) release() {
	within(p.stderrDone, outputGrace) // the last output of the program
	_ = p.stderr.Close()
	within(p.stderrDone, outputGrace)
	select {
	case <-p.exited:
		<-p.reaped
	default: // killed, but not gone yet
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
