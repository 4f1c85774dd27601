package conformance

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// endGrace is how long a server may take to end after its input ended,
	// and again after it was told to terminate (STDIO-06, STDIO-08).
	endGrace  = 5 * time.Second
	termGrace = 2 * time.Second
	// hurriedGrace is both for a program that is known not to end.
	hurriedGrace = 200 * time.Millisecond
	// keptStderr bounds what is kept of a program's standard error.
	keptStderr = 4 << 20
)

// lineWire speaks newline-delimited messages over a pair of streams.
type lineWire struct {
	in    io.WriteCloser
	trace *trace
	box   *inbox
	log   *tail
	// unread is what came after the last newline.
	unread *partLine
	// stop ends the server: it waits for an orderly end first.
	stop func() ending
	// terminate tells a program to end, with its input open, and reports whether
	// it did in time. It is nil for a function.
	terminate func() bool

	// hurry: nobody judges how it ends, and it is known to take its time.
	hurry atomic.Bool

	write sync.Mutex
	once  sync.Once
	end   ending
	quit  chan struct{} // closed when nobody reads the inbox any more
}

func newLineWire(in io.WriteCloser, out io.Reader, tr *trace) *lineWire {
	w := &lineWire{
		in: in, trace: tr, box: newInbox(), quit: make(chan struct{}), log: &tail{limit: keptStderr}, unread: &partLine{Reader: out},
	}
	go w.read(w.unread)
	return w
}

// read delivers lines until the stream ends.
func (w *lineWire) read(out io.Reader) {
	defer close(w.box.messages)
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := readLine(r, maxFrame)
		if len(bytes.TrimSpace(line)) > 0 || errors.Is(err, errTooLarge) {
			in := received(bytes.TrimRight(line, "\r\n"), nil)
			if err != nil && !errors.Is(err, io.EOF) {
				in.err, in.members = err, nil
			}
			w.deliver(in)
		}
		if err != nil && !errors.Is(err, errTooLarge) {
			return // how the server ended is judged by close
		}
	}
}

func (w *lineWire) deliver(in inbound) {
	w.trace.received(in)
	w.box.put(in, w.quit)
}

// readLine returns the next line with its end, in memory of its own. Of a line
// over the limit it returns the beginning and errTooLarge, and skips the rest.
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

func (w *lineWire) send(ctx context.Context, data []byte) (*httpAnswer, error) {
	w.trace.add(ToServer, data, nil, "")
	return nil, w.raw(ctx, append(bytes.Clone(data), '\n'))
}

// raw writes bytes as they are. A server that does not read holds a goroutine
// until the wire is closed, and never the suite.
func (w *lineWire) raw(ctx context.Context, data []byte) error {
	done := make(chan error, 1)
	go func() {
		w.write.Lock()
		defer w.write.Unlock()
		_, err := w.in.Write(data)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return errClosed
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *lineWire) inbox() *inbox { return w.box }

func (w *lineWire) stderr() string { return w.log.String() }

func (w *lineWire) transport() TransportKind { return TransportStdio }

func (w *lineWire) close() ending {
	w.once.Do(func() {
		close(w.quit)
		w.end = w.stop()
		for range w.box.messages { // the reader ends with the stream
		}
	})
	return w.end
}

// patience is how long an end may take that has grace.
func (w *lineWire) patience(grace time.Duration) time.Duration {
	if w.hurry.Load() {
		return min(grace, hurriedGrace)
	}
	return grace
}

// newPipeWire runs the function of s on a pair of pipes.
func newPipeWire(ctx context.Context, s inProcess, tr *trace) *lineWire {
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() {
		err := s.serve(ctx, serverIn, serverOut)
		_ = serverIn.CloseWithError(io.ErrClosedPipe)
		_ = serverOut.Close()
		done <- err
	}()
	w := newLineWire(clientOut, clientIn, tr)
	w.stop = func() ending {
		defer cancel()
		begin := time.Now()
		_ = clientOut.Close()
		timer := time.NewTimer(w.patience(s.grace))
		defer timer.Stop()
		select {
		case err := <-done:
			return ending{prompt: true, took: time.Since(begin), exit: -1, err: err}
		case <-timer.C:
		}
		// A function cannot be killed: it loses its context and its pipes.
		cancel()
		_ = serverIn.CloseWithError(io.ErrClosedPipe)
		_ = clientIn.CloseWithError(io.ErrClosedPipe)
		return ending{took: time.Since(begin), exit: -1}
	}
	return w
}

// startProcess starts the program of s in a process group of its own.
func startProcess(s *CommandSubject, tr *trace, extra []string) (*lineWire, error) {
	if len(s.Argv) == 0 {
		return nil, errors.New("no program given")
	}
	cmd := exec.Command(s.Argv[0], s.Argv[1:]...)
	cmd.Dir = s.Dir
	cmd.Env = s.environment(extra)
	ownGroup(cmd)
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
	log := &tail{limit: keptStderr, copy: s.Stderr}
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
	w := newLineWire(stdin, out, tr)
	w.log = log
	w.stop = func() ending {
		defer func() { _ = out.Close() }()
		return stopProcess(cmd, stdin, done, w.patience(cmp.Or(s.grace, endGrace)), w.patience(termGrace))
	}
	w.terminate = func() bool {
		terminateGroup(cmd)
		select {
		case err := <-done:
			done <- err // for stop
			return true
		case <-time.After(cmp.Or(s.grace, endGrace)):
			return false
		}
	}
	return w, nil
}

func (s *CommandSubject) environment(extra []string) []string {
	base := s.Env
	if base == nil {
		base = os.Environ()
	}
	return environ(base, extra)
}

// stopProcess ends a program in the order of the specification: close its
// input, wait, terminate, wait, kill. What is left of its group is killed in
// any case.
func stopProcess(cmd *exec.Cmd, stdin io.Closer, done <-chan error, grace, term time.Duration) ending {
	begin := time.Now()
	_ = stdin.Close()
	end := ending{}
	waited := func(d time.Duration) bool {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case end.err = <-done:
			return true
		case <-timer.C:
			return false
		}
	}
	end.prompt = waited(grace)
	if !end.prompt {
		terminateGroup(cmd)
		if !waited(term) {
			killGroup(cmd)
			end.err = <-done
		}
	}
	killGroup(cmd)
	end.took = time.Since(begin)
	end.exit = cmd.ProcessState.ExitCode()
	return end
}

// partLine keeps the start of what was read after the last newline. Safe for
// concurrent use.
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
	if room := keptGreeting - len(u.buf); room > 0 {
		u.buf = append(u.buf, part[:min(len(part), room)]...)
	}
	return n, err
}

func (u *partLine) bytes() []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	return bytes.Clone(u.buf)
}

// tail keeps the end of what is written to it. Safe for concurrent use.
type tail struct {
	limit int
	copy  io.Writer

	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
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

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
