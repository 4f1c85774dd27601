package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A request of the stateless era that is just arriving has a session of go-sdk in which nothing has
// been read yet. It gets no news, for nobody has subscribed.
func TestNewsWaitsForASubscription(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := mcp.NewServer(&mcp.Implementation{Name: "news", Version: "1"}, nil)
		srv.AddSendingMiddleware(subscribed)
		near, far := mcp.NewInMemoryTransports()
		arriving, err := srv.Connect(t.Context(), far, nil)
		require.NoError(t, err)
		peer, err := near.Connect(t.Context())
		require.NoError(t, err)
		got := make(chan string, 4)
		go func() {
			defer close(got)
			for {
				m, err := peer.Read(t.Context())
				if err != nil {
					return
				}
				if r, ok := m.(*jsonrpc.Request); ok {
					got <- r.Method
				}
			}
		}()
		say := func(id, method, params string) {
			r := &jsonrpc.Request{Method: method, Params: []byte(params)}
			if id != "" {
				r.ID, err = jsonrpc.MakeID(id)
				require.NoError(t, err)
			}
			require.NoError(t, peer.Write(t.Context(), r))
		}
		change := func(tool string) {
			mcp.AddTool(srv, &mcp.Tool{Name: tool}, func(_ context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			})
			time.Sleep(time.Second) // the news is sent a little later
			synctest.Wait()
		}

		change("before")
		require.Empty(t, got)

		say("i", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
		say("", "notifications/initialized", `{}`)
		synctest.Wait()
		change("after")
		require.Equal(t, "notifications/tools/list_changed", <-got)

		require.NoError(t, peer.Close())
		require.NoError(t, arriving.Wait())
		for range got { // to its end
		}
	})
}
