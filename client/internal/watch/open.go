package watch

import (
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// streamWait limits how long a session waits for the server's answer on its stream: some servers
// answer only when they have something to send.
const streamWait = 500 * time.Millisecond

// openStream opens the stream for messages that the server sends on its own in a session, if
// anything needs it. It waits until the stream is open: a request that the server sends earlier
// is lost, and the call that caused it waits forever.
func (w *Watcher) openStream() {
	l := w.Links.Load()
	if s, ok := l.Conn.(link.Streamer); ok && l.Agreed.Era == mcp.EraSession && w.set.Client.Needed() {
		life.Wait(s.OpenStream(), streamWait, w.Life.Context().Done())
	}
}

var errStreamGap = errors.New("the server's stream was interrupted")

// Interrupted handles an interruption of the session's stream. It never blocks.
func (w *Watcher) Interrupted() {
	w.Life.Go(func() { w.missed(errStreamGap) })
}

// missed handles a possible loss of notifications in a session: lists are fetched again, and
// subscriptions get a gap.
func (w *Watcher) missed(reason error) {
	w.set.Client.Forget()
	if w.set.Client.Needed() {
		w.Emit(event.SubscriptionGap{Reason: reason})
	}
	for _, s := range w.all() {
		s.offer(Change{Gap: true})
	}
	w.set.Client.Unheard(Declared(w.agreed(), AllLists))
}
