package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// turns lets one caller at a time change what is known of a server. What a caller
// begins, such as a login, does not end with the caller: others may wait for it, and a
// person may be on its way.
type serial struct {
	turn chan struct{}
	// longest bounds a turn: a function of the application may not come back.
	longest time.Duration
	after   func() // is called at the end of each turn; nil for nothing

	mu      sync.Mutex
	waiting int                // callers that wait for a turn, or for the end of theirs
	stop    context.CancelFunc // cancels the turn that runs, nil without one
	kept    bool               // the turn goes on when nobody waits for it
	ended   chan struct{}      // closed by cancel, for those that wait for a turn
}

// settling is what a turn may take beside the time that a person has to log in.
const settling = time.Minute

var (
	errTurn   = errors.New("the login took too long")
	errClosed = errors.New("the Authorizer was closed")
	errWithin = errors.New("this was called from a function of the login that it would wait for")
)

func newSerial(patience time.Duration) serial {
	return serial{turn: make(chan struct{}, 1), longest: patience + settling, ended: make(chan struct{})}
}

// inSeries runs f when nobody else changes what is known of the server. It returns when f
// has, or when ctx is over. f then goes on with a context of its own: the deadline of a
// call may pass while a person logs in, and the next call can use the token. Only when
// all callers have been cancelled, the context of f is. f may call the application, which
// may panic.
func inSeries[T any](ctx context.Context, s *server, f func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	t := &s.serial
	if ctx.Value(within{t}) != nil {
		return none, errWithin
	}
	ended := t.join()
	defer t.leave(ctx)
	select {
	case t.turn <- struct{}{}:
	case <-ended:
		return none, errClosed
	case <-ctx.Done():
		return none, ctx.Err()
	}
	own, end := t.begin(ctx)
	if ctx.Err() != nil { // also when both were ready
		end()
		return none, ctx.Err()
	}
	done := make(chan result, 1)
	go func() {
		r := result{err: errors.New("a function of the application ended its goroutine")}
		defer func() {
			if v := recover(); v != nil {
				r = result{err: fmt.Errorf("a function of the application panicked: %v", v)}
			}
			if t.after != nil {
				t.after()
			}
			end()
			done <- r
		}()
		value, err := f(own)
		r = result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// within is the key in the contexts of a turn, which tells those who would wait for
// themselves.
type within struct{ *serial }

// begin starts a turn, whose context has the values of the caller's.
func (t *serial) begin(ctx context.Context) (own context.Context, end func()) {
	own, cancel := context.WithTimeoutCause(context.WithValue(context.WithoutCancel(ctx), within{t}, true), t.longest, errTurn)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop, t.kept = cancel, false
	return own, func() {
		t.mu.Lock()
		t.stop = nil
		t.mu.Unlock()
		cancel()
		<-t.turn
	}
}

func (t *serial) join() (ended <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting++
	return t.ended
}

// leave is called by who waits no longer. A caller whose deadline has passed would have
// waited on.
func (t *serial) leave(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting--
	if t.stop == nil {
		return
	}
	t.kept = t.kept || errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	if t.waiting == 0 && !t.kept {
		t.stop()
	}
}

// idle reports whether nobody has a turn or waits for one.
func (t *serial) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting == 0 && t.stop == nil
}

// cancel ends the turn that runs, and those that wait for one. It waits for a moment: a
// function of the application may not heed its context.
func (t *serial) cancel(moment <-chan struct{}) {
	t.mu.Lock()
	close(t.ended)
	t.ended = make(chan struct{})
	if t.stop != nil {
		t.stop()
	}
	t.mu.Unlock()
	select {
	case t.turn <- struct{}{}:
		<-t.turn
	case <-moment:
	}
}
