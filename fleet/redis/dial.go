package fleetredis

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxDial bounds a dial. Nobody waits for it but the fleet's own goroutines.
const maxDial = time.Second

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// quietDialer dials as the options say, within life. A dial that fails yields a
// connection on which everything fails: go-redis writes a line to the process's
// stderr for every dial that fails, and goes on dialling in the background, both
// of which are ours to bound.
func quietDialer(life context.Context, o redis.UniversalOptions) dialer {
	dial := o.Dialer
	if dial == nil {
		plain := &net.Dialer{Timeout: o.DialTimeout}
		dial = plain.DialContext
		if o.TLSConfig != nil {
			dial = (&tls.Dialer{NetDialer: plain, Config: o.TLSConfig}).DialContext
		}
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return deadConn{err}, nil
		}
		return conn, nil
	}
}

// deadConn is a connection that could not be made.
type deadConn struct{ err error }

// Read implements [net.Conn].
func (c deadConn) Read([]byte) (int, error) { return 0, c.err }

// Write implements [net.Conn].
func (c deadConn) Write([]byte) (int, error) { return 0, c.err }

// Close implements [net.Conn].
func (deadConn) Close() error { return nil }

// LocalAddr implements [net.Conn].
func (deadConn) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements [net.Conn].
func (deadConn) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// SetDeadline implements [net.Conn].
func (deadConn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements [net.Conn].
func (deadConn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements [net.Conn].
func (deadConn) SetWriteDeadline(time.Time) error { return nil }
