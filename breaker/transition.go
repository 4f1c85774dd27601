package breaker

import (
	"log/slog"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// Transition is one change of state.
type Transition struct {
	Name     string
	From, To State
	// Reason is a short text: what happened and, for a failure, the reason given
	// with it.
	Reason string
	// Generation is the generation that begins. At is its time.
	Generation uint64
	At         time.Time
	// ConsecutiveFailures is the run of failures at that time. Opens is how often
	// the breaker has opened.
	ConsecutiveFailures int
	Opens               uint64
	// OpenFor is how long OPEN will refuse calls, 0 for the other states. A
	// throttle may extend it.
	OpenFor time.Duration
}

// publish makes sure that a goroutine publishes all new phases. It runs under the
// lock and never waits.
func (b *Breaker) publish() {
	if b.telling.CompareAndSwap(false, true) {
		go b.tell()
	}
}

// tell publishes every phase after the last published one, in order. Then its
// goroutine ends, so a Breaker needs no Close.
func (b *Breaker) tell() {
	for {
		for ph := b.published.Load().next.Load(); ph != nil; ph = ph.next.Load() {
			b.announce(ph)
			b.published.Store(ph)
		}
		b.telling.Store(false)
		// A phase that began between the last check and the line above saw that
		// telling was true, and relied on this goroutine.
		if b.published.Load().next.Load() == nil || !b.telling.CompareAndSwap(false, true) {
			return
		}
	}
}

func (b *Breaker) announce(ph *phase) {
	t := Transition{
		Name:                b.set.Name,
		From:                ph.from,
		To:                  ph.state,
		Reason:              ph.reason,
		Generation:          ph.gen,
		At:                  ph.since,
		ConsecutiveFailures: int(ph.began),
		Opens:               ph.opens,
	}
	if ph.state == Open {
		t.OpenFor = ph.until.Sub(ph.since)
	}
	if l := b.set.Logger; l != nil {
		log := l.Info
		if ph.state == Open {
			log = l.Warn
		}
		log("circuit breaker changed state",
			slog.String("breaker", t.Name),
			slog.String("from", t.From.String()),
			slog.String("to", t.To.String()),
			slog.String("reason", t.Reason),
			slog.Int("consecutive_failures", t.ConsecutiveFailures),
			slog.Uint64("generation", t.Generation),
			slog.Uint64("opens", t.Opens),
			slog.Time("at", t.At),
			slog.Duration("open_for", t.OpenFor),
		)
	}
	if b.set.OnTransition != nil {
		callback.Aside("OnTransition", func(e *callback.Error) {
			if l := b.set.Logger; l != nil {
				l.Error("a function of the application failed", slog.String("breaker", t.Name), slog.String("error", e.Error()), slog.String("stack", string(e.Stack)))
			}
		}, func() { b.set.OnTransition(t) })
	}
}
