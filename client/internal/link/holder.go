package link

import (
	"context"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// Holder has the live link, which calls use, and the next link while a handshake opens it. Its
// methods may be called from many goroutines at once.
type Holder struct {
	live   atomic.Pointer[Link]          // nil before the transport is open
	next   atomic.Pointer[Link]          // nil unless one is opening
	opened atomic.Pointer[chan struct{}] // closed when live is set; nil unless AwaitOpen waits

	drops Drops
}

// Drops returns the requests of the server that the client dropped.
func (h *Holder) Drops() *Drops { return &h.drops }

// Load returns the live link, nil before the transport is open.
func (h *Holder) Load() *Link { return h.live.Load() }

// Store replaces the live link.
func (h *Holder) Store(l *Link) { h.live.Store(l) }

// Agreed returns the agreement of the live link, [Nothing] before there is one.
func (h *Holder) Agreed() *Agreement {
	if l := h.live.Load(); l != nil {
		return l.Agreed
	}
	return Nothing
}

// Newest returns the link of the current handshake: the next link if one is opening, else the
// live link.
func (h *Holder) Newest() *Link {
	if l := h.next.Load(); l != nil {
		return l
	}
	return h.live.Load()
}

// Use makes conn the live connection.
func (h *Holder) Use(conn transport.Conn) {
	if h.live.Swap(New(conn)) == nil {
		if opened := h.opened.Swap(nil); opened != nil {
			close(*opened)
		}
	}
}

// AwaitOpen waits until there is a live link. It returns false if ctx ends first.
func (h *Holder) AwaitOpen(ctx context.Context) bool {
	if h.live.Load() != nil {
		return true
	}
	made := make(chan struct{})
	opened := &made
	if !h.opened.CompareAndSwap(nil, opened) {
		opened = h.opened.Load()
	}
	if opened == nil || h.live.Load() != nil { // opened meanwhile
		return true
	}
	select {
	case <-*opened:
		return true
	case <-ctx.Done():
		return false
	}
}

// Begin makes conn the next connection: the handshake uses it, calls do not.
func (h *Holder) Begin(conn transport.Conn) { h.next.Store(New(conn)) }

// Promote makes the next link the live one.
func (h *Holder) Promote() {
	h.drops.Answered() // the new program waits for nothing
	h.live.Store(h.next.Load())
	h.next.Store(nil)
}

// Discard drops the next link and closes its connection.
func (h *Holder) Discard() {
	if l := h.next.Swap(nil); l != nil {
		l.Abort()
	}
}

// Agree sets the result of a handshake on the link that the handshake used.
func (h *Holder) Agree(a *Agreement) {
	if l := h.next.Load(); l != nil {
		h.next.Store(l.With(a))
		return
	}
	for !h.Amend(h.live.Load(), a) {
	}
}

// Amend sets the agreement of the live connection, if the live link is still from: an agreement
// with one program does not hold for the next. It reports whether it did. A caller that derived a
// from an older link starts over.
func (h *Holder) Amend(from *Link, a *Agreement) bool {
	return h.live.CompareAndSwap(from, from.With(a))
}

// GoroutineEnded returns the failure of a request whose transport called [runtime.Goexit].
func GoroutineEnded() *transport.Failure {
	return &transport.Failure{Reason: transport.ReasonCallback, Err: &callback.Error{Name: "Transport"}}
}
