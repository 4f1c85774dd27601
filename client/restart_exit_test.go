package client_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
)

// A program may run on without its pipe, and hold what only one can have: the next
// is started when it has ended, or has had its time for that.
func TestRestartWaitsForTheExit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ exits, want time.Duration }{
		"it ends late":  {2 * time.Second, 2 * time.Second},
		"it never ends": {time.Hour, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			lingering(t, func(t *testing.T, c *client.Client, p *fakePrograms, exited chan struct{}) {
				began := time.Now()
				p.last().crash()
				time.AfterFunc(tt.exits, func() { close(exited) })
				pass(tt.want - time.Millisecond)
				synctest.Wait()
				require.Equal(t, 1, p.count(), "two at a time")
				require.Equal(t, client.StateRestarting, c.State())
				require.NoError(t, callOnce(t.Context(), c))
				require.InDelta(t, tt.want, time.Since(began), float64(2*time.Millisecond))
				require.Equal(t, 2, p.count())
			})
		})
	}
}

// Close waits for no program to end before the next.
func TestCloseBeforeTheExit(t *testing.T) {
	lingering(t, func(t *testing.T, c *client.Client, p *fakePrograms, _ chan struct{}) {
		p.last().crash()
		synctest.Wait()
		began := time.Now()
		require.NoError(t, c.Close())
		require.Zero(t, time.Since(began))
		require.Equal(t, 1, p.count())
	})
}

// lingering runs a test with a client whose first program ends with exited only.
func lingering(t *testing.T, f func(t *testing.T, c *client.Client, p *fakePrograms, exited chan struct{})) {
	t.Helper()
	var exited chan struct{}
	supervised(t, func(n int, s *fakeServer) error {
		if n == 1 {
			exited = make(chan struct{})
			s.exited = exited
		}
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		f(t, c, p, exited)
	}, client.WithResilience(client.Resilience{Restart: client.Restart{MinPause: time.Millisecond}}))
}
