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

// G7: Close ends the pause before a retry, and the error tells what the attempts
// may have done.
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
			time.Sleep(time.Second)
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

// What carries requestState may be good for one use only, whatever the policy
// (D-078).
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

// What keeps a sign of life back on this side says nothing of the server.
func TestKeepAliveDuringAHold(t *testing.T) {
	t.Parallel()
	var failed atomic.Int32
	lonely(t, func(t *testing.T, c *client.Client, s *lone) {
		s.on("tools/call", func(jsonrpc.Request) any { return status(http.StatusTooManyRequests, "60") })
		_, err := c.CallTool(t.Context(), "deploy", nil, client.WithoutValidation(), client.WithRetryPolicy(client.RetryNever))
		require.Equal(t, time.Minute, mcperrors.RetryAfter(err))
		asked := len(s.of("server/discover"))
		time.Sleep(50 * time.Second)
		require.Len(t, s.of("server/discover"), asked)
		require.Zero(t, failed.Load())
		s.on("server/discover", func(jsonrpc.Request) any { return nil })
		time.Sleep(20 * time.Second)
		require.NotZero(t, failed.Load(), "what it was asked and did not answer does")
	}, client.WithKeepAlive(5*time.Second), client.OnEvent(func(_ context.Context, e client.Event) {
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
		c, err := client.Connect(t.Context(), tr, sessionEra, client.WithPreload(false), client.WithMeter(m))
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		_, err = c.Call(t.Context(), "tools/list", nil)
		require.ErrorIs(t, err, mcperrors.ErrCircuitOpen)
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		require.Equal(t, 1, m.count(client.RefusedOpen))
		require.Zero(t, m.count(client.Retried))
	})
}
