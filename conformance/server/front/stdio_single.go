package front

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/server/tasks"
)

// listenMethod is the one request of the stateless era that has no end of its own.
const listenMethod = "subscriptions/listen"

// single is the transport of one request of the stateless era over stdio. A
// shared session would keep the first caller's capabilities.
type single struct {
	inlet

	conn *stdioConn
	key  callKey
	req  *jsonrpc.Request
}

// alone starts a request on a session of its own.
func (c *stdioConn) alone(m *message, b *batch) *fault {
	if b != nil {
		return invalidRequest(m.id, "batch", "a request of the stateless era must not be part of a batch")
	}
	if f := m.check(); f != nil {
		return f
	}
	ids, f := subscribed(c.backend, m)
	if f != nil {
		return f
	}
	life := c.life
	if ids != nil {
		life = tasks.WithNews(life, &tasks.News{IDs: ids, Subscription: m.id, Send: c.send})
	}
	id, ok := canonical(m.id)
	if !ok {
		return inexactID(m.id)
	}
	req := &jsonrpc.Request{ID: id, Method: m.method, Params: m.params}
	s := &single{
		inlet: inlet{in: make(chan jsonrpc.Message, 2), done: make(chan struct{}), closed: c.closed}, // room for the request and its cancellation
		conn:  c, key: c.key(m), req: req,
	}
	p := &pending{single: s}
	if f := c.enter(m, s.key, p); f != nil {
		return f
	}
	version, _ := m.version()
	req.Extra = c.extra(m, version)
	s.in <- req
	c.running.Go(func() {
		err := c.serve(life, s)
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		// Nobody is left to answer if that has not happened yet. The id may be
		// another request's by now.
		c.mu.Lock()
		open := c.calls[s.key] == p
		c.mu.Unlock()
		if open {
			_ = c.answer(s.key, &jsonrpc.Response{Error: fmt.Errorf("internal error: the session ended: %w", err)})
		}
	})
	return nil
}

// endSubscriptions ends every subscription as if its peer had, but with a result.
func (c *stdioConn) endSubscriptions() {
	c.mu.Lock()
	var all []*single
	for _, p := range c.calls {
		if p.single != nil && p.single.req.Method == listenMethod {
			all = append(all, p.single)
		}
	}
	c.mu.Unlock()
	for _, s := range all {
		s.cancel()
	}
}

// cancel tells the session that its request is cancelled. Once is enough.
func (s *single) cancel() {
	params, _ := json.Marshal(map[string]any{"requestId": s.req.ID.Raw()}) // a string or a number
	select {
	case s.in <- &jsonrpc.Request{Method: "notifications/cancelled", Params: params}:
	default:
	}
}

// Connect makes s its own connection.
func (s *single) Connect(context.Context) (mcp.Connection, error) { return s, nil }

// Write sends what belongs to the request; its answer is the last of it.
func (s *single) Write(_ context.Context, msg jsonrpc.Message) error {
	switch msg := msg.(type) {
	case *jsonrpc.Response:
		err := s.conn.answer(s.key, msg)
		_ = s.Close()
		return err
	case *jsonrpc.Request:
		if msg.IsCall() { // a server asks nothing in this era
			return fmt.Errorf("front: %s is no request of the stateless era", msg.Method)
		}
	}
	b, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	return s.conn.send(b)
}
