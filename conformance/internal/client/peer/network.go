package peer

import (
	"context"
	"net"
)

// Network is where the servers of a run listen.
type Network interface {
	// Listen opens a listener.
	Listen() (net.Listener, error)
	// Private listens on a private or reserved address; nil if this machine has none.
	// Clients get address.
	Private() (l net.Listener, address string)
	// Dial connects to a listener.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// Loopback is the network of programs.
type Loopback struct{}

// Listen implements [Network].
func (Loopback) Listen() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// Private implements [Network].
func (Loopback) Private() (net.Listener, string) {
	addresses, _ := net.InterfaceAddrs() // none: use the unspecified address
	for _, a := range addresses {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.To4() == nil || !n.IP.IsPrivate() {
			continue
		}
		if l, err := net.Listen("tcp", net.JoinHostPort(n.IP.String(), "0")); err == nil {
			return l, l.Addr().String()
		}
	}
	// On most systems the unspecified address is this machine. It is not one of the
	// addresses that a client may reach during development.
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
		_ = first.Close() // our own connection does not count
	}
	return l, address
}

// Dial implements [Network].
func (Loopback) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}
