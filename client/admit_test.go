package client_test

import (
	"context"
	"errors"
	"sync"
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

// callsAtOnce is [client.DefaultResilience] with a limit of calls at once, and
// without retries.
func callsAtOnce(n int) client.Option {
	return client.WithResilience(client.Resilience{Bulkhead: client.Bulkhead{Limit: n}, Retry: client.Retry{Policy: client.RetryNever}})
}

// A Retry-After also stops the calls that were queued before it: the very call that
// gets it makes room for the next one.
func TestHoldReachesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedServer("2025-11-25")
		s.answer = func(context.Context, int, transport.Request) (transport.Answer, error) {
			time.Sleep(500 * time.Millisecond)
			return transport.Answer{}, statusFailure(429, 7*time.Second)
		}
		c := s.dial(t, callsAtOnce(1))
		first := make(chan error, 1)
		go func() { first <- useTool(t.Context(), c) }()
		synctest.Wait()
		err := useTool(t.Context(), c)
		require.Equal(t, mcperrors.KindOverloaded, mcperrors.KindOf(err), "%v", err)
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		require.Equal(t, 7*time.Second, mcperrors.RetryAfter(err))
		require.Error(t, <-first)
		require.Equal(t, 1, s.count("tools/call"))
	})
}

// So does a Retry-After that arrives while a call waits for the probe before it.
func TestHoldDuringTheProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedServer("2025-11-25")
		s.answer = func(_ context.Context, _ int, req transport.Request) (transport.Answer, error) {
			time.Sleep(2 * time.Second)
			return resultOf(req, `{}`)
		}
		c := s.opened(t)
		before := s.count("tools/call")
		done := make(chan error, 1)
		go func() { done <- useTool(t.Context(), c, client.WithRetryPolicy(client.RetryNever)) }()
		synctest.Wait()
		c.Throttle(10 * time.Second)
		require.Equal(t, 8*time.Second, mcperrors.RetryAfter(<-done))
		require.Equal(t, before, s.count("tools/call"))
	})
}

// The maximum time is the whole call's: also what it waits for before its first
// attempt counts.
func TestMaxTimeOfTheWholeCall(t *testing.T) {
	t.Parallel()
	const most = 2 * time.Second
	slow := func(d time.Duration) func(context.Context, int, transport.Request) (transport.Answer, error) {
		return func(ctx context.Context, _ int, req transport.Request) (transport.Answer, error) {
			if req.Method != "ping" {
				return unansweredRequest(ctx, req)
			}
			select {
			case <-time.After(d):
				return resultOf(req, `{}`)
			case <-ctx.Done():
				return transport.Answer{}, context.Cause(ctx)
			}
		}
	}
	for name, tt := range map[string]struct {
		answer func(context.Context, int, transport.Request) (transport.Answer, error)
		want   mcperrors.Delivery
	}{
		"the probe takes all":  {slow(4900 * time.Millisecond), mcperrors.NotSent},
		"the probe takes half": {slow(time.Second), mcperrors.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScriptedServer("2025-11-25")
				s.answer = tt.answer
				c := s.opened(t)
				began := time.Now()
				err := useTool(t.Context(), c, client.WithTimeouts(-1, most))
				require.Equal(t, most, time.Since(began))
				require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err), "%v", err)
				require.Equal(t, tt.want, mcperrors.DeliveryOf(err))
			})
		})
	}
}

// Nor does a new session that does not come hold a call longer than its time.
func TestMaxTimeWithoutASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedServer("2025-11-25")
		s.answer = func(ctx context.Context, _ int, req transport.Request) (transport.Answer, error) {
			if req.Method == "initialize" {
				return unansweredRequest(ctx, req)
			}
			return transport.Answer{}, noSession()
		}
		c := s.dial(t)
		first := make(chan error, 1)
		go func() { first <- useTool(t.Context(), c, client.WithTimeouts(-1, 5*time.Second)) }()
		synctest.Wait()
		began := time.Now()
		err := useTool(t.Context(), c, client.WithTimeouts(-1, 2*time.Second))
		require.Equal(t, 2*time.Second, time.Since(began))
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err), "%v", err)
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		require.True(t, mcperrors.SafeToRetry(<-first))
		require.Equal(t, 5*time.Second, time.Since(began))
	})
}

// A call that waits for a place fails at once when the circuit opens, with that reason,
// even if no place becomes free.
func TestQueueLeavesTheOpenCircuit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedServer("2025-11-25")
		s.answer = func(ctx context.Context, _ int, req transport.Request) (transport.Answer, error) {
			if req.Method == "ping" {
				return transport.Answer{}, noConnection()
			}
			return unansweredRequest(ctx, req)
		}
		c := s.dial(t, callsAtOnce(1))
		ctx, cancel := context.WithCancel(t.Context())
		busy := make(chan error, 1)
		go func() { busy <- useTool(ctx, c) }()
		synctest.Wait()
		queued := make(chan error, 2)
		began := time.Now()
		for range cap(queued) {
			go func() { queued <- useTool(t.Context(), c) }()
		}
		synctest.Wait()
		for range 5 {
			require.Error(t, c.Ping(t.Context()))
		}
		for range cap(queued) {
			require.ErrorIs(t, <-queued, mcperrors.ErrCircuitOpen)
		}
		require.Zero(t, time.Since(began))
		require.Equal(t, 1, s.count("tools/call"))
		cancel()
		require.Error(t, <-busy)
	})
}

// When silence opens the circuit, calls that wait for a place fail at once, too.
func TestQueueLeavesTheSilentServer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var opened time.Time
	r := client.Resilience{Bulkhead: client.Bulkhead{Limit: 1, Queue: 100}}
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.on("tools/call", func(jsonrpc.Request) any { return nil })
		s.on("ping", func(jsonrpc.Request) any { return nil })
		for range 300 {
			go func() {
				began := time.Now()
				_, err := c.CallTool(t.Context(), "echo", hello, client.WithTimeouts(-1, 12*time.Second))
				if took := time.Since(began); errors.Is(err, mcperrors.ErrCircuitOpen) && took > 0 {
					mu.Lock()
					defer mu.Unlock()
					if opened.IsZero() {
						opened = time.Now()
					}
					if took >= time.Second || !time.Now().Equal(opened) {
						t.Errorf("it left %s after the circuit opened", time.Since(opened))
					}
				}
			}()
			synctest.Wait()
			time.Sleep(110 * time.Millisecond) // so that nobody has waited enough in the moment it opens
		}
		mu.Lock()
		require.False(t, opened.IsZero(), "nobody was in the queue")
		mu.Unlock()
		time.Sleep(time.Minute)
	}, client.WithResilience(r))
}

// What waits for its turn ends with the client: by the rate, or for a place.
func TestCloseEndsTheQueues(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*client.Resilience){
		"rate":     func(r *client.Resilience) { r.Rate = client.Rate{PerSecond: 1} },
		"bulkhead": func(r *client.Resilience) { r.Bulkhead = client.Bulkhead{Limit: 1} },
	} {
		synctest.Test(t, func(t *testing.T) {
			r := client.Resilience{}
			set(&r)
			tr, s := newFake(t)
			c, err := client.Connect(t.Context(), tr, sessionEra, client.WithCache(client.CacheConfig{NoPreload: true}), client.WithResilience(r))
			require.NoError(t, err)
			s.on("x/y", func(jsonrpc.Request) any { return nil })
			errs := make(chan error, 2)
			for range 2 {
				go func() {
					_, err := c.Call(t.Context(), "x/y", nil)
					errs <- err
				}()
				synctest.Wait()
			}
			began := time.Now()
			go func() { _ = c.Close() }()
			for range 2 {
				require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(<-errs), name)
			}
			require.Less(t, time.Since(began), 300*time.Millisecond, name)
		})
	}
}

// A call whose time in the queue is over gets the error of a circuit that others
// opened; a call whose tool's circuit is open does not queue at all.
func TestQueueAsksTheCircuits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedServer("2025-11-25")
		s.answer = func(ctx context.Context, _ int, req transport.Request) (transport.Answer, error) {
			if req.Method == "resources/read" {
				return unansweredRequest(ctx, req)
			}
			return errorOf(req, -32603)
		}
		c := s.dial(t, callsAtOnce(1), seedProfile)
		for range 5 {
			require.Error(t, useTool(t.Context(), c))
		}
		ctx, cancel := context.WithCancel(t.Context())
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = c.Call(ctx, "resources/read", map[string]any{"uri": "a:b"})
		}()
		synctest.Wait()
		began := time.Now()
		require.ErrorIs(t, useTool(t.Context(), c), mcperrors.ErrCircuitOpen)
		require.Zero(t, time.Since(began))

		queued := make(chan error, 1)
		_, err := c.Call(ctx, "tools/call", map[string]any{"name": "other"})
		require.Equal(t, mcperrors.KindOverloaded, mcperrors.KindOf(err), "%v", err)
		go func() {
			_, err := c.Call(t.Context(), "tools/call", map[string]any{"name": "other"})
			queued <- err
		}()
		synctest.Wait()
		c.Breaker().Trip("somebody else")
		require.ErrorIs(t, <-queued, mcperrors.ErrCircuitOpen)
		cancel()
		<-read
	})
}

// A failure from before the circuit of its tool opened is not its probe.
func TestStaleToolFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedServer("2025-11-25")
		s.answer = func(_ context.Context, n int, req transport.Request) (transport.Answer, error) {
			switch {
			case n == 1:
				time.Sleep(35 * time.Second)
			case n > 6:
				return resultOf(req, toolDone)
			}
			return errorOf(req, -32603)
		}
		c := s.dial(t, seedProfile)
		first := make(chan error, 1)
		go func() { first <- useTool(t.Context(), c) }()
		synctest.Wait()
		for range 5 {
			require.Error(t, useTool(t.Context(), c))
		}
		require.ErrorIs(t, useTool(t.Context(), c), mcperrors.ErrCircuitOpen)
		require.Error(t, <-first)
		require.NoError(t, useTool(t.Context(), c), "35 s later its probe is free")
	})
}

// A result of no known type is the tool's failure, and no success of the
// server's.
func TestResultOfNoType(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{`"weird"`, `7`} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScriptedServer("2026-07-28")
				s.answer = func(_ context.Context, _ int, req transport.Request) (transport.Answer, error) {
					return resultOf(req, `{"resultType":`+kind+`}`)
				}
				c := s.dial(t)
				before := c.Breaker().Snapshot().Successes
				for range 5 {
					require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(useTool(t.Context(), c)))
				}
				require.ErrorIs(t, useTool(t.Context(), c), mcperrors.ErrCircuitOpen)
				require.Equal(t, 5, s.count("tools/call"))
				require.Equal(t, before, c.Breaker().Snapshot().Successes)
				require.Equal(t, breaker.Closed, c.Breaker().State())
			})
		})
	}
}

// A turn that is not used is the next one's; a call whose time is over before its
// turn comes does not wait for it.
func TestTurnsByTheRate(t *testing.T) {
	t.Parallel()
	r := client.Resilience{Rate: client.Rate{PerSecond: 1}}
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		time.Sleep(time.Minute)
		began := time.Now()
		require.NoError(t, callOnce(t.Context(), c))
		_, err := c.CallTool(t.Context(), "echo", hello, client.WithTimeouts(-1, 300*time.Millisecond))
		require.Equal(t, mcperrors.KindOverloaded, mcperrors.KindOf(err))
		require.Zero(t, time.Since(began), "its time ends before its turn")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		require.ErrorIs(t, callOnce(ctx, c), context.Canceled)
		require.NoError(t, callOnce(t.Context(), c))
		require.Equal(t, time.Second, time.Since(began), "in the place of the one that gave up")
		require.Equal(t, 2, s.count("tools/call"))
	}, client.WithResilience(r))
}
