// Package inbox queues messages of a server for the application's handlers, which may be slow: in
// order, within limits, and never on the goroutine that reads.
package inbox

import (
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// Limits of the items that wait for a slow handler, by number and bytes. The oldest are dropped
// first.
const (
	MaxItems = 1024
	MaxBytes = 16 << 20
)

// Item is an item of a queue.
type Item interface {
	// Size estimates the memory of the item, in bytes.
	Size() int
	// Drop is called if no handler will receive the item.
	Drop()
}

// Host has the functions of the client that queues need.
type Host[T Item] struct {
	// Budget limits the memory of the items.
	Budget *transport.Budget
	// Go runs f on a goroutine that Close waits for.
	Go func(f func())
	// Deliver calls the handlers for one item.
	Deliver func(T)
	// Dropped reports how many items were dropped since the last report.
	Dropped func(count int)
}

// Queue passes items to handlers, in order. Its goroutine runs only while items wait, so that an
// idle client has none. Its methods may be called from many goroutines at once.
type Queue[T Item] struct {
	host Host[T]

	mu      sync.Mutex
	items   []sized[T]
	bytes   int // size of all items
	dropped int
	running bool
	stopped bool
	last    uint64 // number of the newest item
	waits   []*wait
}

// wait is a call of Await.
type wait struct {
	upto uint64        // the number of the last item that it waits for
	over chan struct{} // closed when that item is delivered or dropped
}

// sized is an item with its share of the budget.
type sized[T Item] struct {
	item  T
	bytes int
}

// New returns an empty queue.
func New[T Item](h Host[T]) *Queue[T] { return &Queue[T]{host: h} }

// Put queues one item. It never blocks.
func (q *Queue[T]) Put(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		item.Drop()
		return
	}
	size := item.Size()
	for len(q.items) > 0 && (len(q.items) >= MaxItems || q.bytes+size > MaxBytes) {
		q.take().Drop()
		q.dropped++
	}
	if q.host.Budget.Take(size) {
		q.items = append(q.items, sized[T]{item, size})
		q.bytes += size
		q.last++
	} else {
		q.dropped++
		item.Drop()
	}
	if !q.running {
		q.running = true
		q.host.Go(q.run) // under the lock, so that it does not run after Stop
	}
}

// Busy reports whether items wait or are being delivered.
func (q *Queue[T]) Busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running
}

// Await waits until the items that were put before are delivered or dropped, and no longer than
// until stop is closed. Do not call it from Deliver.
func (q *Queue[T]) Await(stop <-chan struct{}) {
	q.mu.Lock()
	if !q.running || q.stopped {
		q.mu.Unlock()
		return
	}
	w := &wait{upto: q.last, over: make(chan struct{})}
	q.waits = append(q.waits, w)
	q.mu.Unlock()
	select {
	case <-w.over:
	case <-stop:
		q.mu.Lock()
		defer q.mu.Unlock()
		q.waits = slices.DeleteFunc(q.waits, func(other *wait) bool { return other == w })
	}
}

// settle ends the waits for items up to this number. Requires q.mu.
func (q *Queue[T]) settle(upto uint64) {
	for len(q.waits) > 0 && q.waits[0].upto <= upto {
		close(q.waits[0].over)
		q.waits = q.waits[1:]
	}
}

func (q *Queue[T]) run() {
	callback.InTurn(q.host.Go, func() bool {
		item, dropped, ok := q.next()
		if dropped > 0 {
			q.host.Dropped(dropped)
		}
		if ok {
			q.host.Deliver(item)
		}
		return ok
	})
}

func (q *Queue[T]) next() (item T, dropped int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	dropped, q.dropped = q.dropped, 0
	q.settle(q.last - uint64(len(q.items))) // nothing is being delivered now
	if len(q.items) == 0 {
		q.items, q.running = nil, false
		return item, dropped, false
	}
	return q.take(), dropped, true
}

// take removes the oldest item. Requires q.mu.
func (q *Queue[T]) take() T {
	oldest := q.items[0]
	q.items[0] = sized[T]{}
	q.items = q.items[1:]
	q.bytes -= oldest.bytes
	q.host.Budget.Give(oldest.bytes)
	return oldest.item
}

// Stop drops all items, and all later ones.
func (q *Queue[T]) Stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return
	}
	q.stopped = true
	for _, s := range q.items {
		s.item.Drop()
	}
	q.host.Budget.Give(q.bytes)
	q.items, q.bytes = nil, 0
	q.settle(q.last)
}
