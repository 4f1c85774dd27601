package resilience_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// The delays of a program that never runs long: doubling to 30 s, unless it is in a crash loop.
func TestRestartBackoff(t *testing.T) {
	t.Parallel()
	r := resilience.NewRestart(resilience.RestartSettings{Crashes: 1000})
	now := epoch
	for i, want := range []time.Duration{250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000} {
		r.Started(now)
		now = now.Add(time.Second)
		next := r.Ended(now, 1)
		require.Equal(t, resilience.Next{Wait: want * time.Millisecond, Try: i + 1}, next)
		now = now.Add(next.Wait)
	}
	r.Started(now)
	now = now.Add(time.Minute - 1)
	require.Equal(t, 10, r.Ended(now, 0).Try, "not healthy by a nanosecond")
	r.Started(now)
	now = now.Add(time.Minute)
	require.Equal(t, resilience.Next{Wait: 125 * time.Millisecond, Try: 1}, r.Ended(now, 0.5), "what was before is forgotten")
}

func TestCrashLoop(t *testing.T) {
	t.Parallel()
	r := resilience.NewRestart(resilience.RestartSettings{})
	now := epoch
	crash := func(lives time.Duration) resilience.Next {
		r.Started(now)
		now = now.Add(lives)
		next := r.Ended(now, 1)
		now = now.Add(next.Wait)
		return next
	}
	for range 4 {
		require.False(t, crash(time.Second).Loop)
	}
	for _, want := range []time.Duration{1, 2, 4, 5, 5} {
		next := crash(time.Second)
		require.True(t, next.Loop)
		require.Equal(t, want*time.Minute, next.Wait, "on trial: one crash is enough now, and holds twice as long")
	}
	require.False(t, crash(time.Minute).Loop, "healthy again")
	for range 3 {
		require.False(t, crash(0).Loop)
	}
	next := crash(0)
	require.True(t, next.Loop)
	require.Equal(t, time.Minute, next.Wait, "the pause is the first one again")
}

// Five crashes in sixty seconds are a loop, and in a nanosecond more they are not.
func TestCrashLoopWindow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		last time.Duration
		loop bool
	}{{time.Minute, true}, {time.Minute + 1, false}} {
		r := resilience.NewRestart(resilience.RestartSettings{})
		for _, at := range []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second} {
			require.False(t, r.Ended(epoch.Add(at), 0).Loop, "one that could not be started is a crash too")
		}
		require.Equal(t, tt.loop, r.Ended(epoch.Add(tt.last), 0).Loop)
	}
}

// keeper is a simple model of the schedule, with the full history.
type keeper struct {
	ends    []time.Time // since the program was healthy
	began   time.Time
	running bool
	looped  bool
	hold    time.Duration
}

func (k *keeper) ended(now time.Time) (bound time.Duration, loop bool) {
	if k.running && now.Sub(k.began) >= time.Minute {
		*k = keeper{}
	}
	k.running = false
	k.ends = append(k.ends, now)
	recent := 0
	for _, at := range k.ends {
		if now.Sub(at) <= time.Minute {
			recent++
		}
	}
	if recent >= 5 || k.looped {
		k.looped = true
		switch k.hold {
		case 0:
			k.hold = time.Minute
		case 4 * time.Minute, 5 * time.Minute:
			k.hold = 5 * time.Minute
		default:
			k.hold *= 2
		}
		return k.hold, true
	}
	bound = 250 * time.Millisecond
	for range len(k.ends) - 1 {
		bound = min(2*bound, 30*time.Second)
	}
	return bound, false
}

// A random walk: schedule and model agree after every step.
func TestRestartModel(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 1))
	r := resilience.NewRestart(resilience.RestartSettings{})
	var k keeper
	now, loops, healthy := epoch, 0, 0
	for step := range 300_000 {
		if rng.IntN(5) > 0 {
			r.Started(now)
			k.began, k.running = now, true
		}
		lives := []time.Duration{0, time.Second, 20 * time.Second, time.Minute - 1, time.Minute, time.Hour}[rng.IntN(6)]
		now = now.Add(lives)
		before := len(k.ends)
		bound, loop := k.ended(now)
		if len(k.ends) <= before {
			healthy++
		}
		random := rng.Float64()
		next := r.Ended(now, random)
		if next.Loop != loop || next.Try != len(k.ends) {
			t.Fatalf("step %d: %+v, the model says loop %v, try %d", step, next, loop, len(k.ends))
		}
		if loop {
			loops++
			if next.Wait != bound {
				t.Fatalf("step %d: held %v, the model says %v", step, next.Wait, bound)
			}
		} else if next.Wait != time.Duration(float64(bound)*random) {
			t.Fatalf("step %d: waits %v, the model says up to %v", step, next.Wait, bound)
		}
		now = now.Add(next.Wait)
	}
	require.Greater(t, loops, 1000)
	require.Greater(t, healthy, 1000)
}
