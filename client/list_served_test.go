package client_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// names walks the list of tools.
func toolNames(ctx context.Context, c *client.Client, opts ...client.CallOption) (names []string, err error) {
	for tool, err := range c.Tools(ctx, opts...) {
		if err != nil {
			return names, err
		}
		names = append(names, tool.Name)
	}
	return names, nil
}

// seenEvents collects the events of one type.
func seenEvents[E client.Event](into *[]E) client.Option {
	var mu sync.Mutex
	return client.OnEvent(func(_ context.Context, e client.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e, ok := e.(E); ok {
			*into = append(*into, e)
		}
	})
}

// The client connects to a server that cannot list its tools now. Callers that list
// them get the reason, an event reports it, and calls continue.
func TestFailingListDoesNotFailDial(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer string // nothing: silence
		kind   mcperrors.Kind
	}{
		"its backend is away": {peerInternal, mcperrors.KindServer},
		"garbage":             {`"result":{"tools":{}}`, mcperrors.KindProtocol},
		"no such method":      {`"error":{"code":-32601,"message":"Method not found"}`, mcperrors.KindUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
				p.answer("tools/list", func(json.RawMessage) string { return tt.answer })
				var failed []client.ListFailed
				c, err := p.dial(seenEvents(&failed))
				require.NoError(t, err)
				synctest.Wait()
				require.Len(t, failed, 1)
				require.Equal(t, mcp.MethodToolsList, failed[0].Method)
				require.Equal(t, tt.kind, mcperrors.KindOf(failed[0].Reason), "%v", failed[0].Reason)
				require.Equal(t, 1, p.count("tools/list"), "an answer is an answer")

				_, err = toolNames(t.Context(), c)
				require.Equal(t, tt.kind, mcperrors.KindOf(err), "%v", err)
				_, err = c.CallTool(t.Context(), "echo", hello)
				require.NoError(t, err)

				p.answer("tools/list", nil)
				c.InvalidateTools()
				names, err := toolNames(t.Context(), c)
				require.NoError(t, err)
				require.Equal(t, []string{"echo"}, names)
			})
		})
	}
}

// A list that never comes does not keep Dial for longer than one page may take,
// nor than the caller waits; a caller who leaves gets no client.
func TestSilentListDoesNotFailDial(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		bound  time.Duration
		cancel bool
		want   time.Duration
	}{
		"for as long as a page may take": {time.Minute, false, 10 * time.Second},
		"until the deadline":             {3 * time.Second, false, 3 * time.Second},
		"until the caller leaves":        {3 * time.Second, true, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tr, s := newFake(t)
				s.on("tools/list", func(jsonrpc.Request) any { return nil })
				ctx, cancel := context.WithTimeout(t.Context(), tt.bound)
				defer cancel()
				if tt.cancel {
					ctx, cancel = context.WithCancel(t.Context())
					defer cancel()
					time.AfterFunc(tt.bound, cancel)
				}
				start := time.Now()
				c, err := client.Connect(ctx, tr, sessionEra)
				require.Equal(t, tt.want, time.Since(start))
				if tt.cancel {
					require.ErrorIs(t, err, context.Canceled)
					return
				}
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, ignoreClosed(c.Close())) })
				_, err = c.CallTool(t.Context(), "echo", hello)
				require.NoError(t, err)
			})
		})
	}
}

// The list that Connect has fetched answers later calls for it, as long as it is fresh.
func TestToolsAreServedWhileFresh(t *testing.T) {
	t.Parallel()
	inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
		second := strings.ReplaceAll(peerTool, "echo", "second")
		p.answer("tools/list", func(params json.RawMessage) string { // two pages
			if strings.Contains(string(params), `"cursor"`) {
				return `"result":{"resultType":"complete","ttlMs":300000,"cacheScope":"private","tools":[` + second + `]}`
			}
			return `"result":{"resultType":"complete","ttlMs":300000,"cacheScope":"private","tools":[` + peerTool + `],"nextCursor":"2"}`
		})
		c, err := p.dial()
		require.NoError(t, err)
		walk := func(opts ...client.CallOption) {
			names, err := toolNames(t.Context(), c, opts...)
			require.NoError(t, err)
			require.Equal(t, []string{"echo", "second"}, names)
		}
		for range 3 {
			walk()
		}
		page, err := c.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, "2", *page.NextCursor)
		require.Equal(t, 2, p.count("tools/list"), "Dial's own walk")
		walk(client.WithCacheMode(client.CacheBypass))
		require.Equal(t, 4, p.count("tools/list"))
		walk(client.WithCacheMode(client.CacheRefresh))
		require.Equal(t, 6, p.count("tools/list"))
		walk()
		require.Equal(t, 6, p.count("tools/list"))
		time.Sleep(5 * time.Minute)
		walk()
		require.Equal(t, 8, p.count("tools/list"), "the time is over")
		c.InvalidateTools()
		walk()
		require.Equal(t, 10, p.count("tools/list"))
		if !p.http {
			p.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			synctest.Wait()
			walk()
			require.Equal(t, 12, p.count("tools/list"))
		}
	})
}

// If the time to live is 0, each caller of the list asks the server.
func TestToolsAreNotServedWithoutTime(t *testing.T) {
	t.Parallel()
	inBubbleWithPeer(t, func(t *testing.T, p *listPeer, c *client.Client) {
		for range 3 {
			_, err := toolNames(t.Context(), c)
			require.NoError(t, err)
		}
		require.Equal(t, 4, p.count("tools/list"))
	}, client.WithCache(client.CacheConfig{Settings: toolcache.Settings{TTL: -1}}))
}

// If it is configured, stale lists are served to everything that reads them: when
// nobody answers, when a gateway answers for the server, and while the circuit is open.
func TestServeStaleServesEveryReader(t *testing.T) {
	t.Parallel()
	r := map[string]func(t *testing.T, p *listPeer, b *breaker.Breaker){
		"circuit": func(_ *testing.T, _ *listPeer, b *breaker.Breaker) { b.Force(breaker.ForcedOpen) },
	}
	for _, status := range []string{"429", "500", "502", "503", "504"} {
		r["status "+status] = func(_ *testing.T, p *listPeer, _ *breaker.Breaker) {
			if !p.http {
				return
			}
			for _, m := range []string{"tools/list", "prompts/list"} {
				p.answer(m, func(json.RawMessage) string { return `"status":` + status })
			}
		}
	}
	for name, fails := range r {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
				if !p.http && name != "circuit" {
					return // there is no status on a pipe
				}
				p.answer("prompts/list", func(json.RawMessage) string {
					return `"result":{"resultType":"complete","ttlMs":60000,"cacheScope":"private","prompts":[{"name":"old"}]}`
				})
				res := client.Resilience{Breaker: breaker.New(breaker.Settings{})}
				c, err := p.dial(client.WithCache(client.CacheConfig{Settings: toolcache.Settings{ServeStale: true, ExactTTL: true}}), client.WithResilience(res))
				require.NoError(t, err)
				_, err = c.ListPrompts(t.Context(), nil)
				require.NoError(t, err)
				time.Sleep(5 * time.Minute)
				fails(t, p, res.Breaker)
				var st [4]toolcache.Freshness
				names, err := toolNames(t.Context(), c, client.WithFreshness(&st[0]))
				require.NoError(t, err)
				require.Equal(t, []string{"echo"}, names)
				page, err := c.ListTools(t.Context(), nil, client.WithFreshness(&st[1]))
				require.NoError(t, err)
				require.Len(t, page.Tools, 1)
				tool, err := c.GetToolSchema(t.Context(), "echo", client.WithFreshness(&st[2]))
				require.NoError(t, err)
				require.Equal(t, "echo", tool.Name)
				prompts, err := c.ListPrompts(t.Context(), nil, client.WithFreshness(&st[3]))
				require.NoError(t, err)
				require.Equal(t, "old", prompts.Prompts[0].Name)
				for i := range st {
					require.True(t, st[i].Stale, i)
					require.Error(t, st[i].Cause, i)
				}
			})
		})
	}
}

// For a program that only calls tools, an expired list is fetched again beside its
// calls, so that a changed tool is reported.
func TestListIsRefreshedBesideCalls(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]client.Option{"checked": nil, "unchecked": {client.WithValidation(client.Validation{Arguments: client.ValidateOff})}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
				var drift []client.ToolDrift
				c, err := p.dial(append(opts, seenEvents(&drift))...)
				require.NoError(t, err)
				call := func() {
					_, err := c.CallTool(t.Context(), "echo", hello)
					require.NoError(t, err)
					synctest.Wait()
				}
				p.list(strings.Replace(peerTool, `"name"`, `"description":"sends it on","name"`, 1))
				time.Sleep(5*time.Minute - 1)
				call()
				require.Empty(t, drift)
				require.Equal(t, 1, p.count("tools/list"))
				time.Sleep(time.Hour)
				require.Equal(t, 1, p.count("tools/list"), "an idle client asks for nothing")
				for range 20 {
					call()
				}
				require.Equal(t, 2, p.count("tools/list"))
				require.Len(t, drift, 1)
				require.Equal(t, []string{"description"}, drift[0].Changed)

				time.Sleep(5 * time.Minute)
				p.answer("tools/list", func(json.RawMessage) string { return peerInternal })
				for range 20 {
					call()
				}
				require.Equal(t, 3, p.count("tools/list"), "one that fails is not tried at every call")
			})
		})
	}
}

// What the schema cache hands out is the caller's.
func TestGetToolSchemaHandsOutCopies(t *testing.T) {
	t.Parallel()
	inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
		p.tools = strings.Replace(peerTool, `"name"`, `"annotations":{"title":"E","readOnlyHint":true},"icons":[{"src":"x:/a","sizes":["1x1"]}],"outputSchema":{"type":"object"},"_meta":{"a":1},"other":[1],"name"`, 1)
		p.result = `{"resultType":"complete","content":[],"structuredContent":{}}`
		c, err := p.dial()
		require.NoError(t, err)
		for _, opts := range [][]client.CallOption{nil, {client.WithCacheMode(client.CacheUse)}} {
			tool, err := c.GetToolSchema(t.Context(), "echo", opts...)
			require.NoError(t, err)
			for _, raw := range []json.RawMessage{tool.InputSchema, tool.OutputSchema, tool.Meta, tool.Extra[0].Value} {
				copy(raw, strings.Repeat("x", len(raw)))
			}
			tool.Annotations.Title, *tool.Annotations.ReadOnlyHint = "mine", false
			tool.Icons[0].Src = "mine"
			again, err := c.GetToolSchema(t.Context(), "echo", opts...)
			require.NoError(t, err)
			require.True(t, json.Valid(again.InputSchema) && json.Valid(again.OutputSchema) && json.Valid(again.Meta) && json.Valid(again.Extra[0].Value))
			require.Equal(t, "E", again.Annotations.Title)
			require.True(t, *again.Annotations.ReadOnlyHint)
			require.Equal(t, "x:/a", again.Icons[0].Src)
		}
		_, err = c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
	})
}
