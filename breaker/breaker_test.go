package breaker_test

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// settle makes one call that ends with v. It fails the test if the breaker refuses it.
func settle(t *testing.T, b *breaker.Breaker, v breaker.Verdict) {
	t.Helper()
	p, err := b.Acquire()
	require.NoError(t, err)
	p.Settle(v)
}

// refused makes one call that must be refused.
func refused(t *testing.T, b *breaker.Breaker) {
	t.Helper()
	_ = refusal(t, b)
}

func refusal(t *testing.T, b *breaker.Breaker) *breaker.OpenError {
	t.Helper()
	_, err := b.Acquire()
	var open *breaker.OpenError
	require.ErrorAs(t, err, &open)
	require.ErrorIs(t, err, breaker.ErrOpen)
	return open
}

// opened returns a breaker that has just opened after n failures.
func opened(t *testing.T, s breaker.Settings) *breaker.Breaker {
	t.Helper()
	b := breaker.New(s)
	n := s.FailureThreshold
	if n == 0 {
		n = 5
	}
	for range n {
		settle(t, b, breaker.Failure)
	}
	require.Equal(t, breaker.Open, b.State())
	return b
}

func TestAC_006_1_StatesAreClosedOpenHalfOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{})
		require.Equal(t, "CLOSED", b.State().String())
		for range 5 {
			settle(t, b, breaker.Failure)
		}
		require.Equal(t, "OPEN", b.State().String())
		time.Sleep(30*time.Second + 1)
		require.Equal(t, "OPEN", b.State().String(), "reading does not change the state")
		p, err := b.Acquire()
		require.NoError(t, err)
		require.Equal(t, "HALF_OPEN", b.State().String())
		p.Settle(breaker.Success)
		require.Equal(t, "CLOSED", b.State().String())
	})
}

// As many failures in a row as the threshold open the breaker, and fewer do not.
func TestAC_006_2_OpensAfterFailuresInARow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		threshold int
		opensAt   int
	}{
		{"default", 0, 5},
		{"one", 1, 1},
		{"three", 3, 3},
		{"invalid means default", -2, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := breaker.New(breaker.Settings{FailureThreshold: tt.threshold})
			for i := range tt.opensAt {
				require.Equal(t, breaker.Closed, b.State(), "after %d failures", i)
				require.Equal(t, i, b.Snapshot().ConsecutiveFailures)
				settle(t, b, breaker.Failure)
			}
			require.Equal(t, breaker.Open, b.State())
			require.Equal(t, tt.opensAt, b.Snapshot().ConsecutiveFailures)
		})
	}
}

// A success ends a run of failures.
func TestAC_006_2_SuccessEndsTheRun(t *testing.T) {
	t.Parallel()
	b := breaker.New(breaker.Settings{})
	for range 3 {
		for range 4 {
			settle(t, b, breaker.Failure)
		}
		settle(t, b, breaker.Success)
		require.Zero(t, b.Snapshot().ConsecutiveFailures)
	}
	require.Equal(t, breaker.Closed, b.State())
}

// Five calls that each fail after longer than any window open the breaker.
func TestAC_006_2_SlowFailuresCountToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{})
		for range 5 {
			p, err := b.Acquire()
			require.NoError(t, err)
			time.Sleep(10 * time.Minute)
			p.Settle(breaker.Failure)
		}
		require.Equal(t, breaker.Open, b.State())
	})
}

func TestNeutralLeavesTheRun(t *testing.T) {
	t.Parallel()
	b := breaker.New(breaker.Settings{})
	for range 4 {
		settle(t, b, breaker.Failure)
		settle(t, b, breaker.Neutral)
		settle(t, b, breaker.Verdict(99))
	}
	require.Equal(t, 4, b.Snapshot().ConsecutiveFailures)
	require.Equal(t, breaker.Closed, b.State())
	settle(t, b, breaker.Failure)
	require.Equal(t, breaker.Open, b.State())
}

func TestCountAllMakesNeutralAFailure(t *testing.T) {
	t.Parallel()
	b := breaker.New(breaker.Settings{CountAll: true})
	for range 4 {
		settle(t, b, breaker.Neutral)
	}
	for range 10 { // a permit that was not used never counts
		p, err := b.Acquire()
		require.NoError(t, err)
		p.Release()
	}
	require.Equal(t, 4, b.Snapshot().ConsecutiveFailures)
	settle(t, b, breaker.Neutral)
	require.Equal(t, breaker.Open, b.State())
}

// An open breaker refuses without delay.
func TestAC_006_3_OpenRefusesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Settings{Name: "db"})
		time.Sleep(10 * time.Second)
		before := time.Now()
		open := refusal(t, b)
		require.Equal(t, before, time.Now(), "no time passes in the bubble")
		require.Equal(t, "Service temporarily unavailable (circuit open)", open.Error())
		require.Equal(t, "db", open.Name)
		require.Equal(t, breaker.Open, open.State)
		require.Equal(t, 20*time.Second, open.RetryAfter())
		require.Equal(t, 20*time.Second, b.Snapshot().RetryAfter)
		require.EqualValues(t, 1, b.Snapshot().Refused)
		time.Sleep(25 * time.Second)
		require.Zero(t, open.RetryAfter(), "an error that is kept stays right")
		require.Zero(t, b.Snapshot().RetryAfter)
	})
}

// The first call goes through after more than the cooldown, not after exactly it.
func TestAC_006_4_HalfOpenAfterCooldown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		cooldown time.Duration
		wait     time.Duration
		through  bool
	}{
		{"default, 29.999 s", 0, 29999 * time.Millisecond, false},
		{"default, 30 s", 0, 30 * time.Second, false},
		{"default, 30 s and 1 ns", 0, 30*time.Second + 1, true},
		{"1 s, 1 s", time.Second, time.Second, false},
		{"1 s, 1 s and 1 ns", time.Second, time.Second + 1, true},
		{"much later", 0, 100 * time.Hour, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := opened(t, breaker.Settings{Cooldown: tt.cooldown})
				time.Sleep(tt.wait)
				if !tt.through {
					refused(t, b)
					require.Equal(t, breaker.Open, b.State())
					return
				}
				p, err := b.Acquire()
				require.NoError(t, err)
				require.Equal(t, breaker.HalfOpen, b.State())
				p.Settle(breaker.Success)
			})
		})
	}
}

// Of 20 callers at once in HALF_OPEN, one gets the probe.
func TestAC_006_5_OneProbeOfTwentyCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Settings{})
		time.Sleep(30*time.Second + 1)
		var through, turned atomic.Int32
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				p, err := b.Acquire()
				if err != nil {
					turned.Add(1)
					return
				}
				through.Add(1)
				time.Sleep(time.Second)
				p.Settle(breaker.Success)
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, through.Load())
		require.EqualValues(t, 19, turned.Load())
		require.Equal(t, breaker.Closed, b.State())
	})
}

func TestHalfOpenRefusalSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Settings{Name: "db"})
		time.Sleep(31 * time.Second)
		p, err := b.Acquire()
		require.NoError(t, err)
		open := refusal(t, b)
		require.Equal(t, breaker.HalfOpen, open.State)
		require.Equal(t, "db", open.Name)
		require.Zero(t, open.RetryAfter())
		p.Settle(breaker.Success)
	})
}

// A successful probe closes the breaker; a failed one starts a full cooldown.
func TestAC_006_6_ProbeDecides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Settings{})
		for i := range 3 {
			time.Sleep(30*time.Second + 1)
			settle(t, b, breaker.Failure)
			require.Equal(t, breaker.Open, b.State())
			require.Equal(t, 6+i, b.Snapshot().ConsecutiveFailures)
			time.Sleep(30 * time.Second) // another full period
			refused(t, b)
		}
		time.Sleep(1)
		settle(t, b, breaker.Success)
		require.Equal(t, breaker.Closed, b.State())
		require.Zero(t, b.Snapshot().ConsecutiveFailures)
		for range 4 { // a new run starts from nothing
			settle(t, b, breaker.Failure)
		}
		require.Equal(t, breaker.Closed, b.State())
	})
}

func TestHalfOpenMaxIsProbesAtOnceAndSuccessesToClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Settings{HalfOpenMax: 2})
		time.Sleep(31 * time.Second)
		first, err := b.Acquire()
		require.NoError(t, err)
		second, err := b.Acquire()
		require.NoError(t, err)
		refused(t, b)
		first.Settle(breaker.Success)
		require.Equal(t, breaker.HalfOpen, b.State())
		second.Settle(breaker.Success)
		require.Equal(t, breaker.Closed, b.State())
	})
}

// A caller that cancels its probe leaves the breaker in HALF_OPEN with a free place.
func TestCancelledProbeNeitherClosesNorWedges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Settings{})
		time.Sleep(31 * time.Second)
		for range 10 {
			settle(t, b, breaker.Neutral)
			require.Equal(t, breaker.HalfOpen, b.State())
		}
		settle(t, b, breaker.Success)
		require.Equal(t, breaker.Closed, b.State())
	})
}

// The slow success of a call from before the opening does not close the breaker.
func TestSlowSuccessFromBeforeOpeningIsIgnored(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{0, 31 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			b := breaker.New(breaker.Settings{})
			slow, err := b.Acquire()
			require.NoError(t, err)
			for range 5 {
				settle(t, b, breaker.Failure)
			}
			time.Sleep(wait)
			slow.Settle(breaker.Success)
			require.Equal(t, breaker.Open, b.State(), "neither closed nor moved on by a settlement")
			require.EqualValues(t, 2, b.Snapshot().Generation)
		})
	}
}

func TestSettlingTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	b := breaker.New(breaker.Settings{})
	p, err := b.Acquire()
	require.NoError(t, err)
	again := p
	for range 5 {
		p.Settle(breaker.Failure)
		again.Settle(breaker.Failure)
		p.Release()
	}
	require.Equal(t, breaker.Closed, b.State())
	s := b.Snapshot()
	require.Equal(t, 1, s.ConsecutiveFailures)
	require.EqualValues(t, 1, s.Failures)
	require.Zero(t, s.Neutrals)
}

// A probe that is settled twice as neutral gives back one place, not two.
func TestNeutralTwiceAdmitsOneProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Settings{})
		time.Sleep(31 * time.Second)
		p, err := b.Acquire()
		require.NoError(t, err)
		p.Settle(breaker.Neutral)
		p.Settle(breaker.Neutral)
		next, err := b.Acquire()
		require.NoError(t, err)
		refused(t, b)
		next.Settle(breaker.Success)
	})
}

func TestZeroPermitDoesNothing(t *testing.T) {
	t.Parallel()
	var p breaker.Permit
	p.Settle(breaker.Failure)
	p.Release()
}

func TestProbeLeaseRunsOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		lease, after time.Duration
	}{
		{"default", 0, 5 * time.Minute},
		{"given", 6 * time.Second, 6 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := opened(t, breaker.Settings{ProbeLease: tt.lease})
				time.Sleep(31 * time.Second)
				lost, err := b.Acquire()
				require.NoError(t, err)
				time.Sleep(tt.after - 1)
				require.Equal(t, breaker.HalfOpen, b.State())
				refused(t, b)
				time.Sleep(1)
				synctest.Wait()
				require.Equal(t, breaker.Open, b.State())

				lost.Settle(breaker.Success) // late, ignored
				require.Equal(t, breaker.Open, b.State())
				time.Sleep(30*time.Second + 1)
				lost.Settle(breaker.Success)
				settle(t, b, breaker.Success) // not wedged
				require.Equal(t, breaker.Closed, b.State())
			})
		})
	}
}

// The lease of a probe that reports in time has no later effect.
func TestLeaseEndsWithTheProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, breaker.Settings{})
		time.Sleep(31 * time.Second)
		settle(t, b, breaker.Success)
		time.Sleep(time.Hour)
		synctest.Wait()
		s := b.Snapshot()
		require.Equal(t, breaker.Closed, s.State)
		require.EqualValues(t, 1, s.Opens)
		require.EqualValues(t, 5, s.Failures)
	})
}

func TestSettingsValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, breaker.Settings{}.Validate())
	for _, tt := range []struct {
		name string
		set  breaker.Settings
		want string
	}{
		{"threshold", breaker.Settings{FailureThreshold: -1}, "failure threshold -1"},
		{"cooldown", breaker.Settings{Cooldown: -time.Second}, "cooldown -1s"},
		{"probes", breaker.Settings{HalfOpenMax: -3}, "half-open probes -3"},
		{"probes too many", breaker.Settings{HalfOpenMax: 1 << 40}, "half-open probes"},
		{"lease", breaker.Settings{ProbeLease: -1}, "probe lease -1ns"},
		{"longest cooldown", breaker.Settings{MaxCooldown: -1}, "longest cooldown -1ns"},
		{"jitter", breaker.Settings{CooldownJitter: 1}, "cooldown jitter 1"},
		{"no jitter", breaker.Settings{CooldownJitter: math.NaN()}, "cooldown jitter NaN"},
		{"early probes", breaker.Settings{EarlyProbe: []time.Duration{5, 5}}, "early probes at [5ns 5ns]"},
		{"early probe at once", breaker.Settings{EarlyProbe: []time.Duration{0}}, "early probes at [0s]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, tt.set.Validate(), tt.want)
			b := breaker.New(tt.set) // works, with the default
			settle(t, b, breaker.Success)
			require.Equal(t, breaker.Closed, b.State())
		})
	}
}

// One breaker does not affect another.
func TestBreakersAreIndependent(t *testing.T) {
	t.Parallel()
	a := opened(t, breaker.Settings{Name: "a"})
	b := breaker.New(breaker.Settings{Name: "b"})
	settle(t, b, breaker.Success)
	require.Equal(t, breaker.Open, a.State())
	require.Equal(t, breaker.Closed, b.State())
	require.Equal(t, "b", b.Name())
}

// The zero verdict neither closes a breaker nor opens it.
func TestZeroVerdictIsNeutral(t *testing.T) {
	t.Parallel()
	var v breaker.Verdict
	require.Equal(t, breaker.Neutral, v)
	b := breaker.New(breaker.Settings{FailureThreshold: 2})
	settle(t, b, breaker.Failure)
	settle(t, b, v)
	require.Equal(t, 1, b.Snapshot().ConsecutiveFailures, "the run stays as it is")
	require.EqualValues(t, 1, b.Snapshot().Neutrals)
}

// The race detector finds nothing with many goroutines.
func TestManyGoroutines(t *testing.T) {
	t.Parallel()
	b := breaker.New(breaker.Settings{Cooldown: time.Microsecond, OnTransition: func(breaker.Transition) {}})
	var wg sync.WaitGroup
	for g := range 100 {
		wg.Go(func() {
			for i := range 300 {
				p, err := b.Acquire()
				if err != nil {
					_ = b.Snapshot()
					continue
				}
				p.Settle(breaker.Verdict((g + i) % 3))
				p.Settle(breaker.Failure)
			}
		})
	}
	wg.Wait()
	s := b.Snapshot()
	require.Equal(t, s.Requests, s.Successes+s.Failures+s.Neutrals)
	require.EqualValues(t, 100*300, s.Requests+s.Refused)
}
