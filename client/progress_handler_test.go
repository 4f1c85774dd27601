package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// A handler may make calls with progress, also one of progress: nobody waits for
// the handler that waits for the call.
func TestProgressInHandlers(t *testing.T) {
	t.Parallel()
	for _, version := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := clienttest.NewServer(t)
				s.Tool("slow", "", func(call *clienttest.Call) (any, error) {
					for i := range 3 {
						call.Progress(float64(i+1), "")
					}
					call.Notify("notifications/hello", nil)
					return clienttest.Text("done"), nil
				})
				var c *client.Client
				var seen []string
				call := func(ctx context.Context, name string, also func()) {
					_, err := c.CallTool(ctx, "slow", nil, client.WithProgress(func(p mcp.ProgressParams) {
						seen = append(seen, fmt.Sprint(name, p.Progress))
						if also != nil {
							also()
							also = nil
						}
					}))
					require.NoError(t, err)
				}
				handled := make(chan struct{})
				first := true
				var err error
				c, err = client.Connect(t.Context(), s.Transport(), client.WithProtocolVersion(string(version)),
					client.OnNotification(func(ctx context.Context, _ jsonrpc.Notification) {
						if first {
							first = false
							call(ctx, "in a handler ", nil)
							close(handled)
						}
					}))
				require.NoError(t, err)
				began := time.Now()
				_, err = c.CallTool(t.Context(), "slow", json.RawMessage(`{}`))
				require.NoError(t, err)
				<-handled
				call(t.Context(), "outer ", func() { call(t.Context(), "inner ", nil) })
				require.Zero(t, time.Since(began), "nothing waits for a grace")
				require.Equal(t, []string{
					"in a handler 1", "in a handler 2", "in a handler 3",
					"outer 1", "inner 1", "inner 2", "inner 3", "outer 2", "outer 3",
				}, seen)
				require.NoError(t, c.Close())
			})
		})
	}
}
