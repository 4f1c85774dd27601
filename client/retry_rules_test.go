package client_test

import (
	"context"
	"encoding/json"
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
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// lonely runs a test with a client of a server of the stateless era, in a bubble.
func lonely(t *testing.T, f func(t *testing.T, c *client.Client, s *lone), opts ...client.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newLone(t)
		defer s.mem.Close()
		c, err := s.dial(opts...)
		require.NoError(t, err)
		defer func() { _ = c.Close() }() // also of a test that fails
		f(t, c, s)
	})
}

// Close ends the pause before a retry, and the error has the Delivery of the attempts.
func TestCloseEndsThePause(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]mcperrors.Delivery{
		http.StatusTooManyRequests: mcperrors.Rejected, http.StatusServiceUnavailable: mcperrors.Unknown,
	} {
		lonely(t, func(t *testing.T, c *client.Client, s *lone) {
			s.on("prompts/list", func(jsonrpc.Request) any { return status(code, "60") })
			ended := make(chan error, 1)
			go func() {
				_, err := c.Call(t.Context(), "prompts/list", nil)
				ended <- err
			}()
			pass(time.Second)
			began := time.Now()
			require.NoError(t, c.Close())
			var e *mcperrors.Error
			require.ErrorAs(t, <-ended, &e)
			require.LessOrEqual(t, time.Since(began), time.Second)
			require.Equal(t, mcperrors.KindClosed, e.Kind)
			require.ErrorIs(t, e, jsonrpc.ErrClosed)
			require.Equal(t, want, e.Delivery)
			require.Equal(t, 1, e.Attempts)
			require.False(t, e.Retryable)
		})
	}
}

// A request with requestState may be valid only once, whatever the policy.
func TestStateIsNeverRepeatedWithoutAKey(t *testing.T) {
	t.Parallel()
	lonely(t, func(t *testing.T, c *client.Client, s *lone) {
		n := 0
		s.on("tools/call", func(jsonrpc.Request) any {
			if n++; n == 1 {
				return json.RawMessage(`{"resultType":"input_required","requestState":"abc"}`)
			}
			return status(http.StatusBadGateway, "")
		})
		_, err := c.CallTool(t.Context(), "deploy", nil, client.WithoutValidation(), client.WithRetryPolicy(client.RetryAlways))
		require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err))
		require.Equal(t, 2, n)
	})
}

// A liveness probe that the client itself holds back means nothing about the server.
func TestKeepAliveDuringAHold(t *testing.T) {
	t.Parallel()
	var failed atomic.Int32
	lonely(t, func(t *testing.T, c *client.Client, s *lone) {
		s.on("tools/call", func(jsonrpc.Request) any { return status(http.StatusTooManyRequests, "60") })
		_, err := c.CallTool(t.Context(), "deploy", nil, client.WithoutValidation(), client.WithRetryPolicy(client.RetryNever))
		require.Equal(t, time.Minute, mcperrors.RetryAfter(err))
		asked := len(s.of("server/discover"))
		pass(50 * time.Second)
		require.Len(t, s.of("server/discover"), asked)
		require.Zero(t, failed.Load())
		s.on("server/discover", func(jsonrpc.Request) any { return nil })
		pass(20 * time.Second)
		require.NotZero(t, failed.Load(), "what it was asked and did not answer does")
	}, client.WithResilience(client.Resilience{KeepAlive: 5 * time.Second}), client.OnEvent(func(_ context.Context, e client.Event) {
		if _, ok := e.(client.LivenessFailed); ok {
			failed.Add(1)
		}
	}))
}

// endsUnsent has a program end just before a request of a method gets to it, and
// then does what is to happen.
type endsUnsent struct {
	*fakePrograms
	method string
	then   func()
}

func (e *endsUnsent) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	conn, err := e.fakePrograms.Connect(ctx, h)
	if err != nil {
		return nil, err
	}
	return unsentConn{conn.(fakeProgram), e}, nil
}

type unsentConn struct {
	fakeProgram
	of *endsUnsent
}

func (u unsentConn) Call(ctx context.Context, req transport.Request) (transport.Answer, error) {
	if req.Method != u.of.method {
		return u.fakeProgram.Call(ctx, req)
	}
	u.s.crash()
	<-u.Done()
	u.of.then()
	return transport.Answer{}, u.Ended()
}

// A call that waited for the next program and is refused here then is refused
// once: the program that ended before is no reason to try again.
func TestRefusedAfterARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &recordingMeter{}
		var c *client.Client
		tr := &endsUnsent{fakePrograms: &fakePrograms{t: t}, method: "tools/list", then: func() { c.Breaker().Force(breaker.ForcedOpen) }}
		c, err := client.Connect(t.Context(), tr, sessionEra, client.WithCache(client.CacheConfig{NoPreload: true}), client.WithMeter(m))
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		_, err = c.Call(t.Context(), "tools/list", nil)
		require.ErrorIs(t, err, mcperrors.ErrCircuitOpen)
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		require.Equal(t, 1, m.count(client.RefusedOpen))
		require.Zero(t, m.count(client.Retried))
	})
}

const lockedResult = `{"resultType":"complete","isError":true,"content":[{"type":"text","text":"locked"}],"structuredContent":{"error":{"code":"DB_LOCKED","message":"locked","retry_after_seconds":2}}}`

// A result that a profile marks as rejected is retried like an error: not earlier than
// the server asks. When the retries end, the last result is the answer. Without the
// promise of a profile, the first result is.
func TestRetryRejectedResult(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opts   []client.Option
		locked int
		want   int
		failed bool
	}{
		"always":           {[]client.Option{storeProfile}, 99, 3, true},
		"for a while":      {[]client.Option{storeProfile}, 2, 3, false},
		"no promise":       {nil, 99, 1, true},
		"retries are off":  {[]client.Option{storeProfile, retries(client.Retry{Policy: client.RetryNever})}, 99, 1, true},
		"tried five times": {[]client.Option{storeProfile, retries(client.Retry{Attempts: 5})}, 99, 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lonely(t, func(t *testing.T, c *client.Client, s *lone) {
				var asked []time.Time
				s.on("tools/call", func(jsonrpc.Request) any {
					if asked = append(asked, time.Now()); len(asked) <= tt.locked {
						return json.RawMessage(lockedResult)
					}
					return json.RawMessage(doneResult)
				})
				res, err := c.CallTool(t.Context(), "deploy", nil, client.WithoutValidation())
				require.NoError(t, err)
				require.Equal(t, tt.failed, res.IsError)
				require.Len(t, asked, tt.want)
				for i := range asked[1:] {
					require.GreaterOrEqual(t, asked[i+1].Sub(asked[i]), 2*time.Second)
				}
				if tt.failed {
					require.Equal(t, "locked", res.Text())
				}
				require.Zero(t, c.Breaker().Snapshot().ConsecutiveFailures)
				if g := c.ToolBreakers(); g != nil {
					require.Nil(t, g.Find("deploy"))
				}
			}, tt.opts...)
		})
	}
}

// Some failures count for nobody the first time, but when they happen again: the second
// lost session in ten seconds, and the third answer in a row on one stream that reports
// unreadable input.
func TestUnreadableInARow(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		failures := func() uint64 { return c.Breaker().Snapshot().Failures }
		ask := func(n int) {
			for range n {
				_, _ = c.Call(t.Context(), "tools/list", nil)
			}
		}
		garbled := func(jsonrpc.Request) any { return jsonrpc.NewError(jsonrpc.CodeParseError, "what?", nil) }
		s.on("tools/list", garbled)
		ask(2)
		s.result("tools/list", oneTool)
		ask(1)
		s.on("tools/list", garbled)
		ask(2)
		require.Zero(t, failures(), "an answer lies between them")
		ask(1)
		require.EqualValues(t, 1, failures())
	}, client.WithCache(client.CacheConfig{NoPreload: true}))
	lonely(t, func(t *testing.T, c *client.Client, s *lone) {
		s.on("tools/call", func(jsonrpc.Request) any { return jsonrpc.NewError(jsonrpc.CodeParseError, "what?", nil) })
		for range 9 {
			_, err := c.CallTool(t.Context(), "deploy", nil, client.WithoutValidation())
			require.Error(t, err)
		}
		require.Zero(t, c.Breaker().Snapshot().Failures, "each has a stream of its own")
	})
}

// The poison rule: what ended two programs is not tried on a third, though
// it can be repeated, and the tool is blamed beside the server.
func TestPoisonIsSentTwice(t *testing.T) {
	supervised(t, func(_ int, s *fakeServer) error {
		s.crashesOn("tools/call")
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		_, err := c.CallTool(t.Context(), "echo", message, client.WithRetryPolicy(client.RetryAlways))
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, mcperrors.Unknown, e.Delivery)
		require.Equal(t, 2, e.Attempts)
		sent := 0
		for _, s := range p.runs {
			sent += s.count("tools/call")
		}
		require.Equal(t, 2, sent)
		require.EqualValues(t, 1, c.ToolBreakers().Find("echo").Snapshot().Failures)
	})
}

// A server that loses one session after the other has failed, even if each is replaced;
// all calls that notice one loss count once.
func TestSessionLostAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		c := s.dial(t)
		lose := func() uint64 {
			s.restart()
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() { require.NoError(t, c.Ping(t.Context())) })
			}
			wg.Wait()
			return c.Breaker().Snapshot().Failures
		}
		require.Zero(t, lose())
		pass(time.Minute)
		require.Zero(t, lose(), "not soon after the other")
		require.EqualValues(t, 1, lose())
		require.NoError(t, c.Close())
	})
}
