package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
)

// The application is asked once for each attempt of a call, and once more after a
// challenge, whatever the call needs to know of its caller.
func TestCredentialsAreAskedForOnce(t *testing.T) {
	t.Parallel()
	call := func(ctx context.Context, c *client.Client, _ *keyedPeer) error {
		_, err := c.CallTool(ctx, "echo", hello)
		return err
	}
	type counts struct{ headers, authorize, challenged int }
	once := counts{1, 1, 0}
	for name, tt := range map[string]struct {
		opts   []client.Option
		before func(c *client.Client, p *keyedPeer)
		do     func(ctx context.Context, c *client.Client, p *keyedPeer) error
		once   bool
		only   string // an era
		want   counts
		posts  map[string]int // requests of the call by method
	}{
		"a tool": {do: call, want: once, posts: map[string]int{"tools/call": 1}},
		"a tool that is not listed yet": {
			before: func(c *client.Client, _ *keyedPeer) { c.InvalidateTools() },
			do: func(ctx context.Context, c *client.Client, p *keyedPeer) error {
				p.list(peerTool + `,{"name":"new","inputSchema":{"type":"object"}}`)
				_, err := c.CallTool(ctx, "new", nil)
				return err
			},
			want: once, posts: map[string]int{"tools/call": 1, "tools/list": 1},
		},
		"no list before": {
			opts: []client.Option{client.WithCache(client.CacheConfig{NoPreload: true})},
			do:   call, want: once, posts: nil,
		},
		"a partition of the application": {
			opts: []client.Option{client.WithCache(client.CacheConfig{Partition: "team"})},
			do:   call, want: once, posts: map[string]int{"tools/call": 1},
		},
		"credentials for one request": {do: call, once: true, want: once, posts: map[string]int{"tools/call": 1}},
		"credentials for one request, and a list": {
			do: func(ctx context.Context, c *client.Client, p *keyedPeer) error {
				p.list(peerTool + `,{"name":"new","inputSchema":{"type":"object"}}`)
				c.InvalidateTools()
				_, err := c.CallTool(ctx, "new", nil)
				return err
			},
			once: true, want: counts{2, 2, 0}, posts: map[string]int{"tools/call": 1, "tools/list": 1},
		},
		"a retry after 503": {
			opts: []client.Option{retries(client.Retry{Policy: client.RetryAlways})},
			before: func(_ *client.Client, p *keyedPeer) {
				p.script("tools/call", statusStep(http.StatusServiceUnavailable))
			},
			do: call, want: counts{2, 2, 0}, posts: map[string]int{"tools/call": 2},
		},
		"a retry after a lost connection": {
			opts:   []client.Option{retries(client.Retry{Policy: client.RetryAlways})},
			before: func(_ *client.Client, p *keyedPeer) { p.script("tools/call", cutStep, cutStep) },
			do:     call, want: counts{3, 3, 0}, posts: map[string]int{"tools/call": 3},
		},
		"a hedged request": {
			opts: []client.Option{client.WithResilience(client.Resilience{
				Hedge: client.Hedge{Share: 1, After: time.Second}, Retry: client.Retry{Policy: client.RetryAlways},
			})},
			before: func(_ *client.Client, p *keyedPeer) {
				p.script("tools/call", func(_ http.ResponseWriter, r *http.Request) bool {
					<-r.Context().Done()
					return true
				})
			},
			do: call, want: counts{2, 2, 0}, // a session tells the server of the loser by a notification
		},
		"a round of input": {
			opts: []client.Option{answersForms},
			before: func(_ *client.Client, p *keyedPeer) {
				asked := false
				p.answers["tools/call"] = func(json.RawMessage) string {
					if asked {
						return `"result":` + peerReturn
					}
					asked = true
					return `"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}}}`
				}
			},
			do: call, want: counts{2, 2, 0}, posts: map[string]int{"tools/call": 2},
			only: "stateless",
		},
		"a question on the stream of the call": {
			opts:   []client.Option{answersForms},
			before: func(_ *client.Client, p *keyedPeer) { asksFirst(p) },
			do:     call, want: once, posts: map[string]int{"tools/call": 1, "POST": 1},
			only: "session",
		},
		"a call that is given up": {
			before: func(_ *client.Client, p *keyedPeer) {
				p.script("tools/call", func(_ http.ResponseWriter, r *http.Request) bool {
					<-r.Context().Done()
					return true
				})
			},
			do: func(ctx context.Context, c *client.Client, p *keyedPeer) error {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				if call(ctx, c, p) == nil {
					return errors.New("the call was answered")
				}
				return nil
			},
			want: once, posts: map[string]int{"tools/call": 1, "notifications/cancelled": 1},
			only: "session",
		},
		"a challenge": {
			before: func(_ *client.Client, p *keyedPeer) { p.script("tools/call", statusStep(http.StatusUnauthorized)) },
			do:     call, want: counts{2, 1, 1}, posts: map[string]int{"tools/call": 2},
		},
		"a cache that is one for all callers": {
			opts: []client.Option{client.WithCache(client.CacheConfig{Partition: client.AllCallers})},
			do:   call, want: once, posts: map[string]int{"tools/call": 1},
		},
		"a redirect": {
			before: func(_ *client.Client, p *keyedPeer) {
				p.script("tools/call", func(w http.ResponseWriter, _ *http.Request) bool {
					w.Header().Set("Location", memhttp.URL+"/other")
					w.WriteHeader(http.StatusTemporaryRedirect)
					return true
				})
			},
			do: call, want: once, posts: map[string]int{"tools/call": 2},
		},
		"a page of tools that is kept": {
			do: func(ctx context.Context, c *client.Client, _ *keyedPeer) error {
				_, err := c.ListTools(ctx, nil)
				return err
			},
			want: once,
		},
		"a page of tools": {
			do: func(ctx context.Context, c *client.Client, _ *keyedPeer) error {
				_, err := c.ListTools(ctx, nil, client.WithCacheMode(client.CacheRefresh))
				return err
			},
			want: once, posts: map[string]int{"tools/list": 1},
		},
		"all tools": {
			do: func(ctx context.Context, c *client.Client, _ *keyedPeer) error {
				c.InvalidateTools()
				for _, err := range c.Tools(ctx) {
					if err != nil {
						return err
					}
				}
				return nil
			},
			want: once, posts: map[string]int{"tools/list": 1},
		},
		"a schema": {
			do: func(ctx context.Context, c *client.Client, _ *keyedPeer) error {
				_, err := c.GetToolSchema(ctx, "echo")
				return err
			},
			want: once, posts: map[string]int{},
		},
		"any method": {
			do: func(ctx context.Context, c *client.Client, _ *keyedPeer) error {
				_, err := c.Call(ctx, "tools/call", json.RawMessage(`{"name":"echo","arguments":{"message":"hi"}}`))
				return err
			},
			want: once, posts: map[string]int{"tools/call": 1},
		},
		"a notification": {
			do: func(ctx context.Context, c *client.Client, _ *keyedPeer) error {
				return c.Notify(ctx, "notifications/acme", nil)
			},
			want: once, posts: map[string]int{"notifications/acme": 1},
		},
		"a middleware that passes on its context": {
			opts: []client.Option{client.WithMiddleware(func(next client.Next) client.Next {
				return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) { return next(ctx, inv) }
			})},
			do: call, want: once, posts: map[string]int{"tools/call": 1},
		},
		"a middleware with another context": {
			opts: []client.Option{client.WithMiddleware(func(next client.Next) client.Next {
				return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
					if inv.Method == "tools/call" {
						ctx = context.WithValue(ctx, userKey{}, "bob")
					}
					return next(ctx, inv)
				}
			})},
			do: call, want: counts{2, 2, 0}, // bob's list is another: the stateless era asks for it
		},
		"a middleware that calls twice": {
			opts: []client.Option{client.WithMiddleware(func(next client.Next) client.Next {
				return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
					if inv.Method == "tools/call" {
						if _, err := next(ctx, inv); err != nil {
							return nil, err
						}
					}
					return next(ctx, inv)
				}
			})},
			do: call, want: counts{2, 2, 0}, posts: map[string]int{"tools/call": 2},
		},
	} {
		for era, version := range map[string]string{"session": "2025-11-25", "stateless": "2026-07-28"} {
			if tt.only != "" && tt.only != era {
				continue
			}
			t.Run(name+" "+era, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p, by := newKeyedPeer(t, version), &counted{token: "first", byUser: true, once: tt.once}
					c, err := client.Connect(t.Context(), &transport.HTTP{
						URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), HeaderFunc: by.HeaderFunc, Authorizer: by,
					}, append([]client.Option{client.WithProtocolVersion(version)}, tt.opts...)...)
					require.NoError(t, err)
					t.Cleanup(func() {
						require.NoError(t, c.Close())
						p.mem.Close()
					})
					if tt.before != nil {
						tt.before(c, p)
					}
					synctest.Wait()
					by.take()
					before := p.counts()
					require.NoError(t, tt.do(t.Context(), c, p))
					synctest.Wait()
					var got counts
					got.headers, got.authorize, got.challenged = by.take()
					require.Equal(t, tt.want, got)
					if tt.posts != nil {
						require.Equal(t, tt.posts, p.since(before))
					}
				})
			})
		}
	}
}

// Every request that no call carries an answer to asks once: the handshake, the opening
// of a new session, and its end.
func TestCredentialsOfTheClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, by := newKeyedPeer(t, "2025-11-25"), &counted{token: "first"}
		requests := func() (n int) {
			for _, count := range p.counts() {
				n += count
			}
			return n
		}
		once := func(t *testing.T, want int) {
			t.Helper()
			headers, authorize, _ := by.take()
			require.Equal(t, want, headers)
			require.Equal(t, want, authorize)
		}
		c, err := client.Connect(t.Context(), &transport.HTTP{
			URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), HeaderFunc: by.HeaderFunc, Authorizer: by,
		}, sessionEra)
		require.NoError(t, err)
		synctest.Wait()
		once(t, requests())
		before := requests()
		p.script("tools/call", statusStep(http.StatusNotFound)) // the session is gone
		_, err = c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, p.came("initialize"), 2)
		once(t, requests()-before)
		require.NoError(t, c.Close())
		once(t, 1) // DELETE
		p.mem.Close()
	})
}
