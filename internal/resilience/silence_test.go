package resilience_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

func TestSilence(t *testing.T) {
	t.Parallel()
	const at = 100 * time.Second // an arbitrary time
	s := resilience.NewSilence(resilience.SilenceSettings{})
	look := func(now time.Duration, want resilience.SilenceAction, wantNext time.Duration) {
		t.Helper()
		h, next := s.Look(now)
		require.Equal(t, want, h, h.String())
		require.Equal(t, wantNext, next)
	}
	look(at, resilience.Idle, 0)
	s.Sent(at)
	look(at, resilience.Watch, at+10*time.Second)
	look(at+10*time.Second-1, resilience.Watch, at+10*time.Second)
	look(at+10*time.Second, resilience.Probe, 0)
	h, _ := s.Missed(at + 12*time.Second)
	require.Equal(t, resilience.Probe, h, "one miss is none")
	h, _ = s.Missed(at + 14*time.Second)
	require.Equal(t, resilience.Trip, h, "14 s, as measured")
	look(at+14*time.Second, resilience.Watch, at+24*time.Second)

	s.Heard(at + 15*time.Second)
	look(at+15*time.Second, resilience.Watch, at+25*time.Second) // a request is still open
	s.Ended()
	look(at+15*time.Second, resilience.Idle, 0)
}

// Any byte ends a silence, for any call; a new silence starts with it.
func TestSilenceBrokenByProbe(t *testing.T) {
	t.Parallel()
	s := resilience.NewSilence(resilience.SilenceSettings{After: time.Second, Misses: 3})
	const at = time.Hour
	s.Sent(at)
	h, _ := s.Look(at + time.Second)
	require.Equal(t, resilience.Probe, h)
	for range 2 {
		h, _ = s.Missed(at + 2*time.Second)
		require.Equal(t, resilience.Probe, h)
	}
	s.Heard(at + 3*time.Second)
	h, next := s.Missed(at + 4*time.Second - 1)
	require.Equal(t, resilience.Watch, h)
	require.Equal(t, at+4*time.Second, next)
	h, _ = s.Look(at + 4*time.Second)
	require.Equal(t, resilience.Probe, h)
	h, _ = s.Missed(at + 5*time.Second)
	require.Equal(t, resilience.Probe, h, "the misses of the silence before do not count")
}

// A user who always gives up at 10 s: a plain circuit never opens.
func TestSilenceUnderImpatience(t *testing.T) {
	t.Parallel()
	s := resilience.NewSilence(resilience.SilenceSettings{})
	s.Sent(0)
	s.Heard(0) // at the same instant, and for the same request
	s.Ended()
	h, _ := s.Look(0)
	require.Equal(t, resilience.Idle, h)
	for now := time.Duration(0); now < 20*time.Second; now += 5 * time.Second { // the clock has not advanced
		s.Sent(now)
		s.Ended()
	}
	h, next := s.Look(5 * time.Second)
	require.Equal(t, resilience.Watch, h)
	require.InDelta(t, 10*time.Second, next, 10)
	h, _ = s.Look(next)
	require.Equal(t, resilience.Probe, h)
	s.Heard(next)
	h, _ = s.Look(next)
	require.Equal(t, resilience.Idle, h)
}

// A random walk beside the rule: due since the first request after the last byte, or since that
// byte while requests wait.
func TestSilenceModel(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 1))
	s := resilience.NewSilence(resilience.SilenceSettings{})
	now, heard, first := time.Hour, time.Duration(0), time.Duration(0)
	waiting, missed, trips, probes := 0, 0, 0, 0
	due, tripped := false, time.Duration(0)
	var probing bool // a probe is in flight, about the silence since:
	var about time.Duration
	for step := range 300_000 {
		now += []time.Duration{1, time.Millisecond, time.Second, 4 * time.Second}[rng.IntN(4)]
		switch r := rng.IntN(100); {
		case r < 30:
			s.Sent(now)
			waiting++
			if !due {
				due, first = true, now
			}
		case r < 60 && waiting > 0:
			s.Ended()
			waiting--
		case r < 66:
			s.Heard(now)
			heard, due = now, false
		}
		since, silent := heard, waiting > 0
		if due {
			since, silent = first, true
		}
		if !silent || since != about {
			missed = 0
		}
		var h resilience.SilenceAction
		want := resilience.Idle
		if probing {
			h, _ = s.Missed(now)
			switch {
			case !silent:
			case since != about && now < max(since, tripped)+10*time.Second:
				want = resilience.Watch
			case since != about:
				want = resilience.Probe
			default:
				if missed++; missed < 2 {
					want = resilience.Probe
				} else {
					want, missed, tripped = resilience.Trip, 0, now
				}
			}
		} else {
			h, _ = s.Look(now)
			switch {
			case !silent:
			case now < max(since, tripped)+10*time.Second:
				want = resilience.Watch
			default:
				want = resilience.Probe
			}
		}
		if h != want {
			t.Fatalf("step %d: %v, the model says %v", step, h, want)
		}
		if probing = h == resilience.Probe; probing {
			probes++
		}
		if h == resilience.Trip {
			trips++
		}
		if silent {
			about = since
		}
	}
	require.Greater(t, trips, 1000)
	require.Greater(t, probes, 2*trips)
}

func TestHushNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "idle watch probe trip unknown", resilience.Idle.String()+" "+resilience.Watch.String()+" "+
		resilience.Probe.String()+" "+resilience.Trip.String()+" "+(resilience.Trip+1).String())
}
