// Package peer is the server that a client under test connects to: a correct one of one
// revision, over streamable HTTP or stdio, except for what a scenario changes. It records
// the traffic.
package peer

import (
	"net/http"
	"sync"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Peer is the server of one scenario. Its handlers run concurrently. Set its fields before
// the client starts.
type Peer struct {
	Revision mcp.Version
	// Handlers replace the default answers, by method; for notifications, too.
	Handlers map[string]func(*Exchange)
	// Gate, when set, sees each exchange first, even without a message, and reports
	// whether it answered.
	Gate func(*Exchange) bool
	// Capabilities and Tools are what the server offers, as JSON.
	Capabilities, Tools string
	// Sessions: the server gives a session id over HTTP. LowerCase: it writes the name
	// of that header in lower case.
	Sessions, LowerCase bool

	tape  *Tape
	mu    sync.Mutex
	asked map[string]chan struct{} // requests of the server that wait for an answer, by id
	count int
}

// New returns a correct server that records on t.
func New(revision mcp.Version, t *Tape) *Peer {
	return &Peer{
		Revision: revision, tape: t, Handlers: map[string]func(*Exchange){}, Sessions: true, asked: map[string]chan struct{}{},
		Capabilities: `{"tools":{},"resources":{},"prompts":{}}`,
		Tools: `[{"name":"echo","description":"Says it again","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"}}}},` +
			`{"name":"write","description":"Writes it down","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]`,
	}
}

func (p *Peer) stateless() bool { return p.Revision.Era() == mcp.EraStateless }

// serve answers one message, or an HTTP request without one.
func (p *Peer) serve(x *Exchange) {
	if p.Gate != nil && p.Gate(x) {
		return
	}
	if x.IsResponse() {
		p.answered(x)
		return
	}
	if h := p.Handlers[x.Method()]; h != nil {
		h(x)
		return
	}
	x.Default()
}

// answered wakes the handler that waits for this response.
func (p *Peer) answered(x *Exchange) {
	p.mu.Lock()
	waiting := p.asked[x.ID()]
	delete(p.asked, x.ID())
	p.mu.Unlock()
	if waiting != nil {
		close(waiting)
	}
	x.Status(http.StatusAccepted, nil, "")
}

// Next counts the calls of Next, from 1.
func (p *Peer) Next() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	return p.count
}
