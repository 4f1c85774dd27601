package jsonrpc

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// turns decides which goroutine reads a stream. As a rule that is the read
// loop. But handing an answer from one goroutine to another costs more than
// all else of a small call, so while one call comes after the other the loop
// rests and each caller reads for itself: a caller that finds nobody reading takes
// the turn, and gives it back with its answer.
//
// The loop looks in every turn meanwhile. A caller that has read for longer
// is interrupted and waits like everybody else from then on, which is what lets
// contexts and timers end it; and when nobody has read, the loop goes on.
type turns struct {
	// stream can interrupt a Read.
	stream readDeadliner
	// waiting is how many calls wait for an answer.
	waiting func() int
	// length is how long a caller reads at least before it is interrupted, and
	// half of how late the loop may be for what comes while no call is under way.
	length time.Duration
	wake   chan struct{} // tells the loop that the turn is its own; capacity 1

	mu          sync.Mutex
	holder      reading
	taken       uint64 // how often a caller took the turn
	interrupted bool   // the deadline of the stream has passed, by our doing
}

type reading uint8

const (
	loopReads reading = iota
	nobodyReads
	callerReads
)

const turnLength = 2 * time.Millisecond

// loneCalls is how many calls in a row have to be alone, and end within so many
// turns, before the loop rests.
const loneCalls = 8

type readDeadliner interface {
	io.Reader
	SetReadDeadline(t time.Time) error
}

// newTurns returns nil for a stream whose Read cannot be interrupted. As in
// newTryWriter only the types of the standard library are known well enough.
func newTurns(in io.Reader, waiting func() int) *turns {
	var f readDeadliner
	switch in := in.(type) {
	case *os.File:
		f = in
	case *net.TCPConn:
		f = in
	case *net.UnixConn:
		f = in
	default:
		return nil
	}
	if f.SetReadDeadline(time.Time{}) != nil {
		return nil
	}
	return &turns{stream: f, waiting: waiting, length: turnLength, wake: make(chan struct{}, 1)}
}

// take makes a caller the reader, if nobody is. The call has to be among those
// that already wait: the caller that gives the turn back counts them.
func (t *turns) take() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holder != nobodyReads {
		return false
	}
	t.holder = callerReads
	t.taken++
	return true
}

// leave ends a caller's turn. The loop goes on when there is more to do: for
// calls that wait, or because more is true.
func (t *turns) leave(more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calm()
	if more || t.waiting() > 0 {
		t.holder = loopReads
		t.wake <- struct{}{} // never blocks: the loop rests until it has taken this
		return
	}
	t.holder = nobodyReads
}

// rest returns when it is the loop's turn again; at once while calls wait.
func (t *turns) rest() {
	t.mu.Lock()
	seen := t.taken
	if t.waiting() > 0 {
		t.mu.Unlock()
		return
	}
	t.holder = nobodyReads
	t.mu.Unlock()
	ticker := time.NewTicker(t.length)
	defer ticker.Stop()
	for {
		select {
		case <-t.wake:
			return
		case <-ticker.C:
			if t.look(&seen) {
				return
			}
		}
	}
}

// look reports whether the loop should read because no caller has since the
// last look, and interrupts one that reads since before that.
func (t *turns) look(seen *uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.taken != *seen:
		*seen = t.taken
	case t.holder == nobodyReads:
		t.holder = loopReads
		return true
	case t.holder == callerReads:
		t.interrupt()
	}
	return false
}

// recall gives the turn back to the loop at once: calls have ended that nobody
// answered, or the connection ends.
func (t *turns) recall() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch t.holder {
	case nobodyReads:
		t.holder = loopReads
		t.wake <- struct{}{} // as in leave
	case callerReads:
		t.interrupt()
	case loopReads:
	}
}

// interrupt ends the Read that is under way. Requires t.mu.
func (t *turns) interrupt() {
	t.interrupted = true
	// An error means that the stream is closed, which ends a Read too.
	_ = t.stream.SetReadDeadline(time.Unix(1, 0))
}

// calm undoes interrupt. Requires t.mu.
func (t *turns) calm() {
	if t.interrupted {
		t.interrupted = false
		_ = t.stream.SetReadDeadline(time.Time{}) // as in interrupt
	}
}
