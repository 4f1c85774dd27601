package breaker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// A new peer that replaces a bad one is called at once, on probation.
func TestRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var last breaker.Transition
		b := breaker.New(breaker.Settings{OnTransition: func(tr breaker.Transition) { last = tr }})
		require.False(t, b.Renewed("started again"), "nothing to close")
		require.Zero(t, last)
		trip := b.Trip("a test")
		require.True(t, b.Renewed("started again"))
		synctest.Wait()
		require.Equal(t, []breaker.State{breaker.Open, breaker.Closed}, []breaker.State{last.From, last.To})
		require.Equal(t, "renewed: started again", last.Reason)
		require.False(t, trip.Retract("a byte came"), "it is closed")
		require.True(t, b.Snapshot().Probation)
		settle(t, b, breaker.Failure)
		require.Equal(t, breaker.Open, b.State(), "one failure in probation")

		b.Throttle(time.Minute, "busy")
		require.True(t, b.Renewed(""))
		require.True(t, b.Snapshot().Throttled, "a hold stays")
		time.Sleep(time.Minute)
		settle(t, b, breaker.Success)
		for range 4 {
			settle(t, b, breaker.Failure)
		}
		require.Equal(t, breaker.Closed, b.State(), "the engine starts its count again")
	})
}

// Earlier and later verdicts of probes of the old peer do not count for the new one.
func TestRenewedBesideProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Settings{HalfOpenMax: 2})
		time.Sleep(31 * time.Second)
		settle(t, b, breaker.Success)
		late, err := b.Acquire()
		require.NoError(t, err)
		require.Equal(t, breaker.HalfOpen, b.State())
		require.True(t, b.Renewed("started again"))
		require.True(t, b.Snapshot().Probation, "half a proof of the old one")
		late.Settle(breaker.Failure)
		_, err = b.Acquire() // and is lost
		require.NoError(t, err)
		time.Sleep(time.Hour) // leases run out
		require.Equal(t, breaker.Closed, b.State())
	})
}
