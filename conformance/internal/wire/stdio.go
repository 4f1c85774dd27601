package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

const (
	// EndGrace is the time to exit after the end of the input, and again after SIGTERM.
	EndGrace  = 5 * time.Second
	termGrace = 2 * time.Second
	// hurriedGrace replaces both for a program that is known not to exit.
	hurriedGrace = 200 * time.Millisecond
	// KeptGreeting bounds the kept lines that are no messages.
	KeptGreeting = 64 << 10
	// keptStderr bounds the kept standard error of a program.
	keptStderr = 4 << 20
)

// StdioConn exchanges newline-delimited messages over a pair of streams.
type StdioConn struct {
	in    io.WriteCloser
	trace *Trace
	box   *inbox
	log   *Log
	// unread has the bytes after the last newline.
	unread *partLine
	// stop ends the server; it waits for an orderly exit first.
	stop func() Ending
	// Terminate asks a program to exit while its input is open, and reports whether it did
	// in time. It is nil for a function.
	Terminate func() bool

	// Admit, if set, is called before bytes are written, which it may delay or refuse.
	Admit func(ctx context.Context, data []byte) error

	// hurry: its end is not judged, and it is known to exit slowly.
	hurry atomic.Bool

	exited chan struct{} // closed at the end of the server's output

	write sync.Mutex
	once  sync.Once
	end   Ending
	quit  chan struct{} // closed when nobody reads the inbox any more
}

func newStdioConn(in io.WriteCloser, out io.Reader, tr *Trace) *StdioConn {
	w := &StdioConn{
		in: in, trace: tr, box: newInbox(), quit: make(chan struct{}), exited: make(chan struct{}), log: NewLog(nil), unread: &partLine{Reader: out},
	}
	go w.read(w.unread)
	return w
}

// read delivers lines until the stream ends.
func (w *StdioConn) read(out io.Reader) {
	defer close(w.box.messages)
	defer close(w.exited)
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := readLine(r, MaxFrame)
		if len(bytes.TrimSpace(line)) > 0 || errors.Is(err, errTooLarge) {
			in := Received(bytes.TrimRight(line, "\r\n"), nil)
			if err != nil && !errors.Is(err, io.EOF) {
				in.Err, in.Members = err, nil
			}
			w.deliver(in)
		}
		if err != nil && !errors.Is(err, errTooLarge) {
			return // how the server ended is judged by close
		}
	}
}

func (w *StdioConn) deliver(in Inbound) {
	w.trace.received(in)
	w.box.put(in, w.quit)
}

// readLine returns the next line with its end, in new memory. For a line over the limit it
// returns the beginning and errTooLarge, and skips the rest.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	over := false
	for {
		part, err := r.ReadSlice('\n')
		if !over {
			line = append(line, part...)
			over = len(line) > limit
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil && over:
			return line[:limit], errTooLarge
		default:
			return line, err
		}
	}
}

// Send writes data as one line. Its answer is always nil.
func (w *StdioConn) Send(ctx context.Context, data []byte) (*HTTPAnswer, error) {
	w.trace.Add(conformance.ToServer, data, nil, "")
	return nil, w.Raw(ctx, append(bytes.Clone(data), '\n'))
}

// Raw writes bytes unchanged. A server that does not read blocks a goroutine until the
// connection is closed, but not the suite.
func (w *StdioConn) Raw(ctx context.Context, data []byte) error {
	done := make(chan error, 1)
	go func() {
		w.write.Lock()
		defer w.write.Unlock()
		if w.Admit != nil {
			if err := w.Admit(ctx, data); err != nil {
				done <- err
				return
			}
		}
		if _, err := w.in.Write(data); err != nil {
			done <- ErrClosed
			return
		}
		done <- nil
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *StdioConn) inbox() *inbox { return w.box }

// Stderr implements Conn.
func (w *StdioConn) Stderr() string { return w.log.String() }

// Transport implements Conn.
func (w *StdioConn) Transport() conformance.TransportKind { return conformance.TransportStdio }

// Close ends the input, waits, and then stops the server.
func (w *StdioConn) Close() Ending {
	w.once.Do(func() {
		close(w.quit)
		w.end = w.stop()
		for range w.box.messages { // the reader ends with the stream
		}
	})
	return w.end
}

// Hurry gives the server 200 ms to exit: its end is not judged, and it is known to exit
// slowly.
func (w *StdioConn) Hurry() { w.hurry.Store(true) }

// Exited reports whether the server has ended its output.
func (w *StdioConn) Exited() bool {
	select {
	case <-w.exited:
		return true
	default:
		return false
	}
}

// Unterminated returns the bytes after the last newline, at most 64 KiB.
func (w *StdioConn) Unterminated() []byte { return w.unread.bytes() }

// patience returns the time to exit.
func (w *StdioConn) patience(grace time.Duration) time.Duration {
	if w.hurry.Load() {
		return min(grace, hurriedGrace)
	}
	return grace
}

// Serve is a server as a function: it serves newline-delimited JSON-RPC on in and out until
// in ends or ctx is done.
type Serve func(ctx context.Context, in io.Reader, out io.Writer) error

// NewPipeConn runs serve on a pair of pipes, with grace to return. log is the standard
// error; nil means none.
func NewPipeConn(ctx context.Context, serve Serve, grace time.Duration, log *Log, tr *Trace) *StdioConn {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() {
		err := serve(ctx, serverIn, serverOut)
		_ = serverIn.CloseWithError(io.ErrClosedPipe)
		_ = serverOut.Close()
		done <- err
	}()
	w := newStdioConn(clientOut, clientIn, tr)
	if log != nil {
		w.log = log
	}
	w.stop = func() Ending {
		defer cancel()
		begin := time.Now()
		_ = clientOut.Close()
		timer := time.NewTimer(w.patience(grace))
		defer timer.Stop()
		select {
		case err := <-done:
			return Ending{Prompt: true, took: time.Since(begin), Exit: -1, Err: err}
		case <-timer.C:
		}
		// A function cannot be killed; its context and pipes end.
		cancel()
		_ = serverIn.CloseWithError(io.ErrClosedPipe)
		_ = clientIn.CloseWithError(io.ErrClosedPipe)
		return Ending{took: time.Since(begin), Exit: -1}
	}
	return w
}

// Program is a server that serves on its standard input and output.
type Program struct {
	// Argv is the program and its arguments, Env its whole environment, Dir the
	// folder it runs in. A nil Env and an empty Dir are those of this process.
	Argv, Env []string
	Dir       string
	// Stderr, when set, gets a copy of the program's standard error.
	Stderr io.Writer
	// Grace is the time to exit after the end of its input. Zero means 5 s.
	Grace time.Duration
}

// Start starts the program in a process group of its own, with extra in its
// environment, too: the last value of a name counts.
func (s Program) Start(tr *Trace, extra []string) (*StdioConn, error) {
	if len(s.Argv) == 0 {
		return nil, errors.New("no program given")
	}
	cmd := exec.Command(s.Argv[0], s.Argv[1:]...)
	cmd.Dir = s.Dir
	cmd.Env = s.environment(extra)
	OwnGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// A pipe of ours, not cmd.StdoutPipe: Wait would close that under the
	// reader and lose the last lines.
	out, outw, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	log := NewLog(s.Stderr)
	cmd.Stdout, cmd.Stderr = outw, log
	// Grandchildren may hold the standard error open; they are killed soon
	// after, and Wait must not hang on them.
	cmd.WaitDelay = time.Second
	err = cmd.Start()
	_ = outw.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	w := newStdioConn(stdin, out, tr)
	w.log = log
	w.stop = func() Ending {
		defer func() { _ = out.Close() }()
		return stopProcess(cmd, stdin, done, w.patience(cmp.Or(s.Grace, EndGrace)), w.patience(termGrace))
	}
	w.Terminate = func() bool {
		terminateGroup(cmd)
		select {
		case err := <-done:
			done <- err // for stop
			return true
		case <-time.After(cmp.Or(s.Grace, EndGrace)):
			return false
		}
	}
	return w, nil
}

func (s Program) environment(extra []string) []string {
	base := s.Env
	if base == nil {
		base = os.Environ()
	}
	return append(slices.Clone(base), extra...)
}

// stopProcess ends a program in the order of the specification: close its input, wait,
// terminate, wait, kill. The rest of its group is always killed.
func stopProcess(cmd *exec.Cmd, stdin io.Closer, done <-chan error, grace, term time.Duration) Ending {
	begin := time.Now()
	_ = stdin.Close()
	end := Ending{}
	waited := func(d time.Duration) bool {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case end.Err = <-done:
			return true
		case <-timer.C:
			return false
		}
	}
	end.Prompt = waited(grace)
	if !end.Prompt {
		terminateGroup(cmd)
		if !waited(term) {
			KillGroup(cmd)
			end.Err = <-done
		}
	}
	KillGroup(cmd)
	end.took = time.Since(begin)
	end.Exit = cmd.ProcessState.ExitCode()
	return end
}

// partLine keeps the start of the bytes after the last newline. Safe for concurrent use.
type partLine struct {
	io.Reader

	mu  sync.Mutex
	buf []byte
}

func (u *partLine) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	part := p[:n]
	u.mu.Lock()
	defer u.mu.Unlock()
	if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
		u.buf, part = u.buf[:0], part[i+1:]
	}
	if room := KeptGreeting - len(u.buf); room > 0 {
		u.buf = append(u.buf, part[:min(len(part), room)]...)
	}
	return n, err
}

func (u *partLine) bytes() []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	return bytes.Clone(u.buf)
}

// Log keeps the end of its input. Safe for concurrent use.
type Log struct {
	limit int
	copy  io.Writer

	mu  sync.Mutex
	buf []byte
}

// NewLog returns a log that keeps the last 4 MiB, and copies everything to another writer
// unless it is nil.
func NewLog(to io.Writer) *Log { return &Log{limit: keptStderr, copy: to} }

// Write implements io.Writer.
func (t *Log) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - t.limit; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	t.mu.Unlock()
	if t.copy != nil {
		_, _ = t.copy.Write(p) // a broken copy must not stop the server
	}
	return len(p), nil
}

// String returns the kept text.
func (t *Log) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

// CloseInput closes the input of the server only.
func (w *StdioConn) CloseInput() error { return w.in.Close() }

// LastLines returns the last lines of a program's standard error.
func LastLines(stderr string) string {
	const most = 20
	lines := strings.Split(strings.TrimRight(stderr, "\n"), "\n")
	return rawjson.Clip(strings.Join(lines[max(0, len(lines)-most):], "\n"), 4000)
}
