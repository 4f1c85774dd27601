package transport

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Budget bounds the bytes that a server can make this side hold at the same time,
// in answers that are not complete and in messages that wait for handlers. What
// would go beyond it is refused, the newest first. The zero Budget, and a nil one,
// bound nothing. Its methods may be called from many goroutines at once.
type Budget struct{ limit, held atomic.Int64 }

// SetLimit sets how many bytes there are, 0 for no bound.
func (b *Budget) SetLimit(bytes int64) { b.limit.Store(bytes) }

// fit raises the limit to n, so that one message of that size always finds room.
func (b *Budget) fit(n int) {
	if b == nil {
		return
	}
	for limit := b.limit.Load(); limit > 0 && limit < int64(n); limit = b.limit.Load() {
		b.limit.CompareAndSwap(limit, int64(n))
	}
}

// Take takes n bytes, and reports whether they were left. [Budget.Give] gives
// them back.
func (b *Budget) Take(n int) bool {
	if b == nil {
		return true
	}
	for {
		held, limit := b.held.Load(), b.limit.Load()
		if limit > 0 && held+int64(n) > limit {
			return false
		}
		// What does not fit is never added: others would find it there.
		if b.held.CompareAndSwap(held, held+int64(n)) {
			return true
		}
	}
}

// Give gives back n bytes that were taken.
func (b *Budget) Give(n int) {
	if b != nil && n != 0 {
		b.held.Add(int64(-n))
	}
}

// Held returns how many bytes are taken.
func (b *Budget) Held() int64 {
	if b == nil {
		return 0
	}
	return b.held.Load()
}

// Limit returns how many bytes there are in all, 0 for no bound.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit.Load()
}

// freeBytes of an answer are not counted: nearly all answers are smaller, and
// those cost nothing and are never refused.
const freeBytes = 16 << 10

// Hold takes n more bytes for what an exchange is reading.
func (x *exchange) Hold(n int) bool {
	if !x.c.handler.Budget.Take(n) {
		return false
	}
	x.held += n
	return true
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
		if more := max(freeBytes, n); !c.x.Hold(more) {
			return 0, errNoRoom
		}
		c.held += max(freeBytes, n)
	}
	return n, err
}

var errNoRoom = errors.New("there is no room for the rest of the answer")

// letGo gives back what was taken for messages that are handed over.
func (x *exchange) letGo() {
	x.c.handler.Budget.Give(x.held)
	x.held = 0
}

// noRoom is the failure of an answer that finds no room, from its ends.
func (x *exchange) noRoom(head, tail []byte) *Failure {
	f := x.tooLarge(head, tail)
	f.Reason = ReasonNoRoom
	f.Err = fmt.Errorf("there is no room for the answer: this client holds up to %s of unfinished answers and waiting messages at once",
		jsonrpc.Size(int(x.c.handler.Budget.Limit())))
	return f
}
