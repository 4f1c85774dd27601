package simulation

import (
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// program is the pipe of a program: its end is the end of all its requests.
type program struct{ *conn }

// Traits implements [transport.Conn].
func (*program) Traits() transport.Traits { return transport.Traits{Process: true} }

// Kill kills the program at once.
func (p *program) Kill(error) {
	p.lost.Store(true)
	_ = p.Close()
}

// Exited returns a channel that is closed when the program has ended.
func (p *program) Exited() <-chan struct{} { return p.done }

// Ended returns why the program ended.
func (p *program) Ended() *transport.Failure {
	f := p.ended()
	f.NotSent = true
	return f
}

// Backlog reports that nothing waits: the pipe accepts everything at once.
func (p *program) Backlog() jsonrpc.Backlog {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := jsonrpc.Backlog{Sent: 1}
	if len(p.under) > 0 {
		b.Running = 1
	}
	return b
}
