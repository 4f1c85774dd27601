package pool

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// A caller that waits for a server is woken if the client recovers before the pool
// connects again.
func TestWaitersSeeARecovery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c, err := client.Connect(ctx, clienttest.NewServer(t).Transport(), client.WithRequiredCapabilities())
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close()) }()
		p := &Pool{changed: make(chan struct{}), life: ctx}
		m := &member{p: p, wake: make(chan struct{}, 1), state: Connecting}
		m.client.Store(c)
		reconnected := make(chan error, 1)
		changed := p.changed
		go func() {
			<-changed // what waited when the client was not ready
			p.mu.Lock()
			m.state = Connected
			p.mu.Unlock()
			reconnected <- m.reconnect(ctx)
		}()
		synctest.Wait()
		m.look()
		require.NoError(t, <-reconnected, "nobody is left waiting")
		require.Same(t, c, m.client.Load(), "what works is kept")
		require.Empty(t, m.wake)
	})
}

// A request from before an attempt is answered by that attempt: it does not shorten
// the pause after it.
func TestPauseIgnoresEarlierRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &Pool{changed: make(chan struct{}), cfg: &config{min: time.Second, max: time.Minute, logger: slog.New(slog.DiscardHandler)}}
		m := &member{p: p, wake: make(chan struct{}, 1), state: Connecting}
		m.wake <- struct{}{}
		began := time.Now()
		require.True(t, m.pause(t.Context(), errors.New("gone"), 0))
		require.GreaterOrEqual(t, time.Since(began), time.Second/2)
		time.AfterFunc(time.Second/10, func() { m.wake <- struct{}{} })
		began = time.Now()
		require.True(t, m.pause(t.Context(), errors.New("gone"), 0))
		require.Equal(t, time.Second/10, time.Since(began), "a request during the pause ends it")
	})
}

func TestPauses(t *testing.T) {
	t.Parallel()
	c, err := newConfig(nil)
	require.NoError(t, err)
	again := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, "gone", nil)
	lasting := *again
	lasting.Retryable = false
	for failures, want := range map[int]int{0: 1, 1: 2, 3: 8, 4: 16, 5: 30, 39: 30, 40: 30, 1000: 30} {
		for range 100 {
			wait := c.wait(again, failures).Seconds()
			require.LessOrEqual(t, wait, float64(want))
			require.GreaterOrEqual(t, wait, float64(want)/2)
		}
	}
	again.RetryAfter = 2 * longestHint
	require.Equal(t, longestHint, c.wait(again, 0))
	require.GreaterOrEqual(t, c.wait(&lasting, 0), c.max/2, "what does not help is not hurried")
	require.Zero(t, c.wait(badOption(errors.New("no such option")), 0), "wrong options stay wrong")
	c.min, c.max = 0, 0
	require.Zero(t, c.wait(again, 0), "switched off")
}
