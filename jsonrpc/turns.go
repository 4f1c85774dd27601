package jsonrpc

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// turns decides which goroutine reads a stream. Normally that is the read loop. But
// handing an answer from one goroutine to another takes longer than the rest of a
// small call. So while calls come one after the other, the loop rests and each
// caller reads its own answer: it takes the turn if no goroutine reads, and gives it
// back with its answer.
//
// Meanwhile the loop checks once every turn length. It interrupts a caller that has
// read for longer; from then on the caller waits in a select, so that its context
// and timer can end it. If no caller has read, the loop reads again.
type turns struct {
	// stream can interrupt a Read.
	stream readDeadliner
	// waiting is how many calls wait for an answer.
	waiting func() int
	// length is how long a caller may read before it is interrupted. A message that
	// arrives while no call is in flight may be read up to two lengths late.
	length time.Duration
	wake   chan struct{} // gives the loop the turn; capacity 1

	mu          sync.Mutex
	holder      reading
	taken       uint64 // how often a caller took the turn
	interrupted bool   // the stream has a deadline in the past, set by interrupt
}

type reading uint8

const (
	loopReads reading = iota
	nobodyReads
	callerReads
)

const turnLength = 2 * time.Millisecond

// loneCalls is how many calls in a row must be the only one in flight, and end
// within as many turns, before the loop rests.
const loneCalls = 8

type readDeadliner interface {
	io.Reader
	SetReadDeadline(t time.Time) error
}

// newTurns returns nil for a stream whose Read cannot be interrupted. It accepts
// only types of the standard library, for the reason given at newTryWriter.
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

// take makes a caller the reader if no goroutine reads. The call must already be in
// flight, because leave counts the calls that wait.
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

// leave ends a caller's turn. The loop reads again if calls wait or more is true.
func (t *turns) leave(more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clearInterrupt()
	if more || t.waiting() > 0 {
		t.holder = loopReads
		t.wake <- struct{}{} // never blocks: the loop rests until it has taken this
		return
	}
	t.holder = nobodyReads
}

// rest returns when the loop must read again: at once if calls wait.
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

// look reports whether the loop should read, because no caller has taken the turn
// since the last look. It interrupts a caller that reads since before the last look.
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

// recall gives the turn back to the loop at once, because calls ended without an
// answer or the connection ends.
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

// interrupt ends the current Read. Requires t.mu.
func (t *turns) interrupt() {
	t.interrupted = true
	// An error means that the stream is closed, which also ends a Read.
	_ = t.stream.SetReadDeadline(time.Unix(1, 0))
}

// clearInterrupt undoes interrupt. Requires t.mu.
func (t *turns) clearInterrupt() {
	if t.interrupted {
		t.interrupted = false
		_ = t.stream.SetReadDeadline(time.Time{}) // as in interrupt
	}
}
