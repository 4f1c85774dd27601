package clientsuite

import (
	"context"
	"net"
)

// network is where the servers of a run are.
type network interface {
	// listen opens a place of its own.
	listen() (net.Listener, error)
	// dial reaches one.
	dial(ctx context.Context, network, address string) (net.Conn, error)
}

// loopback is the network of programs.
type loopback struct{}

func (loopback) listen() (net.Listener, error) {
	return net.Listen("tcp", "127.0.0.1:0")
}

func (loopback) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}
