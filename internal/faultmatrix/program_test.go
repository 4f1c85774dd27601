package faultmatrix

import (
	"context"
	"net"
	"sync"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/conformance/faults"
)

// program is a server over lines behind a proxy; each Connect starts it again. It replaces a
// child process: other tests cover real processes.
type program struct {
	upstream *upstream
	proxy    *faults.Proxy
	life     context.Context //nolint:containedctx // of the test
	running  sync.WaitGroup
}

// String implements [transport.Transport].
func (*program) String() string { return "program" }

// Connect implements [transport.Transport].
func (p *program) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	ours, theirs := net.Pipe()
	near, far := net.Pipe()
	p.running.Go(func() {
		_ = p.proxy.Stream(p.life, faults.Ends{From: theirs, To: theirs}, faults.Ends{From: near, To: near}) // a fault may end it
	})
	p.running.Go(func() { p.upstream.serve(far, far) })
	conn, err := (&transport.Stream{In: ours, Out: ours}).Connect(ctx, h)
	if err != nil {
		return nil, err
	}
	return child{conn, conn.(counter)}, nil
}

// child is a stream whose other end can be restarted.
type child struct {
	transport.Conn
	counter
}

// counter is a connection that counts, so that the client detects a silent server.
type counter interface {
	Received() uint64
	Late() uint64
}

// Traits implements [transport.Conn].
func (child) Traits() transport.Traits { return transport.Traits{Process: true} }
