package resilience

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// Errors of a [Bulkhead]. They are no evidence about the server.
var (
	// ErrFull: the queue is full.
	ErrFull = errors.New("too many calls wait for this server")
	// ErrQueueTime: no place became free in time.
	ErrQueueTime = errors.New("no place among the calls to this server became free in time")
)

// BulkheadSettings are the sizes of a [Bulkhead]. Zero members except Limit mean the defaults.
type BulkheadSettings struct {
	// Limit is the maximum number of requests in flight; it must be above 0.
	Limit int
	// Queue is how many may wait for a place; 0 means twice the limit, and a negative value none.
	Queue int
	// Reserved is the number of additional places for requests of the protocol itself (cancel,
	// ping, discover, listen); 0 means 4, and a negative value none.
	Reserved int
	// Adaptive is set if [Bulkhead.Drop] and [Bulkhead.Grow] adjust the limit, between 1 and
	// Limit.
	Adaptive bool
}

// Bulkhead limits the requests in flight to one server, so that a slow server does not use up the
// resources of the program. The queue is first in, first out. Its methods may be called from many
// goroutines at once.
type Bulkhead struct {
	set BulkheadSettings

	mu       sync.Mutex
	limit    int // the current limit, at most Limit
	inFlight int
	reserved int
	queue    list.List // of *Place; empty while inFlight is below limit
	dropped  time.Time // when the limit was last lowered
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

// TryEnter takes a place if one is free; otherwise it returns [NoSlot]. A request of the protocol
// takes a reserved place first. Call [Bulkhead.Release] once for each place.
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

// Release returns a place, and gives it to the request that has waited longest. It does nothing
// for NoSlot.
func (b *Bulkhead) Release(s Slot) {
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

// admit gives free places to waiting requests.
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

// Place is a place in the queue. Call Wait exactly once.
type Place struct {
	b    *Bulkhead
	at   *list.Element // nil once it has left the queue
	done chan struct{}
	err  error // set before done is closed
}

// end completes the wait. Requires b.mu.
func (p *Place) end(err error) {
	p.at, p.err = nil, err
	close(p.done)
}

// Join returns a place at the end of the queue, or [ErrFull]. If a place in flight is free, it
// takes that at once.
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

// Wait waits for the place, and returns nil once the caller has [Common]. It ends early with the
// cause of ctx, with [ErrQueueTime] when tooLong, the channel of a timer, fires, or with the
// error of [Bulkhead.Flush]. After an error there is nothing to release.
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

// giveUp leaves the queue. If the request has just got its place, it keeps that: the caller
// notices the end of its context later.
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

// Flush ends all waits with err, because the circuit has opened.
func (b *Bulkhead) Flush(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for first := b.queue.Front(); first != nil; first = b.queue.Front() {
		b.queue.Remove(first).(*Place).end(err)
	}
}

// Drop lowers an adaptive limit by a tenth: the server refused a request for load, or timed out.
// It does so at most once per round trip, because other requests in flight see the same overload.
// roundTrip is the duration of the request.
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

// Grow raises an adaptive limit by one after a success, if at least half of it is in use: an
// unused limit was not tested.
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

// Usage is the utilization of a bulkhead.
type Usage struct{ Limit, InFlight, Queued, Reserved int }

// Usage returns the utilization of the bulkhead.
func (b *Bulkhead) Usage() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Usage{Limit: b.limit, InFlight: b.inFlight, Queued: b.queue.Len(), Reserved: b.reserved}
}
