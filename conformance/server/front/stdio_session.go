package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxReplaced bounds the replaced sessions whose calls still run. A client that
// goes on to initialize beyond that is refused.
const maxReplaced = 100

var errForeignResponse = errors.New("front: response to a request that did not come through here")

// inlet is the reading half of a session's transport: messages go in by push, and
// the session ends when it is closed.
type inlet struct {
	in     chan jsonrpc.Message
	done   chan struct{}
	closed <-chan struct{} // of the connection
	once   sync.Once
}

// push hands msg to the session, unless that has ended.
func (i *inlet) push(msg jsonrpc.Message) {
	select {
	case i.in <- msg:
	case <-i.done:
	case <-i.closed:
	}
}

// Read returns the next message, and [io.EOF] once the session is to end.
func (i *inlet) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-i.in:
		return msg, nil
	case <-i.done:
		return nil, io.EOF
	case <-i.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close ends the session.
func (i *inlet) Close() error {
	i.once.Do(func() { close(i.done) })
	return nil
}

// SessionID is empty: a pipe needs none.
func (*inlet) SessionID() string { return "" }

// stdioSession is the transport of one session of the session era on a connection:
// the one that requests go to, or one before it whose calls still run. The lock of
// the connection guards its fields.
type stdioSession struct {
	inlet

	conn   *stdioConn
	serial int // 0 for the first session of the connection

	version  string // negotiated; empty before the answer to initialize
	ready    bool   // notifications/initialized has come, to this session or the one before
	confirm  bool   // that notification is still to be passed on
	replaced bool
	owed     int // answers not yet written
}

func (c *stdioConn) newSession() *stdioSession {
	s := &stdioSession{
		inlet:  inlet{in: make(chan jsonrpc.Message), done: make(chan struct{}), closed: c.closed},
		conn:   c,
		serial: c.serial,
	}
	c.serial++
	return s
}

// start runs s. The end of a session that was not replaced, by the server for
// instance, ends the connection.
func (c *stdioConn) start(s *stdioSession) {
	c.running.Go(func() {
		err := c.serve(c.life, s)
		_ = s.Close() // so that a pending push ends
		c.mu.Lock()
		replaced := s.replaced
		if replaced {
			c.ending--
			c.signal()
		}
		c.mu.Unlock()
		if !replaced {
			c.close(err)
		}
	})
}

// opened takes the answer to the `initialize` that opens s. A session that was
// opened takes the place of the current one, which ends when its calls are
// answered; one that was not leaves everything unchanged. The caller holds the lock.
func (c *stdioConn) opened(s *stdioSession, resp *jsonrpc.Response) {
	c.opening, c.initID = nil, ""
	old := c.current
	if resp.Error == nil {
		s.version = protocolVersion(resp.Result)
		c.current = s
	}
	switch {
	case s == old: // the first session: its handshake, or a refused attempt at it
	case resp.Error == nil:
		s.ready, s.confirm = old.ready, old.ready
		c.replace(old)
	default:
		c.replace(s)
	}
}

// replace notes that s gets no further requests. The caller holds the lock.
func (c *stdioConn) replace(s *stdioSession) {
	s.replaced = true
	c.replaced = slices.Insert(c.replaced, 0, s)
	c.retire(s)
}

// retire ends a replaced session whose calls are answered. The caller holds the
// lock.
func (c *stdioConn) retire(s *stdioSession) {
	if !s.replaced || s.owed > 0 {
		return
	}
	c.replaced = slices.DeleteFunc(c.replaced, func(r *stdioSession) bool { return r == s })
	c.ending++
	_ = s.Close()
}

// confirm tells a session that replaced a complete one that the handshake is
// complete. Behind a bridge it is another client that opens it, and those that the
// bridge serves already go on calling meanwhile.
func (c *stdioConn) confirm() {
	c.mu.Lock()
	s := c.current
	confirm := s.confirm
	s.confirm = false
	c.mu.Unlock()
	if confirm {
		s.push(&jsonrpc.Request{Method: "notifications/initialized"})
	}
}

// Connect makes s its own connection.
func (s *stdioSession) Connect(context.Context) (mcp.Connection, error) { return s, nil }

// Write sends an answer, a request or a notification of the server.
func (s *stdioSession) Write(_ context.Context, msg jsonrpc.Message) error {
	switch m := msg.(type) {
	case *jsonrpc.Response:
		id, ok := m.ID.Raw().(string)
		if !ok {
			return errForeignResponse
		}
		return s.conn.answer(callKey{s, id}, m)
	case *jsonrpc.Request:
		if msg = s.outgoing(m); msg == nil {
			return nil
		}
	}
	b, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return s.conn.send(b)
}

// outgoing returns r as it goes over the wire, nil for what is not to be sent: the
// notifications of a replaced session that belong to none of its calls. The session
// that has its place sends its own, by its own log level and subscriptions.
func (s *stdioSession) outgoing(r *jsonrpc.Request) jsonrpc.Message {
	switch {
	case r.IsCall():
		out := *r
		out.ID = s.wireID(r.ID)
		return &out
	case r.Method == "notifications/cancelled":
		return s.cancellation(r)
	case strings.HasSuffix(r.Method, "/list_changed"), r.Method == "notifications/resources/updated", r.Method == "notifications/message":
		s.conn.mu.Lock()
		defer s.conn.mu.Unlock()
		if s.replaced {
			return nil
		}
	}
	return r
}

// wireID returns the id of one of the server's own requests on the wire. Every
// session of go-sdk counts from 1, so those after the first add their own number:
// the answer has to find the session that asked.
func (s *stdioSession) wireID(id jsonrpc.ID) jsonrpc.ID {
	if s.serial == 0 {
		return id
	}
	out, err := jsonrpc.MakeID(fmt.Sprintf("%d.%v", s.serial, id.Raw()))
	if err != nil { // a string is an id
		return id
	}
	return out
}

// cancellation returns r with the id that the request it names has on the wire.
func (s *stdioSession) cancellation(r *jsonrpc.Request) jsonrpc.Message {
	var params map[string]json.RawMessage
	var n int64
	if s.serial == 0 || json.Unmarshal(r.Params, &params) != nil || json.Unmarshal(params["requestId"], &n) != nil {
		return r
	}
	params["requestId"], _ = json.Marshal(fmt.Sprintf("%d.%d", s.serial, n)) // strings, and JSON that was read
	out := *r
	out.Params, _ = json.Marshal(params)
	return &out
}

// answered passes the answer to one of the server's requests to the session that
// asked. Nobody waits for one that names no such request.
func (c *stdioConn) answered(raw []byte) {
	msg, err := jsonrpc.DecodeMessage(raw)
	resp, ok := msg.(*jsonrpc.Response)
	if err != nil || !ok {
		return
	}
	serial := 0
	if text, named := resp.ID.Raw().(string); named {
		of, number, _ := strings.Cut(text, ".")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return
		}
		if serial, err = strconv.Atoi(of); err != nil {
			return
		}
		if resp.ID, err = jsonrpc.MakeID(float64(n)); err != nil {
			return
		}
	}
	c.mu.Lock()
	var asked *stdioSession
	for _, s := range c.sessions() {
		if s.serial == serial {
			asked = s
		}
	}
	c.mu.Unlock()
	if asked != nil {
		asked.push(resp)
	}
}

// sessions returns the current session and those before it whose calls still run,
// the newest first. The caller holds the lock.
func (c *stdioConn) sessions() []*stdioSession {
	return append([]*stdioSession{c.current}, c.replaced...)
}
