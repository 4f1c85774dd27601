package client_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// A cache that two clients share keeps their servers apart, even with the same name.
func TestSharedCacheKeepsServersApart(t *testing.T) {
	t.Parallel()
	cache, err := client.NewCache(toolcache.Settings{})
	require.NoError(t, err)
	a, _ := connected(t, client.WithCache(client.CacheConfig{Shared: cache}))
	tr, s := newFake(t)
	s.on("tools/list", func(jsonrpc.Request) any { return toolList("other") })
	b, err := client.Connect(t.Context(), tr, sessionEra, client.WithCache(client.CacheConfig{Shared: cache}))
	require.NoError(t, err)
	getSchema(t, a, "echo")
	getSchema(t, b, "other")
	_, err = b.GetToolSchema(t.Context(), "echo")
	require.Equal(t, mcperrors.CodeToolNotFound, mcperrors.CodeOf(err))
	require.NoError(t, b.Close())
}

// A client that is closed while others wait for its fetch takes nobody with it.
func TestClosingSharesNoFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cache, err := client.NewCache(toolcache.Settings{})
		require.NoError(t, err)
		slow := func(s *fakeServer) {
			s.on("tools/list", func(req jsonrpc.Request) any {
				go func() {
					time.Sleep(time.Second)
					s.reply(req, json.RawMessage(oneTool))
				}()
				return nil
			})
		}
		tra, sa := newFake(t)
		trb, sb := newFake(t)
		opts := []client.Option{client.WithCache(client.CacheConfig{Shared: cache}), client.WithCache(client.CacheConfig{NoPreload: true})}
		a, err := client.Connect(t.Context(), named{tra}, pinned(opts)...)
		require.NoError(t, err)
		b, err := client.Connect(t.Context(), named{trb}, pinned(opts)...)
		require.NoError(t, err)
		slow(sa)
		slow(sb)
		ended := make(chan error, 1)
		go func() {
			_, err := a.GetToolSchema(t.Context(), "echo")
			ended <- err
		}()
		synctest.Wait()
		go func() {
			time.Sleep(time.Millisecond)
			if err := a.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}()
		getSchema(t, b, "echo")
		require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(<-ended))
		require.NoError(t, b.Close())
	})
}

// named is a transport that shares its identity with others of its kind.
type named struct{ s *transport.Stream }

func (n named) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	return n.s.Connect(ctx, h)
}

func (n named) String() string { return "named" }
