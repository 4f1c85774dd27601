package clientsuite

import (
	"context"
	"net"
)

// network is where the servers of a run are.
type network interface {
	// listen opens a place of its own.
	listen() (net.Listener, error)
	// private listens on a private or reserved address; nil if this machine has none.
	// The address is how a client is told of it.
	private() (l net.Listener, address string)
	// dial reaches one.
	dial(ctx context.Context, network, address string) (net.Conn, error)
}

// loopback is the network of programs.
type loopback struct{}

func (loopback) listen() (net.Listener, error) {
	return net.Listen("tcp", "127.0.0.1:0")
}

func (loopback) private() (net.Listener, string) {
	addresses, _ := net.InterfaceAddrs() // none: the last resort
	for _, a := range addresses {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.To4() == nil || !n.IP.IsPrivate() {
			continue
		}
		if l, err := net.Listen("tcp", net.JoinHostPort(n.IP.String(), "0")); err == nil {
			return l, l.Addr().String()
		}
	}
	// Most systems take the unspecified address for this machine, and it is none of the
	// addresses that a client may reach for development.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, ""
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	address := net.JoinHostPort("0.0.0.0", port)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		_ = l.Close()
		return nil, ""
	}
	_ = conn.Close()
	if first, err := l.Accept(); err == nil {
		_ = first.Close() // it is not to be counted
	}
	return l, address
}

func (loopback) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}
