package client_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

var staleIsGood = client.WithCache(client.CacheConfig{Settings: toolcache.Settings{ServeStale: true, ExactTTL: true}})

// While the circuit is open, an old list is served and marked as stale, but only if
// that is configured.
func TestStaleWhileTheCircuitIsOpen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opts []client.Option
		want mcperrors.Code
	}{
		"by default it fails": {nil, mcperrors.CodeUnavailable},
		"the option":          {[]client.Option{staleIsGood}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := client.Resilience{Breaker: breaker.New(breaker.Settings{})}
				c, s := alone(t, append(tt.opts, client.WithResilience(r))...)
				s.result("tools/list", `{`+aMinute+`,"tools":[`+aTool+`]}`)
				s.on("resources/read", numbered(aRead))
				c.InvalidateTools()
				getSchema(t, c, "echo")
				require.Equal(t, "1", readText(t, c))
				time.Sleep(time.Minute)
				r.Breaker.Force(breaker.ForcedOpen)
				sent := len(s.received())

				var schema, resource toolcache.Freshness
				tool, err := c.GetToolSchema(t.Context(), "echo", client.WithFreshness(&schema))
				res, err2 := c.ReadResource(t.Context(), "x:/a", client.WithFreshness(&resource))
				require.Len(t, s.received(), sent)
				for _, st := range []toolcache.Freshness{schema, resource} {
					require.Equal(t, mcperrors.CodeUnavailable, mcperrors.CodeOf(st.Cause))
				}
				if tt.want != "" {
					require.Equal(t, tt.want, mcperrors.CodeOf(err))
					require.Equal(t, tt.want, mcperrors.CodeOf(err2))
					return
				}
				require.NoError(t, err)
				require.NoError(t, err2)
				require.Equal(t, "echo", tool.Name)
				require.Equal(t, "1", *res.Contents[0].Text)
				require.True(t, schema.Stale && resource.Stale)
				require.Equal(t, time.Minute, schema.Age)
				st, ok := c.CacheStatus()
				require.True(t, ok)
				require.True(t, st.Stale)

				time.Sleep(time.Hour + 1)
				_, err = c.GetToolSchema(t.Context(), "echo")
				require.Equal(t, mcperrors.CodeUnavailable, mcperrors.CodeOf(err), "for an hour")
				_, err = c.ReadResource(t.Context(), "x:/a")
				require.Equal(t, mcperrors.CodeUnavailable, mcperrors.CodeOf(err))
			})
		})
	}
}

// An answer is an answer: it is not replaced by an old list.
func TestStaleOnlyWhenNobodyAnswered(t *testing.T) {
	t.Parallel()
	for _, code := range []int{-32603, -32601, -32000} {
		synctest.Test(t, func(t *testing.T) {
			c, s := alone(t, staleIsGood)
			s.result("tools/list", `{`+aMinute+`,"tools":[`+aTool+`]}`)
			c.InvalidateTools()
			getSchema(t, c, "echo")
			time.Sleep(time.Minute)
			s.on("tools/list", func(jsonrpc.Request) any { return jsonrpc.NewError(int64(code), "no", nil) })
			var st toolcache.Freshness
			_, err := c.GetToolSchema(t.Context(), "echo", client.WithFreshness(&st))
			require.Error(t, err, code)
			require.False(t, st.Stale)
		})
	}
}

// That a server does not have a list is asked once a minute; that it failed
// is asked again at once.
func TestAbsentListsAreNotAskedForAgain(t *testing.T) {
	t.Parallel()
	for code, again := range map[int64]int{-32601: 0, -32603: 1} {
		synctest.Test(t, func(t *testing.T) {
			c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}), client.WithResilience(client.Resilience{Off: true})) // no breaker
			no := func(jsonrpc.Request) any { return jsonrpc.NewError(code, "no", nil) }
			s.on("tools/list", no)
			s.on("prompts/list", no)
			ask := func() int {
				before := len(s.of("tools/list")) + len(s.of("prompts/list"))
				_, err := c.GetToolSchema(t.Context(), "echo")
				require.Error(t, err)
				var e *mcperrors.Error
				require.ErrorAs(t, err, &e)
				e.Message = "changed by who got it"
				_, err = c.ListPrompts(t.Context(), nil)
				require.Error(t, err)
				require.NotContains(t, err.Error(), "changed")
				return len(s.of("tools/list")) + len(s.of("prompts/list")) - before
			}
			require.Equal(t, 2, ask())
			require.Equal(t, 2*again, ask(), code)
			time.Sleep(time.Minute - 1)
			require.Equal(t, 2*again, ask(), code)
			time.Sleep(1)
			require.Equal(t, 2, ask(), code)
			c.InvalidateTools()
			_, err := c.GetToolSchema(t.Context(), "echo")
			require.Error(t, err)
			require.NotContains(t, err.Error(), "changed")
		})
	}
}

// In both eras, ten thousand notifications cost one list a second while somebody reads,
// and none otherwise.
func TestListChangedStorm(t *testing.T) {
	t.Parallel()
	notices := testmain.Fewer(5000, 10)
	gap := 5 * time.Second / time.Duration(notices)
	storm := func(t *testing.T, c *client.Client, s *fakeServer, wants func() error, method string) {
		notice := "notifications/" + strings.TrimSuffix(method, "/list") + "/list_changed"
		pass(time.Second)
		before := s.count(method)
		for range notices {
			s.notify(notice, "{}")
			pass(gap)
		}
		synctest.Wait()
		require.Equal(t, before, s.count(method), "nobody asks")
		done := make(chan struct{})
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					case <-time.After(gap):
						if err := wants(); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		for range notices {
			s.notify(notice, "{}")
			pass(gap)
		}
		close(done)
		wg.Wait()
		require.LessOrEqual(t, s.count(method)-before, 7)
		require.GreaterOrEqual(t, s.count(method)-before, 4)
	}
	t.Run("session", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
			storm(t, c, s, func() error { _, err := c.GetToolSchema(t.Context(), "echo"); return err }, "tools/list")
		})
	})
	t.Run("stateless", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c, s := statelessPipe(t)
			s.on("prompts/list", numbered(`{`+aMinute+`,"prompts":[{"name":"%d"}]}`))
			storm(t, c, s, func() error { _, err := c.ListPrompts(t.Context(), nil); return err }, "prompts/list")
			require.NoError(t, ignoreClosed(c.Close()))
		})
	})
}

// A refused cursor starts the list again. The cache keeps the pages of one pass only;
// an iterator cannot take back what it has yielded.
func TestCacheCommitsOnePass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}))
		asked := 0
		s.on("tools/list", func(req jsonrpc.Request) any {
			asked++
			tools := func(names ...string) json.RawMessage {
				return json.RawMessage(`{` + aMinute + `,` + strings.TrimPrefix(string(toolList(names...)), "{"))
			}
			cursor := func(page json.RawMessage, next string) json.RawMessage {
				return json.RawMessage(strings.TrimSuffix(string(page), "}") + fmt.Sprintf(`,"nextCursor":%q}`, next))
			}
			switch {
			case asked == 1:
				return cursor(tools("gone", "echo"), "old")
			case strings.Contains(string(req.Params), `"old"`):
				return jsonrpc.NewError(-32602, "cursor expired", nil)
			case !strings.Contains(string(req.Params), `"cursor"`):
				return cursor(tools("echo"), "")
			}
			return tools("new")
		})
		getSchema(t, c, "new")
		getSchema(t, c, "echo")
		require.Equal(t, 4, asked)
		_, err := c.GetToolSchema(t.Context(), "gone")
		require.Equal(t, mcperrors.CodeToolNotFound, mcperrors.CodeOf(err))
	})
}

// A list is public if every page is.
func TestPagesOfDifferentScopeArePrivate(t *testing.T) {
	t.Parallel()
	for scopes, public := range map[string]bool{"public public": true, "public private": false, "private public": false, "public ": false} {
		synctest.Test(t, func(t *testing.T) {
			c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}))
			first, second, _ := strings.Cut(scopes, " ")
			s.on("tools/list", func(req jsonrpc.Request) any {
				scope, rest := first, `,"nextCursor":"2"`
				if strings.Contains(string(req.Params), `"cursor"`) {
					scope, rest = second, ""
				}
				if scope != "" {
					rest += fmt.Sprintf(`,"cacheScope":%q`, scope)
				}
				return json.RawMessage(`{"resultType":"complete","ttlMs":60000,"tools":[` + aTool + `]` + rest + `}`)
			})
			getSchema(t, c, "echo")
			st, ok := c.CacheStatus()
			require.True(t, ok)
			require.Equal(t, public, st.Public, scopes)
		})
	}
}

// A schema of 10 MB is refused, and costs no other tool anything.
func TestHugeSchemaCostsItsToolOnly(t *testing.T) {
	t.Parallel()
	testmain.SkipLarge(t)
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		huge := `{"type":"object","description":"` + strings.Repeat("x", 10<<20) + `"}`
		s.on("tools/list", func(jsonrpc.Request) any {
			return json.RawMessage(`{"tools":[{"name":"huge","inputSchema":` + huge + `},{"name":"echo","inputSchema":{"type":"object"}}]}`)
		})
		c.InvalidateTools()
		_, err := c.CallTool(t.Context(), "echo", map[string]any{})
		require.NoError(t, err)
		_, err = c.CallTool(t.Context(), "huge", map[string]any{})
		require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(err))
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		require.ErrorContains(t, err, "limit")
		require.Equal(t, 1, s.count("tools/call"))
		var refused *cache.RefusedToolError
		require.ErrorAs(t, err, &refused)
	})
}

// A missing page is awaited for 10 s at most, for any first caller; a caller with its
// own timeouts has those.
func TestPageHasItsOwnBound(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.on("tools/list", func(jsonrpc.Request) any { return nil })
		c.InvalidateTools()
		start := time.Now()
		_, err := c.GetToolSchema(t.Context(), "echo")
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err))
		require.Equal(t, 10*time.Second, time.Since(start))
		start = time.Now()
		_, err = c.GetToolSchema(t.Context(), "echo", client.WithTimeouts(20*time.Second, 20*time.Second))
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err))
		require.Equal(t, 20*time.Second, time.Since(start))
	})
}

// A second client with the same store has no need to ask, while the time that
// the server gave lasts.
func TestStoreSparesTheList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLone(t)
		defer s.mem.Close()
		s.result("tools/list", `{`+aMinute+`,"tools":[`+aTool+`]}`)
		durable := client.WithCache(client.CacheConfig{Settings: toolcache.Settings{Durable: &toolcache.FileStore{Dir: t.TempDir() + "/tools"}}})
		whose := client.WithCache(client.CacheConfig{Partition: "me"})
		first, err := s.dial(durable, whose)
		require.NoError(t, err)
		st, ok := first.CacheStatus()
		require.True(t, ok && !st.Stale)
		require.NoError(t, first.Close())
		synctest.Wait() // it is written, which Close does not wait for
		next, err := s.dial(durable, whose)
		require.NoError(t, err)
		_, err = next.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		require.NoError(t, next.Close())
		require.Len(t, s.of("tools/list"), 1)
	})
}

// The times to live that a server may set for a list.
func TestWhateverTheTimeToLive(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[string]time.Duration{
		`-1`: 0, `0`: 0, `1000000000000000000`: 24 * time.Hour,
		`1500`: 1500 * time.Millisecond, `"5"`: 0, `1.5`: time.Millisecond, `1e30`: 24 * time.Hour, `1e999`: 24 * time.Hour, `{}`: 0, `true`: 0, `[1]`: 0, `null`: cache.DefaultTTL,
	} {
		synctest.Test(t, func(t *testing.T) {
			c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}), exactly)
			s.result("tools/list", `{"resultType":"complete","ttlMs":`+ttl+`,"tools":[`+aTool+`]}`)
			getSchema(t, c, "echo")
			st, ok := c.CacheStatus()
			require.True(t, ok)
			require.Equal(t, want, st.TTL, ttl)
		})
	}
}

// Refused credentials are an error for every caller, also for a call with its own
// timeouts.
func TestNothingIsStaleAfterRefusal(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]client.CallOption{nil, {client.WithTimeouts(time.Second, time.Minute)}} {
		synctest.Test(t, func(t *testing.T) {
			r := client.Resilience{Breaker: breaker.New(breaker.Settings{})}
			c, s := alone(t, staleIsGood, client.WithResilience(r))
			s.on("resources/read", numbered(aRead))
			require.Equal(t, "1", readText(t, c))
			time.Sleep(2 * time.Minute)
			s.on("resources/read", func(jsonrpc.Request) any {
				return replyFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
			})
			_, err := c.ReadResource(t.Context(), "x:/a", opts...)
			require.Equal(t, mcperrors.KindAuth, mcperrors.KindOf(err))
			r.Breaker.Force(breaker.ForcedOpen)
			_, err = c.ReadResource(t.Context(), "x:/a")
			require.Equal(t, mcperrors.KindCircuitOpen, mcperrors.KindOf(err))
		})
	}
}

// A gateway that answers 501 does not prove that the server has no tools: the client
// asks again, while it remembers -32601.
func TestOnlyTheServerSaysThatItHasNoList(t *testing.T) {
	t.Parallel()
	for want, answer := range map[int]any{
		3: replyFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotImplemented) }),
		1: jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil),
	} {
		c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}))
		s.on("tools/list", func(jsonrpc.Request) any { return answer })
		for range 3 {
			_, err := c.GetToolSchema(t.Context(), "echo")
			require.Equal(t, mcperrors.KindUnsupported, mcperrors.KindOf(err))
		}
		require.Len(t, s.of("tools/list"), want)
	}
}
