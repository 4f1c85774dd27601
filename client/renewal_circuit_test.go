package client_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// guarded is a site's client whose circuit the test holds in its hands.
func guarded(t *testing.T, s *sessionSite, opts ...client.Option) (*client.Client, *breaker.Breaker) {
	t.Helper()
	r := client.Resilience{Breaker: breaker.New(breaker.Settings{})}
	return s.dial(t, append(opts, client.WithResilience(r))...), r.Breaker
}

// closed is how the circuit of [guarded] is closed to a new session, and for how
// long.
var closed = map[string]struct {
	f    func(b *breaker.Breaker)
	wait time.Duration
}{
	"open": {func(b *breaker.Breaker) { b.Trip("a test") }, 30 * time.Second},
	"held": {func(b *breaker.Breaker) { b.Throttle(50*time.Second, "a test") }, 50 * time.Second},
}

// A session that the client's own circuit did not let it open was not tried: who
// listens has it when the circuit lets it through.
func TestNewSessionForListenersWaitsForTheCircuit(t *testing.T) {
	t.Parallel()
	for name, how := range closed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSessionSite(t)
				var renewed time.Time
				var mu sync.Mutex
				c, guard := guarded(t, s, client.OnEvent(func(_ context.Context, e client.Event) {
					if _, ok := e.(client.Reinitialized); ok {
						mu.Lock()
						renewed = time.Now()
						mu.Unlock()
					}
				}))
				var changes record
				_, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"x:/a"}}, changes.change)
				require.NoError(t, err)
				synctest.Wait()
				how.f(guard)
				lost := time.Now()
				s.restart()
				s.endStream()
				time.Sleep(5 * time.Minute)
				mu.Lock()
				took := renewed.Sub(lost)
				mu.Unlock()
				require.Greater(t, took, how.wait)
				require.Less(t, took, how.wait+2*time.Second)
				require.Equal(t, 2, s.count("initialize@"))
				require.Equal(t, 1, s.count("resources/subscribe@s2"))
				require.NoError(t, c.Close())
			})
		})
	}
}

// Calls that found the loss out while the circuit was closed to them do not make
// the next one wait.
func TestNewSessionForCallsWaitsForTheCircuit(t *testing.T) {
	t.Parallel()
	for name, how := range closed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSessionSite(t)
				c, guard := guarded(t, s)
				const calls = 15
				release := make(chan struct{})
				s.reply = func(w http.ResponseWriter, _ *http.Request, req jsonrpc.Request) bool {
					if req.Method != "tools/call" {
						return false
					}
					<-release
					w.WriteHeader(http.StatusNotFound)
					return true
				}
				defer close(release) // should the test fail
				ended := make(chan error, calls)
				for range calls {
					go func() {
						_, err := c.CallTool(t.Context(), "echo", message)
						ended <- err
					}()
				}
				synctest.Wait()
				how.f(guard)
				began := time.Now()
				for range calls {
					release <- struct{}{}
					err := <-ended
					require.Equal(t, mcperrors.KindCircuitOpen, mcperrors.KindOf(err), "%v", err)
					require.True(t, mcperrors.SafeToRetry(err), "it was refused for its session")
					require.Equal(t, time.Until(began.Add(how.wait)), mcperrors.RetryAfter(err))
					time.Sleep(time.Second)
				}
				s.reply = nil
				s.restart()
				time.Sleep(time.Until(began.Add(how.wait + time.Millisecond)))
				require.NoError(t, c.Ping(t.Context()))
				require.Equal(t, 2, s.count("initialize@"))
				require.NoError(t, c.Close())
			})
		})
	}
}
