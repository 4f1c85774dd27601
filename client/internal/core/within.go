package core

import (
	"context"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Within is the context of an application callback that runs for a call. It ends with the context
// of the call, with the client, and when the time of the call is over. It starts no timer and
// allocates once until Done is called. Its methods may be called from many goroutines at once.
type Within struct {
	context.Context // of the call
	life            context.Context
	until           time.Time // zero for no bound

	mu    sync.Mutex
	waits context.Context // has the values of the call, too; nil until Done is called
	stop  func()          // releases waits
	over  bool            // see End
}

// NewWithin returns a context that ends with ctx, with life, and after left; 0 means no limit.
// Call End when it is no longer used.
func NewWithin(ctx, life context.Context, left time.Duration) *Within {
	w := &Within{Context: ctx, life: life}
	if left > 0 {
		w.until = time.Now().Add(left)
	}
	return w
}

// Deadline implements [context.Context].
func (w *Within) Deadline() (time.Time, bool) {
	until, bounded := w.Context.Deadline()
	if w.until.IsZero() || bounded && until.Before(w.until) {
		return until, bounded
	}
	return w.until, true
}

// Done implements [context.Context].
func (w *Within) Done() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waits == nil {
		w.wait()
	}
	return w.waits.Done()
}

// wait sets waits to a context that ends when w does. Requires w.mu.
func (w *Within) wait() {
	ctx, cancel := context.WithCancelCause(w.Context)
	released := context.AfterFunc(w.life, func() { cancel(jsonrpc.ErrClosed) })
	w.waits, w.stop = ctx, func() {
		released()
		cancel(nil)
	}
	if !w.until.IsZero() {
		var expire context.CancelFunc
		w.waits, expire = context.WithDeadline(ctx, w.until)
		stop := w.stop
		w.stop = func() {
			expire()
			stop()
		}
	}
	if w.over {
		w.stop()
	}
}

// Err implements [context.Context].
func (w *Within) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.waits != nil:
		return w.waits.Err()
	case w.Context.Err() != nil:
		return w.Context.Err()
	case w.over, w.life.Err() != nil:
		return context.Canceled
	case w.expired():
		return context.DeadlineExceeded
	}
	return nil
}

func (w *Within) expired() bool { return !w.until.IsZero() && !time.Now().Before(w.until) }

// Value implements [context.Context].
func (w *Within) Value(key any) any {
	w.mu.Lock()
	from := w.waits
	w.mu.Unlock()
	if from == nil {
		from = w.Context
	}
	return from.Value(key)
}

// End ends the context and releases its resources.
func (w *Within) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over = true; w.waits != nil {
		w.stop()
	}
}

// Cause returns why the context has ended before the call did: [jsonrpc.ErrClosed] for
// the end of the client, [jsonrpc.ErrMaxWait] for the end of the time, else nil.
func (w *Within) Cause() error {
	switch {
	case w.life.Err() != nil:
		return jsonrpc.ErrClosed
	case w.Context.Err() == nil && w.expired():
		return jsonrpc.ErrMaxWait
	}
	return nil
}
