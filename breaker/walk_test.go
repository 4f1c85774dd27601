package breaker_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// worlds are the settings under which the breaker is compared with the spec.
var worlds = []struct {
	name string
	set  breaker.Settings
}{
	{"defaults", breaker.Settings{FailureThreshold: 5, Cooldown: 30 * time.Second, ProbeLease: 6 * time.Second}},
	{"opens fast", breaker.Settings{FailureThreshold: 2, Cooldown: 30 * time.Second, ProbeLease: time.Minute}},
	{"growing", breaker.Settings{FailureThreshold: 3, Cooldown: 30 * time.Second, ProbeLease: 6 * time.Second, MaxCooldown: 300 * time.Second}},
	{"early probes", breaker.Settings{
		FailureThreshold: 3, Cooldown: 30 * time.Second, ProbeLease: 6 * time.Second, MaxCooldown: 100 * time.Second,
		EarlyProbe: []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, time.Minute},
	}},
}

// walk runs the same random steps on a breaker and on the spec, and returns the first
// difference. It runs inside a synctest bubble.
type walk struct {
	rng   *rand.Rand
	sleep func(time.Duration) // the bubble's
	b     *breaker.Breaker
	m     spec
	// told has the published transitions that were not compared yet. The lock is for the
	// race detector: nothing else orders the end of a lease after the last check.
	mu   sync.Mutex
	told []breaker.Transition
	// permits are the last ones given, settled or not; permit n is at n-1
	// modulo their number.
	permits [8]given
	count   int
	// trips are the last ones, retracted or not; the zero one belongs to nobody.
	trips     [3]tripped
	tripCount int
}

type tripped struct {
	trip breaker.Tripped
	gen  int
}

type given struct {
	permit  breaker.Permit
	gen     int
	settled bool
}

func newWalk(sleep func(time.Duration), seed uint64, set breaker.Settings, f fault, seen *coverage) *walk {
	w := &walk{rng: rand.New(rand.NewPCG(seed, 3)), sleep: sleep}
	w.m = spec{set: set, fault: f, gen: 1, seen: seen}
	set.OnTransition = func(tr breaker.Transition) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told = append(w.told, tr)
	}
	w.b = breaker.New(set)
	return w
}

func (w *walk) run(steps int) error {
	for step := range steps {
		if err := w.step(); err != nil {
			return fmt.Errorf("step %d, %s after the start: %w", step, w.m.now, err)
		}
		if err := w.compare(); err != nil {
			return fmt.Errorf("step %d, %s after the start: %w", step, w.m.now, err)
		}
	}
	return w.advance(time.Hour)
}

func (w *walk) step() error {
	switch n := w.rng.IntN(1000); {
	case n < 380:
		return w.acquire()
	case n < 700:
		w.settle()
	case n < 725:
		d := w.someTime()
		w.b.Throttle(d, "Retry-After")
		if d > 0 {
			w.m.holdFor(d)
		}
	case n < 740:
		mode := []breaker.Mode{breaker.Auto, breaker.Auto, breaker.ForcedOpen, breaker.Bypass}[w.rng.IntN(4)]
		w.m.seen.forced++
		w.m.mode = mode
		w.b.Force(mode)
	case n < 750 && w.m.mode != breaker.Auto: // otherwise little would happen
		w.m.mode = breaker.Auto
		w.b.Force(breaker.Auto)
	case n < 760:
		w.trips[w.tripCount%len(w.trips)] = tripped{w.b.Trip("silence"), w.m.trip()}
		w.tripCount++
	case n < 770:
		// The latest more often than those before it, and each more than once.
		tr := w.trips[(w.tripCount+len(w.trips)-1-min(w.rng.IntN(len(w.trips)), w.rng.IntN(len(w.trips))))%len(w.trips)]
		if got, want := tr.trip.Retract("a byte came"), w.m.retract(tr.gen); got != want {
			return fmt.Errorf("retracted: %t, want %t", got, want)
		}
	case n < 775:
		if got, want := w.b.Renewed("started again"), w.m.renew(); got != want {
			return fmt.Errorf("renewed: %t, want %t", got, want)
		}
	case n < 785:
		d := w.someTime()
		w.b.Suspect(d)
		if d <= 0 {
			w.m.suspect = 0
		} else {
			w.m.suspect = max(w.m.suspect, w.m.now+d)
		}
	default:
		return w.advance(w.someTime())
	}
	return nil
}

// someTime returns a duration, often one that ends exactly with a cooldown or a lease, or
// next to it.
func (w *walk) someTime() time.Duration {
	marks := []time.Duration{w.m.until, w.m.hold, w.m.lease, w.m.suspect}
	for _, d := range w.m.set.EarlyProbe {
		marks = append(marks, w.m.begun+d)
	}
	if d := marks[w.rng.IntN(len(marks))] - w.m.now; d > 0 && w.rng.IntN(3) > 0 {
		return d + time.Duration(w.rng.IntN(3)-1)
	}
	return time.Duration(w.rng.Int64N(int64([...]time.Duration{2, time.Second, 10 * time.Second, 60 * time.Second}[w.rng.IntN(4)])))
}

func (w *walk) advance(d time.Duration) error {
	w.sleep(d)
	synctest.Wait() // until the transition that a lease caused is reported
	w.m.advance(d)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.told) != len(w.m.told) {
		return fmt.Errorf("%d transitions told, want %d", len(w.told), len(w.m.told))
	}
	for i, got := range w.told {
		want := w.m.told[i]
		if got.From != want.From || got.To != want.To || got.Generation != want.Generation || got.OpenFor != want.OpenFor ||
			got.ConsecutiveFailures != want.ConsecutiveFailures || got.Reason == "" {
			return fmt.Errorf("told %+v, want %+v", got, want)
		}
	}
	w.told, w.m.told = w.told[:0], w.m.told[:0]
	return nil
}

func (w *walk) acquire() error {
	no, held, forced := w.m.refusal()
	if err := w.b.Peek(); (err != nil) != no {
		return fmt.Errorf("peek: %v, want a refusal: %t", err, no)
	}
	permit, err := w.b.Acquire()
	if (err != nil) != no {
		return fmt.Errorf("acquire: %v, want a refusal: %t", err, no)
	}
	if err != nil {
		open := err.(*breaker.OpenError)
		want := w.m.retryAfter()
		if forced {
			want = 0
		}
		if open.Throttled != held || open.Forced != forced || open.RetryAfter() != want {
			return fmt.Errorf("refused with %+v, retry after %s, want held %t, forced %t, %s", *open, open.RetryAfter(), held, forced, want)
		}
		return nil
	}
	w.count++
	gen := w.m.acquire(w.count)
	if probe := gen != 0 && w.m.state == breaker.HalfOpen; permit.Probe() != probe {
		return fmt.Errorf("permit is a probe: %t, want %t", permit.Probe(), probe)
	}
	w.permits[(w.count-1)%len(w.permits)] = given{permit: permit, gen: gen}
	return nil
}

func (w *walk) settle() {
	if w.count == 0 {
		return
	}
	// The latest more often than those before it.
	g := &w.permits[(w.count-1-min(w.rng.IntN(len(w.permits)), w.rng.IntN(len(w.permits)), w.count-1))%len(w.permits)]
	v := []breaker.Verdict{
		breaker.Success, breaker.Failure, breaker.Failure, breaker.Failure, breaker.Failure,
		breaker.Failure, breaker.Neutral, breaker.Neutral, breaker.Tentative, breaker.Tentative, breaker.Fatal,
	}[w.rng.IntN(11)]
	g.permit.Settle(v)
	w.m.settle(g.gen, v, g.settled)
	g.settled = true
}

func (w *walk) compare() error {
	s, m := w.b.Snapshot(), &w.m
	switch {
	case s.State != m.state, s.State != w.b.State():
		return fmt.Errorf("state %s, want %s", s.State, m.state)
	case s.Generation != uint64(m.gen):
		return fmt.Errorf("generation %d, want %d", s.Generation, m.gen)
	case s.ConsecutiveFailures != m.run:
		return fmt.Errorf("run of %d, want %d", s.ConsecutiveFailures, m.run)
	case s.Probation != m.probation:
		return fmt.Errorf("probation %t, want %t", s.Probation, m.probation)
	case s.Mode != m.mode:
		return fmt.Errorf("mode %s, want %s", s.Mode, m.mode)
	case s.Throttled != (m.now < m.hold):
		return fmt.Errorf("held %t, want %t", s.Throttled, m.now < m.hold)
	case s.RetryAfter != m.retryAfter():
		return fmt.Errorf("retry after %s, want %s", s.RetryAfter, m.retryAfter())
	case s.ProbeInFlight != (m.probe != 0):
		return fmt.Errorf("probe in flight %t, want %t", s.ProbeInFlight, m.probe != 0)
	case s.Suspect != (m.now < m.suspect):
		return fmt.Errorf("suspect %t, want %t", s.Suspect, m.now < m.suspect)
	default:
		return nil
	}
}

// soakSteps is the number of steps of a test run. MAINSTAY_SOAK_STEPS raises it.
func soakSteps(t *testing.T) int {
	t.Helper()
	text := os.Getenv("MAINSTAY_SOAK_STEPS")
	if text == "" {
		return testmain.Fewer(1_000_000, 10)
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "MAINSTAY_SOAK_STEPS")
	require.Positive(t, n, "MAINSTAY_SOAK_STEPS")
	return n
}

// The breaker and the spec agree after every step of a random walk.
func TestRandomWalkAgainstSpec(t *testing.T) {
	t.Parallel()
	const leg = 25_000 // a new breaker after so many steps
	steps := soakSteps(t)
	legs := max(1, steps/leg/len(worlds))
	for _, world := range worlds {
		t.Run(world.name, func(t *testing.T) {
			t.Parallel()
			var seen coverage
			for seed := range uint64(legs) {
				synctest.Test(t, func(t *testing.T) {
					w := newWalk(time.Sleep, seed, world.set, none, &seen)
					require.NoError(t, w.run(min(leg, steps)), "seed %d", seed)
				})
			}
			t.Logf("%d steps: %+v", legs*min(leg, steps), seen)
			require.Greater(t, seen.least(world.set), legs*5, "the walk came across everything: %+v", seen)
		})
	}
}

// least returns the smallest count of the events that are possible with the settings.
func (c *coverage) least(set breaker.Settings) int {
	counts := []int{c.opens, c.closes, c.leases, c.holds, c.probations, c.late, c.twice, c.forced, c.trips, c.neutralProbes, c.retracted, c.stale, c.renewed}
	if set.EarlyProbe != nil {
		counts = append(counts, c.early)
	}
	if set.MaxCooldown > 0 {
		counts = append(counts, c.grown)
	}
	return slices.Min(counts)
}

// The comparison with the breaker finds each bug that is planted in the spec,
// after few steps. The bugs are in the spec because a difference has no
// direction: a breaker with the bug would differ from the right spec at the same
// step.
func TestPlantedFaultsAreFound(t *testing.T) {
	t.Parallel()
	for _, f := range allFaults {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			world := worlds[0]
			switch f {
			case earlyRestarts:
				world = worlds[3]
			case growthStays, probationShortens:
				world = worlds[2]
			}
			synctest.Test(t, func(t *testing.T) {
				err := newWalk(time.Sleep, 1, world.set, f, new(coverage)).run(200_000)
				require.Error(t, err, "nobody noticed")
				t.Log(err)
				time.Sleep(time.Hour) // the lease of a probe that is left
			})
		})
	}
}
