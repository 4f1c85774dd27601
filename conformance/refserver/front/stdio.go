package front

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/family"
)

// defaultGrace bounds how long the end of the input waits for running calls.
const defaultGrace = 10 * time.Second

// Stdio is an [mcp.Transport] over a pair of byte streams, one message a line.
// It is used once: its own session is that of the session era, and each request
// of the stateless era gets one by Single (decisions 5).
type Stdio struct {
	// In is read until its end. If it is an [io.Closer] it is closed when the
	// session ends, which is what lets a blocked read return.
	In io.Reader
	// Out gets the answers, each in one Write. It is never closed.
	Out io.Writer
	// Backend is the server behind.
	Backend Backend
	// Single serves a transport on a session of its own and returns when that
	// has ended.
	Single func(context.Context, mcp.Transport) error
	// MaxBytes bounds a line; 0 is [DefaultMaxBytes].
	MaxBytes int
	// Stop, when closed, ends the reading as the end of In does.
	Stop <-chan struct{}
	// Grace bounds the wait for running calls at the end; 0 is 10 s. Calls
	// that take longer are cancelled.
	Grace time.Duration

	running sync.WaitGroup // direct calls and single sessions

	// What [SSE] has in place of lines: messages by feed, an end at once by gone,
	// and who calls.
	feed    chan line
	gone    <-chan struct{}
	origin  family.Origin
	callers []string
}

// Connect starts reading.
func (t *Stdio) Connect(ctx context.Context) (mcp.Connection, error) {
	most, grace := t.MaxBytes, t.Grace
	if most == 0 {
		most = DefaultMaxBytes
	}
	if grace == 0 {
		grace = defaultGrace
	}
	c := &stdioConn{
		in: t.In, out: t.Out, backend: t.Backend, single: t.Single, running: &t.running,
		max: most, stop: t.Stop, grace: grace, gone: t.gone,
		origin: t.origin, callers: append(t.callers, cmp.Or(t.origin.Transport, stdioName)),
		lines:  t.feed,
		closed: make(chan struct{}),
		calls:  make(map[string]*pending),
	}
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx)) // Close is its end
	if c.lines == nil {
		c.origin.Transport, c.lines = stdioName, make(chan line)
		go c.readLines()
	}
	return c, nil
}

const stdioName = "stdio"

// Wait returns when nothing that was started for a request runs any more. It
// comes after the end of the session.
func (t *Stdio) Wait() { t.running.Wait() }

// handshake is how far a session has come.
type handshake uint8

const (
	handshakeNone    handshake = iota // no initialize yet, or one that failed
	handshakePending                  // initialize is being answered
	handshakeDone                     // initialize was answered with a result
)

type stdioConn struct {
	in      io.Reader
	out     io.Writer
	backend Backend
	single  func(context.Context, mcp.Transport) error
	running *sync.WaitGroup
	max     int
	stop    <-chan struct{}
	gone    <-chan struct{} // nil where only the end of the lines tells
	grace   time.Duration
	origin  family.Origin // of every call, but for what the call says itself
	callers []string      // who calls where the call does not say
	life    context.Context
	end     context.CancelFunc

	lines  chan line         // closed at the end of the input
	queue  []jsonrpc.Message // of a batch, to be read by go-sdk; Read's own
	closed chan struct{}
	once   sync.Once

	writeMu sync.Mutex

	mu      sync.Mutex
	calls   map[string]*pending // not yet answered, by id as JSON text
	owed    int                 // answers not yet written, those being written included
	settled chan struct{}       // closed and replaced whenever a call settles
	shake   handshake
	initID  string
	version string // negotiated
}

func (c *stdioConn) readLines() {
	defer close(c.lines)
	r := newLineReader(c.in, c.max)
	for {
		l, err := r.next()
		if err != nil {
			return
		}
		select {
		case c.lines <- l:
		case <-c.closed:
			return
		}
	}
}

// Read returns the next message that go-sdk can deal with, answering all
// others itself. It holds back what follows `initialize` until that has been
// answered, so that the gate never has to guess.
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.queue) > 0 {
			msg := c.queue[0]
			c.queue = c.queue[1:]
			return msg, nil
		}
		if err := c.await(ctx, func() bool { return c.shake != handshakePending }, nil); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case <-c.gone:
			return nil, io.EOF
		case <-c.stop:
			return nil, c.drain(ctx)
		case l, ok := <-c.lines:
			if !ok {
				return nil, c.drain(ctx)
			}
			if err := c.take(l); err != nil {
				return nil, err
			}
		}
	}
}

// drain waits until every call is answered and then reports the end of the
// stream: go-sdk cancels what is still running at that moment and refuses to
// write what it answers. Subscriptions end now, with their result (CHG-08).
func (c *stdioConn) drain(ctx context.Context) error {
	c.endSubscriptions()
	t := time.NewTimer(c.grace)
	defer t.Stop()
	if err := c.await(ctx, func() bool { return c.owed == 0 }, t.C); err != nil {
		return err
	}
	return io.EOF
}

// await returns nil once ready holds under the lock or the time is up, and an
// error when the connection ends before that.
func (c *stdioConn) await(ctx context.Context, ready func() bool, timeout <-chan time.Time) error {
	for {
		c.mu.Lock()
		if ready() {
			c.mu.Unlock()
			return nil
		}
		if c.settled == nil {
			c.settled = make(chan struct{})
		}
		changed := c.settled
		c.mu.Unlock()
		select {
		case <-changed:
		case <-timeout:
			return nil
		case <-c.closed:
			return io.EOF
		case <-c.gone:
			return io.EOF
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take deals with a line: what go-sdk is to see goes to the queue. An error is
// one of the output.
func (c *stdioConn) take(l line) error {
	if l.over {
		return c.reply(tooLarge(idInPart(l.data), c.max))
	}
	if isBatch(l.data) && c.batches() {
		return c.takeBatch(l.data)
	}
	m, f := parse(l.data)
	if f == nil {
		f = c.accept(m, l.data, nil)
	}
	return c.reply(f)
}

// batches reports whether an array is welcome: where no handshake was made, and
// in the one revision that has them (tools.md §3.1).
func (c *stdioConn) batches() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shake == handshakeNone || c.version == revisionWithBatches
}

func (c *stdioConn) takeBatch(raw []byte) error {
	parts, f := split(raw)
	if f != nil {
		return c.reply(f)
	}
	b := &batch{open: 1} // for this loop, so that early answers do not end it
	for _, part := range parts {
		m, f := parse(part)
		if f == nil {
			f = c.accept(m, part, b)
		}
		if f != nil && f.err != nil {
			c.mu.Lock()
			b.answers = append(b.answers, f.encode())
			c.mu.Unlock()
		}
	}
	return c.finish(b)
}

func (c *stdioConn) reply(f *fault) error {
	if f == nil || f.err == nil {
		return nil
	}
	return c.send(f.encode())
}

// send writes one line in one Write, so that no other writer of the same
// stream can come between its parts.
func (c *stdioConn) send(b []byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	_, err := c.out.Write(append(b, '\n'))
	return err
}

// Write sends an answer, a request or a notification of the server.
func (c *stdioConn) Write(_ context.Context, msg jsonrpc.Message) error {
	resp, ok := msg.(*jsonrpc.Response)
	if !ok {
		b, err := jsonrpc.EncodeMessage(msg)
		if err != nil {
			return err
		}
		return c.send(b)
	}
	id, ok := resp.ID.Raw().(string)
	if !ok {
		return errForeignResponse
	}
	return c.answer(id, resp)
}

// Close ends the session at once.
func (c *stdioConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.end()
		if in, ok := c.in.(io.Closer); ok {
			_ = in.Close() // only to wake the reader
		}
	})
	return nil
}

// SessionID is empty: stdio has one session.
func (c *stdioConn) SessionID() string { return "" }

// protocolVersion reads the revision in the result of `initialize`.
func protocolVersion(result json.RawMessage) string {
	var r struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(result, &r) // go-sdk has written it
	return r.ProtocolVersion
}
