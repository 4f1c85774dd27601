package breaker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// With early probes for one reason only, the next probe waits for the end of the cooldown
// after a failure with another reason, also if it is the failure of a probe.
func TestEarlyProbesForAReason(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		reasons []string      // of the trip, then of each probe
		want    time.Duration // from the trip to the next probe
	}{
		{"at once", []string{"absent"}, time.Second},
		{"again", []string{"absent", "absent"}, 2 * time.Second},
		{"another reason", []string{"slow"}, 30 * time.Second},
		{"another reason of the probe", []string{"absent", "slow"}, 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := breaker.New(breaker.Settings{EarlyProbe: []time.Duration{time.Second, 2 * time.Second}, EarlyFor: []string{"absent"}})
			began := time.Now()
			b.Trip(tt.reasons[0])
			for _, reason := range tt.reasons[1:] {
				time.Sleep(b.Snapshot().RetryAfter + 1)
				p, err := b.Acquire()
				require.NoError(t, err)
				require.True(t, p.Probe())
				p.SettleFor(breaker.Failure, reason)
			}
			require.Equal(t, tt.want, time.Since(began)+b.Snapshot().RetryAfter, tt.name)
		})
	}
}

// After a failure has twice followed a tentative probe, the next probe is doubted until a
// call succeeds.
func TestDoubtedProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{FailureThreshold: 1})
		probe := func(doubted bool, v breaker.Verdict) {
			t.Helper()
			time.Sleep(30*time.Second + 1)
			p, err := b.Acquire()
			require.NoError(t, err)
			require.True(t, p.Probe())
			require.Equal(t, doubted, p.Doubted())
			p.Settle(v)
		}
		call := func(v breaker.Verdict) {
			t.Helper()
			p, err := b.Acquire()
			require.NoError(t, err)
			require.False(t, p.Doubted())
			p.Settle(v)
		}
		call(breaker.Failure)
		probe(false, breaker.Tentative)
		call(breaker.Failure)
		probe(false, breaker.Failure) // proves nothing about pings
		probe(false, breaker.Tentative)
		call(breaker.Failure)
		probe(true, breaker.Failure)
		probe(true, breaker.Tentative)
		call(breaker.Success)
		call(breaker.Failure)
		probe(false, breaker.Tentative)
		call(breaker.Failure)
		probe(false, breaker.Tentative)
		call(breaker.Failure)
		probe(true, breaker.Success)
		call(breaker.Failure)
		probe(false, breaker.Success)
	})
}
