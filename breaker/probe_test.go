package breaker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// After a tentative probe one failure opens the breaker again, until a call
// succeeds.
func TestTentativeProbeClosesInProbation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		verdicts []breaker.Verdict
		state    breaker.State
		on       bool
	}{
		{"nothing yet", nil, breaker.Closed, true},
		{"one failure", []breaker.Verdict{breaker.Failure}, breaker.Open, false},
		{"another ping, one failure", []breaker.Verdict{breaker.Tentative, breaker.Neutral, breaker.Failure}, breaker.Open, false},
		{"a success", []breaker.Verdict{breaker.Success}, breaker.Closed, false},
		{"a success, four failures", []breaker.Verdict{breaker.Success, breaker.Failure, breaker.Failure, breaker.Failure, breaker.Failure}, breaker.Closed, false},
		{"a success, five failures", []breaker.Verdict{breaker.Success, breaker.Failure, breaker.Failure, breaker.Failure, breaker.Failure, breaker.Failure}, breaker.Open, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := opened(t, breaker.Settings{})
				time.Sleep(31 * time.Second)
				settle(t, b, breaker.Tentative)
				for _, v := range tt.verdicts {
					require.Equal(t, breaker.Closed, b.State())
					settle(t, b, v)
				}
				require.Equal(t, tt.state, b.State())
				require.Equal(t, tt.on, b.Snapshot().Probation)
			})
		})
	}
}

func TestTentativeInClosedChangesNothing(t *testing.T) {
	t.Parallel()
	b := breaker.New(breaker.Settings{})
	for range 4 {
		settle(t, b, breaker.Failure)
		settle(t, b, breaker.Tentative)
	}
	require.Equal(t, 4, b.Snapshot().ConsecutiveFailures)
	settle(t, b, breaker.Failure)
	require.Equal(t, breaker.Open, b.State())
}

// Of two probes, one with the verdict Success is enough.
func TestOneRealProbeEndsProbation(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		verdicts [2]breaker.Verdict
		want     bool
	}{
		{[2]breaker.Verdict{breaker.Tentative, breaker.Tentative}, true},
		{[2]breaker.Verdict{breaker.Success, breaker.Tentative}, false},
		{[2]breaker.Verdict{breaker.Tentative, breaker.Success}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := opened(t, breaker.Settings{HalfOpenMax: 2})
			time.Sleep(31 * time.Second)
			settle(t, b, tt.verdicts[0])
			settle(t, b, tt.verdicts[1])
			require.Equal(t, breaker.Closed, b.State())
			require.Equal(t, tt.want, b.Snapshot().Probation)
		})
	}
}

func TestFatalFailureOpensAlone(t *testing.T) {
	t.Parallel()
	b := breaker.New(breaker.Settings{})
	p, err := b.Acquire()
	require.NoError(t, err)
	p.SettleFor(breaker.Fatal, "certificate")
	s := b.Snapshot()
	require.Equal(t, breaker.Open, s.State)
	require.Equal(t, "fatal failure: certificate", s.Reason)
	require.Equal(t, "certificate", s.LastFailure)
	require.Equal(t, 1, s.ConsecutiveFailures)
}

// A watcher trips the breaker without a permit.
func TestTrip(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{})
		late, err := b.Acquire()
		require.NoError(t, err)
		b.Trip("silent for 10 s")
		require.Equal(t, breaker.Open, b.State())
		require.Equal(t, "fatal failure: silent for 10 s", refusal(t, b).Reason)
		require.EqualValues(t, 0, b.Snapshot().Failures, "no permit was settled")
		late.Settle(breaker.Success)
		require.Equal(t, breaker.Open, b.State())

		time.Sleep(10 * time.Second)
		b.Trip("again") // OPEN does not change
		require.Equal(t, 20*time.Second, b.Snapshot().RetryAfter)
		require.EqualValues(t, 1, b.Snapshot().Opens)

		time.Sleep(21 * time.Second)
		p, err := b.Acquire()
		require.NoError(t, err)
		require.True(t, p.Probe())
		b.Trip("during the probe")
		require.Equal(t, breaker.Open, b.State())
		p.Settle(breaker.Success)
		require.Equal(t, breaker.Open, b.State(), "the probe came too late")

		time.Sleep(31 * time.Second)
		settle(t, b, breaker.Neutral) // HALF_OPEN without a probe
		b.Trip("between probes")
		require.Equal(t, breaker.Open, b.State())
	})
}

// A watcher that was wrong takes back its own trip only.
func TestRetract(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var last breaker.Transition
		b := breaker.New(breaker.Settings{OnTransition: func(tr breaker.Transition) { last = tr }})
		late, err := b.Acquire()
		require.NoError(t, err)
		first := b.Trip("silence")
		require.False(t, breaker.Tripped{}.Retract(""), "of nothing")
		require.False(t, b.Trip("silence, too").Retract("wrong"), "the second has opened nothing")
		require.Equal(t, breaker.Open, b.State())
		require.True(t, first.Retract("a byte came"))
		synctest.Wait()
		require.Equal(t, breaker.Open, last.From)
		require.Equal(t, breaker.Closed, last.To)
		require.Equal(t, "retracted: a byte came", last.Reason)
		s := b.Snapshot()
		require.Equal(t, breaker.Closed, s.State)
		require.True(t, s.Probation)
		require.Zero(t, s.ConsecutiveFailures)
		late.Settle(breaker.Failure) // of an earlier generation
		require.Equal(t, breaker.Closed, b.State())
		require.False(t, first.Retract("again"))

		settle(t, b, breaker.Failure)
		require.Equal(t, breaker.Open, b.State(), "one failure in probation")
		require.False(t, first.Retract("a byte came"), "others have opened it")
		time.Sleep(31 * time.Second)
		settle(t, b, breaker.Success)
		for range 4 {
			settle(t, b, breaker.Failure)
		}
		require.Equal(t, breaker.Closed, b.State(), "the engine starts its count again")
		settle(t, b, breaker.Failure)
		require.Equal(t, breaker.Open, b.State())

		time.Sleep(31 * time.Second)
		probe, err := b.Acquire()
		require.NoError(t, err)
		during := b.Trip("during the probe")
		b.Throttle(time.Minute, "busy")
		require.True(t, during.Retract(""))
		require.True(t, b.Snapshot().Throttled, "a hold stays")
		time.Sleep(time.Minute)
		probe.Settle(breaker.Failure)
		require.Equal(t, breaker.Closed, b.State())

		after := b.Trip("silence")
		time.Sleep(31 * time.Second)
		_, err = b.Acquire() // and is lost
		require.NoError(t, err)
		require.False(t, after.Retract("a byte came"), "the probe decides now")
		time.Sleep(time.Hour) // its lease runs out
		require.Equal(t, breaker.Open, b.State())
		require.False(t, after.Retract("a byte came"), "the probe has decided")
	})
}

// What others see only lowers the threshold.
func TestSuspect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{})
		b.Suspect(10 * time.Second)
		b.Suspect(time.Second) // does not shorten
		settle(t, b, breaker.Success)
		require.True(t, b.Snapshot().Suspect)
		require.NoError(t, b.Peek(), "suspicion refuses nothing")
		time.Sleep(10*time.Second - 1)
		settle(t, b, breaker.Failure)
		require.Equal(t, breaker.Open, b.State())
		require.Equal(t, "failure under suspicion", b.Snapshot().Reason)

		b = breaker.New(breaker.Settings{})
		b.Suspect(10 * time.Second)
		time.Sleep(10 * time.Second)
		settle(t, b, breaker.Failure)
		require.Equal(t, breaker.Closed, b.State())
		b.Suspect(10 * time.Second)
		b.Suspect(0)
		settle(t, b, breaker.Failure)
		require.Equal(t, breaker.Closed, b.State())
		require.False(t, b.Snapshot().Suspect)
	})
}

func TestPeekTellsWhatAcquireWould(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Settings{})
		time.Sleep(30 * time.Second)
		require.ErrorIs(t, b.Peek(), breaker.ErrOpen)
		time.Sleep(1)
		for range 3 {
			require.NoError(t, b.Peek())
		}
		require.Equal(t, breaker.Open, b.State(), "peeking is no acquiring")
		p, err := b.Acquire()
		require.NoError(t, err)
		require.ErrorIs(t, b.Peek(), breaker.ErrOpen, "the probe is out")
		require.True(t, b.Snapshot().ProbeInFlight)
		p.Settle(breaker.Neutral)
		require.NoError(t, b.Peek(), "its place is free")
		require.False(t, b.Snapshot().ProbeInFlight)
		settle(t, b, breaker.Success)
		require.NoError(t, b.Peek())
	})
}

func TestLeaseOfOneProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Settings{})
		time.Sleep(31 * time.Second)
		p, err := b.Acquire()
		require.NoError(t, err)
		p.Lease(6 * time.Second)
		time.Sleep(6*time.Second - 1)
		require.Equal(t, breaker.HalfOpen, b.State())
		time.Sleep(1)
		synctest.Wait()
		require.Equal(t, breaker.Open, b.State())
		require.Equal(t, "probe failed: lease ran out", b.Snapshot().Reason)
		p.Lease(time.Second) // the permit is settled
		breaker.Permit{}.Lease(time.Second)

		time.Sleep(31 * time.Second)
		p, err = b.Acquire()
		require.NoError(t, err)
		p.Settle(breaker.Success)
		p.Lease(time.Second)
		q, err := b.Acquire()
		require.NoError(t, err)
		require.False(t, q.Probe())
		q.Lease(time.Second) // not a probe
		time.Sleep(time.Minute)
		q.Settle(breaker.Success)
		require.Equal(t, breaker.Closed, b.State())
	})
}

// The cooldowns of an outage: how long each OPEN lasts if every probe fails at once.
func TestCooldowns(t *testing.T) {
	t.Parallel()
	const s = time.Second
	early := []time.Duration{5 * s, 10 * s, 20 * s}
	for _, tt := range []struct {
		name string
		set  breaker.Settings
		want []time.Duration
	}{
		{"fixed", breaker.Settings{}, []time.Duration{30 * s, 30 * s, 30 * s, 30 * s}},
		{"growing", breaker.Settings{MaxCooldown: 300 * s}, []time.Duration{30 * s, 60 * s, 120 * s, 240 * s, 300 * s, 300 * s}},
		{"growing to less than double", breaker.Settings{MaxCooldown: 45 * s}, []time.Duration{30 * s, 45 * s, 45 * s}},
		{"longest below the first", breaker.Settings{MaxCooldown: s}, []time.Duration{30 * s, 30 * s}},
		{"early", breaker.Settings{EarlyProbe: early}, []time.Duration{5 * s, 5 * s, 10 * s, 10 * s, 5 * s, 5 * s, 10 * s, 10 * s}},
		{"early, beyond the cooldown", breaker.Settings{Cooldown: 8 * s, EarlyProbe: early}, []time.Duration{5 * s, 3 * s, 5 * s}},
		{"early and growing", breaker.Settings{EarlyProbe: early, MaxCooldown: 60 * s}, []time.Duration{5 * s, 5 * s, 10 * s, 10 * s, 5 * s, 5 * s, 10 * s, 40 * s, 5 * s}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := opened(t, tt.set)
				var got []time.Duration
				for range tt.want {
					left := b.Snapshot().RetryAfter
					got = append(got, left.Round(time.Millisecond)) // each probe is 1 ns late
					time.Sleep(left)
					refused(t, b)
					time.Sleep(1)
					settle(t, b, breaker.Failure)
				}
				require.Equal(t, tt.want, got)
				// After a real success the next cooldown is a first one.
				time.Sleep(b.Snapshot().RetryAfter + 1)
				settle(t, b, breaker.Success)
				for range 5 {
					settle(t, b, breaker.Failure)
				}
				require.Equal(t, tt.want[0], b.Snapshot().RetryAfter)
			})
		})
	}
}

// A cooldown keeps growing while only tentative probes succeed.
func TestProbationKeepsTheCooldownGrowing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Settings{MaxCooldown: 300 * time.Second})
		for _, want := range []time.Duration{30, 60, 120, 240, 300} {
			require.Equal(t, want*time.Second, b.Snapshot().RetryAfter)
			time.Sleep(b.Snapshot().RetryAfter + 1)
			settle(t, b, breaker.Tentative)
			settle(t, b, breaker.Failure)
		}
	})
}

func TestCooldownJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lengths := map[time.Duration]bool{}
		shortest, longest := time.Hour, time.Duration(0)
		for range 500 {
			d := opened(t, breaker.Settings{CooldownJitter: 0.1}).Snapshot().RetryAfter
			lengths[d] = true
			shortest, longest = min(shortest, d), max(longest, d)
		}
		require.Greater(t, len(lengths), 400)
		require.GreaterOrEqual(t, shortest, 27*time.Second)
		require.LessOrEqual(t, longest, 33*time.Second)
		require.Less(t, shortest, 28*time.Second)
		require.Greater(t, longest, 32*time.Second)
	})
}
