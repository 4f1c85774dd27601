package faults

import (
	"slices"
	"time"
)

// Call is what happened to one message of the client, as the server saw it. A test compares
// it with the client's report. A repeated call has an entry for each attempt.
type Call struct {
	// Seq counts from 1 in the order of arrival.
	Seq int `json:"seq"`
	// At is the time since New.
	At time.Duration `json:"at"`
	// ID is the request id as JSON text; empty in a notification.
	ID string `json:"id,omitempty"`
	// Method is the JSON-RPC method, or the HTTP method where there is none.
	Method string `json:"method,omitempty"`
	// Tool is the name in tools/call.
	Tool string `json:"tool,omitempty"`
	// Key is the member of _meta whose name is or ends in "/idempotencyKey".
	Key string `json:"key,omitempty"`
	// Session is the Mcp-Session-Id header.
	Session string `json:"session,omitempty"`
	// Fault is the id of its fault, if any.
	Fault string `json:"fault,omitempty"`
	// Sent: the server received the whole message and may have executed it.
	Sent bool `json:"sent"`
	// Answered: the server answered, at least in part.
	Answered bool `json:"answered"`
	// Delivered: a whole answer goes to the client, from the server or from the proxy. It
	// is set when the write begins and cleared if the write fails. A fault that spoils the
	// text of the answer leaves it unset unless the right answer follows.
	Delivered bool `json:"delivered"`
}

// history is guarded by the proxy's mutex.
type history struct {
	calls []*Call
	seq   int
}

// History returns the messages so far in the order of arrival. It has an entry for each
// message since [Proxy.Forget]. The caller owns the slice.
func (p *Proxy) History() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Call, len(p.history.calls))
	for i, c := range p.history.calls {
		all[i] = *c
	}
	return all
}

// Executions counts the messages with this idempotency key that the server received and
// may have executed.
func (p *Proxy) Executions(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, c := range p.history.calls {
		if c.Sent && c.Key == key {
			n++
		}
	}
	return n
}

// Forget drops the history, except messages that the server has not answered. A message
// that is forwarded later gets its old place.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.history.calls = slices.Clip(slices.DeleteFunc(p.history.calls, func(c *Call) bool { return !c.Sent || c.Answered }))
}

// arrived adds a message.
func (p *Proxy) arrived(m *message, session string, h *hit) *Call {
	c := &Call{ID: string(m.ID), Method: m.Method, Tool: m.tool, Key: m.key, Session: session}
	if h != nil {
		c.Fault = h.Fault
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.history.seq++
	c.Seq, c.At = p.history.seq, time.Since(p.began)
	p.history.calls = append(p.history.calls, c)
	p.journal.call(c)
	return c
}

// note updates an entry.
func (p *Proxy) note(c *Call, change func(*Call)) {
	if c == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before := c.Sent
	change(c)
	if c.Sent && !before {
		p.history.enter(c)
	}
	p.journal.call(c)
}

// enter restores an entry that was forgotten.
func (h *history) enter(c *Call) {
	at, there := slices.BinarySearchFunc(h.calls, c.Seq, func(c *Call, seq int) int { return c.Seq - seq })
	if !there {
		h.calls = slices.Insert(h.calls, at, c)
	}
}

func sent(c *Call)      { c.Sent = true }
func answered(c *Call)  { c.Answered = true }
func delivered(c *Call) { c.Delivered = true }

// deliver writes an answer. It updates the entry first, so that a test that has the answer
// finds it there, and restores it if the write fails.
func (p *Proxy) deliver(c *Call, write func() bool) bool {
	p.note(c, delivered)
	if write() {
		return true
	}
	p.note(c, func(c *Call) { c.Delivered = false })
	return false
}
