package client_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const sessionWithAll = `{"protocolVersion":"2025-11-25","capabilities":` + siteCapabilities + `,"serverInfo":{"name":"s","version":"1"}}`

// subscribing returns a client in the session era whose server takes
// subscriptions.
func subscribing(t *testing.T, opts ...client.Option) (*client.Client, *fakeServer) {
	t.Helper()
	tr, s := newFake(t)
	s.result("initialize", sessionWithAll)
	s.result("resources/subscribe", `{}`)
	s.result("resources/unsubscribe", `{}`)
	s.result("logging/setLevel", `{}`)
	c, err := client.Connect(t.Context(), tr, append([]client.Option{sessionEra}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ignoreClosed(c.Close())) })
	return c, s
}

// The same API in the session era; a URI is asked for once,
// however many subscriptions share it.
func TestSubscribeSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := subscribing(t)
		var one, two record
		a, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourceSubscriptions: []string{"x:/a", "x:/b"}}, one.change)
		require.NoError(t, err)
		require.False(t, a.Accepted().PromptsListChanged, "not declared")
		b, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"x:/a"}}, two.change)
		require.NoError(t, err)
		require.Equal(t, 2, s.count("resources/subscribe"))
		for _, uri := range []string{"x:/a", "x:/a/below", "x:/ab", "x:/b"} {
			s.notify("notifications/resources/updated", `{"uri":"`+uri+`"}`)
		}
		s.notify("notifications/tools/list_changed", `{}`)
		s.notify("notifications/prompts/list_changed", `{}`)
		synctest.Wait()
		require.Equal(t, []string{"updated x:/a", "updated x:/a/below", "updated x:/b", "notifications/tools/list_changed"}, one.all())
		require.Equal(t, []string{"updated x:/a", "updated x:/a/below"}, two.all())
		require.NoError(t, a.Update(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"x:/b", "x:/c"}}))
		synctest.Wait()
		require.Equal(t, 3, s.count("resources/subscribe"))
		require.Equal(t, 0, s.count("resources/unsubscribe"), "the other still uses x:/a")
		require.NoError(t, b.Close())
		synctest.Wait()
		require.Equal(t, 1, s.count("resources/unsubscribe"))
		require.NoError(t, a.Close())
		synctest.Wait()
		require.Equal(t, 3, s.count("resources/unsubscribe"))
		require.Equal(t, 0, s.count("subscriptions/listen"))
		s.notify("notifications/resources/updated", `{"uri":"x:/b"}`)
		synctest.Wait()
		require.Len(t, one.all(), 4)
	})
}

// All URIs of a subscription are watched, or none.
func TestSubscribeSessionRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := subscribing(t)
		s.on("resources/subscribe", func(req jsonrpc.Request) any {
			if string(req.Params) == `{"uri":"x:/b"}` {
				return jsonrpc.NewError(-32002, "no", json.RawMessage(`{"uri":"x:/b"}`))
			}
			return json.RawMessage(`{}`)
		})
		_, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"x:/a", "x:/b"}}, (&record{}).change)
		require.Error(t, err)
		synctest.Wait()
		require.Equal(t, 1, s.count("resources/unsubscribe"))
	})
}

// A handler may use the client and its own subscription.
func TestSubscriptionHandlerMayCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := subscribing(t)
		ready, done := make(chan *client.Subscription, 1), make(chan error, 1)
		sub, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, func(ctx context.Context, _ client.Change) {
			_, err := c.ListTools(ctx, nil)
			_ = (<-ready).Close()
			done <- err
		})
		require.NoError(t, err)
		ready <- sub
		s.notify("notifications/tools/list_changed", `{}`)
		require.NoError(t, <-done)
		<-sub.Done()
	})
}

// Only an idle connection is probed. Any answer counts; no answer is an event and a
// failure.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	for _, era := range []struct{ version, method string }{{"2025-11-25", "ping"}, {"2026-07-28", "server/discover"}} {
		t.Run(era.version, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var events record
				tr, s := newFake(t)
				s.result("initialize", sessionWithAll)
				s.result("server/discover", discoverAll)
				c, err := client.Connect(t.Context(), tr, client.WithProtocolVersion(era.version), client.WithCache(client.CacheConfig{NoPreload: true}),
					client.WithResilience(client.Resilience{KeepAlive: 10 * time.Second}), events.events())
				require.NoError(t, err)
				t.Cleanup(func() { _ = c.Close() })
				base := s.count(era.method)
				time.Sleep(time.Second)
				for range 10 { // traffic counts as life
					_, err := c.CallTool(t.Context(), "echo", message)
					require.NoError(t, err)
					time.Sleep(9 * time.Second)
				}
				require.LessOrEqual(t, s.count(era.method), base+1)
				base = s.count(era.method)
				time.Sleep(100 * time.Second)
				require.InDelta(t, base+10, s.count(era.method), 1)
				s.on(era.method, func(jsonrpc.Request) any {
					return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil)
				})
				time.Sleep(time.Minute)
				require.Empty(t, events.all(), "an error is an answer")
				s.on(era.method, func(jsonrpc.Request) any { return nil })
				time.Sleep(25 * time.Second)
				require.Equal(t, []string{"event.LivenessFailed"}, events.all())
				require.Positive(t, c.Breaker().Snapshot().ConsecutiveFailures)
			})
		})
	}
	_, err := client.Connect(t.Context(), nil, client.WithResilience(client.Resilience{KeepAlive: -1}))
	require.Error(t, err)
}

// It is off by default, and an idle client is quiet.
func TestIdleClientIsQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, s := subscribing(t)
		before := len(s.received())
		time.Sleep(24 * time.Hour)
		require.Len(t, s.received(), before)
	})
}
