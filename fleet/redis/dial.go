package fleetredis

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// maxDial limits a dial. Only the fleet's own goroutines wait for it.
const maxDial = time.Second

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// quietDialer dials with the options, until life ends. For a failed dial it returns a
// connection on which everything fails. Otherwise go-redis would write a line to stderr
// for every failed dial, and dial again in the background.
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
		var conn net.Conn
		err := aside("Redis.Dialer", func() (err error) {
			conn, err = dial(ctx, network, addr)
			return err
		})
		if err != nil {
			return deadConn{err}, nil
		}
		return conn, nil
	}
}

// guardLogin wraps the application's functions that go-redis calls after a dial. A panic
// of one becomes its error.
func guardLogin(o *redis.UniversalOptions) {
	if f := o.OnConnect; f != nil {
		o.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
			return aside("Redis.OnConnect", func() error { return f(ctx, conn) })
		}
	}
	login := o.CredentialsProviderContext
	if f := o.CredentialsProvider; f != nil && login == nil {
		login = func(context.Context) (user, password string, err error) { //nolint:unparam // the other one can fail
			user, password = f()
			return user, password, nil
		}
	}
	if login != nil {
		o.CredentialsProviderContext = func(ctx context.Context) (user, password string, err error) {
			err = aside("Redis.CredentialsProvider", func() (err error) {
				user, password, err = login(ctx)
				return err
			})
			return user, password, err
		}
	}
}

// aside runs a function of the application on its own goroutine, so that a panic or
// [runtime.Goexit] ends only that.
func aside(name string, f func() error) (err error) {
	callback.Aside(name, func(e *callback.Error) { err = e }, func() { err = f() })
	return err
}

// deadConn is the connection of a failed dial.
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
