package front

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// defaultGrace bounds how long the end of the input waits for running calls.
const defaultGrace = 10 * time.Second

// Stdio is an [mcp.Transport] over a pair of byte streams, one message a line.
// It is used for one session.
type Stdio struct {
	// In is read until its end. If it is an [io.Closer] it is closed when the
	// session ends, which is what lets a blocked read return.
	In io.Reader
	// Out gets the answers, each in one Write. It is never closed.
	Out io.Writer
	// Methods says which methods are served.
	Methods Methods
	// MaxBytes bounds a line; 0 is [DefaultMaxBytes].
	MaxBytes int
	// Stop, when closed, ends the reading as the end of In does.
	Stop <-chan struct{}
	// Grace bounds the wait for running calls at the end; 0 is 10 s. Calls
	// that take longer are cancelled.
	Grace time.Duration
}

// Connect starts reading.
func (t *Stdio) Connect(context.Context) (mcp.Connection, error) {
	most, grace := t.MaxBytes, t.Grace
	if most == 0 {
		most = DefaultMaxBytes
	}
	if grace == 0 {
		grace = defaultGrace
	}
	c := &stdioConn{
		in: t.In, out: t.Out, methods: t.Methods, max: most, stop: t.Stop, grace: grace,
		lines:  make(chan line),
		closed: make(chan struct{}),
		calls:  make(map[string]bool),
	}
	go c.readLines()
	return c, nil
}

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
	methods Methods
	max     int
	stop    <-chan struct{}
	grace   time.Duration

	lines  chan line // closed at the end of the input
	closed chan struct{}
	once   sync.Once

	writeMu sync.Mutex

	mu      sync.Mutex
	calls   map[string]bool // not yet answered, by id as JSON text; true when cancelled
	owed    int             // answers not yet written, those being written included
	settled chan struct{}   // closed and replaced whenever a call settles
	shake   handshake
	initID  string
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
		if err := c.await(ctx, func() bool { return c.shake != handshakePending }, nil); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case <-c.stop:
			return nil, c.drain(ctx)
		case l, ok := <-c.lines:
			if !ok {
				return nil, c.drain(ctx)
			}
			msg, f := c.take(l)
			if f != nil {
				if err := c.reply(f); err != nil {
					return nil, err
				}
			}
			if msg != nil {
				return msg, nil
			}
		}
	}
}

// drain waits until every call is answered and then reports the end of the
// stream: go-sdk cancels what is still running at that moment and refuses to
// write what it answers.
func (c *stdioConn) drain(ctx context.Context) error {
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
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take turns a line into a message for go-sdk, or into an answer, or neither.
func (c *stdioConn) take(l line) (jsonrpc.Message, *fault) {
	if l.over {
		return nil, tooLarge(idInPart(l.data), c.max)
	}
	m, f := parse(l.data)
	if f != nil {
		return nil, f
	}
	switch m.kind {
	case kindResponse:
		// The ids of our own requests are go-sdk's numbers: it knows them.
		msg, err := jsonrpc.DecodeMessage(l.data)
		if err != nil {
			return nil, nil // nobody waits for a response that cannot be read
		}
		return msg, nil
	case kindNotification:
		if !c.methods(m.method) {
			return nil, nil
		}
		if m.method == "notifications/cancelled" {
			m.params = c.cancelled(m.params)
		}
		return &jsonrpc.Request{Method: m.method, Params: m.params}, nil
	case kindRequest:
		return c.request(m)
	}
	return nil, nil
}

// request turns a request into one whose id is the text of the original, which
// is how the id survives go-sdk unchanged.
func (c *stdioConn) request(m *message) (jsonrpc.Message, *fault) {
	if f := c.admit(m); f != nil {
		return nil, f
	}
	id, err := jsonrpc.MakeID(string(canonicalID(m.id)))
	if err != nil {
		return nil, invalidRequest(m.id, "id", "id must be a string or an integer")
	}
	return &jsonrpc.Request{ID: id, Method: m.method, Params: m.params}, nil
}

// admit decides whether a request may be passed on, and counts it if so.
func (c *stdioConn) admit(m *message) *fault {
	if !c.methods(m.method) {
		return methodFault(m)
	}
	first := m.method == "initialize"
	if first {
		if f := checkInitialize(m); f != nil {
			return f
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shake == handshakeNone && !first && m.method != "ping" {
		return notInitialized(m.id)
	}
	id := string(canonicalID(m.id))
	if _, dup := c.calls[id]; dup {
		// go-sdk would answer neither call's id (it clears it and then takes
		// the request for a notification).
		return invalidRequest(m.id, "duplicate_id", "id is already in use")
	}
	c.calls[id] = false
	c.owed++
	if first && c.shake == handshakeNone {
		c.shake, c.initID = handshakePending, id
	}
	return nil
}

// cancelled notes which call the notification names and writes its id the way
// go-sdk knows it.
func (c *stdioConn) cancelled(params json.RawMessage) json.RawMessage {
	env := map[string]json.RawMessage{}
	if json.Unmarshal(params, &env) != nil || !exactID(env["requestId"]) {
		return params
	}
	id := string(canonicalID(env["requestId"]))
	c.mu.Lock()
	if _, running := c.calls[id]; running && id != c.initID { // initialize cannot be cancelled
		c.calls[id] = true
	}
	c.mu.Unlock()
	env["requestId"], _ = json.Marshal(id)
	out, err := json.Marshal(env)
	if err != nil {
		return params
	}
	return out
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
		return errors.New("front: response to a request that did not come through here")
	}
	// The peer may use the id again as soon as it has read the answer, which
	// is before send returns.
	c.mu.Lock()
	drop := c.calls[id]
	delete(c.calls, id)
	c.mu.Unlock()
	var err error
	if !drop { // the peer does not want the answer of a cancelled call
		err = c.send(encodeResponse(json.RawMessage(id), resp))
	}
	c.settle(id, resp.Error == nil)
	return err
}

func (c *stdioConn) settle(id string, good bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owed--
	if c.shake == handshakePending && id == c.initID {
		c.shake, c.initID = handshakeNone, ""
		if good {
			c.shake = handshakeDone
		}
	}
	if c.settled != nil {
		close(c.settled)
		c.settled = nil
	}
}

func (c *stdioConn) reply(f *fault) error {
	if f.err == nil {
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

// Close ends the session at once.
func (c *stdioConn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		if in, ok := c.in.(io.Closer); ok {
			_ = in.Close() // only to wake the reader
		}
	})
	return nil
}

// SessionID is empty: stdio has one session.
func (c *stdioConn) SessionID() string { return "" }
