package breaker_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

// A second oracle, for the functions that the engine has itself: gobreaker with its own
// cooldown, used for every call, and never settled twice or late. It must agree with
// Breaker, which uses the engine for a few calls only and measures its own time.
func TestRandomWalkAgainstBareEngine(t *testing.T) {
	t.Parallel()
	errFailed, errNothing := errors.New("failed"), errors.New("nothing learnt")
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(4, 4))
		b := breaker.New(breaker.Settings{ProbeLease: 1000 * time.Hour})
		bare := gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
			Timeout:      30 * time.Second,
			ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 5 },
			IsSuccessful: func(err error) bool { return err == nil },
			IsExcluded:   func(err error) bool { return errors.Is(err, errNothing) },
		})
		states := map[gobreaker.State]breaker.State{
			gobreaker.StateClosed: breaker.Closed, gobreaker.StateOpen: breaker.Open, gobreaker.StateHalfOpen: breaker.HalfOpen,
		}
		type call struct {
			permit breaker.Permit
			done   func(error)
		}
		var out []call
		visits := map[breaker.State]int{}
		for step := range soakSteps(t) / 5 {
			switch n := rng.IntN(20); {
			case n < 9:
				done, refused := bare.Allow()
				permit, err := b.Acquire()
				require.Equal(t, refused == nil, err == nil, "step %d", step)
				if err == nil {
					out = append(out, call{permit, done})
				}
			case n < 18 && len(out) > 0:
				i := rng.IntN(len(out))
				switch rng.IntN(8) {
				case 0:
					out[i].permit.Settle(breaker.Success)
					out[i].done(nil)
				case 1:
					out[i].permit.Settle(breaker.Neutral)
					out[i].done(errNothing)
				default:
					out[i].permit.Settle(breaker.Failure)
					out[i].done(errFailed)
				}
				out = append(out[:i], out[i+1:]...)
			case n >= 18:
				time.Sleep([]time.Duration{1, time.Second, 30 * time.Second, 30*time.Second + 1}[rng.IntN(4)])
			}
			// The engine becomes HALF_OPEN when its state is read, and a Breaker does
			// not. So only states that do not depend on this are compared.
			want := states[bare.State()]
			if got := b.State(); got != breaker.Open {
				require.Equal(t, want, got, "step %d", step)
			} else {
				require.NotEqual(t, breaker.Closed, want, "step %d", step)
			}
			visits[b.State()]++
		}
		require.Len(t, visits, 3)
		for _, c := range out {
			c.permit.Release()
		}
		time.Sleep(1000 * time.Hour)
	})
}
