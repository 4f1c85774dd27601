package client_test

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// An adaptive limit is lowered by a tenth when the server is too late, and grows
// again by calls that succeed while it is used.
func TestAdaptiveBulkhead(t *testing.T) {
	t.Parallel()
	r := client.Resilience{Bulkhead: client.Bulkhead{Limit: 10, Queue: 10, Adaptive: true}, Retry: client.Retry{Policy: client.RetryNever}}
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		var late atomic.Bool
		s.on("tools/call", func(req jsonrpc.Request) any {
			if late.Load() {
				return nil
			}
			go func() {
				time.Sleep(time.Second / 2)
				s.reply(req, json.RawMessage(`{"content":[]}`))
			}()
			return nil
		})
		atOnce := func() int { // of ten calls
			before := s.count("tools/call")
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() { _, _ = c.CallTool(t.Context(), "echo", hello) })
			}
			synctest.Wait()
			n := s.count("tools/call") - before
			wg.Wait()
			return n
		}
		require.Equal(t, 10, atOnce())
		late.Store(true)
		_, err := c.CallTool(t.Context(), "echo", hello, client.WithTimeouts(-1, time.Second))
		require.Error(t, err)
		late.Store(false)
		require.Equal(t, 9, atOnce(), "a tenth less")
		require.Equal(t, 10, atOnce(), "and one more with each success")
	}, client.WithResilience(r))
}
