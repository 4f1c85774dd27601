package link

import (
	"context"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// Holder has the live link, which calls use, and the next one while a handshake
// opens it beside the live one. Its methods may be called from many goroutines
// at once.
type Holder struct {
	live   atomic.Pointer[Link]          // nil before the transport is open
	next   atomic.Pointer[Link]          // nil unless it is being opened
	opened atomic.Pointer[chan struct{}] // closed when live is set; nil while nobody waits

	drops Drops
}

// Drops returns the requests of the server that the client dropped.
func (h *Holder) Drops() *Drops { return &h.drops }

// Load returns the live link, nil before the transport is open.
func (h *Holder) Load() *Link { return h.live.Load() }

// Store replaces the live link.
func (h *Holder) Store(l *Link) { h.live.Store(l) }

// Agreed returns what was agreed last, [Nothing] before.
func (h *Holder) Agreed() *Agreement {
	if l := h.live.Load(); l != nil {
		return l.Agreed
	}
	return Nothing
}

// Newest returns the link a handshake is about: the next one while it is being
// opened, else the live one.
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

// AwaitOpen waits until there is a live link. It reports false when ctx ends
// first.
func (h *Holder) AwaitOpen(ctx context.Context) bool {
	if h.live.Load() != nil {
		return true
	}
	made := make(chan struct{})
	opened := &made
	if !h.opened.CompareAndSwap(nil, opened) {
		opened = h.opened.Load()
	}
	if opened == nil || h.live.Load() != nil { // since the first look
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
	h.drops.Answered() // the next program waits for nothing
	h.live.Store(h.next.Load())
	h.next.Store(nil)
}

// Discard drops the next link and closes its connection.
func (h *Holder) Discard() {
	if l := h.next.Swap(nil); l != nil {
		l.Abort()
	}
}

// Agree sets what a handshake agreed, on the link it is about.
func (h *Holder) Agree(a *Agreement) {
	if l := h.next.Load(); l != nil {
		h.next.Store(l.With(a))
		return
	}
	for !h.Amend(h.live.Load(), a) {
	}
}

// Amend sets what was agreed on the live connection if the live link is still
// from: what was agreed with one program does not hold for the next. It reports
// whether it did. A caller that derived a from an older link starts over.
func (h *Holder) Amend(from *Link, a *Agreement) bool {
	return h.live.CompareAndSwap(from, from.With(a))
}

// GoroutineEnded is the failure of a request whose goroutine the transport ended
// with [runtime.Goexit].
func GoroutineEnded() *transport.Failure {
	return &transport.Failure{Reason: transport.ReasonCallback, Err: &callback.Error{Name: "Transport"}}
}
