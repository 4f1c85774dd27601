package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// serial lets one caller at a time change the state of a server. Work that a caller begins,
// such as a login, does not end with the caller: others may wait for it, and a person may
// be logging in.
type serial struct {
	turn chan struct{}
	// longest bounds a turn: a function of the application may hang.
	longest time.Duration
	after   func() // is called at the end of each turn, unless nil

	mu      sync.Mutex
	waiting int                // callers that wait for a turn or for the end of their own
	stop    context.CancelFunc // cancels the current turn, nil without one
	kept    bool               // the current turn continues without a caller
	ended   chan struct{}      // closed by cancel
}

// settling is the time of a turn in addition to [WithLoginTime].
const settling = time.Minute

var (
	errTurn   = errors.New("the login took too long")
	errClosed = errors.New("the Authorizer was closed")
	errWithin = errors.New("a function that the login calls must not wait for the same login")
)

func newSerial(patience time.Duration) serial {
	return serial{turn: make(chan struct{}, 1), longest: patience + settling, ended: make(chan struct{})}
}

// inSeries runs f while no other caller changes the state of the server. It returns when f
// does or when ctx ends. f has a context of its own and continues then: if the deadline of
// a call passes while a person logs in, the next call can use the token. The context of f
// is cancelled when all callers were cancelled. f may call the application, which may panic.
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

// within is a key in the context of a turn, to detect calls that would wait for themselves.
type within struct{ *serial }

// begin starts a turn. Its context has the values of the caller's.
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

// keep lets the current turn continue without a caller.
func (t *serial) keep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = true
}

func (t *serial) join() (ended <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting++
	return t.ended
}

// leave is called when a caller no longer waits. A turn continues if the deadline of one of
// its callers passed.
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

// idle reports whether there is no turn and no caller waits for one.
func (t *serial) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting == 0 && t.stop == nil
}

// cancel ends the current turn and fails the callers that wait for one. It waits for the end
// of the turn until timeout: a function of the application may ignore its context.
func (t *serial) cancel(timeout <-chan struct{}) {
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
	case <-timeout:
	}
}
