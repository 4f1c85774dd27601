package client_test

import (
	"context"
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
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// panicking is a round tripper that panics when it is switched on, after a while.
type panicking struct {
	http.RoundTripper
	bad   atomic.Bool
	after time.Duration
}

func (p *panicking) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.bad.Load() {
		<-time.After(p.after)
		panic("a round tripper's bug")
	}
	return p.RoundTripper.RoundTrip(r)
}

// inPanic runs f in virtual time with a client whose round tripper may panic.
func inPanic(t *testing.T, f func(t *testing.T, c *client.Client, s *lone, p *panicking), opts ...client.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newLone(t)
		p := &panicking{RoundTripper: s.mem.Transport()}
		c, err := client.Connect(t.Context(), &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: p}, append([]client.Option{statelessEra}, opts...)...)
		require.NoError(t, err)
		f(t, c, s, p)
		require.NoError(t, c.Close())
		s.mem.Close()
	})
}

// A RoundTripper that panics fails the call that waits for it and nothing else,
// and leaves no permit behind.
func TestPanicInProbe(t *testing.T) {
	t.Parallel()
	for name, patience := range map[string]time.Duration{"the caller waits": time.Minute, "the caller has left": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inPanic(t, func(t *testing.T, c *client.Client, s *lone, p *panicking) {
				c.Breaker().Trip("test")
				<-time.After(31 * time.Second)
				p.bad.Store(true)
				p.after = 2 * time.Second
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				_, err := c.CallTool(ctx, "echo", nil)
				require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
				if patience > p.after {
					require.ErrorContains(t, err, "HTTP.RoundTripper panicked: a round tripper's bug")
				}
				<-time.After(p.after)
				p.bad.Store(false)
				require.Equal(t, breaker.HalfOpen, c.Breaker().State())
				_, err = c.CallTool(t.Context(), "echo", nil)
				require.NoError(t, err, "the place of the probe is free")
			})
		})
	}
}

// The same with either request of two: the call ends as if it had failed, after
// both have ended.
func TestPanicInHedge(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]bool{"the first": false, "the second": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inPanic(t, func(t *testing.T, c *client.Client, s *lone, p *panicking) {
				s.on("tools/call", func(jsonrpc.Request) any { return nil })
				p.after = 3 * time.Second
				time.AfterFunc(500*time.Millisecond, func() { p.bad.Store(second) })
				p.bad.Store(!second)
				if !second {
					time.AfterFunc(500*time.Millisecond, func() { p.bad.Store(false) })
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // before it counts as silence
				defer cancel()
				_, err := c.CallTool(ctx, "echo", nil, always)
				require.Error(t, err)
				require.Zero(t, c.Health().InFlight)
				p.bad.Store(false)
				s.result("tools/call", doneResult)
				_, err = c.CallTool(t.Context(), "echo", nil, always)
				require.NoError(t, err)
			}, hedging(1))
		})
	}
}
