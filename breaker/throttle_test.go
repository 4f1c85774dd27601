package breaker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// No call goes through before the time that the server named, and the state does not change.
func TestHoldRefusesInClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{Name: "db"})
		b.Throttle(7*time.Second, "429")
		open := refusal(t, b)
		require.Equal(t, breaker.OpenError{
			Name: "db", State: breaker.Closed, Until: time.Now().Add(7 * time.Second), Throttled: true, Reason: "429",
		}, *open)
		require.ErrorIs(t, b.Peek(), breaker.ErrOpen)
		s := b.Snapshot()
		require.Equal(t, breaker.Closed, s.State)
		require.True(t, s.Throttled)
		require.Equal(t, "429", s.ThrottleReason)
		require.Equal(t, 7*time.Second, s.RetryAfter)
		require.EqualValues(t, 1, s.Generation)
		require.EqualValues(t, 2, s.Refused, "peeking was refused too")

		time.Sleep(7*time.Second - 1)
		refused(t, b)
		time.Sleep(1)
		require.NoError(t, b.Peek())
		settle(t, b, breaker.Success)
		require.False(t, b.Snapshot().Throttled)
		require.Zero(t, b.Snapshot().RetryAfter)
	})
}

func TestHoldOnlyGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{})
		b.Throttle(0, "nothing")
		b.Throttle(-time.Second, "nothing")
		settle(t, b, breaker.Success)
		b.Throttle(10*time.Second, "first")
		b.Throttle(5*time.Second, "shorter")
		require.Equal(t, "first", b.Snapshot().ThrottleReason)
		b.Throttle(20*time.Second, "longer")
		require.Equal(t, 20*time.Second, refusal(t, b).RetryAfter())
		time.Sleep(20 * time.Second)
		b.Throttle(time.Second, "a new one, after the old one is over")
		require.Equal(t, time.Second, refusal(t, b).RetryAfter())
	})
}

// An open breaker refuses for the server's 120 s, although the cooldown is 30 s. If the
// cooldown ends later, it refuses until then.
func TestHoldAndCooldownTheLaterWins(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		hold, want time.Duration
		held       bool
	}{
		{"hold longer", 120 * time.Second, 120 * time.Second, true},
		{"cooldown longer", 10 * time.Second, 30 * time.Second, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := opened(t, breaker.Settings{})
				require.Equal(t, 30*time.Second, refusal(t, b).RetryAfter())
				b.Throttle(tt.hold, "503")
				open := refusal(t, b)
				require.True(t, open.Throttled)
				require.Equal(t, breaker.Open, open.State)
				require.Equal(t, tt.want, open.RetryAfter())
				require.Equal(t, tt.want, b.Snapshot().RetryAfter)
				time.Sleep(tt.want - 1)
				refused(t, b)
				time.Sleep(2)
				settle(t, b, breaker.Success)
				require.Equal(t, breaker.Closed, b.State())
			})
		})
	}
}

// A throttle neither takes the place of a probe nor ignores its verdict.
func TestHoldInHalfOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Settings{})
		time.Sleep(31 * time.Second)
		p, err := b.Acquire()
		require.NoError(t, err)
		b.Throttle(time.Minute, "429")
		p.Settle(breaker.Success)
		require.Equal(t, breaker.Closed, b.State())
		require.Equal(t, breaker.Closed, refusal(t, b).State)
		time.Sleep(time.Minute)
		settle(t, b, breaker.Success)
	})
}

func TestForce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{Name: "db", FailureThreshold: 1})
		require.True(t, b.Healthy())
		before, err := b.Acquire()
		require.NoError(t, err)

		b.Force(breaker.ForcedOpen)
		require.False(t, b.Healthy())
		require.Equal(t, breaker.OpenError{Name: "db", State: breaker.Open, Forced: true, Reason: "forced open"}, *refusal(t, b))
		require.Zero(t, refusal(t, b).RetryAfter())
		require.Equal(t, breaker.ForcedOpen, b.Snapshot().Mode)
		require.Equal(t, breaker.Closed, b.State(), "the state is kept")
		before.Settle(breaker.Failure)
		require.Equal(t, breaker.Open, b.State(), "and permits given before still count")

		b.Force(breaker.Bypass)
		require.True(t, b.Healthy())
		require.NoError(t, b.Peek())
		for range 20 {
			settle(t, b, breaker.Failure)
			settle(t, b, breaker.Fatal)
			settle(t, b, breaker.Success)
		}
		require.Equal(t, breaker.Open, b.State())
		require.EqualValues(t, 2, b.Snapshot().Generation)
		b.Throttle(time.Second, "429")
		require.True(t, refusal(t, b).Throttled, "what the server asked for holds all the same")
		time.Sleep(time.Second)
		settle(t, b, breaker.Success)

		b.Force(breaker.Mode(77)) // as Auto
		require.Equal(t, breaker.Auto, b.Snapshot().Mode)
		require.False(t, b.Healthy())
		require.Equal(t, 29*time.Second, refusal(t, b).RetryAfter(), "the cooldown went on")
	})
}

// A bypass that begins after the cooldown does not end in a probe.
func TestBypassAfterCooldownIsNoProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Settings{})
		b.Force(breaker.Bypass)
		time.Sleep(time.Minute)
		p, err := b.Acquire()
		require.NoError(t, err)
		require.False(t, p.Probe())
		p.Settle(breaker.Success)
		require.Equal(t, breaker.Open, b.State())
		b.Force(breaker.Auto)
		settle(t, b, breaker.Success)
		require.Equal(t, breaker.Closed, b.State())
	})
}
