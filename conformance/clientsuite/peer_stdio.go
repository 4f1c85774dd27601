package clientsuite

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/faults"
)

// lines is the server over the lines of one process. It returns when in has
// ended and every handler has returned.
func (p *peer) lines(ctx context.Context, in io.Reader, out io.Writer, process *process) {
	ctx, cancel := context.WithCancel(ctx)
	var jobs sync.WaitGroup
	defer jobs.Wait()
	defer cancel()
	w := &lineWay{out: out, process: process}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			x := &exchange{message: &message{}, peer: p, ctx: ctx, way: w}
			x.parse(bytes.Clone(line))
			if x.isResponse() {
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

// lineWay answers over stdio. Safe for concurrent use.
type lineWay struct {
	mu      sync.Mutex
	out     io.Writer
	process *process
}

func (l *lineWay) send(data []byte) { l.bytes(string(data) + "\n") }

func (l *lineWay) bytes(data string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.out, data) // who left does not read it
}

func (*lineWay) stream()                         {}
func (*lineWay) status(int, http.Header, string) {}
func (l *lineWay) drop()                         { l.process.exit(1) }

// process is one start of the stdio server, seen through its bridge.
type process struct {
	life  int
	tape  *tape
	down  *frames
	conn  net.Conn
	stdin *spool
	// eof is set when the client closed stdin.
	eof atomic.Bool
	// stubborn does not end when stdin does, nor when it is told to.
	stubborn bool
}

// exit ends the program.
func (c *process) exit(status byte) { _ = c.down.write(frameExit, []byte{status}) } // or it has ended

// stderr has the program write to its standard error.
func (c *process) stderr(data []byte) { _ = c.down.write(frameErr, data) } // as above

// watch reads what the bridge tells until it is gone.
func (c *process) watch(r *bufio.Reader) {
	record := &lineRecorder{add: func(line []byte) {
		m := &message{life: c.life}
		m.parse(line)
		c.tape.received(m)
	}}
	for {
		kind, body, err := readFrame(r)
		if err != nil {
			_ = c.stdin.Close() // of a spool: nil
			c.tape.happened(c.life, "gone")
			return
		}
		switch kind {
		case frameIn:
			record.write(body)
			c.stdin.put(body)
		case frameEOF:
			record.flush()
			c.eof.Store(true)
			c.tape.happened(c.life, "eof")
			c.stdin.end()
		case frameSignal:
			c.tape.happened(c.life, string(body))
			if !c.stubborn {
				c.exit(143)
			}
		}
	}
}

// Write is the program's stdout.
func (c *process) Write(p []byte) (int, error) {
	return len(p), c.down.write(frameOut, p)
}

// Close closes the program's stdout.
func (c *process) Close() error { return c.down.write(frameClose, nil) }

// deaf is the program's stdin; who closes it leaves the client unheard.
type deaf struct{ *process }

// Read implements [io.Reader].
func (d deaf) Read(p []byte) (int, error) { return d.stdin.Read(p) }

// Close implements [io.Closer].
func (d deaf) Close() error {
	if !d.eof.Load() {
		_ = d.down.write(frameDeaf, nil) // or it has ended
	}
	return d.stdin.Close()
}

// tapedLines writes down the lines of the program.
type tapedLines struct {
	*process
	record *lineRecorder
}

// Write implements [io.Writer].
func (t tapedLines) Write(p []byte) (int, error) {
	t.record.write(p)
	return t.process.Write(p)
}

// stageStdio waits for bridges. command is what starts one, but for its
// operand.
type stdioStage struct {
	p        *peer
	proxy    *faults.Proxy // nil: none
	token    string
	stubborn bool
	// started, when set, is called before a process is served.
	started func(*process)

	mu    sync.Mutex
	lives int
	open  map[*process]bool
	jobs  sync.WaitGroup
}

// accept serves the bridges of l until it is closed.
func (s *stdioStage) accept(ctx context.Context, l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.jobs.Go(func() { s.bridged(ctx, conn) })
	}
}

func (s *stdioStage) bridged(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }() // the end either way
	r := bufio.NewReader(conn)
	if kind, body, err := readFrame(r); err != nil || kind != frameHello || string(body) != s.token {
		return // a stranger
	}
	c := &process{tape: s.p.tape, down: &frames{w: conn}, conn: conn, stdin: newSpool(), stubborn: s.stubborn}
	s.mu.Lock()
	s.lives++
	c.life = s.lives
	s.open[c] = true
	s.mu.Unlock()
	s.p.tape.happened(c.life, "start")
	if s.started != nil {
		s.started(c)
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

func (s *stdioStage) serve(ctx context.Context, c *process) {
	out := tapedLines{c, &lineRecorder{add: func(line []byte) { s.p.tape.answeredLine(c.life, line) }}}
	if s.proxy == nil {
		s.p.lines(ctx, c.stdin, out, c)
		return
	}
	toServer, fromClient := io.Pipe()
	toProxy, fromServer := io.Pipe()
	var server sync.WaitGroup
	server.Go(func() {
		s.p.lines(ctx, toServer, fromServer, c)
		_ = fromServer.Close() // of a pipe: nil
		_ = toServer.Close()
	})
	_ = s.proxy.Stream(ctx, faults.Ends{From: deaf{c}, To: out}, faults.Ends{From: toProxy, To: fromClient}) // the end is a fault's
	server.Wait()
}

// remaining is how many of the processes have not ended a moment after the
// client did.
func (s *stdioStage) remaining(ctx context.Context) int {
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

// endMoment is how long processes may need to be seen to have ended.
const endMoment = time.Second

// end ends what is left and waits for it.
func (s *stdioStage) end() {
	s.mu.Lock()
	for c := range s.open {
		c.exit(0)
		_ = c.conn.Close() // the end either way
	}
	s.mu.Unlock()
	s.jobs.Wait()
}

// stageStdio listens for the bridges of s.
func stageStdio(ctx context.Context, n network, bridge []string, s *stdioStage) (*stage, error) {
	l, err := n.listen()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s.open = map[*process]bool{}
	s.jobs.Go(func() { s.accept(ctx, l) })
	command := append(append([]string(nil), bridge...), l.Addr().String()+"/"+s.token)
	return &stage{command: command, close: func() {
		_ = l.Close() // no more bridges
		cancel()
		s.end()
	}}, nil
}

// lineRecorder splits bytes into lines. Not safe for concurrent use.
type lineRecorder struct {
	rest []byte
	add  func(line []byte)
}

func (r *lineRecorder) write(p []byte) {
	r.rest = append(r.rest, p...)
	for {
		i := bytes.IndexByte(r.rest, '\n')
		if i < 0 {
			return
		}
		r.add(bytes.Clone(r.rest[:i]))
		r.rest = r.rest[i+1:]
	}
}

func (r *lineRecorder) flush() {
	if len(r.rest) > 0 {
		r.add(bytes.Clone(r.rest))
		r.rest = nil
	}
}

// spool is a pipe that takes what it is given, so that a server that does not
// read keeps nobody from hearing the rest. Safe for concurrent use.
type spool struct {
	mu     sync.Mutex
	data   bytes.Buffer
	ended  bool
	closed bool
	more   chan struct{}
}

func newSpool() *spool { return &spool{more: make(chan struct{}, 1)} }

func (s *spool) put(p []byte) {
	s.mu.Lock()
	if !s.closed && s.data.Len() < maxMessage {
		s.data.Write(p)
	}
	s.mu.Unlock()
	s.wake()
}

// end lets readers have what is there, and then the end.
func (s *spool) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.wake()
}

// Close implements [io.Closer].
func (s *spool) Close() error {
	s.mu.Lock()
	s.ended, s.closed = true, true
	s.mu.Unlock()
	s.wake()
	return nil
}

func (s *spool) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Read implements [io.Reader], for one reader.
func (s *spool) Read(p []byte) (int, error) {
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return 0, errSpoolClosed
		}
		if s.data.Len() > 0 {
			n, _ := s.data.Read(p) // there is something
			s.mu.Unlock()
			return n, nil
		}
		ended := s.ended
		s.mu.Unlock()
		if ended {
			return 0, io.EOF
		}
		<-s.more
	}
}

var errSpoolClosed = errors.New("the client is gone")
