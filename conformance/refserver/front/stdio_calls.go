package front

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxCalls bounds the calls in flight on one connection.
const maxCalls = 10000

var errForeignResponse = errors.New("front: response to a request that did not come through here")

// pending is a request that is not answered yet.
type pending struct {
	cancelled bool    // the peer does not want the answer
	batch     *batch  // what the answer belongs to, or nil
	single    *single // the session of a request of the stateless era, or nil
	cancel    func()  // ends a direct call, or nil
}

// accept deals with one message whose envelope is good. What go-sdk's session
// is to see goes to the queue; a fault is the answer to the message.
func (c *stdioConn) accept(m *message, raw []byte, b *batch) *fault {
	switch m.kind {
	case kindResponse:
		// The ids of our own requests are go-sdk's numbers: it knows them.
		if msg, err := jsonrpc.DecodeMessage(raw); err == nil { // nobody waits for one that cannot be read
			c.queue = append(c.queue, msg)
		}
	case kindNotification:
		if m.method == "notifications/cancelled" {
			c.cancelled(m)
		} else if heard(c.backend, EraSession, m) && m.check() == nil {
			c.queue = append(c.queue, &jsonrpc.Request{Method: m.method, Params: m.params})
		}
	case kindRequest:
		return c.request(m, b)
	}
	return nil
}

// request starts a request in the era and the way it asks for.
func (c *stdioConn) request(m *message, b *batch) *fault {
	if c.backend.IsDirect(m.method) {
		return c.direct(m, b)
	}
	era := EraSession
	if version, named := m.version(); named {
		if !served(c.backend, version) {
			return unsupported(m.id, version, c.backend.Versions())
		}
		era = EraOf(version)
	}
	if !c.backend.Serves(era, m.method) {
		return methodFault(m)
	}
	if era == EraStateless {
		return c.alone(m, b)
	}
	return c.inSession(m, b)
}

func (c *stdioConn) inSession(m *message, b *batch) *fault {
	first := m.method == "initialize"
	if first {
		if b != nil {
			return invalidRequest(m.id, "batch", "initialize must not be part of a batch")
		}
		if f := checkInitialize(m); f != nil {
			return f
		}
	}
	c.mu.Lock()
	early := c.shake == handshakeNone && !first && m.method != "ping"
	version := c.version
	c.mu.Unlock()
	if early {
		return notInitialized(m.id)
	}
	if f := m.check(); f != nil {
		return f
	}
	// The text of the id is how it survives go-sdk unchanged.
	key := string(canonicalID(m.id))
	id, err := jsonrpc.MakeID(key)
	if err != nil {
		return invalidRequest(m.id, "id", "id must be a string or an integer")
	}
	if f := c.enter(m, &pending{batch: b}); f != nil {
		return f
	}
	c.mu.Lock()
	if first && c.shake == handshakeNone {
		c.shake, c.initID = handshakePending, key
	}
	c.mu.Unlock()
	c.queue = append(c.queue, &jsonrpc.Request{ID: id, Method: m.method, Params: m.params, Extra: c.extra(m, version)})
	return nil
}

// direct runs a tool that is called as a method of its own.
func (c *stdioConn) direct(m *message, b *batch) *fault {
	ctx, cancel := context.WithCancel(c.life)
	if f := c.enter(m, &pending{batch: b, cancel: cancel}); f != nil {
		cancel()
		return f
	}
	call := newCall(m, true)
	c.admit(call, "")
	c.running.Go(func() {
		defer cancel()
		result, err := c.backend.Direct(ctx, call)
		resp := &jsonrpc.Response{Result: result}
		if err != nil {
			resp.Error = err
		}
		_ = c.answer(string(canonicalID(m.id)), resp) // the reader finds out that the peer is gone
	})
	return nil
}

// extra is what go-sdk hands to the handler with the request.
func (c *stdioConn) extra(m *message, version string) *mcp.RequestExtra {
	call := newCall(m, false)
	if call == nil {
		return nil
	}
	c.admit(call, version)
	return &mcp.RequestExtra{Header: http.Header{ticketHeader: {call.ticket()}}}
}

func (c *stdioConn) admit(call *Call, version string) {
	call.Origin.Transport, call.Origin.Session, call.Origin.Version = c.origin.Transport, c.origin.Session, version
	call.named(c.callers...)
	call.Quota = c.backend.Admit(c.life, call)
}

// enter counts a request as running, or refuses it.
func (c *stdioConn) enter(m *message, p *pending) *fault {
	key := string(canonicalID(m.id))
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, dup := c.calls[key]; dup {
		// go-sdk would answer neither call's id (it clears it and then takes
		// the request for a notification).
		return duplicateID(m.id)
	}
	if len(c.calls) >= maxCalls {
		return &fault{id: m.id, err: rpcError(-32000, "too many calls at once", map[string]any{"reason": "overloaded", "limit": maxCalls})}
	}
	c.calls[key] = p
	c.owed++
	if p.batch != nil {
		p.batch.open++
		p.batch.calls++
	}
	return nil
}

// cancelled ends the call that a notification names.
func (c *stdioConn) cancelled(m *message) {
	raw := m.open()["requestId"]
	if !exactID(raw) {
		return
	}
	key := string(canonicalID(raw))
	c.mu.Lock()
	p := c.calls[key]
	if p == nil || key == c.initID { // initialize cannot be cancelled
		c.mu.Unlock()
		return
	}
	p.cancelled = true
	c.mu.Unlock()
	switch {
	case p.single != nil:
		p.single.cancel()
	case p.cancel != nil:
		p.cancel()
	default:
		params, _ := json.Marshal(map[string]string{"requestId": key})
		c.queue = append(c.queue, &jsonrpc.Request{Method: m.method, Params: params})
	}
}

// answer writes the response to the request key, or keeps it for the batch the
// request came in.
func (c *stdioConn) answer(key string, resp *jsonrpc.Response) error {
	// The peer may use the id again as soon as it has read the answer, which
	// is before send returns.
	c.mu.Lock()
	p := c.calls[key]
	delete(c.calls, key)
	c.mu.Unlock()
	if p == nil {
		return nil // answered already
	}
	var b []byte
	if !p.cancelled { // the peer does not want the answer of a cancelled call
		b = encodeResponse(json.RawMessage(key), resp)
	}
	if p.batch != nil {
		if b != nil {
			c.mu.Lock()
			p.batch.answers = append(p.batch.answers, b)
			c.mu.Unlock()
		}
		return c.finish(p.batch)
	}
	var err error
	if b != nil {
		err = c.send(b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shake == handshakePending && key == c.initID {
		c.shake, c.initID = handshakeNone, ""
		if resp.Error == nil {
			c.shake, c.version = handshakeDone, protocolVersion(resp.Result)
		}
	}
	c.settle(1)
	return err
}

// finish notes that one more part of b is done, and sends the answers when it
// was the last. Notifications alone are not answered.
func (c *stdioConn) finish(b *batch) error {
	c.mu.Lock()
	b.open--
	last := b.open == 0
	c.mu.Unlock()
	if !last {
		return nil
	}
	var err error
	if len(b.answers) > 0 {
		err = c.send(join(b.answers))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(b.calls)
	return err
}

// settle notes that the answers of n calls have been written. The caller holds
// the lock.
func (c *stdioConn) settle(n int) {
	c.owed -= n
	if c.settled != nil {
		close(c.settled)
		c.settled = nil
	}
}

func served(b Backend, version string) bool {
	for _, v := range b.Versions() {
		if v == version {
			return true
		}
	}
	return false
}
