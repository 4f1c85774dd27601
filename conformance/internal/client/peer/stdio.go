package peer

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/faults"
)

// lines serves the lines of one process. It returns when in has ended and every handler
// has returned.
func (p *Peer) lines(ctx context.Context, in io.Reader, out io.Writer, process *Process) {
	ctx, cancel := context.WithCancel(ctx)
	var jobs sync.WaitGroup
	defer jobs.Wait()
	defer cancel()
	w := &lineWriter{out: out, process: process}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			x := &Exchange{Message: &Message{}, Peer: p, Context: ctx, Writer: w}
			x.Parse(bytes.Clone(line))
			if x.IsResponse() {
				p.serve(x)
			} else {
				jobs.Go(func() { p.serve(x) })
			}
		}
		if err != nil {
			return
		}
	}
}

// lineWriter writes answers over stdio. Safe for concurrent use.
type lineWriter struct {
	mu      sync.Mutex
	out     io.Writer
	process *Process
}

// Send implements [Writer].
func (l *lineWriter) Send(data []byte) { l.Bytes(string(data) + "\n") }

// Bytes implements [Writer].
func (l *lineWriter) Bytes(data string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.out, data) // the client may be gone
}

// Stream implements [Writer].
func (*lineWriter) Stream() {}

// Status implements [Writer].
func (*lineWriter) Status(int, http.Header, string) {}

// Drop implements [Writer].
func (l *lineWriter) Drop() { l.process.exit(1) }

// Process is one start of the stdio server, behind its bridge.
type Process struct {
	number int // from 1
	tape   *Tape
	down   *frames
	conn   net.Conn
	stdin  *spool
	// eof is set when the client closed stdin.
	eof atomic.Bool
	// stubborn: it ends neither at the end of stdin nor by a signal.
	stubborn bool
}

// exit ends the program.
func (c *Process) exit(status byte) { _ = c.down.write(frameExit, []byte{status}) } // or it has ended

// Stderr writes to the standard error of the program.
func (c *Process) Stderr(data []byte) { _ = c.down.write(frameErr, data) } // or it has ended

// watch reads the frames of the bridge until it is gone.
func (c *Process) watch(r *bufio.Reader) {
	record := &lineRecorder{add: func(line []byte) {
		m := &Message{Process: c.number}
		m.Parse(line)
		c.tape.Received(m)
	}}
	for {
		kind, body, err := readFrame(r)
		if err != nil {
			_ = c.stdin.Close() // of a spool: nil
			c.tape.processEvent(c.number, "gone")
			return
		}
		switch kind {
		case frameIn:
			record.write(body)
			c.stdin.put(body)
		case frameEOF:
			record.flush()
			c.eof.Store(true)
			c.tape.processEvent(c.number, "eof")
			c.stdin.end()
		case frameSignal:
			c.tape.processEvent(c.number, string(body))
			if !c.stubborn {
				c.exit(143)
			}
		}
	}
}

// Write is the program's stdout.
func (c *Process) Write(p []byte) (int, error) {
	return len(p), c.down.write(frameOut, p)
}

// Close closes the program's stdout.
func (c *Process) Close() error { return c.down.write(frameClose, nil) }

// programStdin is the program's stdin. Closing it closes the pipe of the client.
type programStdin struct{ *Process }

// Read implements [io.Reader].
func (d programStdin) Read(p []byte) (int, error) { return d.stdin.Read(p) }

// Close implements [io.Closer].
func (d programStdin) Close() error {
	if !d.eof.Load() {
		_ = d.down.write(frameDeaf, nil) // or it has ended
	}
	return d.stdin.Close()
}

// tapedLines records the lines of the program.
type tapedLines struct {
	*Process
	record *lineRecorder
}

// Write implements [io.Writer].
func (t tapedLines) Write(p []byte) (int, error) {
	t.record.write(p)
	return t.Process.Write(p)
}

// Stdio serves a peer over stdio: behind bridges that the client starts.
type Stdio struct {
	Peer  *Peer
	Proxy *faults.Proxy // nil: none
	// Stubborn: a process ends neither at the end of stdin nor by a signal.
	Stubborn bool
	// Started, when set, is called before a process is served.
	Started func(*Process)

	token string
	mu    sync.Mutex
	count int
	open  map[*Process]bool
	jobs  sync.WaitGroup
}

// accept serves the bridges of l until it is closed.
func (s *Stdio) accept(ctx context.Context, l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.jobs.Go(func() { s.serveBridge(ctx, conn) })
	}
}

func (s *Stdio) serveBridge(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }() // the end either way
	r := bufio.NewReader(conn)
	if kind, body, err := readFrame(r); err != nil || kind != frameHello || string(body) != s.token {
		return // not our bridge
	}
	c := &Process{tape: s.Peer.tape, down: &frames{w: conn}, conn: conn, stdin: newSpool(), stubborn: s.Stubborn}
	s.mu.Lock()
	s.count++
	c.number = s.count
	s.open[c] = true
	s.mu.Unlock()
	s.Peer.tape.processEvent(c.number, "start")
	if s.Started != nil {
		s.Started(c)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.serve(ctx, c)
		if !c.stubborn {
			status := byte(1)
			if c.eof.Load() {
				status = 0
			}
			c.exit(status)
		}
	}()
	c.watch(r)
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	_ = conn.Close() // so that a write of the server returns
	<-served
}

func (s *Stdio) serve(ctx context.Context, c *Process) {
	out := tapedLines{c, &lineRecorder{add: func(line []byte) { s.Peer.tape.answeredLine(c.number, line) }}}
	if s.Proxy == nil {
		s.Peer.lines(ctx, c.stdin, out, c)
		return
	}
	toServer, fromClient := io.Pipe()
	toProxy, fromServer := io.Pipe()
	var server sync.WaitGroup
	server.Go(func() {
		s.Peer.lines(ctx, toServer, fromServer, c)
		_ = fromServer.Close() // of a pipe: nil
		_ = toServer.Close()
	})
	_ = s.Proxy.Stream(ctx, faults.Ends{From: programStdin{c}, To: out}, faults.Ends{From: toProxy, To: fromClient}) // the fault ends it
	server.Wait()
}

// Remaining is how many processes are still running a moment after the client ended.
func (s *Stdio) Remaining(ctx context.Context) int {
	limit := time.NewTimer(endMoment)
	defer limit.Stop()
	look := time.NewTicker(endMoment / 50)
	defer look.Stop()
	for {
		s.mu.Lock()
		n := len(s.open)
		s.mu.Unlock()
		if n == 0 {
			return 0
		}
		select {
		case <-look.C:
		case <-limit.C:
			return n
		case <-ctx.Done():
			return n
		}
	}
}

// endMoment is how long the end of a process may take to be noticed.
const endMoment = time.Second

// end ends all processes and waits for them.
func (s *Stdio) end() {
	s.mu.Lock()
	for c := range s.open {
		c.exit(0)
		_ = c.conn.Close() // the end either way
	}
	s.mu.Unlock()
	s.jobs.Wait()
}

// ListenStdio serves s to the bridges that the client starts. bridge is their command
// without its operand.
func ListenStdio(ctx context.Context, n Network, bridge []string, s *Stdio) (*Listener, error) {
	l, err := n.Listen()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s.token, s.open = rand.Text(), map[*Process]bool{}
	s.jobs.Go(func() { s.accept(ctx, l) })
	return &Listener{Command: append(slices.Clone(bridge), l.Addr().String()+"/"+s.token), Close: func() {
		_ = l.Close() // no more bridges
		cancel()
		s.end()
	}}, nil
}
