package resilience_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestBulkheadSlots(t *testing.T) {
	t.Parallel()
	b := resilience.NewBulkhead(resilience.BulkheadSettings{Limit: 2})
	require.Equal(t, resilience.Common, b.TryEnter(false))
	require.Equal(t, resilience.Common, b.TryEnter(false))
	require.Equal(t, resilience.NoSlot, b.TryEnter(false))
	for range 4 {
		require.Equal(t, resilience.Reserved, b.TryEnter(true), "a lane of four for the protocol")
	}
	require.Equal(t, resilience.NoSlot, b.TryEnter(true))
	b.Release(resilience.NoSlot)
	require.Equal(t, resilience.Usage{Limit: 2, InFlight: 2, Reserved: 4}, b.Usage())
	b.Release(resilience.Common)
	require.Equal(t, resilience.Common, b.TryEnter(true), "the protocol may use the common places too")
	b.Release(resilience.Reserved)
	require.Equal(t, resilience.NoSlot, b.TryEnter(false), "but nobody else the protocol's")

	none := resilience.NewBulkhead(resilience.BulkheadSettings{Limit: 1, Queue: -1, Reserved: -1})
	require.Equal(t, resilience.Common, none.TryEnter(true))
	require.Equal(t, resilience.NoSlot, none.TryEnter(true))
	_, err := none.Join()
	require.ErrorIs(t, err, resilience.ErrFull)
}

// Twice the limit may wait, in order.
func TestBulkheadQueue(t *testing.T) {
	t.Parallel()
	b := resilience.NewBulkhead(resilience.BulkheadSettings{Limit: 1})
	first, err := b.Join()
	require.NoError(t, err)
	require.NoError(t, first.Wait(t.Context(), nil), "there was room")
	var places []*resilience.Place
	for range 2 {
		p, err := b.Join()
		require.NoError(t, err)
		places = append(places, p)
	}
	_, err = b.Join()
	require.ErrorIs(t, err, resilience.ErrFull)
	for i, p := range places {
		require.Equal(t, len(places)-i, b.Usage().Queued)
		b.Release(resilience.Common)
		require.Equal(t, resilience.NoSlot, b.TryEnter(false), "it is the first waiter's")
		require.NoError(t, p.Wait(t.Context(), nil))
	}
	b.Release(resilience.Common)
	require.Equal(t, resilience.Usage{Limit: 1}, b.Usage())
}

// A wait ends with the context, with its time, or when the circuit opens; each at once, and
// nothing is held afterwards.
func TestBulkheadWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := resilience.NewBulkhead(resilience.BulkheadSettings{Limit: 1, Queue: 10})
		require.Equal(t, resilience.Common, b.TryEnter(false))
		join := func() *resilience.Place {
			p, err := b.Join()
			require.NoError(t, err)
			return p
		}
		began := time.Now()
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		time.AfterFunc(time.Second, func() { cancel(gone) })
		require.Equal(t, gone, join().Wait(ctx, time.After(2*time.Second)))
		require.Equal(t, time.Second, time.Since(began))

		require.Equal(t, resilience.ErrQueueTime, join().Wait(t.Context(), time.After(2*time.Second)))
		require.Equal(t, 3*time.Second, time.Since(began))

		open := errors.New("open")
		time.AfterFunc(time.Second, func() { b.Flush(open) })
		var group sync.WaitGroup
		for range 5 {
			p := join()
			group.Go(func() {
				if err := p.Wait(t.Context(), nil); !errors.Is(err, open) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		require.Equal(t, 4*time.Second, time.Since(began))
		require.Equal(t, resilience.Usage{Limit: 1, InFlight: 1}, b.Usage())
		b.Release(resilience.Common)
		require.Zero(t, b.Usage().InFlight)
	})
}

// A request that got its place at the moment its wait ended keeps it: the place is not lost.
func TestBulkheadPlaceIsNotLost(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 200 { // select picks either of the two
		b := resilience.NewBulkhead(resilience.BulkheadSettings{Limit: 1})
		require.Equal(t, resilience.Common, b.TryEnter(false))
		p, err := b.Join()
		require.NoError(t, err)
		b.Release(resilience.Common)
		require.NoError(t, p.Wait(ended, nil))
		require.Equal(t, 1, b.Usage().InFlight)
	}
}

func TestAdaptiveLimit(t *testing.T) {
	t.Parallel()
	b := resilience.NewBulkhead(resilience.BulkheadSettings{Limit: 20, Adaptive: true})
	for range 5 { // the requests of one round trip count once
		b.Drop(epoch, time.Second)
	}
	require.Equal(t, 18, b.Usage().Limit)
	b.Drop(epoch.Add(time.Second-1), time.Second)
	require.Equal(t, 18, b.Usage().Limit)
	now := epoch
	for _, want := range []int{16, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1} {
		now = now.Add(time.Second)
		b.Drop(now, time.Second)
		require.Equal(t, want, b.Usage().Limit)
	}
	b.Grow()
	require.Equal(t, 1, b.Usage().Limit, "the limit is not in use")
	require.Equal(t, resilience.Common, b.TryEnter(false))
	p, err := b.Join()
	require.NoError(t, err)
	b.Grow()
	require.NoError(t, p.Wait(t.Context(), nil), "who waits gets the place that came")
	require.Equal(t, resilience.Usage{Limit: 2, InFlight: 2}, b.Usage())
	for range 100 {
		b.TryEnter(false)
		b.Grow()
	}
	require.Equal(t, 20, b.Usage().Limit, "no further than it began")

	fixed := resilience.NewBulkhead(resilience.BulkheadSettings{Limit: 20})
	fixed.Drop(epoch, time.Second)
	fixed.Grow()
	require.Equal(t, 20, fixed.Usage().Limit)
}

// A random walk: bulkhead and model agree after every step, and places follow the order of the
// queue.
func TestBulkheadModel(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for seed, set := range []resilience.BulkheadSettings{{Limit: 3}, {Limit: 10, Queue: 4, Adaptive: true}, {Limit: 1, Queue: -1, Reserved: 1}} {
		rng := rand.New(rand.NewPCG(uint64(seed), 4))
		b := resilience.NewBulkhead(set)
		limit, queueSize, lane := set.Limit, set.Queue, set.Reserved
		if queueSize == 0 {
			queueSize = 2 * limit
		}
		if lane == 0 {
			lane = 4
		}
		inFlight, reserved := 0, 0
		var queue []*resilience.Place // in order
		var has map[*resilience.Place]bool
		admit := func() {
			has = map[*resilience.Place]bool{}
			for inFlight < limit && len(queue) > 0 {
				has[queue[0]] = true
				queue = queue[1:]
				inFlight++
			}
		}
		taken, now, joined := 0, epoch, 0
		for step := range testmain.Fewer(200_000, 2) {
			switch r := rng.IntN(100); {
			case r < 30:
				protocol := r < 10
				want := resilience.NoSlot
				switch {
				case protocol && reserved < lane:
					want = resilience.Reserved
					reserved++
				case inFlight < limit && len(queue) == 0:
					want = resilience.Common
					inFlight++
				}
				if got := b.TryEnter(protocol); got != want {
					t.Fatalf("seed %d, step %d: slot %d, the model says %d", seed, step, got, want)
				}
			case r < 50:
				p, err := b.Join()
				switch {
				case inFlight < limit && len(queue) == 0:
					inFlight++
					if err != nil || p.Wait(t.Context(), nil) != nil {
						t.Fatalf("seed %d, step %d: no place", seed, step)
					}
				case len(queue) >= queueSize:
					if !errors.Is(err, resilience.ErrFull) {
						t.Fatalf("seed %d, step %d: not full: %v", seed, step, err)
					}
				default:
					joined++
					queue = append(queue, p)
				}
			case r < 75 && inFlight > 0:
				b.Release(resilience.Common)
				inFlight--
				admit()
				for p := range has {
					taken++
					if err := p.Wait(ended, nil); err != nil {
						t.Fatalf("seed %d, step %d: %v", seed, step, err)
					}
				}
			case r < 85 && reserved > 0:
				b.Release(resilience.Reserved)
				reserved--
			case r < 90 && len(queue) > 0: // one waiting request gives up
				i := rng.IntN(len(queue))
				if err := queue[i].Wait(ended, nil); !errors.Is(err, context.Canceled) {
					t.Fatalf("seed %d, step %d: %v", seed, step, err)
				}
				queue = append(queue[:i:i], queue[i+1:]...)
			case r == 95:
				b.Flush(errors.New("open"))
				for _, p := range queue {
					if p.Wait(t.Context(), nil) == nil {
						t.Fatalf("seed %d, step %d: stayed", seed, step)
					}
				}
				queue = nil
			case r == 96 && set.Adaptive:
				now = now.Add(time.Second)
				b.Drop(now, time.Second)
				limit = max(1, limit*9/10)
			case r > 96 && set.Adaptive:
				b.Grow()
				if limit < set.Limit && 2*inFlight >= limit {
					limit++
					admit()
				}
			}
			if got, want := b.Usage(), (resilience.Usage{Limit: limit, InFlight: inFlight, Queued: len(queue), Reserved: reserved}); got != want {
				t.Fatalf("seed %d, step %d: %+v, the model says %+v", seed, step, got, want)
			}
		}
		if queueSize > 0 {
			require.Greater(t, joined, 1000)
			require.Greater(t, taken, 1000)
		}
	}
}

// Concurrently: never more in flight than the limit, and no request is forgotten.
func TestBulkheadConcurrently(t *testing.T) {
	t.Parallel()
	b := resilience.NewBulkhead(resilience.BulkheadSettings{Limit: 4, Queue: 1000})
	var in, served, most atomic.Int64
	var group sync.WaitGroup
	for worker := range 32 {
		group.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for i := range 500 {
				slot := b.TryEnter(false)
				if slot == resilience.NoSlot {
					p, err := b.Join()
					if err != nil {
						t.Error(err)
						return
					}
					if (worker+i)%7 == 0 { // leaves the queue as it is admitted, or before
						expired := make(chan time.Time)
						close(expired)
						err = p.Wait(ctx, expired)
					} else {
						err = p.Wait(ctx, nil)
					}
					if err != nil {
						continue
					}
				}
				now := in.Add(1)
				for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
				}
				served.Add(1)
				in.Add(-1)
				b.Release(resilience.Common)
			}
		})
	}
	group.Wait()
	require.LessOrEqual(t, most.Load(), int64(4))
	require.Positive(t, served.Load())
	require.Equal(t, resilience.Usage{Limit: 4}, b.Usage())
}
