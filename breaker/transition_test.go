package breaker_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// Each transition is logged once, with both states and the name of the server.
func TestAC_006_8_TransitionsAreLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := breaker.New(breaker.Settings{Name: "db", Logger: slog.New(slog.NewJSONHandler(&out, nil))})
		for range 5 {
			settle(t, b, breaker.Failure)
		}
		time.Sleep(31 * time.Second)
		settle(t, b, breaker.Failure)
		time.Sleep(31 * time.Second)
		settle(t, b, breaker.Success)
		synctest.Wait()

		type line struct {
			Level, Breaker, From, To string
			Failures                 int `json:"consecutive_failures"`
			Generation               int
		}
		var got []line
		for dec := json.NewDecoder(&out); dec.More(); {
			var l line
			require.NoError(t, dec.Decode(&l))
			got = append(got, l)
		}
		require.Equal(t, []line{
			{"WARN", "db", "CLOSED", "OPEN", 5, 2},
			{"INFO", "db", "OPEN", "HALF_OPEN", 5, 3},
			{"WARN", "db", "HALF_OPEN", "OPEN", 6, 4},
			{"INFO", "db", "OPEN", "HALF_OPEN", 6, 5},
			{"INFO", "db", "HALF_OPEN", "CLOSED", 0, 6},
		}, got)
	})
}

// The callback may use the breaker, and nothing waits for a slow callback.
func TestCallbackMayReadAndMayBeSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b *breaker.Breaker
		var seen []breaker.Transition
		b = breaker.New(breaker.Settings{OnTransition: func(tr breaker.Transition) {
			_, _, _ = b.State(), b.Snapshot(), b.Name()
			if p, err := b.Acquire(); err == nil {
				p.Release()
			}
			time.Sleep(time.Minute)
			seen = append(seen, tr)
		}})
		start := time.Now()
		for range 5 {
			settle(t, b, breaker.Failure)
		}
		require.Equal(t, start, time.Now(), "publishing blocks no caller")
		time.Sleep(31 * time.Second)
		settle(t, b, breaker.Success)
		require.Equal(t, 31*time.Second, time.Since(start))
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, seen, 3)
		require.Equal(t, breaker.Transition{
			From: breaker.Closed, To: breaker.Open, Generation: 2, At: start,
			Reason: "failures in a row", ConsecutiveFailures: 5, Opens: 1, OpenFor: 30 * time.Second,
		}, seen[0])
		require.Equal(t, breaker.HalfOpen, seen[1].To)
		require.Equal(t, breaker.Closed, seen[2].To)
		require.Zero(t, seen[2].OpenFor)
	})
}

// Past states are not kept in memory, with or without a listener. Not parallel, because it
// measures the heap.
func TestPastStatesAreForgotten(t *testing.T) {
	for name, set := range map[string]breaker.Settings{
		"nobody listens":   {FailureThreshold: 1, Cooldown: 1},
		"somebody listens": {FailureThreshold: 1, Cooldown: 1, OnTransition: func(breaker.Transition) {}},
	} {
		t.Run(name, func(t *testing.T) {
			b := breaker.New(set)
			heap := func() uint64 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			before := heap()
			const states = 30_000
			for b.Snapshot().Generation < states {
				if p, err := b.Acquire(); err == nil {
					p.Settle(breaker.Failure)
				}
			}
			require.Eventually(t, func() bool { return heap() < before+states*10 }, 10*time.Second, 10*time.Millisecond)
			require.Equal(t, breaker.Open, b.State())
		})
	}
}

// Under load every transition is reported once, in order, one at a time.
func TestTransitionsAreInOrderOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []breaker.Transition
	var told atomic.Int32
	b := breaker.New(breaker.Settings{FailureThreshold: 1, Cooldown: time.Nanosecond, OnTransition: func(tr breaker.Transition) {
		if told.Add(1) > 1 {
			t.Error("two transitions told at once")
		}
		defer told.Add(-1)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, tr)
	}})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				if p, err := b.Acquire(); err == nil {
					p.Settle([]breaker.Verdict{breaker.Success, breaker.Failure}[(g+i)%2])
				}
			}
		})
	}
	wg.Wait()
	last := b.Snapshot().Generation
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return uint64(len(seen)) == last-1
	}, 10*time.Second, time.Millisecond)
	for i, tr := range seen {
		require.EqualValues(t, i+2, tr.Generation)
		if i > 0 {
			require.Equal(t, seen[i-1].To, tr.From)
		}
	}
}
