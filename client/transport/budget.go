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
	held  int64  // within the limit
	line  *queue // of answers; nil before the first, for idle clients are to be small
}

// queue is what a budget knows of answers.
type queue struct {
	may     *reading   // that may go beyond the limit
	over    int64      // what it holds there
	waiting []*reading // for room, the oldest first
	turns   uint64
}

// reading is what a reader has taken of a budget for the message it reads. But for
// the budget's queue, it belongs to the reader.
type reading struct {
	x     *exchange
	held  int64         // within the limit
	turn  uint64        // its age; 0 before it has asked for anything
	wants int64         // while it waits
	room  chan struct{} // closed when it has what it wants
}

// SetLimit sets the limit in bytes. 0 means no limit.
func (b *Budget) SetLimit(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = bytes
	b.serve()
}

// fit raises the limit to n, so that one message of that size always finds room.
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

// ask takes n more bytes for an answer. When there is no room for them it returns
// what is closed once they are taken; a caller that stops waiting must call leave.
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

// grant takes n bytes for an answer if it is its turn and there is room.
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

// messageShare is which part of the limit answers leave to what cannot wait, which
// would be refused for as long as answers do.
const messageShare = 8

// serve gives room to answers that wait for it. Requires b.mu.
func (b *Budget) serve() {
	q := b.line
	for q != nil && len(q.waiting) > 0 && b.grant(q.waiting[0], q.waiting[0].wants) {
		close(q.waiting[0].room)
		q.waiting = slices.Delete(q.waiting, 0, 1)
	}
}

// leave ends the wait of an answer. It may have got what it wanted meanwhile.
func (b *Budget) leave(r *reading) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := slices.Index(b.line.waiting, r); at >= 0 {
		b.line.waiting = slices.Delete(b.line.waiting, at, at+1)
		b.serve() // the next may want less
	}
}

// mayIdle is how long nothing may come of the answer that goes beyond the limit:
// others wait for it alone, so that it does not get the whole idle timeout.
const mayIdle = 5 * time.Second

var errStalled = errors.New("the server stopped in the middle of an answer while other calls waited for memory")

// prod gives up the answer that goes beyond the limit if it has stalled.
func (b *Budget) prod() {
	b.mu.Lock()
	var x *exchange
	if b.line.may != nil {
		x = b.line.may.x
	}
	b.mu.Unlock()
	if x == nil || x.id.IsZero() { // a stream without an id is more than one call's
		return
	}
	if paused := x.paused.Load(); !paused && x.idle() >= mayIdle {
		x.cancel(errStalled)
	}
}

// letGo gives back what was taken for an answer.
func (b *Budget) letGo(r *reading) {
	if r.turn == 0 && r.held == 0 {
		return // as without a budget
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

// freeBytes of an answer are not counted: nearly all answers are smaller, and
// those cost nothing and never wait.
const freeBytes = 16 << 10

// Hold takes n more bytes for what an exchange is reading. It waits until there is
// room for them, and reports false when the exchange ends before. An exchange
// without an end does not wait.
func (x *exchange) Hold(n int) bool {
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
		x.touch() // the server was not silent: nobody read what it sent
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
			b.leave(&x.reading)
			return false
		case <-ticker.C:
			b.prod()
		}
	}
}

// letGo gives back what was taken for messages that are handed over.
func (x *exchange) letGo() {
	x.c.handler.Budget.letGo(&x.reading)
}

// counted reads a reply for as long as there is room for it.
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
		if !c.x.Hold(more) {
			return 0, errNoRoom
		}
		c.held += more
	}
	return n, err
}

var errNoRoom = errors.New("there is no room for the rest of the answer")

// noRoom is the failure of an answer that found no room, from its ends. One that
// waited for it failed for what ended its wait, but for the time of the attempt:
// that the server was late is not said there.
func (x *exchange) noRoom(head, tail []byte) *Failure {
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
