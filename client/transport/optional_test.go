package transport_test

import "github.com/mainstay-mcp/mainstay/client/transport"

// What the client looks for in a transport or a connection, as the documentation of the
// package lists it.
type (
	identified interface{ Identity() string }
	streamer   interface{ OpenStream() (said <-chan struct{}) }
	ender      interface{ Ended() *transport.Failure }
	process    interface {
		Kill(reason error)
		Exited() <-chan struct{}
	}
	counter interface {
		Received() uint64
		Late() uint64
	}
)
