package client_test

import (
	"context"
	"encoding/json"
	"net/http"
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

// hinted is a list of tools with annotations for which calls may run twice.
const hinted = `{"resultType":"complete","tools":[
	{"name":"reads","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
	{"name":"same","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}},
	{"name":"writes","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}},
	{"name":"silent","inputSchema":{"type":"object"}}],"ttlMs":3600000,"cacheScope":"private"}`

// How often a call is made, by policy, trust and what it failed with: a call
// that may have been executed and may not run twice is made once.
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

// A call that a profile marks as rejected is sent again, not earlier than the server
// asks. The error is that of the last attempt.
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

// A call that is canceled in the pause before a retry returns at once, with the
// Delivery of its attempts.
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

// An answer to the state of a round may be good for once.
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

// The end of an idle connection under a request proves nothing about the server, the
// first time: a call that may run twice is sent again at once.
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
