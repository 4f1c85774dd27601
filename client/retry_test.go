package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// status answers with a bare status and Retry-After, unless that is "".
func status(code int, after string) replyFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(code)
	}
}

// retries is [client.DefaultResilience] with another policy.
func retries(r client.Retry) client.Option {
	all := client.Resilience{Retry: r}
	return client.WithResilience(all)
}

// hinted is a list of tools whose annotations say what may be run twice.
const hinted = `{"resultType":"complete","tools":[
	{"name":"reads","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
	{"name":"same","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}},
	{"name":"writes","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}},
	{"name":"silent","inputSchema":{"type":"object"}}],"ttlMs":3600000,"cacheScope":"private"}`

// How often a call is made, by policy, trust and what it failed with: a call
// that may have been executed and may not run twice is made once (F18, §3.7).
func TestRetryPolicies(t *testing.T) {
	t.Parallel()
	const maybe, refused, cannot = http.StatusBadGateway, http.StatusTooManyRequests, http.StatusNotImplemented
	for name, tt := range map[string]struct {
		opts   []client.Option
		tool   string // "" for a list
		status int
		want   int
	}{
		"proof: a list":                            {nil, "", maybe, 3},
		"proof: a tool that claims to read":        {nil, "reads", maybe, 1},
		"proof: refused undone":                    {nil, "writes", refused, 3},
		"proof: would end the same way":            {nil, "", cannot, 1},
		"trusted: reads":                           {[]client.Option{client.WithResilience(client.Resilience{Retry: client.Retry{Policy: client.RetryHints}})}, "reads", maybe, 3},
		"trusted: idempotent":                      {[]client.Option{client.WithResilience(client.Resilience{Retry: client.Retry{Policy: client.RetryHints}})}, "same", maybe, 3},
		"trusted: writes":                          {[]client.Option{client.WithResilience(client.Resilience{Retry: client.Retry{Policy: client.RetryHints}})}, "writes", maybe, 1},
		"trusted: says nothing":                    {[]client.Option{client.WithResilience(client.Resilience{Retry: client.Retry{Policy: client.RetryHints}})}, "silent", maybe, 1},
		"hints: reads":                             {[]client.Option{retries(client.Retry{Policy: client.RetryHints})}, "reads", maybe, 3},
		"hints: says nothing":                      {[]client.Option{retries(client.Retry{Policy: client.RetryHints})}, "silent", maybe, 1},
		"always: writes":                           {[]client.Option{retries(client.Retry{Policy: client.RetryAlways})}, "writes", maybe, 3},
		"never: a list":                            {[]client.Option{retries(client.Retry{Policy: client.RetryNever})}, "", maybe, 1},
		"never: refused undone":                    {[]client.Option{retries(client.Retry{Policy: client.RetryNever})}, "writes", refused, 1},
		"two attempts":                             {[]client.Option{retries(client.Retry{Attempts: 2})}, "", maybe, 2},
		"the option's word for one call, over all": {[]client.Option{retries(client.Retry{Policy: client.RetryAlways})}, "once", maybe, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newLone(t)
				s.result("tools/list", hinted)
				c, err := s.dial(tt.opts...)
				require.NoError(t, err)
				s.on("prompts/list", func(jsonrpc.Request) any { return status(tt.status, "") })
				s.on("tools/call", func(jsonrpc.Request) any { return status(tt.status, "") })
				method := "tools/call"
				switch tt.tool {
				case "":
					method = "prompts/list"
					_, err = c.Call(t.Context(), method, nil)
				case "once":
					_, err = c.CallTool(t.Context(), "writes", nil, client.WithRetryPolicy(client.RetryNever))
				default:
					_, err = c.CallTool(t.Context(), tt.tool, nil)
				}
				var e *mcperrors.Error
				require.ErrorAs(t, err, &e)
				require.Len(t, s.of(method), tt.want)
				require.Equal(t, tt.want, e.Attempts)
				ids := map[string]bool{}
				for _, p := range s.of(method) {
					ids[p.req.ID.String()] = true
				}
				require.Len(t, ids, tt.want, "each attempt has an id of its own")
				require.NoError(t, c.Close())
				s.mem.Close()
			})
		})
	}
}

// Hints are those of the list that the caller sees, where each caller has its own.
func TestHintsOfTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLone(t)
		s.result("tools/list", hinted)
		s.on("tools/call", func(jsonrpc.Request) any { return status(http.StatusBadGateway, "") })
		c, err := client.Connect(asUser(t, "ann"), &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: s.mem.Transport(), HeaderFunc: userHeaders},
			statelessEra, retries(client.Retry{Policy: client.RetryHints}))
		require.NoError(t, err)
		_, err = c.CallTool(asUser(t, "bob"), "reads", nil)
		require.Error(t, err)
		require.NoError(t, c.Close())
		s.mem.Close()
		require.Len(t, s.of("tools/call"), 3)
	})
}

// A retry that succeeds is a success, and the meter knows of it.
func TestRetrySucceeds(t *testing.T) {
	t.Parallel()
	m := &recordingMeter{}
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		n := 0
		s.on("tools/list", func(jsonrpc.Request) any {
			if n++; n < 3 {
				return jsonrpc.NewError(-32000, "not yet", nil)
			}
			return json.RawMessage(`{"tools":[]}`)
		})
		_, err := c.Call(t.Context(), "tools/list", nil)
		require.NoError(t, err)
		require.Equal(t, 2, m.count(client.Retried))
		last := m.attempts[len(m.attempts)-3:]
		require.Equal(t, []string{"server-error", "server-error", "complete"}, []string{last[0].Class, last[1].Class, last[2].Class})
		require.Equal(t, []int{1, 2, 3}, []int{last[0].Number, last[1].Number, last[2].Number})
		require.Equal(t, breaker.Neutral, last[0].OnServer, "it answers")
		require.Equal(t, 3, m.calls[len(m.calls)-1].Attempts)
	}, client.WithMeter(m), client.WithCache(client.CacheConfig{NoPreload: true}))
}

// Retry-After is the earliest a server is asked again, by this call and by
// others: a 503 holds back all who share its circuit, and longer than the
// cooldown (B21, B24).
func TestRetryAfterHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLone(t)
		c, err := s.dial()
		require.NoError(t, err)
		busy := true
		s.on("tools/call", func(jsonrpc.Request) any {
			if busy {
				return status(http.StatusServiceUnavailable, "120")
			}
			return json.RawMessage(doneResult)
		})
		_, err = c.CallTool(t.Context(), "deploy", nil, client.WithoutValidation())
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, mcperrors.Unknown, e.Delivery, "a proxy may have passed it on")
		require.Equal(t, 1, e.Attempts)
		require.Equal(t, 120*time.Second, e.RetryAfter)
		sent, began := len(s.of("tools/call")), time.Now()
		for time.Since(began) < 119*time.Second {
			_, err = c.CallTool(t.Context(), "deploy", nil, client.WithoutValidation())
			require.ErrorIs(t, err, mcperrors.ErrCircuitOpen)
			require.Equal(t, 120*time.Second-time.Since(began), mcperrors.RetryAfter(err))
			time.Sleep(7 * time.Second)
		}
		require.Len(t, s.of("tools/call"), sent)
		busy = false
		time.Sleep(2 * time.Second)
		_, err = c.CallTool(t.Context(), "deploy", nil, client.WithoutValidation())
		require.NoError(t, err)
		require.NoError(t, c.Close())
		s.mem.Close()
	})
}

// A call whose time does not reach to what the server asks for fails at once,
// and says when.
func TestRetryAfterBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, after := range []string{"7", "1000000"} {
			s := newLone(t)
			c, err := s.dial()
			require.NoError(t, err)
			s.on("tools/call", func(jsonrpc.Request) any { return status(http.StatusTooManyRequests, after) })
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			began := time.Now()
			_, err = c.CallTool(ctx, "deploy", nil, client.WithoutValidation())
			cancel()
			require.Zero(t, time.Since(began))
			require.Equal(t, mcperrors.CodeRateLimited, mcperrors.CodeOf(err))
			require.GreaterOrEqual(t, mcperrors.RetryAfter(err), 7*time.Second)
			require.Len(t, s.of("tools/call"), 1)
			require.Equal(t, breaker.Closed, c.Breaker().State())
			require.NoError(t, c.Close())
			s.mem.Close()
		}
	})
}

// In a total outage retries are a tenth of the traffic at most, whatever the
// circuit does.
func TestRetryBudget(t *testing.T) {
	t.Parallel()
	r := client.Resilience{Breaker: breaker.New(breaker.Settings{FailureThreshold: 1 << 20})}
	m := &recordingMeter{}
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		for range 200 {
			_, err := c.ListTools(t.Context(), nil, client.WithCacheMode(client.CacheRefresh))
			require.NoError(t, err)
		}
		before := s.count("tools/list")
		s.on("tools/list", func(jsonrpc.Request) any { return jsonrpc.NewError(-32000, "no", nil) })
		began := time.Now()
		for range 500 {
			_, err := c.ListTools(t.Context(), nil, client.WithCacheMode(client.CacheRefresh))
			require.Error(t, err)
		}
		extra := s.count("tools/list") - before - 500
		floor := 3 * (int(time.Since(began)/(10*time.Second)) + 1)
		require.LessOrEqual(t, extra, 10+floor, "a full budget, and three in 10 s")
		require.Positive(t, m.count(client.RetryDenied))
		require.Contains(t, m.denied(), client.DeniedByBudget)
		require.Equal(t, extra, m.count(client.Retried))
	}, client.WithResilience(r), client.WithMeter(m))
}

// A denied retry says whether the budget, the time or the attempts were used up. One
// that would not be safe or would not help is not denied.
func TestRetryDenied(t *testing.T) {
	t.Parallel()
	busy := func(data string) func(jsonrpc.Request) any {
		return func(jsonrpc.Request) any { return jsonrpc.NewError(500, "no", json.RawMessage(data)) }
	}
	locked := busy(`{"code":"DB_LOCKED","retryable":true,"retry_after_seconds":30}`)
	for _, tt := range []struct {
		name   string
		answer func(jsonrpc.Request) any
		budget int
		want   []client.RetryDenial
	}{
		{"tried often enough", busy(`{"code":"DB_LOCKED","retryable":true}`), -1, []client.RetryDenial{client.DeniedByAttempts}},
		{"no time", locked, -1, []client.RetryDenial{client.DeniedByTime}},
		{"no budget", busy(`{"code":"DB_LOCKED","retryable":true}`), 1, []client.RetryDenial{client.DeniedByBudget}},
		{"may have been done", busy(`{}`), -1, nil},
		{"would end the same way", busy(`{"code":"INVALID_PARAM"}`), -1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, r := &recordingMeter{}, client.Resilience{}
			r.Retry.Budget, r.Retry.Attempts = tt.budget, 5
			inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
				s.on("tools/call", tt.answer)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				_, err := c.CallTool(ctx, "echo", hello)
				require.Error(t, err)
				require.Equal(t, tt.want, m.denied(), "%v", err)
			}, storeProfile, client.WithMeter(m), client.WithResilience(r))
		})
	}
}

// A call that a profile says was refused for now is sent again, not earlier than the server
// says. The error is that of the last attempt.
func TestRetryRejected(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		var asked []time.Time
		s.on("tools/call", func(jsonrpc.Request) any {
			asked = append(asked, time.Now())
			return jsonrpc.NewError(500, "locked", map[string]any{"code": "DB_LOCKED", "retryable": true, "retry_after_seconds": 2})
		})
		_, err := c.CallTool(t.Context(), "echo", hello)
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, mcperrors.CodeDatabaseUnavailable, e.Code)
		require.Equal(t, mcperrors.Rejected, e.Delivery)
		require.Equal(t, 2*time.Second, e.RetryAfter)
		require.Len(t, asked, 3)
		for i := range asked[1:] {
			require.GreaterOrEqual(t, asked[i+1].Sub(asked[i]), 2*time.Second)
		}
		require.Zero(t, c.Breaker().Snapshot().ConsecutiveFailures)
		require.Nil(t, c.ToolBreakers())
	}, storeProfile)
}

// G4: who gives up in the pause before a retry is let go at once, and is told
// what may have happened.
func TestCancelInThePause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for want, code := range map[mcperrors.Delivery]int{
			mcperrors.Rejected: http.StatusTooManyRequests, mcperrors.Unknown: http.StatusServiceUnavailable,
		} {
			s := newLone(t)
			c, err := s.dial()
			require.NoError(t, err)
			s.on("prompts/list", func(jsonrpc.Request) any { return status(code, "60") })
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			began := time.Now()
			_, err = c.Call(ctx, "prompts/list", nil)
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, time.Second, time.Since(began))
			require.Equal(t, want, mcperrors.DeliveryOf(err))
			require.Equal(t, mcperrors.KindCanceled, mcperrors.KindOf(err))
			require.NoError(t, c.Close())
			s.mem.Close()
		}
	})
}

// An earlier attempt that may have been executed is not forgotten because a
// later one was refused.
func TestDoubtStays(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]any{
		"not known":             status(http.StatusBadGateway, ""),
		"executed, and in vain": jsonrpc.NewError(jsonrpc.CodeInternalError, "broken half-way", nil),
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newLone(t)
			c, err := s.dial(retries(client.Retry{Policy: client.RetryAlways}))
			require.NoError(t, err)
			n := 0
			s.on("tools/call", func(jsonrpc.Request) any {
				if n++; n == 1 {
					return first
				}
				return status(http.StatusUnauthorized, "")
			})
			_, err = c.CallTool(t.Context(), "deploy", nil, client.WithoutValidation())
			require.Equal(t, mcperrors.KindAuth, mcperrors.KindOf(err), name)
			require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err), name)
			require.Equal(t, 2, n, name)
			require.NoError(t, c.Close())
			s.mem.Close()
		})
	}
}

// An answer to the state of a round may be good for once (F13).
func TestRoundsWithStateAreNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLone(t)
		c, err := s.dial()
		require.NoError(t, err)
		n := 0
		s.on("resources/read", func(jsonrpc.Request) any {
			if n++; n == 1 {
				return json.RawMessage(`{"resultType":"input_required","requestState":"abc"}`)
			}
			return status(http.StatusBadGateway, "")
		})
		_, err = c.Call(t.Context(), "resources/read", map[string]any{"uri": "x://y"})
		require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err))
		require.Equal(t, 2, n)
		require.NoError(t, c.Close())
		s.mem.Close()
	})
}

// Keys make attempts of one call one to the server, and unlock the retry only
// where that says that it knows them.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	for announced, want := range map[bool]int{true: 3, false: 1} {
		synctest.Test(t, func(t *testing.T) {
			s := newLone(t)
			if announced {
				s.result("server/discover", `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"experimental":{"com.example/idempotency":{}}},"ttlMs":60000,"cacheScope":"private"}`)
			}
			c, err := s.dial(client.WithIdempotency("com.example"))
			require.NoError(t, err)
			s.on("tools/call", func(jsonrpc.Request) any { return status(http.StatusBadGateway, "") })
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			_, err = c.CallTool(ctx, "deploy", nil, client.WithoutValidation())
			require.Error(t, err)
			require.Len(t, s.of("tools/call"), want)
			keys := map[string]bool{}
			for i, p := range s.of("tools/call") {
				var params struct {
					Meta map[string]any `json:"_meta"`
				}
				require.NoError(t, json.Unmarshal(p.req.Params, &params))
				keys[params.Meta["com.example/idempotencyKey"].(string)] = true
				require.EqualValues(t, i+1, params.Meta["com.example/attempt"])
				require.Positive(t, params.Meta["com.example/deadlineMs"])
				require.LessOrEqual(t, params.Meta["com.example/deadlineMs"], 30_000.0)
				require.Empty(t, p.header.Get("Idempotency-Key"))
			}
			require.Len(t, keys, 1)
			_, err = c.CallTool(ctx, "deploy", nil, client.WithoutValidation(), client.WithIdempotencyKey("mine"))
			require.Error(t, err)
			require.Contains(t, s.last("tools/call").body, `"com.example/idempotencyKey":"mine"`)
			require.NoError(t, c.Close())
			s.mem.Close()
		})
	}
	c, _ := connected(t)
	_, err := c.CallTool(t.Context(), "echo", hello, client.WithIdempotencyKey("k"))
	require.ErrorContains(t, err, "WithIdempotency")
}

// What takes unusually long gets a second request beside it, and the first that
// is answered wins.
func TestHedge(t *testing.T) {
	t.Parallel()
	m := &recordingMeter{}
	synctest.Test(t, func(t *testing.T) {
		s := newLone(t)
		r := client.Resilience{Hedge: client.Hedge{Share: 0.05}}
		c, err := s.dial(client.WithResilience(r), client.WithMeter(m))
		require.NoError(t, err)
		var n atomic.Int32
		s.on("prompts/list", func(jsonrpc.Request) any {
			if n.Add(1) == 151 {
				return nil // for ever
			}
			time.Sleep(10 * time.Millisecond)
			return json.RawMessage(`{"resultType":"complete","prompts":[]}`)
		})
		s.on("tools/call", func(jsonrpc.Request) any {
			time.Sleep(10 * time.Second)
			return json.RawMessage(doneResult)
		})
		for range 150 {
			_, err := c.Call(t.Context(), "prompts/list", nil)
			require.NoError(t, err)
		}
		require.Zero(t, m.count(client.Hedged))
		began := time.Now()
		_, err = c.Call(t.Context(), "prompts/list", nil)
		require.NoError(t, err)
		require.Less(t, time.Since(began), 50*time.Millisecond)
		require.Equal(t, 1, m.count(client.Hedged))
		require.Equal(t, 1, m.count(client.HedgeWon))
		_, err = c.CallTool(t.Context(), "deploy", nil, client.WithoutValidation())
		require.NoError(t, err)
		require.Len(t, s.of("tools/call"), 1, "what may not run twice is never hedged")
		require.NoError(t, c.Close())
		s.mem.Close()
	})
}

// A full house lets calls wait for a second; protocol requests have their own
// way in; who gives up in the queue is let go at once (G4).
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

// G7: Close answers everybody, in flight, in a queue or in a pause.
func TestCloseEndsWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		r := client.Resilience{Bulkhead: client.Bulkhead{Limit: 500, Queue: 500}}
		c, err := client.Connect(t.Context(), tr, sessionEra, client.WithResilience(r))
		require.NoError(t, err)
		s.on("tools/call", func(jsonrpc.Request) any { return nil })
		var ended atomic.Int32
		for range 1000 {
			go func() {
				if _, err := c.CallTool(t.Context(), "echo", hello); err != nil {
					ended.Add(1)
				}
			}()
		}
		synctest.Wait()
		began := time.Now()
		require.NoError(t, c.Close())
		synctest.Wait()
		require.EqualValues(t, 1000, ended.Load())
		require.LessOrEqual(t, time.Since(began), time.Second)
	})
}

func TestWrongResilience(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*client.Resilience){
		"must not be negative":       func(r *client.Resilience) { r.Rate.Burst = -1 },
		"0 disables it":              func(r *client.Resilience) { r.Rate.PerSecond = -1 },
		"needs a limit":              func(r *client.Resilience) { r.Bulkhead.Queue = 3 },
		"needs a limit above 0":      func(r *client.Resilience) { r.Bulkhead = client.Bulkhead{Limit: -1, Queue: 3} },
		"unknown retry policy":       func(r *client.Resilience) { r.Retry.Policy = 9 },
		"attempts and pauses":        func(r *client.Resilience) { r.Retry.Attempts = -1 },
		"more than their MaxPause":   func(r *client.Resilience) { r.Retry.MinPause, r.Retry.MaxPause = 2, 1 },
		"their policy is RetryNever": func(r *client.Resilience) { r.Retry = client.Retry{Policy: client.RetryNever, Attempts: 3} },
		"set one of the two":         func(r *client.Resilience) { r.NoBreaker, r.Breaker = true, breaker.New(breaker.Settings{}) },
		"NoToolBreakers; set": func(r *client.Resilience) {
			r.NoToolBreakers, r.Tools = true, breaker.NewGroup(breaker.GroupSettings{})
		},
		"a hedge needs": func(r *client.Resilience) { r.Hedge.After = time.Second },
	} {
		r := client.Resilience{}
		change(&r)
		tr, _ := newFake(t)
		_, err := client.Connect(t.Context(), tr, client.WithResilience(r))
		require.ErrorContains(t, err, want)
	}
	for _, prefix := range []string{"", "com.mcp", "a/b", "-"} {
		tr, _ := newFake(t)
		_, err := client.Connect(t.Context(), tr, client.WithIdempotency(prefix))
		require.ErrorContains(t, err, "WithIdempotency", prefix)
	}
}

// B5: a connection that had been idle and ends under a request says nothing of
// the server, the first time: a call that may run twice goes again at once.
func TestEndOfAReusedConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLone(t)
		c, err := s.dial()
		require.NoError(t, err)
		n, failing := 0, 1
		s.on("prompts/list", func(jsonrpc.Request) any {
			if n++; n <= failing {
				return replyFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
			}
			return json.RawMessage(`{"resultType":"complete","prompts":[]}`)
		})
		began := time.Now()
		_, err = c.Call(t.Context(), "prompts/list", nil)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.Zero(t, time.Since(began), "at once")
		require.Zero(t, c.Breaker().Snapshot().Failures)

		n, failing = 0, 9
		_, err = c.Call(t.Context(), "prompts/list", nil)
		require.Error(t, err)
		require.Equal(t, 3, n)
		require.EqualValues(t, 1, c.Breaker().Snapshot().Failures, "a call counts once")
		require.NoError(t, c.Close())
		s.mem.Close()
	})
}
