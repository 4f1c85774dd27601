package front

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxCalls bounds the calls in flight on one connection.
const maxCalls = 10000

// callKey names a request by the session that was current when it came and its id
// as JSON text: a client may use the ids that one before it still waits for.
type callKey struct {
	session *stdioSession
	id      string
}

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
		c.answered(raw)
	case kindNotification:
		if m.method == "notifications/cancelled" {
			c.cancelled(m)
		} else if heard(c.backend, EraSession, m) && m.check() == nil {
			c.notified(m)
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

// notified passes a notification to the current session.
func (c *stdioConn) notified(m *message) {
	c.mu.Lock()
	s := c.current
	if m.method == "notifications/initialized" && s.version != "" {
		s.ready = true
	}
	c.mu.Unlock()
	s.push(&jsonrpc.Request{Method: m.method, Params: m.params})
}

func (c *stdioConn) inSession(m *message, b *batch) *fault {
	if m.method == "initialize" {
		return c.initialize(m, b)
	}
	c.mu.Lock()
	s, version := c.current, c.current.version
	c.mu.Unlock()
	if version == "" && m.method != "ping" {
		return notInitialized(m.id)
	}
	return c.pass(s, m, b, version)
}

// initialize makes the handshake of the first session, or opens a session that takes
// its place: behind a bridge, each client sends its own initialize down the same pipe.
// The specification says nothing about a second one; other SDKs answer it.
func (c *stdioConn) initialize(m *message, b *batch) *fault {
	if b != nil {
		return invalidRequest(m.id, "batch", "initialize must not be part of a batch")
	}
	if f := checkInitialize(m); f != nil {
		return f
	}
	c.mu.Lock()
	if len(c.replaced) >= maxReplaced {
		c.mu.Unlock()
		return &fault{id: m.id, err: rpcError(-32000, "too many sessions have calls in flight", map[string]any{"reason": "overloaded", "limit": maxReplaced})}
	}
	s, again := c.current, c.current.version != ""
	if again {
		s = c.newSession()
		c.start(s)
	}
	c.opening, c.initID = s, string(canonicalID(m.id))
	c.mu.Unlock()
	f := c.pass(s, m, nil, "")
	if f != nil {
		c.mu.Lock()
		c.opening, c.initID = nil, ""
		if again {
			c.replace(s)
		}
		c.mu.Unlock()
	}
	return f
}

// pass hands a request to a session.
func (c *stdioConn) pass(s *stdioSession, m *message, b *batch, version string) *fault {
	if f := m.check(); f != nil {
		return f
	}
	// The text of the id is how it survives go-sdk unchanged.
	key := callKey{s, string(canonicalID(m.id))}
	id, err := jsonrpc.MakeID(key.id)
	if err != nil {
		return invalidRequest(m.id, "id", "id must be a string or an integer")
	}
	if f := c.enter(m, key, &pending{batch: b}); f != nil {
		return f
	}
	s.push(&jsonrpc.Request{ID: id, Method: m.method, Params: m.params, Extra: c.extra(m, version)})
	return nil
}

// key returns the key of a request that goes to no session of the connection's own.
func (c *stdioConn) key(m *message) callKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	return callKey{c.current, string(canonicalID(m.id))}
}

// direct runs a tool that is called as a method of its own.
func (c *stdioConn) direct(m *message, b *batch) *fault {
	ctx, cancel := context.WithCancel(c.life)
	key := c.key(m)
	if f := c.enter(m, key, &pending{batch: b, cancel: cancel}); f != nil {
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
		_ = c.answer(key, resp) // send closes the connection of a peer that is gone
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
func (c *stdioConn) enter(m *message, key callKey, p *pending) *fault {
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
	key.session.owed++
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
	key := callKey{id: string(canonicalID(raw))}
	var p *pending
	c.mu.Lock()
	for _, key.session = range c.sessions() { // the newest call of that id
		if p = c.calls[key]; p != nil {
			p.cancelled = true
			break
		}
	}
	c.mu.Unlock()
	if p == nil {
		return
	}
	switch {
	case p.single != nil:
		p.single.cancel()
	case p.cancel != nil:
		p.cancel()
	default:
		params, _ := json.Marshal(map[string]string{"requestId": key.id})
		key.session.push(&jsonrpc.Request{Method: m.method, Params: params})
	}
}

// answer writes the response to the request key, or keeps it for the batch the
// request came in.
func (c *stdioConn) answer(key callKey, resp *jsonrpc.Response) error {
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
		b = encodeResponse(json.RawMessage(key.id), resp)
	}
	var err error
	switch {
	case p.batch != nil:
		if b != nil {
			c.mu.Lock()
			p.batch.answers = append(p.batch.answers, b)
			c.mu.Unlock()
		}
		err = c.finish(p.batch)
	case b != nil:
		err = c.send(b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.batch == nil {
		c.settle(1)
	}
	key.session.owed--
	if key.session == c.opening && key.id == c.initID {
		c.opened(key.session, resp)
	} else {
		c.retire(key.session)
	}
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
	c.signal()
}

// signal wakes [stdioConn.await]. The caller holds the lock.
func (c *stdioConn) signal() {
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
