package breaker_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// model is resilience.md §3.4, rules 1 to 4, in the plainest form.
type model struct {
	state    breaker.State
	gen, run int
	until    time.Time // OPEN refuses up to and including this instant
	probe    int       // the permit that is the probe, 0 when its place is free
	lease    time.Time // when the probe's lease runs out
}

const (
	modelThreshold = 3
	modelCooldown  = 10 * time.Second
	modelLease     = 4 * time.Second
)

func (m *model) open(now time.Time) {
	m.state, m.until, m.probe = breaker.Open, now.Add(modelCooldown), 0
	m.gen++
}

// tick lets the probe's lease run out.
func (m *model) tick(now time.Time) {
	if m.state == breaker.HalfOpen && m.probe != 0 && !now.Before(m.lease) {
		m.run++
		m.open(m.lease)
	}
}

func (m *model) acquire(now time.Time, permit int) bool {
	switch {
	case m.state == breaker.Open && now.After(m.until):
		m.state = breaker.HalfOpen
		m.gen++
	case m.state == breaker.Open, m.state == breaker.HalfOpen && m.probe != 0:
		return false
	}
	if m.state == breaker.HalfOpen {
		m.probe, m.lease = permit, now.Add(modelLease)
	}
	return true
}

func (m *model) settle(now time.Time, gen int, v breaker.Verdict) {
	if gen != m.gen {
		return
	}
	switch {
	case v == breaker.Neutral:
		m.probe = 0
	case v == breaker.Success:
		if m.run = 0; m.state == breaker.HalfOpen {
			m.state, m.probe = breaker.Closed, 0
			m.gen++
		}
	default:
		if m.run++; m.state == breaker.HalfOpen || m.run >= modelThreshold {
			m.open(now)
		}
	}
}

// A random walk: the breaker and the model agree after every step.
func TestRandomWalkAgainstModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 2))
			b := breaker.New(breaker.Settings{
				FailureThreshold: modelThreshold, Cooldown: modelCooldown, ProbeLease: modelLease,
			})
			m := model{gen: 1}
			type held struct {
				permit breaker.Permit
				gen    int
			}
			var out []held // also the settled ones: settling again has no effect
			settled := map[int]bool{}
			for step := range 3000 {
				now := time.Now()
				m.tick(now)
				switch n := rng.IntN(10); {
				case n < 5:
					p, err := b.Acquire()
					require.Equal(t, m.acquire(now, len(out)+1), err == nil, "seed %d step %d", seed, step)
					if err == nil {
						out = append(out, held{p, m.gen})
					}
				case n < 9 && len(out) > 0:
					i := max(0, len(out)-1-rng.IntN(4))
					v := []breaker.Verdict{breaker.Success, breaker.Failure, breaker.Neutral}[rng.IntN(3)]
					out[i].permit.Settle(v)
					if !settled[i] {
						settled[i] = true
						m.settle(now, out[i].gen, v)
					}
				default:
					// Often exactly to the end of a lease or a cooldown, or 1 ns on.
					time.Sleep([]time.Duration{1, time.Second, modelLease, modelCooldown, modelCooldown + 1}[rng.IntN(5)])
					synctest.Wait()
					m.tick(time.Now())
				}
				s := b.Snapshot()
				require.Equal(t, m.state, s.State, "seed %d step %d", seed, step)
				require.EqualValues(t, m.gen, s.Generation, "seed %d step %d", seed, step)
				require.Equal(t, m.run, s.ConsecutiveFailures, "seed %d step %d", seed, step)
			}
			require.Greater(t, m.gen, 100, "the walk went somewhere")
		})
	}
}
