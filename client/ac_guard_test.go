package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

var hello = map[string]any{"message": "hi"}

// trip fails calls until the client's breaker is open: those of a method of the
// server's own, because what a tool call fails with is the tool's.
func trip(t *testing.T, c *client.Client, s *fakeServer) {
	t.Helper()
	s.on(ownMethod, func(jsonrpc.Request) any { return jsonrpc.NewError(-32603, "no database", nil) })
	for range 5 {
		_, err := c.Call(t.Context(), ownMethod, nil)
		require.Equal(t, mcperrors.KindServer, mcperrors.KindOf(err))
	}
}

// The breaker's states as a client's user sees them; ac_circuit_test.go has the
// whole life of a circuit, package breaker each of its rules.
func TestAC_006_3_OpenBreakerRefusesWithE201(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		trip(t, c, s)
		require.Equal(t, breaker.Open, c.Breaker().State())
		sent := len(s.received())
		_, err := c.CallTool(t.Context(), "echo", hello)
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, mcperrors.CodeUnavailable, e.Code)
		require.Equal(t, mcperrors.KindCircuitOpen, e.Kind)
		require.Equal(t, "Service temporarily unavailable (circuit open)", e.Message)
		require.Equal(t, mcperrors.NotSent, e.Delivery)
		require.Equal(t, 30*time.Second, e.RetryAfter)
		require.ErrorIs(t, err, mcperrors.ErrCircuitOpen)
		require.Len(t, s.received(), sent, "the server sees no request")
	}, seedProfile)
}

// HALF_OPEN lets one call through, whose success closes the circuit: a ping,
// which the first caller waits for. The others are refused meanwhile.
func TestAC_006_6_RecoveryThroughTheClient(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		trip(t, c, s)
		time.Sleep(30*time.Second + time.Nanosecond)
		s.on("ping", func(jsonrpc.Request) any {
			time.Sleep(time.Second)
			return json.RawMessage(`{}`)
		})
		before := s.count("tools/call")
		refused := make(chan error, 20)
		for range 20 {
			go func() {
				_, err := c.CallTool(t.Context(), "echo", hello)
				refused <- err
			}()
		}
		open, passed := 0, 0
		for range 20 {
			if err := <-refused; errors.Is(err, mcperrors.ErrCircuitOpen) {
				open++
			} else {
				require.NoError(t, err)
				passed++
			}
		}
		require.Equal(t, 19, open)
		require.Equal(t, 1, passed)
		require.Equal(t, before+1, s.count("tools/call"))
		require.Equal(t, 1, s.count("ping"))
		require.Equal(t, breaker.Closed, c.Breaker().State())
	}, seedProfile)
}

// What opens the circuit, and what does not.
func TestWhatOpensTheCircuit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		answer any
		opens  bool // the tool's circuit; the server answers, and says no
	}{
		{"internal error", jsonrpc.NewError(-32603, "x", nil), true},
		{"server error", jsonrpc.NewError(-32000, "x", nil), true},
		{"request timeout of the server", jsonrpc.NewError(-32001, "x", nil), true},
		{"silence of the tool", nil, true},
		{"invalid params", jsonrpc.NewError(-32602, "x", nil), false},
		{"method not found", jsonrpc.NewError(-32601, "x", nil), false},
		{"conversion failed", jsonrpc.NewError(-32002, "x", nil), false},
		{"too many requests", jsonrpc.NewError(429, "x", nil), false},
		{"a tool's own error", json.RawMessage(`{"content":[],"isError":true}`), false},
		{"an application's code", jsonrpc.NewError(7, "x", nil), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
				s.on("tools/call", func(jsonrpc.Request) any { return tt.answer })
				for range 5 {
					_, _ = c.CallTool(t.Context(), "echo", hello) // only the verdict counts
				}
				require.Equal(t, breaker.Closed, c.Breaker().State())
				tool := c.ToolBreakers()
				require.Equal(t, tt.opens, tool != nil && tool.Find("echo").State() == breaker.Open)
				_, err := c.CallTool(t.Context(), "echo", hello)
				require.Equal(t, tt.opens, errors.Is(err, mcperrors.ErrCircuitOpen))
				if tt.opens {
					require.ErrorContains(t, err, "circuit of the tool")
				}
			}, seedProfile)
			// With one level only, it is the server's.
			one := client.Resilience{NoToolBreakers: true}
			inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
				s.on("tools/call", func(jsonrpc.Request) any { return tt.answer })
				for range 5 {
					_, _ = c.CallTool(t.Context(), "echo", hello) // only the verdict counts
				}
				require.Nil(t, c.ToolBreakers())
				require.Equal(t, tt.opens, c.Breaker().State() == breaker.Open)
			}, seedProfile, client.WithResilience(one))
		})
	}
}

// CountAll is the seed's literal rule: any error counts, but for the caller's
// own cancellation.
func TestCountAll(t *testing.T) {
	t.Parallel()
	all := client.Resilience{Off: true, Breaker: breaker.New(breaker.Settings{CountAll: true})}
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.on("tools/call", func(jsonrpc.Request) any { return nil })
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := c.CallTool(ctx, "echo", hello)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		require.Equal(t, breaker.Closed, c.Breaker().State())
		s.on("tools/call", func(jsonrpc.Request) any { return jsonrpc.NewError(-32602, "no such page", nil) })
		for range 5 {
			_, err := c.CallTool(t.Context(), "echo", hello)
			require.Error(t, err)
		}
		require.Equal(t, breaker.Open, c.Breaker().State())
	}, client.WithResilience(all))
}

// A canceled call means nothing about the server.
func TestCancellationIsNeutral(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.on("tools/call", func(jsonrpc.Request) any { return nil })
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := c.CallTool(ctx, "echo", hello)
			cancel()
			require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(err))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err))
		}
		require.Equal(t, breaker.Closed, c.Breaker().State())
		require.Zero(t, c.Breaker().Snapshot().ConsecutiveFailures)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.CallTool(ctx, "echo", hello)
		require.ErrorIs(t, err, context.Canceled)
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Empty(t, e.Code)
		require.Equal(t, mcperrors.NotSent, e.Delivery)
	})
}

// One breaker in two clients opens for both; otherwise two clients have two breakers.
func TestSharingABreaker(t *testing.T) {
	t.Parallel()
	shared := client.Resilience{Breaker: breaker.New(breaker.Settings{})}
	a, sa := connected(t, seedProfile, client.WithResilience(shared))
	b, _ := connected(t, seedProfile, client.WithResilience(shared))
	other, _ := connected(t)
	trip(t, a, sa)
	_, err := b.CallTool(t.Context(), "echo", hello)
	require.ErrorIs(t, err, mcperrors.ErrCircuitOpen)
	_, err = other.CallTool(t.Context(), "echo", hello)
	require.NoError(t, err)
}

// A limit on calls in flight refuses the one too many at once.
func TestBulkheadWithoutQueue(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.on("tools/call", func(jsonrpc.Request) any {
			time.Sleep(time.Second)
			return json.RawMessage(`{"content":[]}`)
		})
		first := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), "echo", hello)
			first <- err
		}()
		synctest.Wait()
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.Equal(t, mcperrors.KindOverloaded, mcperrors.KindOf(err))
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		require.NoError(t, <-first)
	}, client.WithResilience(client.Resilience{Off: true, Bulkhead: client.Bulkhead{Limit: 1, Queue: -1}}))
}
