package simulation

import (
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// program is the pipe of a program: its end is that of all requests on it.
type program struct{ *conn }

// Traits implements [transport.Conn].
func (*program) Traits() transport.Traits { return transport.Traits{Process: true} }

// Kill implements [transport.Program].
func (p *program) Kill(error) {
	p.lost.Store(true)
	_ = p.Close()
}

// Exited implements [transport.Program].
func (p *program) Exited() <-chan struct{} { return p.done }

// Ended implements [transport.Ender].
func (p *program) Ended() *transport.Failure {
	f := p.ended()
	f.NotSent = true
	return f
}

// Backlog implements [transport.Outbox]: the pipe takes everything at once.
func (p *program) Backlog() jsonrpc.Backlog {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := jsonrpc.Backlog{Sent: 1}
	if len(p.under) > 0 {
		b.Running = 1
	}
	return b
}
