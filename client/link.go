package client

import (
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// link is one open way to the server and what was agreed on it. It never
// changes: a new session, a fresh process or a corrected revision makes a new
// one. A call works with the link it began with.
type link struct {
	conn   transport.Conn
	traits transport.Traits
	number uint32 // of the connection: its value may be one that cannot be compared
	agreed *agreement
}

var connections atomic.Uint32

// newLink is the link of a connection on which nothing is agreed yet.
func newLink(conn transport.Conn) *link {
	return &link{conn: conn, traits: conn.Traits(), number: connections.Add(1), agreed: nothingAgreed}
}

// with is the link with another agreement, on the same connection.
func (l *link) with(a *agreement) *link {
	other := *l
	other.agreed = a
	return &other
}

// agreement is what both sides know of each other once the conversation is
// open. It never changes.
type agreement struct {
	version      mcp.Version
	era          mcp.Era
	capabilities mcp.ServerCapabilities
	// declared is false when the server was never asked for its capabilities:
	// nothing is gated then, and errors are mapped (DISC-15).
	declared     bool
	instructions string
	// raw is the server's answer; what else is here shares its memory.
	raw json.RawMessage
	// meta is what the _meta of every request holds in the stateless era:
	// members, without braces (META-04, META-05). nil in the session era.
	meta []byte
	// key is whose results a cache holds (CACHE-04, CACHE-05).
	key toolcache.Key
}

// server is what the server calls itself. It is read when somebody wants to know
// and not kept.
func (a *agreement) server() mcp.Implementation {
	raw := slices.Clone(a.raw) // what is read shares its memory
	switch a.era {
	case mcp.EraSession:
		var res mcp.InitializeResult
		_ = mcp.Unmarshal(raw, &res) // it was read before
		return res.ServerInfo
	case mcp.EraStateless:
		var res mcp.DiscoverResult
		if a.declared {
			_ = mcp.Unmarshal(raw, &res)
		}
		return res.Server()
	case mcp.EraUnknown:
	}
	return mcp.Implementation{}
}

// nothingAgreed is the agreement before there is one.
var nothingAgreed = &agreement{}

// told is what was agreed last, [nothingAgreed] before.
func (c *Client) told() *agreement {
	if l := c.live.Load(); l != nil {
		return l.agreed
	}
	return nothingAgreed
}

// fresh is the link that a handshake is about: the live one, unless a program is
// being started again beside it.
func (c *Client) fresh() *link {
	if s := c.sup.peek(); s != nil {
		if l := s.opening.Load(); l != nil {
			return l
		}
	}
	return c.live.Load()
}

// use makes conn the client's way to the server.
func (c *Client) use(conn transport.Conn) {
	if c.live.Swap(newLink(conn)) == nil {
		close(*c.opened.Swap(nil))
	}
}

// agree makes what a handshake has agreed that of its link.
func (c *Client) agree(a *agreement) {
	if s := c.sup.peek(); s != nil {
		if l := s.opening.Load(); l != nil {
			a.key = c.keyOf(a)
			s.opening.Store(l.with(a))
			return
		}
	}
	for !c.amend(c.live.Load(), a) {
	}
}

// amend makes what was agreed the client's, on the way that is open, should that
// still be from: what was agreed with one program is not true of the next. It
// reports whether it is; who made it from an older one begins anew.
func (c *Client) amend(from *link, a *agreement) bool {
	a.key = c.keyOf(a)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live.Load() != from {
		return false
	}
	c.live.Store(from.with(a))
	return true
}
