package transport_test

import "github.com/mainstay-mcp/mainstay/client/transport"

// The optional methods of a transport or a connection, as listed in the documentation of the
// package.
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
