package client_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Handlers that hang make others wait, within the time of the call. The log reports
// that once, until a handler is free again.
func TestHandlersThatHang(t *testing.T) {
	t.Parallel()
	log := &lines{}
	var hang chan struct{}
	var hangs atomic.Bool
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		hang = make(chan struct{}, 2) // of the bubble
		s.on("tools/call", func(req jsonrpc.Request) any {
			if strings.Contains(string(req.Params), "inputResponses") {
				return json.RawMessage(plainResult)
			}
			return json.RawMessage(interim(`"s"`, wantForm))
		})
		call := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := c.CallTool(ctx, "echo", hello)
			return err
		}
		said := func() int { return strings.Count(log.text(), "all handlers are busy") }
		fill := func() {
			hangs.Store(true)
			for range 2 {
				require.ErrorIs(t, call(), context.DeadlineExceeded)
			}
		}
		fill()
		require.Zero(t, said(), "both had a place")
		for range 3 {
			require.ErrorIs(t, call(), context.DeadlineExceeded)
		}
		require.Equal(t, 1, said())
		require.Contains(t, log.text(), "method=elicitation/create handlers=2 longest=10m0s")

		hangs.Store(false)
		for range 2 {
			hang <- struct{}{}
		}
		pass(time.Second)
		require.NoError(t, call())
		fill()
		require.ErrorIs(t, call(), context.DeadlineExceeded)
		require.Equal(t, 2, said(), "busy again")
		for range 2 {
			hang <- struct{}{}
		}
	}, client.WithLogger(log.logger()), client.WithServerLimits(client.ServerLimits{Handlers: 2}),
		client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
			if hangs.Load() {
				<-hang
			}
			return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
		}))
}
