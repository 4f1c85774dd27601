// Package link is the way to the server that an attempt uses: an open
// connection, what was agreed on it, and one guarded exchange over it.
package link

import (
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Link is one open connection and what was agreed on it. It is immutable: a new
// session, a restarted program or a corrected revision makes a new Link. An
// attempt uses one Link from beginning to end.
type Link struct {
	Conn   transport.Conn
	Traits transport.Traits
	// Number tells connections apart: Conn may hold a value that cannot be compared.
	Number uint32
	Agreed *Agreement
}

var connections atomic.Uint32

// New returns the link of a connection on which nothing is agreed yet.
func New(conn transport.Conn) *Link {
	return &Link{Conn: conn, Traits: conn.Traits(), Number: connections.Add(1), Agreed: Nothing}
}

// With returns a link on the same connection with another agreement.
func (l *Link) With(a *Agreement) *Link {
	other := *l
	other.Agreed = a
	return &other
}

// StatelessHTTP reports whether each request is an HTTP exchange of its own, in
// the stateless era. Then headers repeat parts of the request, and the end of
// the exchange cancels it.
func (l *Link) StatelessHTTP() bool {
	return l.Agreed.Era == mcp.EraStateless && l.Traits.Exchanges
}

// Abort closes the connection without the usual farewell. Its errors are
// ignored: the connection is not used any more.
func (l *Link) Abort() {
	if a, ok := l.Conn.(interface{ Abort() error }); ok {
		_ = a.Abort()
	}
	_ = l.Conn.Close()
}

// Ended returns how the connection ended. Call it once Conn.Done is closed.
func (l *Link) Ended() *transport.Failure {
	if e, ok := l.Conn.(transport.Ender); ok {
		return e.Ended()
	}
	return &transport.Failure{Reason: transport.ReasonLost, NotSent: true, Err: jsonrpc.ErrPeerClosed}
}
