package breaker_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// With 64 goroutines there are never two probes at once, and every probe is alone
// in its generation.
func TestProbesNeverOverlap(t *testing.T) {
	t.Parallel()
	b := breaker.New(breaker.Settings{FailureThreshold: 2, Cooldown: time.Nanosecond})
	var running, probes, overlaps atomic.Int64
	var wg sync.WaitGroup
	for g := range uint64(64) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(g, 5))
			for range testmain.Fewer(4_000, 10) {
				if b.Peek() != nil && rng.IntN(2) == 0 {
					continue
				}
				p, err := b.Acquire()
				if err != nil {
					continue
				}
				if p.Probe() {
					probes.Add(1)
					if running.Add(1) != 1 {
						overlaps.Add(1)
					}
					runtime.Gosched() // lets the others run in between
					running.Add(-1)
				}
				p.Settle([]breaker.Verdict{breaker.Success, breaker.Failure, breaker.Failure, breaker.Neutral, breaker.Tentative, breaker.Fatal}[rng.IntN(6)])
				p.Settle(breaker.Neutral) // must not give a second place back
			}
		})
	}
	wg.Wait()
	require.Zero(t, overlaps.Load())
	require.Positive(t, probes.Load())
	s := b.Snapshot()
	require.Equal(t, s.Requests, s.Successes+s.Failures+s.Neutrals)
	require.False(t, s.ProbeInFlight)
}

// All operations at once: for the race detector, and to check that the totals and the chain
// of transitions are consistent.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []breaker.Transition
	b := breaker.New(breaker.Settings{FailureThreshold: 2, Cooldown: time.Nanosecond, ProbeLease: time.Microsecond, OnTransition: func(tr breaker.Transition) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, tr)
	}})
	var wg sync.WaitGroup
	for g := range uint64(64) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(g, 6))
			for range 300 {
				switch rng.IntN(20) {
				case 0:
					b.Trip("silence").Retract("a byte came")
				case 1:
					b.Throttle(time.Duration(rng.IntN(10))*time.Microsecond, "busy")
				case 2:
					b.Suspect(time.Duration(rng.IntN(10)-2) * time.Microsecond)
				case 3:
					b.Force(breaker.Mode(rng.IntN(3)))
				case 4:
					b.Force(breaker.Auto)
				case 5:
					_, _, _ = b.Snapshot(), b.Healthy(), b.Peek()
				default:
					if p, err := b.Acquire(); err == nil {
						p.Lease(time.Microsecond)
						p.SettleFor(breaker.Verdict(rng.IntN(5)), "some")
					}
				}
			}
		})
	}
	wg.Wait()
	b.Force(breaker.Auto)
	require.Eventually(t, func() bool { // the last leases end meanwhile
		s := b.Snapshot()
		return s.Requests == s.Successes+s.Failures+s.Neutrals
	}, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return uint64(len(seen)) == b.Snapshot().Generation-1
	}, 10*time.Second, time.Millisecond)
	legal := map[[2]breaker.State]bool{
		{breaker.Closed, breaker.Open}: true, {breaker.Open, breaker.HalfOpen}: true,
		{breaker.HalfOpen, breaker.Open}: true, {breaker.HalfOpen, breaker.Closed}: true,
	}
	for i, tr := range seen {
		require.EqualValues(t, i+2, tr.Generation)
		retracted := tr.From == breaker.Open && tr.To == breaker.Closed && tr.Reason == "retracted: a byte came"
		require.True(t, retracted || legal[[2]breaker.State{tr.From, tr.To}], "%+v", tr)
	}
}

// Of many failures at once, one opens the breaker. The others wait for the lock, and belong
// to an earlier generation when they get it.
func TestFailuresAtOnceOpenOnce(t *testing.T) {
	t.Parallel()
	for range testmain.Fewer(2_000, 10) {
		b := breaker.New(breaker.Settings{FailureThreshold: 1})
		var wg sync.WaitGroup
		start := make(chan struct{})
		for range 8 {
			p, err := b.Acquire()
			require.NoError(t, err)
			wg.Go(func() {
				<-start
				p.Settle(breaker.Failure)
			})
		}
		close(start)
		wg.Wait()
		s := b.Snapshot()
		require.Equal(t, breaker.Open, s.State)
		require.EqualValues(t, 2, s.Generation)
		require.EqualValues(t, 1, s.Opens)
	}
}
