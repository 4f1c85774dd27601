package resilience_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// Two tries have no delay; later delays grow, until a pause resets them.
func TestRenewal(t *testing.T) {
	t.Parallel()
	r := resilience.NewRenewal(resilience.RenewalSettings{})
	now := epoch
	require.Zero(t, r.Wait(now))
	for i, want := range []time.Duration{0, 0, 250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000} {
		r.Tried(now, false, 1)
		require.Equal(t, want*time.Millisecond, r.Wait(now), "after try %d", i+1)
		now = now.Add(r.Wait(now))
		require.Zero(t, r.Wait(now))
	}
	r.Tried(now, false, 0.5)
	require.Equal(t, 15*time.Second, r.Wait(now))
	now = now.Add(time.Minute)
	r.Tried(now, false, 0)
	r.Tried(now, false, 1)
	require.Equal(t, 30*time.Second, r.Wait(now), "not quiet by a nanosecond")
	now = now.Add(time.Minute + 1)
	for range 2 {
		r.Tried(now, false, 1)
		require.Zero(t, r.Wait(now), "what was before is forgotten")
	}
	require.Equal(t, 250*time.Millisecond, r.Pause(1, 1))
	require.Equal(t, r.Longest(), r.Pause(20, 1))
}

// After a session that lasted, the next one has no delay: its server has restarted. A session
// that is lost at once does not count as such, however late the next one is opened.
func TestRenewalOfSessionsThatLast(t *testing.T) {
	t.Parallel()
	for lasted, want := range map[time.Duration]time.Duration{
		0: 30 * time.Second, time.Second: 30 * time.Second, time.Second + 1: 0,
	} {
		r := resilience.NewRenewal(resilience.RenewalSettings{})
		now := epoch
		var wait time.Duration
		for range 12 {
			r.Tried(now, true, 1)
			now = now.Add(lasted)
			wait = r.Lost(now)
			now = now.Add(wait)
			require.Zero(t, r.Lost(now))
		}
		require.Equal(t, want-min(lasted, want), wait, "lasted %s", lasted)
	}
}

// A delay ends at its own time, whatever the tries are.
func TestRenewalSettings(t *testing.T) {
	t.Parallel()
	r := resilience.NewRenewal(resilience.RenewalSettings{Free: 1, Backoff: resilience.Backoff{Base: time.Second, Cap: 3 * time.Second}, ResetAfter: time.Hour})
	now := epoch
	for _, want := range []time.Duration{0, 1, 2, 3, 3} {
		r.Tried(now, false, 1)
		require.Equal(t, want*time.Second, r.Wait(now))
		now = now.Add(30 * time.Minute)
	}
}
