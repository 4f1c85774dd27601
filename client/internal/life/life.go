// Package life is the lifetime of a client: the states of its connection, and the
// goroutines that end with it.
package life

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// State is the state of the connection.
type State uint8

// The states. Only Closed follows Ended, and nothing follows Closed. All others may lead back to
// Ready.
const (
	// Connecting: the handshake is not complete.
	Connecting State = iota
	// Ready: calls use the live link.
	Ready
	// Restarting: the next link is opening, and calls wait for it.
	Restarting
	// Backoff: the client waits before it opens the next link.
	Backoff
	// Ended: the client opens no more links.
	Ended
	// Closed: the application has closed the client.
	Closed
)

var stateNames = [...]string{"connecting", "ready", "restarting", "backoff", "ended", "closed"}

// String returns the name of the state, in lower case.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "unknown"
}

// MarshalText implements [encoding.TextMarshaler] with the names of String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// final reports whether every call fails from now on.
func (s State) final() bool { return s == Ended || s == Closed }

// Life is the lifetime of one client. Call Begin before the other methods, which
// may be called from many goroutines at once.
type Life struct {
	ctx        context.Context
	end        context.CancelFunc
	work       sync.WaitGroup // of all goroutines
	background sync.WaitGroup // of those of Background
	state      atomic.Uint32  // a State; written under mu

	mu    sync.Mutex
	final *ending // nil until Done or AfterDone is called
}

// ending is what happens on a final state.
type ending struct {
	done  chan struct{}
	after []func()
}

// Begin starts the lifetime. It does not depend on a caller's context.
func (l *Life) Begin() {
	l.ctx, l.end = context.WithCancel(context.Background()) //nolint:forbidigo // ends with End
}

// Context returns the context for goroutines and handlers. End ends it.
func (l *Life) Context() context.Context { return l.ctx }

// With returns a context that End ends and that has the values of a call's context. It is for
// work of a call that may outlive the call: credentials may depend on the values. Call end when
// the work is done.
func (l *Life) With(call context.Context) (ctx context.Context, end func()) {
	return context.WithCancel(l.Values(call))
}

// Values is With for work that ends only with the lifetime.
func (l *Life) Values(call context.Context) context.Context { return valued{l.ctx, call} }

// valued is the context of a life with the values of another context.
type valued struct {
	context.Context
	values context.Context
}

// Value implements [context.Context].
func (v valued) Value(key any) any {
	if own := v.Context.Value(key); own != nil {
		return own // also the key with which package context finds a parent
	}
	return v.values.Value(key)
}

// State returns the present state. It takes no lock.
func (l *Life) State() State { return State(l.state.Load()) }

// Closed reports whether the client is closed.
func (l *Life) Closed() bool { return l.State() == Closed }

// Refusal returns the error of a closed client, nil while it is open.
func (l *Life) Refusal() *mcperrors.Error {
	if l.Closed() {
		return ErrClosed()
	}
	return nil
}

// ErrClosed returns the error of a call to a closed client. Nothing was sent.
func ErrClosed() *mcperrors.Error {
	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindClosed, mcperrors.NotSent, "the client is closed", jsonrpc.ErrClosed)
	e.Retryable = false // it stays closed
	return e
}

// Move changes the state, unless the present state is final or the same. It calls moved, if not
// nil, with the previous state. Calls of moved have the order of the transitions; moved must not
// block.
func (l *Life) Move(to State, moved func(from State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := l.State()
	if from == to || from == Closed || (from == Ended && to != Closed) {
		return
	}
	l.state.Store(uint32(to))
	if l.final != nil && to.final() && !from.final() {
		defer l.final.reached()
	}
	if moved != nil {
		moved(from)
	}
}

// Done returns a channel that is closed in a final state.
func (l *Life) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ending().done
}

// AfterDone calls f on a goroutine of its own in a final state.
func (l *Life) AfterDone(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.State().final() {
		go f()
		return
	}
	e := l.ending()
	e.after = append(e.after, f)
}

// ending returns what happens on a final state. Requires l.mu.
func (l *Life) ending() *ending {
	if l.final == nil {
		l.final = &ending{done: make(chan struct{})}
		if l.State().final() {
			l.final.reached()
		}
	}
	return l.final
}

func (e *ending) reached() {
	close(e.done)
	for _, f := range e.after {
		go f()
	}
	e.after = nil
}

// Unless runs f unless the client is closed, and reports whether f ran. The client cannot be
// closed while f runs. f must not block.
func (l *Life) Unless(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Closed() {
		return false
	}
	f()
	return true
}

// Go runs f on a goroutine and reports whether it does: a closed client starts nothing. Close
// ends the context first, then waits for f.
func (l *Life) Go(f func()) bool {
	return l.Unless(func() { l.work.Go(f) })
}

// Background runs f on a goroutine, unless the client is closed. Close waits briefly for f before
// it ends the context.
func (l *Life) Background(f func(ctx context.Context)) {
	l.Unless(func() {
		l.background.Add(1)
		l.work.Go(func() {
			defer l.background.Done()
			f(l.ctx)
		})
	})
}

// Always is Go for queues, which Close stops before it waits. It starts the goroutine even if the
// client is closed.
func (l *Life) Always(f func()) { l.work.Go(f) }

// AwaitBackground waits at most bound for the goroutines of Background.
func (l *Life) AwaitBackground(bound time.Duration) { await(&l.background, bound) }

// End ends the context.
func (l *Life) End() { l.end() }

// Await waits at most bound for all goroutines, and reports whether they have ended.
func (l *Life) Await(bound time.Duration) bool { return await(&l.work, bound) }

func await(group *sync.WaitGroup, bound time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		group.Wait()
	}()
	return Wait(done, bound, nil)
}
