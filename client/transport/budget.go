package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Budget limits the memory that servers can occupy with unfinished answers and
// with messages that wait for handlers. The zero Budget and a nil Budget set no
// limit. It is safe for concurrent use.
//
// A message that does not fit is rejected, the newest first. An answer that
// does not fit waits: it is not read further until there is space or its call
// ends. The oldest answer has priority. If it does not fit although no older
// answer waits, it may exceed the limit by about one message. Only one answer
// at a time may do so, so that two half-read answers never block each other. If
// nothing of that answer arrives for 5 s while others wait, its call fails.
//
// Messages from a pipe do not count until they are complete: there is one at a
// time, and [Limits] bounds it.
type Budget struct {
	mu    sync.Mutex
	limit int64
	held  int64  // bytes within the limit
	line  *queue // nil before the first answer that asks, to keep idle clients small
}

// queue is the state of a budget for answers.
type queue struct {
	may     *reading   // the answer that may exceed the limit
	over    int64      // its bytes beyond the limit
	waiting []*reading // answers that wait for space, the oldest first
	turns   uint64
}

// reading is the share of a budget that a reader has taken for its message. It belongs to the
// reader, except while it waits in the queue.
type reading struct {
	x     *exchange
	held  int64         // bytes within the limit
	turn  uint64        // age; 0 before the first request for space
	wants int64         // requested bytes while it waits
	room  chan struct{} // closed when the bytes are granted
}

// SetLimit sets the limit in bytes. 0 means no limit.
func (b *Budget) SetLimit(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = bytes
	b.serve()
}

// fit raises the limit to n, so that one message of that size always fits.
func (b *Budget) fit(n int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit > 0 {
		b.limit = max(b.limit, int64(n))
		b.serve()
	}
}

// Take takes n bytes from the budget and reports whether that many were free.
// [Budget.Give] returns them.
func (b *Budget) Take(n int) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit > 0 && b.held+int64(n) > b.limit {
		return false
	}
	b.held += int64(n)
	return true
}

// Give returns n bytes to the budget.
func (b *Budget) Give(n int) {
	if b == nil || n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= int64(n)
	b.serve()
}

// Held returns the number of bytes in use.
func (b *Budget) Held() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.line == nil {
		return b.held
	}
	return b.held + b.line.over
}

// Limit returns the limit in bytes, 0 if there is none.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit
}

// ask takes n more bytes for an answer. If they are not free, it returns a channel that is closed
// once they are taken; a caller that stops waiting must call stopWaiting.
func (b *Budget) ask(r *reading, n int) (room <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.line == nil {
		b.line = &queue{}
	}
	q := b.line
	if r.turn == 0 {
		q.turns++
		r.turn = q.turns
	}
	if b.grant(r, int64(n)) {
		return nil
	}
	r.wants, r.room = int64(n), make(chan struct{})
	at, _ := slices.BinarySearchFunc(q.waiting, r.turn, func(w *reading, turn uint64) int { return cmp.Compare(w.turn, turn) })
	q.waiting = slices.Insert(q.waiting, at, r)
	return r.room
}

// grant takes n bytes for an answer if it is its turn and they are free.
func (b *Budget) grant(r *reading, n int64) bool {
	q := b.line
	switch {
	case q.may == r:
		q.over += n
	case len(q.waiting) > 0 && q.waiting[0].turn < r.turn:
		return false
	case b.limit <= 0, b.held+n <= b.limit-b.limit/messageShare:
		r.held += n
		b.held += n
	case q.may == nil:
		q.may = r
		return b.grant(r, n)
	default:
		return false
	}
	return true
}

// messageShare is the part of the limit that answers leave free for messages, which cannot wait
// and would be rejected.
const messageShare = 8

// serve grants space to waiting answers. Requires b.mu.
func (b *Budget) serve() {
	q := b.line
	for q != nil && len(q.waiting) > 0 && b.grant(q.waiting[0], q.waiting[0].wants) {
		close(q.waiting[0].room)
		q.waiting = slices.Delete(q.waiting, 0, 1)
	}
}

// stopWaiting ends the wait of an answer. The space may have been granted meanwhile.
func (b *Budget) stopWaiting(r *reading) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := slices.Index(b.line.waiting, r); at >= 0 {
		b.line.waiting = slices.Delete(b.line.waiting, at, at+1)
		b.serve() // the next answer may need less
	}
}

// mayIdle is how long the answer beyond the limit may receive nothing. It is shorter than the
// idle timeout, because other answers wait for it.
const mayIdle = 5 * time.Second

var errStalled = errors.New("the server stopped in the middle of an answer while other calls waited for memory")

// failStalled fails the answer beyond the limit if it has stalled.
func (b *Budget) failStalled() {
	b.mu.Lock()
	var x *exchange
	if b.line.may != nil {
		x = b.line.may.x
	}
	b.mu.Unlock()
	if x == nil || x.id.IsZero() { // a stream without an id belongs to more than one call
		return
	}
	if paused := x.paused.Load(); !paused && x.idle() >= mayIdle {
		x.cancel(errStalled)
	}
}

// release returns the bytes of an answer.
func (b *Budget) release(r *reading) {
	if r.turn == 0 && r.held == 0 {
		return // the usual case
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= r.held
	if q := b.line; q != nil && q.may == r {
		q.may, q.over = nil, 0
	}
	*r = reading{x: r.x}
	b.serve()
}

// freeBytes of an answer are not counted: almost all answers are smaller, so they never wait.
const freeBytes = 16 << 10

// Reserve takes n more bytes for the message that an exchange is reading. It waits until they are
// free, and returns false if the exchange ends first. An exchange without an end does not wait.
func (x *exchange) Reserve(n int) bool {
	b := x.c.handler.Budget
	if b == nil {
		return true
	}
	if x.endless {
		ok := b.Take(n)
		if ok {
			x.reading.held += int64(n)
		}
		return ok
	}
	room := b.ask(&x.reading, n)
	if room == nil {
		return true
	}
	x.paused.Store(true)
	x.c.paused.Add(1)
	defer func() {
		x.touch() // the server was not silent: its answer was not read
		x.paused.Store(false)
		x.c.paused.Add(-1)
	}()
	ticker := time.NewTicker(mayIdle)
	defer ticker.Stop()
	for {
		select {
		case <-room:
			return true
		case <-x.ctx.Done():
			b.stopWaiting(&x.reading)
			return false
		case <-ticker.C:
			b.failStalled()
		}
	}
}

// releaseBudget returns the bytes of messages that were delivered.
func (x *exchange) releaseBudget() {
	x.c.handler.Budget.release(&x.reading)
}

// counted reads a body while the budget has space for it.
type counted struct {
	x    *exchange
	read int
	held int
}

// Read implements [io.Reader].
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.x.Read(p)
	if c.read += n; c.read > freeBytes+c.held {
		more := max(freeBytes, n)
		if !c.x.Reserve(more) {
			return 0, errNoRoom
		}
		c.held += more
	}
	return n, err
}

var errNoRoom = errors.New("there is no room for the rest of the answer")

// overBudget is the failure of an answer without space; head and tail are its ends. If the wait
// for space was ended by something else, that is the cause. The exception is the maximum time,
// because the server was not late.
func (x *exchange) overBudget(head, tail []byte) *Failure {
	text := fmt.Sprintf("there is no room for the answer: this client holds up to %s of unfinished answers and waiting messages at once",
		jsonrpc.Size(int(x.c.handler.Budget.Limit())))
	if cause := context.Cause(x.ctx); cause != nil && !errors.Is(cause, jsonrpc.ErrMaxWait) {
		f := x.broken(cause)
		f.Err = fmt.Errorf("%w (%s)", f.Err, text)
		return f
	}
	f := x.tooLarge(head, tail)
	f.Reason, f.Err = ReasonNoRoom, errors.New(text)
	return f
}
