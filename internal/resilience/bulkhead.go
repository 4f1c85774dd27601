package resilience

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// Errors of a [Bulkhead]. Neither says anything of the server.
var (
	// ErrFull: the queue has no room.
	ErrFull = errors.New("too many calls wait for this server")
	// ErrQueueTime: the place did not come in time.
	ErrQueueTime = errors.New("too long a wait for a place among the calls to this server")
)

// BulkheadSettings are the sizes of a [Bulkhead]. Zero members but Limit take
// the defaults.
type BulkheadSettings struct {
	// Limit is how many requests are in flight at most; it must be above 0.
	Limit int
	// Queue is how many may wait for a place; 0 means twice the limit, less than
	// 0 none.
	Queue int
	// Reserved is how many requests of the protocol itself (cancel, ping,
	// discover, listen) are in flight besides; 0 means 4, less than 0 none.
	Reserved int
	// Adaptive: [Bulkhead.Drop] and [Bulkhead.Grow] move the limit, between 1 and
	// Limit.
	Adaptive bool
}

// Bulkhead bounds how many requests are in flight to one server, so that a slow
// one does not get everything this program has. Who comes
// first is served first. Its methods may be called from many goroutines at once.
type Bulkhead struct {
	set BulkheadSettings

	mu       sync.Mutex
	limit    int // Limit, or less
	inFlight int
	reserved int
	queue    list.List // of *Place; empty while inFlight is below limit
	dropped  time.Time // when the limit was lowered last
}

// NewBulkhead returns an empty bulkhead.
func NewBulkhead(s BulkheadSettings) *Bulkhead {
	s.Limit = max(s.Limit, 1)
	if s.Queue = max(s.Queue, -1); s.Queue == 0 {
		s.Queue = 2 * s.Limit
	}
	if s.Reserved = max(s.Reserved, -1); s.Reserved == 0 {
		s.Reserved = 4
	}
	return &Bulkhead{set: s, limit: s.Limit}
}

// Slot is a place in flight.
type Slot uint8

const (
	// NoSlot is not a place.
	NoSlot Slot = iota
	// Common is a place for any request.
	Common
	// Reserved is a place for requests of the protocol itself.
	Reserved
)

// TryEnter takes a place if there is one now and nobody waits for it; else it
// returns [NoSlot]. A request of the protocol takes a reserved place first. Each
// place has one [Bulkhead.Leave].
func (b *Bulkhead) TryEnter(protocol bool) Slot {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case protocol && b.reserved < b.set.Reserved:
		b.reserved++
		return Reserved
	case b.inFlight < b.limit:
		b.inFlight++
		return Common
	}
	return NoSlot
}

// Leave gives a place back, to whoever has waited longest. Leaving NoSlot does
// nothing.
func (b *Bulkhead) Leave(s Slot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch s {
	case Reserved:
		b.reserved--
	case Common:
		b.inFlight--
		b.admit()
	case NoSlot:
	}
}

// admit gives free places to those who wait.
func (b *Bulkhead) admit() {
	for b.inFlight < b.limit {
		first := b.queue.Front()
		if first == nil {
			return
		}
		b.inFlight++
		b.queue.Remove(first).(*Place).end(nil)
	}
}

// Place is a place in the queue. It must be waited for, once.
type Place struct {
	b    *Bulkhead
	at   *list.Element // nil once out of the queue
	done chan struct{}
	err  error // set before done is closed
}

// end takes a place out of the queue; b.mu is held.
func (p *Place) end(err error) {
	p.at, p.err = nil, err
	close(p.done)
}

// Join takes a place at the end of the queue, or [ErrFull]. Where there is room
// in flight it is there at once.
func (b *Bulkhead) Join() (*Place, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &Place{b: b, done: make(chan struct{})}
	if b.inFlight < b.limit {
		b.inFlight++
		p.end(nil)
		return p, nil
	}
	if b.queue.Len() >= b.set.Queue {
		return nil, ErrFull
	}
	p.at = b.queue.PushBack(p)
	return p, nil
}

// Wait waits for the place: nil once the caller has [Common]. It ends with ctx,
// with the cause of which it fails then, with tooLong (a timer's channel; who
// waits no more than so long gets [ErrQueueTime]), or by [Bulkhead.Flush]. After
// an error there is nothing to leave.
func (p *Place) Wait(ctx context.Context, tooLong <-chan time.Time) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return p.giveUp(context.Cause(ctx))
	case <-tooLong:
		return p.giveUp(ErrQueueTime)
	}
}

// giveUp leaves the queue. Who has got the place in the same moment keeps it: a
// context that has ended is seen soon enough.
func (p *Place) giveUp(err error) error {
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	if p.at == nil {
		return p.err
	}
	p.b.queue.Remove(p.at)
	p.at = nil
	return err
}

// Flush sends everybody who waits away with err: the circuit has opened.
func (b *Bulkhead) Flush(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for first := b.queue.Front(); first != nil; first = b.queue.Front() {
		b.queue.Remove(first).(*Place).end(err)
	}
}

// Drop lowers an adaptive limit by a tenth: the server refused for load, or was
// too late. That happens at most once in a round trip, which is how long the
// request took: the others that were in flight with it tell the same story.
func (b *Bulkhead) Drop(now time.Time, roundTrip time.Duration) {
	if !b.set.Adaptive {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dropped.IsZero() || now.Sub(b.dropped) >= roundTrip {
		b.dropped = now
		b.limit = max(1, b.limit*9/10)
	}
}

// Grow raises an adaptive limit by one after a success, when at least half of it
// is in use: what is not used was not tried.
func (b *Bulkhead) Grow() {
	if !b.set.Adaptive {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit < b.set.Limit && 2*b.inFlight >= b.limit {
		b.limit++
		b.admit()
	}
}

// Usage is how full a bulkhead is.
type Usage struct{ Limit, InFlight, Queued, Reserved int }

// Usage returns how full the bulkhead is.
func (b *Bulkhead) Usage() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Usage{Limit: b.limit, InFlight: b.inFlight, Queued: b.queue.Len(), Reserved: b.reserved}
}
