package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestSituations holds the situations in which other clients were seen to fail
// (client-features §5), in the words of that table and in its order. Each is the
// short form; the comment names the tests that go into its depth.
func TestSituations(t *testing.T) {
	t.Parallel()
	for name, situation := range map[string]func(*testing.T){
		// TestProbeReplies, TestProbeIsBounded
		"01 stdio server ignores server/discover": probeIgnored,
		// TestProbeReplies
		"02 stdio server exits on server/discover": probeKills,
		// TestHostileNoise, TestBadInputBanner
		"03 server prints one log line on stdout in a call": logLineOnStdout,
		// transport.TestCommandCloseEndsTheGroup
		"04 server left a grandchild, then Close": grandchildLeft,
		// TestListsFollowCursors, TestEndlessListIsBounded
		"05 tools/list always returns the same cursor": sameCursor,
		// TestHostileHTTPStatus
		"06 HTTP 429 with Retry-After": overloaded,
		// TestSessionLostFiftyCalls and those after it
		"07 HTTP 404 on a live session": sessionGone,
		// transport.TestHTTPStreamBreaks, transport.TestHTTPResetAfterSending
		"08 connection dropped after the server had run the call": droppedAfterwards,
		// TestHandlersMayCall, TestListHandlerListens
		"09 list tools inside the list_changed handler": listInHandler,
		"10 connect context cancelled after connect":    connectContextEnds,
		// TestCached_CACHE_10_Tools
		"11 two lists with ttlMs 60000": listedTwice,
		// TestMirror_HDR_09_UnknownTool, TestMirror_HDR_01_Arguments
		"12 tools/call before any listing, tool has x-mcp-header": mirroredUnlisted,
		// TestArgumentsAreCheckedBeforeSending, TestOutputValidation
		"13 argument of the wrong type, structuredContent that breaks outputSchema": brokenSchemas,
		// TestSubscriptionOpensAgain, TestSubscriptionIsNoStorm
		"14 subscriptions/listen stream dropped by the server": listenDropped,
	} {
		t.Run(name, situation)
	}
}

func probeIgnored(t *testing.T) {
	t.Parallel()
	c, err := dialSituation(t, "ignores the probe", client.WithProbe(client.Probe{Timeout: 200 * time.Millisecond}))
	require.NoError(t, err)
	require.Equal(t, mcp.EraSession, c.ProtocolVersion().Era())
	_, err = c.CallTool(t.Context(), "echo", message)
	require.NoError(t, err)
}

func probeKills(t *testing.T) {
	t.Parallel()
	c, err := dialSituation(t, "exits on the probe")
	require.NoError(t, err, "a fresh one is asked in the old way")
	require.Equal(t, mcp.EraSession, c.ProtocolVersion().Era())
	_, err = c.CallTool(t.Context(), "echo", message)
	require.NoError(t, err)

	_, err = dialSituation(t, "exits on anything")
	e := wantError{mcperrors.CodeUnavailable, mcperrors.KindTransport, one(mcperrors.Unknown), []string{"API key is missing"}}.in(t, err)
	require.Equal(t, 3, e.Process.Exit, "what the program said and how it ended are not lost")
}

// The only call in flight is the one that a line without an id could be taken
// to be the answer of.
func logLineOnStdout(t *testing.T) {
	t.Parallel()
	c, err := dialSituation(t, "logs to stdout", sessionEra)
	require.NoError(t, err)
	for range 2 {
		res, err := c.CallTool(t.Context(), "echo", message)
		require.NoError(t, err)
		require.Equal(t, "done", res.Text())
	}
}

func grandchildLeft(t *testing.T) {
	t.Parallel()
	line := newLifeline(t)
	c, err := connectSituation(t, situationCommand("leaves a grandchild", line.env()), sessionEra)
	require.NoError(t, err)
	grandchild := line.accept(t)
	require.NoError(t, c.Close())
	line.requireGone(t, grandchild)
}

func sameCursor(t *testing.T) {
	t.Parallel()
	c, s := connected(t, client.WithCache(client.CacheConfig{NoPreload: true}))
	s.result("tools/list", `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"nextCursor":"again"}`)
	n := 0
	for tool, err := range c.Tools(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, "echo", tool.Name)
		n++
	}
	require.LessOrEqual(t, s.count("tools/list"), 2)
	require.LessOrEqual(t, n, 2)
}

func overloaded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, over := range []client.Option{sessionEra, statelessEra} {
			s := newLone(t)
			s.result("initialize", initResult)
			var asked []time.Time
			s.on("tools/call", func(jsonrpc.Request) any {
				asked = append(asked, time.Now())
				return replyFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", "7")
					w.WriteHeader(http.StatusTooManyRequests)
				})
			})
			c, err := s.dial(over)
			require.NoError(t, err)
			_, err = c.CallTool(t.Context(), "echo", message)
			e := wantError{mcperrors.CodeRateLimited, mcperrors.KindOverloaded, one(mcperrors.Rejected), []string{"429"}}.in(t, err)
			require.Equal(t, 7*time.Second, e.RetryAfter)
			require.Equal(t, http.StatusTooManyRequests, e.HTTP.Status)
			require.True(t, e.Retryable)
			require.True(t, mcperrors.SafeToRetry(err))
			var rpc *jsonrpc.Error
			require.NotErrorAs(t, err, &rpc, "no server said this in JSON-RPC")
			require.Nil(t, e.OriginalMCPCode)
			require.Len(t, asked, 3, "it did nothing, so it may be asked again (decisions 8)")
			require.Equal(t, 3, e.Attempts)
			for i := range asked[1:] { // Retry-After is never violated
				wait := asked[i+1].Sub(asked[i])
				require.True(t, wait >= 7*time.Second && wait <= 8400*time.Millisecond, wait)
			}
			_, err = c.CallTool(t.Context(), "echo", message) // nor by another call
			require.Equal(t, mcperrors.KindOverloaded, mcperrors.KindOf(err))
			require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
			require.Equal(t, 7*time.Second, mcperrors.RetryAfter(err))
			require.Len(t, asked, 3)
			require.NoError(t, c.Close())
			s.mem.Close()
		}
	})
}

func sessionGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		c := s.dial(t)
		for range 2 {
			s.restart()
			_, err := c.CallTool(t.Context(), "echo", message)
			require.NoError(t, err)
		}
		require.Equal(t, 3, s.count("initialize@"))
		require.NoError(t, c.Close())
	})
}

func droppedAfterwards(t *testing.T) {
	t.Parallel()
	for _, over := range []client.Option{sessionEra, statelessEra} {
		for name, begin := range map[string]func(http.ResponseWriter){
			"before the answer begins": func(http.ResponseWriter) {},
			"in the middle of a body":  func(w http.ResponseWriter) { flush(w, `{"jsonrpc":"2.0",`) },
			"in the middle of a stream": func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "text/event-stream")
				flush(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n")
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newLone(t)
					defer s.mem.Close()
					s.result("initialize", initResult)
					var executed atomic.Int64
					s.on("tools/call", func(jsonrpc.Request) any {
						executed.Add(1)
						return replyFunc(func(w http.ResponseWriter, _ *http.Request) {
							w.Header().Set("Content-Type", "application/json")
							begin(w)
							panic(http.ErrAbortHandler)
						})
					})
					c, err := s.dial(over)
					require.NoError(t, err)
					_, err = c.CallTool(t.Context(), "echo", message)
					wantError{mcperrors.CodeUnavailable, mcperrors.KindTransport, one(mcperrors.Unknown), nil}.check(t, err)
					require.False(t, mcperrors.SafeToRetry(err))
					var rpc *jsonrpc.Error
					require.NotErrorAs(t, err, &rpc)
					synctest.Wait()
					require.Equal(t, int64(1), executed.Load(), "nothing repeats it on its own")
					require.NoError(t, c.Close())
				})
			})
		}
	}
}

func listInHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		var c *client.Client
		listed := make(chan error, 1)
		c, err := client.Connect(t.Context(), tr, sessionEra, client.OnListChanged(func(ctx context.Context, _ string) {
			_, err := c.ListTools(ctx, nil)
			listed <- err
		}))
		require.NoError(t, err)
		s.on("tools/call", func(req jsonrpc.Request) any { // the notice comes while a call waits
			return rawLine(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n" + wellAnswered(req))
		})
		began := time.Now()
		_, err = c.CallTool(t.Context(), "echo", message)
		require.NoError(t, err)
		require.NoError(t, <-listed)
		require.Zero(t, time.Since(began))
		require.NoError(t, c.Close())
	})
}

func connectContextEnds(t *testing.T) {
	t.Parallel()
	call := func(t *testing.T, connect func(context.Context) (*client.Client, error)) {
		ctx, cancel := context.WithCancel(t.Context())
		c, err := connect(ctx)
		cancel()
		require.NoError(t, err)
		for range 3 {
			_, err = c.CallTool(t.Context(), "echo", message)
			require.NoError(t, err)
		}
		require.NoError(t, ignoreClosed(c.Close()))
	}
	t.Run("program", func(t *testing.T) {
		t.Parallel()
		call(t, func(ctx context.Context) (*client.Client, error) {
			return client.Connect(ctx, situationCommand("good"), sessionEra)
		})
	})
	t.Run("stream", func(t *testing.T) {
		t.Parallel()
		tr, _ := newFake(t)
		call(t, func(ctx context.Context) (*client.Client, error) { return client.Connect(ctx, tr, sessionEra) })
	})
	for name, era := range map[string]client.Option{"HTTP": sessionEra, "stateless HTTP": statelessEra} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLone(t)
			defer s.mem.Close()
			s.result("initialize", initResult)
			call(t, func(ctx context.Context) (*client.Client, error) {
				return client.Connect(ctx, s.transport(), era)
			})
		})
	}
}

func listedTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}))
		s.result("tools/list", `{"resultType":"complete","ttlMs":60000,"cacheScope":"private","tools":[`+aTool+`]}`)
		s.result("prompts/list", `{"resultType":"complete","ttlMs":60000,"cacheScope":"private","prompts":[]}`)
		twice := func() {
			for range 2 {
				page, err := c.ListTools(t.Context(), nil)
				require.NoError(t, err)
				require.Equal(t, "echo", page.Tools[0].Name)
				require.Equal(t, []string{"echo"}, names(t, c.Tools(t.Context()), func(x mcp.Tool) string { return x.Name }))
				_, err = c.ListPrompts(t.Context(), nil)
				require.NoError(t, err)
			}
		}
		twice()
		require.Len(t, s.of("tools/list"), 1)
		require.Len(t, s.of("prompts/list"), 1)
		time.Sleep(time.Minute)
		twice()
		require.Len(t, s.of("tools/list"), 2)
		for range 2 { // the schemas are fetched again, and then the lists agree
			_, err := c.GetToolSchema(t.Context(), "echo")
			require.NoError(t, err)
		}
		twice()
		require.Len(t, s.of("tools/list"), 3)
		c.InvalidateTools()
		twice()
		require.Len(t, s.of("tools/list"), 4)
	})
}

func mirroredUnlisted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}))
		require.Empty(t, s.of("tools/list"))
		_, err := c.CallTool(t.Context(), "echo", map[string]any{"region": "eu"})
		require.NoError(t, err)
		require.Equal(t, "eu", s.last("tools/call").header.Get("Mcp-Param-Region"))
		require.Len(t, s.of("tools/call"), 1)
	})
}

func brokenSchemas(t *testing.T) {
	t.Parallel()
	c, s := connected(t, client.WithCache(client.CacheConfig{NoPreload: true}), strictResults)
	s.result("tools/list", `{"tools":[{"name":"count","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}},`+
		`"outputSchema":{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}}]}`)
	_, err := c.GetToolSchema(t.Context(), "count")
	require.NoError(t, err)
	_, err = c.CallTool(t.Context(), "count", map[string]any{"n": "three"})
	var e *mcperrors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, mcperrors.KindInvalidArguments, e.Kind)
	require.Equal(t, mcperrors.NotSent, e.Delivery)
	require.Zero(t, s.count("tools/call"))

	s.on("tools/call", func(jsonrpc.Request) any {
		return json.RawMessage(`{"content":[],"structuredContent":{"sum":"three"}}`)
	})
	_, err = c.CallTool(t.Context(), "count", map[string]any{"n": 3})
	var output *client.OutputError
	require.ErrorAs(t, err, &output)
	require.ErrorAs(t, err, &e)
	require.Equal(t, mcperrors.Answered, e.Delivery)
}

func listenDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var changes record
		c, ls := listenOver(t, "http")
		sub, err := c.Subscribe(t.Context(), toolsAndX, changes.change)
		require.NoError(t, err)
		ls.nth(t, 0).say <- "" // dropped
		pass(time.Minute)
		require.Equal(t, 2, ls.count(), "opened again")
		require.Equal(t, []string{"gap"}, changes.all(), "and told")
		require.NoError(t, sub.Close())
	})
}
