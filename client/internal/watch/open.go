package watch

import (
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// streamWait bounds how long a session waits for the server's answer on its own
// stream: some servers answer there only once they have something to send.
const streamWait = 500 * time.Millisecond

// openStream opens the stream for messages that the server sends on its own in a session, if
// anybody needs it. It waits until the server has it. A request of the server that
// overtakes the stream is lost, and the call that caused it waits forever.
func (w *Watcher) openStream() {
	l := w.set.Links.Load()
	if s, ok := l.Conn.(link.Streamer); ok && l.Agreed.Era == mcp.EraSession && w.set.Client.Needed() {
		life.Wait(s.OpenStream(), streamWait, w.set.Life.Context().Done())
	}
}

var errStreamGap = errors.New("the server's stream was interrupted")

// Interrupted handles an interruption of the session's stream. It never waits.
func (w *Watcher) Interrupted() {
	w.set.Life.Go(func() { w.missed(errStreamGap) })
}

// missed handles that something may have been missed in a session: lists are asked
// for again, and listeners are told.
func (w *Watcher) missed(reason error) {
	w.set.Client.Forget()
	if w.set.Client.Needed() {
		w.set.Emit(event.SubscriptionGap{Reason: reason})
	}
	for _, s := range w.all() {
		s.offer(Change{Gap: true})
	}
	w.set.Client.Unheard(Declared(w.agreed(), AllLists))
}
