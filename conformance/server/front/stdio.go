package front

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// defaultGrace bounds how long the end of the input waits for running calls.
const defaultGrace = 10 * time.Second

// Stdio serves a pair of byte streams, one message a line. Each successful
// `initialize` opens a session of the session era, which takes the place of the
// one before it, and each request of the stateless era gets a session of its own.
// A Stdio is used once.
type Stdio struct {
	// In is read until its end. If it is an [io.Closer] it is closed at the end,
	// which is what lets a blocked read return.
	In io.Reader
	// Out gets the answers, each in one Write. It is never closed.
	Out io.Writer
	// Backend is the server behind.
	Backend Backend
	// Session serves a transport on a session of its own and returns when that
	// has ended.
	Session func(context.Context, mcp.Transport) error
	// MaxBytes bounds a line; 0 is [DefaultMaxBytes].
	MaxBytes int
	// Stop, when closed, ends the reading as the end of In does.
	Stop <-chan struct{}
	// Grace bounds the wait for running calls at the end; 0 is 10 s. Calls
	// that take longer are cancelled.
	Grace time.Duration

	// What [SSE] has in place of lines: messages by feed, and who calls.
	feed    chan line
	origin  family.Origin
	callers []string
}

// Serve serves until In ends, Stop is closed or ctx is done, and returns when
// nothing that was started for a request runs any more. The first two let running
// calls finish, for up to Grace. The error is one of writing to Out, or of Session.
func (t *Stdio) Serve(ctx context.Context) error {
	c := &stdioConn{
		in: t.In, out: t.Out, backend: t.Backend, serve: t.Session,
		max: cmp.Or(t.MaxBytes, DefaultMaxBytes), stop: t.Stop, grace: cmp.Or(t.Grace, defaultGrace),
		origin: t.origin, callers: append(t.callers, cmp.Or(t.origin.Transport, stdioName)),
		lines:  t.feed,
		closed: make(chan struct{}),
		calls:  make(map[callKey]*pending),
	}
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx)) // close is its end
	if c.lines == nil {
		c.origin.Transport, c.lines = stdioName, make(chan line)
		go c.readLines()
	}
	c.current = c.newSession()
	c.start(c.current)
	c.read(ctx)
	c.close(nil)
	c.running.Wait()
	return c.failure
}

const stdioName = "stdio"

type stdioConn struct {
	in      io.Reader
	out     io.Writer
	backend Backend
	serve   func(context.Context, mcp.Transport) error
	running sync.WaitGroup // sessions and direct calls
	max     int
	stop    <-chan struct{}
	grace   time.Duration
	origin  family.Origin // of every call, but for what the call says itself
	callers []string      // who calls where the call does not say
	life    context.Context
	end     context.CancelFunc

	lines   chan line // closed at the end of the input
	closed  chan struct{}
	once    sync.Once
	failure error // why the connection was closed; set before closed is

	writeMu sync.Mutex

	mu      sync.Mutex
	calls   map[callKey]*pending // not yet answered
	owed    int                  // answers not yet written, those being written included
	settled chan struct{}        // closed and replaced whenever a call settles or a session ends

	current  *stdioSession   // the session that requests go to
	opening  *stdioSession   // the session that is answering initialize, or nil
	initID   string          // the id of that request
	replaced []*stdioSession // sessions before current whose calls still run, the newest first
	ending   int             // replaced sessions without calls that have not ended yet
	serial   int             // of the last session
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

// read passes on the messages that a session can deal with and answers all others
// itself. It holds back what follows `initialize` until that has been answered, so
// that the gate never has to guess, and until the session before has ended, so that
// any number of them leaves nothing behind.
func (c *stdioConn) read(ctx context.Context) {
	for {
		if !c.await(ctx, func() bool { return c.opening == nil && c.ending == 0 }, nil) {
			return
		}
		c.confirm()
		select {
		case <-ctx.Done():
			return
		case <-c.closed:
			return
		case <-c.stop:
			c.drain(ctx)
			return
		case l, ok := <-c.lines:
			if !ok {
				c.drain(ctx)
				return
			}
			c.take(l)
		}
	}
}

// drain waits until every call is answered: go-sdk cancels what is still running
// when its session ends and refuses to write what it answers. Subscriptions end
// now, with their result.
func (c *stdioConn) drain(ctx context.Context) {
	c.endSubscriptions()
	t := time.NewTimer(c.grace)
	defer t.Stop()
	c.await(ctx, func() bool { return c.owed == 0 }, t.C)
}

// await returns once ready holds under the lock or the time is up. It returns
// false when the connection ends before that.
func (c *stdioConn) await(ctx context.Context, ready func() bool, timeout <-chan time.Time) bool {
	for {
		c.mu.Lock()
		if ready() {
			c.mu.Unlock()
			return true
		}
		if c.settled == nil {
			c.settled = make(chan struct{})
		}
		changed := c.settled
		c.mu.Unlock()
		select {
		case <-changed:
		case <-timeout:
			return true
		case <-c.closed:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// take deals with a line.
func (c *stdioConn) take(l line) {
	if l.over {
		c.reply(tooLarge(idInPart(l.data), c.max))
		return
	}
	if isBatch(l.data) && c.batches() {
		c.takeBatch(l.data)
		return
	}
	m, f := parse(l.data)
	if f == nil {
		f = c.accept(m, l.data, nil)
	}
	c.reply(f)
}

// batches reports whether an array is welcome: where no handshake was made, and
// in the one revision that has them.
func (c *stdioConn) batches() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.version == "" || c.current.version == revisionWithBatches
}

func (c *stdioConn) takeBatch(raw []byte) {
	parts, f := split(raw)
	if f != nil {
		c.reply(f)
		return
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
	_ = c.finish(b) // send has closed the connection
}

func (c *stdioConn) reply(f *fault) {
	if f != nil && f.err != nil {
		_ = c.send(f.encode()) // send has closed the connection
	}
}

// send writes one line in one Write, so that no other writer of the same
// stream can come between its parts. An output that fails ends the connection.
func (c *stdioConn) send(b []byte) error {
	c.writeMu.Lock()
	_, err := c.out.Write(append(b, '\n'))
	c.writeMu.Unlock()
	if err != nil {
		c.close(err)
	}
	return err
}

// close ends the connection and all its sessions at once.
func (c *stdioConn) close(reason error) {
	c.once.Do(func() {
		c.failure = reason
		close(c.closed)
		c.end()
		if in, ok := c.in.(io.Closer); ok {
			_ = in.Close() // only to wake the reader
		}
	})
}

// protocolVersion reads the revision in the result of `initialize`.
func protocolVersion(result json.RawMessage) string {
	var r struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(result, &r) // go-sdk has written it
	return r.ProtocolVersion
}
