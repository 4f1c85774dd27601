package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// At the limit, calls wait for a second; protocol requests bypass the queue; a call
// that is canceled in the queue returns at once.
func TestBulkhead(t *testing.T) {
	t.Parallel()
	r := client.Resilience{Bulkhead: client.Bulkhead{Limit: 2, Queue: 1}}
	m := &recordingMeter{}
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		slow := 700 * time.Millisecond
		s.on("tools/call", func(req jsonrpc.Request) any {
			go func() {
				time.Sleep(slow)
				s.reply(req, json.RawMessage(`{"content":[]}`))
			}()
			return nil
		})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := c.CallTool(t.Context(), "echo", hello)
				require.NoError(t, err)
			})
		}
		synctest.Wait()
		require.Equal(t, 2, s.count("tools/call"), "the third waits")
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.Equal(t, mcperrors.KindOverloaded, mcperrors.KindOf(err))
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		require.NoError(t, c.Ping(t.Context()), "signs of life have a lane")
		wg.Wait()
		require.Equal(t, 1, m.count(client.Queued))
		require.Equal(t, 1, m.count(client.RefusedFull))

		slow = 10 * time.Second
		for range 2 {
			wg.Go(func() { _, _ = c.CallTool(t.Context(), "echo", hello) })
		}
		synctest.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err = c.CallTool(ctx, "echo", hello)
		require.Equal(t, 300*time.Millisecond, time.Since(began))
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		began = time.Now()
		_, err = c.CallTool(t.Context(), "echo", hello)
		require.Equal(t, mcperrors.KindOverloaded, mcperrors.KindOf(err))
		require.Equal(t, time.Second, time.Since(began))
		wg.Wait()
		require.Zero(t, c.Breaker().Snapshot().Failures, "what waits is our load, not the server's fault")
	}, client.WithResilience(r), client.WithMeter(m))
}

func TestRate(t *testing.T) {
	t.Parallel()
	r := client.Resilience{Rate: client.Rate{PerSecond: 10, Burst: 5}}
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		time.Sleep(10 * time.Second)
		began := time.Now()
		for range 25 {
			_, err := c.CallTool(t.Context(), "echo", hello)
			require.NoError(t, err)
		}
		require.InDelta(t, 2, time.Since(began).Seconds(), 0.2, "five at once, then ten a second")
		require.NoError(t, c.Ping(t.Context()))
		var late atomic.Int32
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if _, err := c.CallTool(t.Context(), "echo", hello); errors.Is(err, context.DeadlineExceeded) || mcperrors.KindOf(err) == mcperrors.KindOverloaded {
					late.Add(1)
				}
			})
		}
		wg.Wait()
		require.NotZero(t, late.Load(), "nobody waits for longer than a second")
	}, client.WithResilience(r))
}
