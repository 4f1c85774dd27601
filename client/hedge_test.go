package client_test

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// hedging is the default resilience with a second request after a second,
// and no third.
func hedging(share float64) client.Option {
	r := client.Resilience{Hedge: client.Hedge{Share: share, After: time.Second}}
	r.Retry = client.Retry{Attempts: 1}
	return client.WithResilience(r)
}

// inHedge runs f with a client that hedges, in virtual time.
func inHedge(t *testing.T, f func(t *testing.T, c *client.Client, s *lone), opts ...client.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newLone(t)
		c, err := s.dial(append([]client.Option{hedging(1)}, opts...)...)
		require.NoError(t, err)
		f(t, c, s)
		require.NoError(t, c.Close())
		s.mem.Close()
		time.Sleep(5 * time.Second) // what the server still does for losers
	})
}

// inTurn answers the first request after 2 s, when the second is long under way,
// and the others 100 ms after they came.
func inTurn(first, others any) answerFunc {
	var n atomic.Int32
	return func(jsonrpc.Request) any {
		if n.Add(1) == 1 {
			<-time.After(2 * time.Second)
			return first
		}
		<-time.After(100 * time.Millisecond)
		return others
	}
}

// always lets a call of a tool run twice.
var always = client.WithRetryPolicy(client.RetryAlways)

// An error does not beat a result, and of two errors the one counts that rules
// out least: a call that may have run is never said not to have.
func TestHedgeOutcomes(t *testing.T) {
	t.Parallel()
	good := json.RawMessage(doneResult)
	abort := replyFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	invalid, internal := jsonrpc.NewError(-32602, "no", nil), jsonrpc.NewError(-32603, "broken", nil)
	refused := status(http.StatusTooManyRequests, "")
	for name, tt := range map[string]struct {
		first, second any
		err           bool
		want          mcperrors.Delivery
		won           int
	}{
		"the second is an error":     {first: good, second: invalid},
		"the second is refused":      {first: good, second: refused},
		"the second is lost":         {first: good, second: abort},
		"the second is good":         {first: abort, second: good, won: 1},
		"refused, the other lost":    {first: abort, second: refused, err: true, want: mcperrors.Unknown},
		"lost, the other refused":    {first: refused, second: abort, err: true, want: mcperrors.Unknown},
		"invalid, the other lost":    {first: abort, second: invalid, err: true, want: mcperrors.Unknown},
		"refused, the other ran":     {first: internal, second: refused, err: true, want: mcperrors.Answered},
		"ran, the other was refused": {first: refused, second: internal, err: true, want: mcperrors.Answered},
		"both refused":               {first: refused, second: refused, err: true, want: mcperrors.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &recordingMeter{}
			inHedge(t, func(t *testing.T, c *client.Client, s *lone) {
				s.on("tools/call", inTurn(tt.first, tt.second))
				_, err := c.CallTool(t.Context(), "echo", nil, always)
				require.Equal(t, tt.err, err != nil, "%v", err)
				if tt.err {
					require.Equal(t, tt.want, mcperrors.DeliveryOf(err), "%v", err)
				}
				require.Len(t, s.of("tools/call"), 2)
				require.Equal(t, 1, m.count(client.Hedged))
				require.Equal(t, tt.won, m.count(client.HedgeWon))
				require.Len(t, m.attempts, 1+len(s.of("tools/list")), "two requests, one attempt")
			}, client.WithMeter(m))
		})
	}
}

// What a server asks for by either of the two requests is heeded, and at once.
func TestHedgeHolds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first, second any
		code          int
	}{
		"429 of the loser":          {json.RawMessage(doneResult), status(http.StatusTooManyRequests, "30"), http.StatusTooManyRequests},
		"503 of the loser":          {json.RawMessage(doneResult), status(http.StatusServiceUnavailable, "30"), http.StatusServiceUnavailable},
		"429 beside a worse error":  {status(http.StatusBadGateway, ""), status(http.StatusTooManyRequests, "30"), http.StatusTooManyRequests},
		"429 in front of an answer": {status(http.StatusTooManyRequests, "30"), jsonrpc.NewError(-32603, "broken", nil), http.StatusTooManyRequests},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inHedge(t, func(t *testing.T, c *client.Client, s *lone) {
				s.on("tools/call", inTurn(tt.first, tt.second))
				done := make(chan error)
				go func() {
					_, err := c.CallTool(t.Context(), "echo", nil, always)
					done <- err
				}()
				<-time.After(1500 * time.Millisecond)
				if name == "429 of the loser" {
					require.Positive(t, c.ThrottledFor(), "while the other is under way")
				}
				if err := <-done; err != nil && tt.code == http.StatusTooManyRequests {
					require.GreaterOrEqual(t, c.ThrottledFor(), 29*time.Second-100*time.Millisecond)
				}
				_, err := c.CallTool(t.Context(), "echo", nil, always)
				require.Error(t, err)
				require.Greater(t, mcperrors.RetryAfter(err), 25*time.Second)
				require.Len(t, s.of("tools/call"), 2, "nothing is sent before it is over")
				<-time.After(32 * time.Second)
				s.result("tools/call", doneResult)
				_, err = c.CallTool(t.Context(), "echo", nil, always)
				require.NoError(t, err)
			})
		})
	}
}

// A retry after two failed requests waits for the longer Retry-After of the two, also
// without a breaker.
func TestHedgeRetryAfterOfBoth(t *testing.T) {
	t.Parallel()
	r := client.Resilience{
		NoBreaker: true, NoToolBreakers: true, Silence: -1,
		Hedge: client.Hedge{Share: 0.01, After: time.Second}, Retry: client.Retry{Attempts: 3},
	}
	inHedge(t, func(t *testing.T, c *client.Client, s *lone) {
		var n atomic.Int32
		s.on("prompts/list", func(jsonrpc.Request) any {
			switch n.Add(1) {
			case 1:
				<-time.After(2 * time.Second)
				return status(http.StatusBadGateway, "")
			case 2:
				return status(http.StatusServiceUnavailable, "20")
			}
			return json.RawMessage(`{"resultType":"complete","prompts":[]}`)
		})
		began := time.Now()
		_, err := c.Call(t.Context(), "prompts/list", nil)
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(began), 21*time.Second)
	}, client.WithResilience(r))
}

// A call is not hedged if a second run may do harm, if it goes to a program, if a
// circuit or a throttle prevents it, or beyond the share.
func TestHedgeIsRefused(t *testing.T) {
	t.Parallel()
	slow := func(jsonrpc.Request) any {
		<-time.After(3 * time.Second)
		return json.RawMessage(doneResult)
	}
	for name, tt := range map[string]struct {
		meanwhile func(c *client.Client)
		opts      []client.CallOption
		want      int
	}{
		"nothing in the way":        {nil, []client.CallOption{always}, 2},
		"unsafe":                    {nil, nil, 1},
		"the circuit has opened":    {func(c *client.Client) { c.Breaker().Trip("test") }, []client.CallOption{always}, 1},
		"forced open":               {func(c *client.Client) { c.Breaker().Force(breaker.ForcedOpen) }, []client.CallOption{always}, 1},
		"the server throttles":      {func(c *client.Client) { c.Breaker().Throttle(time.Minute, "test") }, []client.CallOption{always}, 1},
		"the client is held":        {func(c *client.Client) { c.Throttle(time.Minute) }, []client.CallOption{always}, 1},
		"a hold that has ended":     {func(c *client.Client) { c.Throttle(time.Millisecond) }, []client.CallOption{always}, 2},
		"no policy allows a repeat": {nil, []client.CallOption{client.WithRetryPolicy(client.RetryNever)}, 1},
		"progress":                  {nil, []client.CallOption{always, client.WithProgress(func(mcp.ProgressParams) {})}, 2},
		"a token of the caller's":   {nil, []client.CallOption{always, client.WithMeta("progressToken", "mine")}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inHedge(t, func(t *testing.T, c *client.Client, s *lone) {
				s.on("tools/call", slow)
				if tt.meanwhile != nil {
					time.AfterFunc(500*time.Millisecond, func() { tt.meanwhile(c) })
				}
				_, err := c.CallTool(t.Context(), "echo", nil, tt.opts...)
				require.NoError(t, err)
				require.Len(t, s.of("tools/call"), tt.want)
			})
		})
	}
	t.Run("a program", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
			s.on("tools/call", func(jsonrpc.Request) any { return nil })
			_, err := c.CallTool(t.Context(), "echo", hello, always, client.WithTimeouts(-1, 5*time.Second))
			require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err))
			require.Equal(t, 1, s.count("tools/call"))
		}, hedging(1))
	})
	t.Run("the share", func(t *testing.T) {
		t.Parallel()
		m := &recordingMeter{}
		inHedge(t, func(t *testing.T, c *client.Client, s *lone) {
			s.on("tools/call", slow)
			for range 60 {
				_, err := c.CallTool(t.Context(), "echo", nil, always)
				require.NoError(t, err)
			}
			require.Equal(t, 3, m.count(client.Hedged))
		}, hedging(0.05), client.WithMeter(m))
	})
	t.Run("the probe of a tool's circuit", func(t *testing.T) {
		t.Parallel()
		inHedge(t, func(t *testing.T, c *client.Client, s *lone) {
			s.on("tools/call", func(jsonrpc.Request) any { return jsonrpc.NewError(-32603, "broken", nil) })
			for range 5 {
				_, err := c.CallTool(t.Context(), "echo", nil, always)
				require.Error(t, err)
			}
			<-time.After(31 * time.Second)
			s.on("tools/call", slow)
			_, err := c.CallTool(t.Context(), "echo", nil, always)
			require.NoError(t, err)
			require.Len(t, s.of("tools/call"), 6)
		}, seedProfile)
	})
}

// The two requests together take no longer than one may.
func TestHedgeKeepsTheBound(t *testing.T) {
	t.Parallel()
	inHedge(t, func(t *testing.T, c *client.Client, s *lone) {
		s.on("tools/call", func(jsonrpc.Request) any { return nil })
		began := time.Now()
		_, err := c.CallTool(t.Context(), "echo", nil, always, client.WithTimeouts(-1, 4*time.Second))
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err))
		require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err))
		require.Len(t, s.of("tools/call"), 2)
		require.LessOrEqual(t, time.Since(began), 4*time.Second)
	})
}

// What the loser may have done is not forgotten when the winner is a question and
// the call ends before its next round.
func TestHedgeLoserMayHaveRun(t *testing.T) {
	t.Parallel()
	inHedge(t, func(t *testing.T, c *client.Client, s *lone) {
		var n atomic.Int32
		s.on("tools/call", func(jsonrpc.Request) any {
			if n.Add(1) == 1 {
				return nil // no answer
			}
			c.Throttle(time.Minute)
			return json.RawMessage(`{"resultType":"input_required","requestState":"s"}`)
		})
		_, err := c.CallTool(t.Context(), "echo", nil, always)
		require.Equal(t, mcperrors.KindOverloaded, mcperrors.KindOf(err))
		require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err))
		require.Len(t, s.of("tools/call"), 2)
	})
}

// In the session era, closing a connection means nothing, so the client notifies the
// server which of the two requests is canceled.
func TestHedgeLoserIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newLone(t)
		s.result("initialize", initResult)
		c, err := s.dial(hedging(1), sessionEra)
		require.NoError(t, err)
		var n atomic.Int32
		s.on("tools/call", func(jsonrpc.Request) any {
			if n.Add(1) == 1 {
				return nil // no answer
			}
			return json.RawMessage(`{"content":[]}`)
		})
		_, err = c.CallTool(t.Context(), "echo", nil, always)
		require.NoError(t, err)
		require.NoError(t, c.Close())
		calls := s.of("tools/call")
		require.Len(t, calls, 2)
		told := 0
		for _, p := range s.received() {
			var m struct {
				Method string
				Params struct{ RequestID json.RawMessage }
			}
			_ = json.Unmarshal([]byte(p.body), &m)
			if m.Method == "notifications/cancelled" {
				told++
				require.JSONEq(t, string(calls[0].req.ID.AppendJSON(nil)), string(m.Params.RequestID))
			}
		}
		require.Equal(t, 1, told)
		s.mem.Close()
	})
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
				return nil // no answer
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
