package pool_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/pool"
)

// The pool retries a server that is down with longer and longer pauses, and connects when
// it is back.
func TestPoolTriesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log eventLog
		flaky := &moody{Transport: toolServer(t, "flaky", "echo").Transport(), mood: func(try int) error {
			if try < 5 {
				return refuses(try)
			}
			return nil
		}}
		p, err := pool.Open(t.Context(), []pool.Server{
			serverAt("good", toolServer(t, "good", "other").Transport()), serverAt("flaky", flaky),
		}, log.option())
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		require.Error(t, p.Failures()["flaky"])
		h := p.Health()[1]
		require.Equal(t, 1, h.Attempts)
		require.WithinRange(t, h.NextAttempt, time.Now().Add(time.Second/2), time.Now().Add(time.Second))
		_, err = p.Client("flaky")
		require.InDelta(t, time.Until(h.NextAttempt), mcperrors.RetryAfter(err), 0)
		time.Sleep(15*time.Second + time.Millisecond) // 1 + 2 + 4 + 8, if no wait is shortened
		require.Empty(t, p.Failures())
		require.Equal(t, int32(5), flaky.tries.Load())
		require.Equal(t, 5, p.Health()[1].Attempts)
		require.NoError(t, p.Reconnect(t.Context(), "flaky"))
		res, err := p.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
		require.Equal(t, "flaky/echo", res.Text())
		require.Contains(t, log.all(), "flaky connected")
		require.Contains(t, log.all(), "flaky event.Connected")
	})
}

// Without automatic attempts, only Reconnect connects again, at once.
func TestPoolReconnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var up atomic.Bool
		flaky := &moody{Transport: toolServer(t, "flaky", "echo").Transport(), mood: func(try int) error {
			if up.Load() {
				return nil
			}
			return refuses(try)
		}}
		slow := &moody{Transport: flaky.Transport, mood: func(try int) error {
			if try == 1 {
				return refuses(try)
			}
			return errHangs
		}}
		p, err := pool.Open(t.Context(), []pool.Server{
			serverAt("good", toolServer(t, "good", "other").Transport()), serverAt("flaky", flaky), serverAt("slow", slow),
			{Name: "unset", Err: errors.New("the variable TOKEN is not set")},
		}, pool.WithReconnect(0, 0))
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		time.Sleep(time.Hour)
		require.Equal(t, int32(1), flaky.tries.Load())
		require.ErrorContains(t, p.Reconnect(t.Context(), "flaky"), "connection refused")
		require.Equal(t, int32(2), flaky.tries.Load())
		require.ErrorContains(t, p.Reconnect(t.Context(), "unset"), "TOKEN")
		up.Store(true)
		require.NoError(t, p.Reconnect(t.Context(), "flaky"))
		require.NoError(t, p.Reconnect(t.Context(), "flaky"), "it is connected")
		require.Equal(t, int32(3), flaky.tries.Load())
		require.Error(t, p.Reconnect(t.Context(), "nobody"))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, p.Reconnect(ctx, "slow"), context.DeadlineExceeded)
		done := make(chan error)
		go func() { done <- p.Reconnect(t.Context(), "slow") }()
		synctest.Wait()
		require.NoError(t, p.Close())
		require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(<-done), "closing ends the wait")
	})
}

// A lost connection fails calls at once, and the pool connects again. Names given before
// keep working, also if another server has the same tool now.
func TestPoolLosesAServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log eventLog
		a, b := toolServer(t, "a", "echo"), toolServer(t, "b", "echo")
		var up atomic.Bool
		later := &moody{Transport: b.Transport(), mood: func(try int) error {
			if up.Load() {
				return nil
			}
			return refuses(try)
		}}
		p, err := pool.Open(t.Context(), []pool.Server{serverAt("a", socket{a.Transport()}), serverAt("b", later)}, log.option())
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		list, err := p.Tools(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"echo"}, toolNames(list))
		up.Store(true)
		require.NoError(t, p.Reconnect(t.Context(), "b"))
		list, err = p.Tools(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"a__echo", "b__echo"}, toolNames(list))
		res, err := p.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
		require.Equal(t, "a/echo", res.Text())

		before, err := p.Client("a")
		require.NoError(t, err)
		a.Fail(1, clienttest.ErrCut)
		_, err = p.CallTool(t.Context(), "echo", nil)
		require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err), "%v", err)
		synctest.Wait()
		require.Equal(t, pool.Failed, p.Health()[0].State)
		_, err = p.CallTool(t.Context(), "a__echo", nil)
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		require.True(t, mcperrors.Retryable(err))
		require.Positive(t, mcperrors.RetryAfter(err))
		list, err = p.Tools(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"b__echo"}, toolNames(list), "b's name does not change when a is away")
		time.Sleep(2 * time.Second)
		after, err := p.Client("a")
		require.NoError(t, err)
		require.NotSame(t, before, after)
		res, err = p.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
		require.Equal(t, "a/echo", res.Text())
		require.Contains(t, log.all(), "a failed")
	})
}

// A connection that has lasted resets the pauses: after its loss the first retry comes as
// soon as after a first failure.
func TestPoolForgetsOldFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := toolServer(t, "a", "echo")
		a := &moody{Transport: socket{server.Transport()}, mood: func(try int) error {
			if try < 6 {
				return refuses(try)
			}
			return nil
		}}
		p, err := pool.Open(t.Context(), []pool.Server{serverAt("good", toolServer(t, "good", "other").Transport()), serverAt("a", a)})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		lose := func(after time.Duration) time.Duration {
			time.Sleep(after)
			server.Fail(1, clienttest.ErrCut)
			_, err := p.CallTool(t.Context(), "echo", nil)
			require.Error(t, err)
			synctest.Wait()
			require.Equal(t, pool.Failed, p.Health()[1].State)
			return time.Until(p.Health()[1].NextAttempt)
		}
		time.Sleep(32 * time.Second) // 1 + 2 + 4 + 8 + 16, if no wait is shortened
		require.Equal(t, pool.Connected, p.Health()[1].State)
		require.LessOrEqual(t, lose(2*time.Minute), time.Second)
		time.Sleep(2 * time.Second)
		require.Greater(t, lose(time.Second), time.Second, "one that has not lasted does not")
	})
}

// Reconnect does not wait for a program that its client holds back or that does not get
// ready: the pool connects to it again at once.
func TestPoolReconnectEndsAHold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		second clienttest.Handler // of initialize
		state  pool.State
	}{
		"held":      {fails(clienttest.ErrCut), pool.Failed},
		"not ready": {fails(clienttest.ErrSilent), pool.Connecting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				started := &programs{}
				for range 3 {
					started.runs = append(started.runs, toolServer(t, "a", "echo"))
				}
				started.runs[1].On("initialize", tt.second)
				a := serverAt("a", started)
				a.Options = []client.Option{sessionEra, client.WithEraStore(nil), client.WithResilience(client.Resilience{Restart: client.Restart{Crashes: 2, Hold: time.Hour, MaxHold: time.Hour, StartTimeout: time.Hour}})}
				p, err := pool.Open(t.Context(), []pool.Server{a})
				require.NoError(t, err)
				defer func() { require.NoError(t, p.Close()) }()
				started.runs[0].Fail(1, clienttest.ErrCut)
				_, err = p.CallTool(t.Context(), "echo", nil)
				require.Error(t, err)
				time.Sleep(time.Second)
				require.Equal(t, tt.state, p.Health()[0].State)
				began := time.Now()
				require.NoError(t, p.Reconnect(t.Context(), "a"))
				require.Less(t, time.Since(began), 2*time.Second)
				require.Equal(t, pool.Connected, p.Health()[0].State)
				require.Equal(t, 3, started.count())
				_, err = p.CallTool(t.Context(), "echo", nil)
				require.NoError(t, err)
			})
		})
	}
}

// programs are the runs of one program, in order.
type programs struct {
	runs []*clienttest.Server
	next atomic.Int32
}

func (*programs) String() string { return "program" }

func (p *programs) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	return p.runs[p.next.Add(1)-1].Transport().Connect(ctx, h)
}

func (p *programs) count() int { return int(p.next.Load()) }

// fails is a handler that fails in one way.
func fails(err error) clienttest.Handler {
	return func(*clienttest.Call) (any, error) { return nil, err }
}

// The error of a call describes what the pool does next. That differs from what the
// client does: the pool also connects again to a program that its client gave up.
func TestPoolSaysWhenItTriesAgain(t *testing.T) {
	t.Parallel()
	gone := func(int) error {
		return &transport.Failure{Reason: transport.ReasonConfig, NotSent: true, Err: errors.New("no such program")}
	}
	for name, tt := range map[string]struct {
		after func(try int) error // how the next try goes
		opts  []pool.Option
		again bool
	}{
		"it comes back": {func(int) error { return nil }, nil, true},
		"it is away":    {refuses, nil, true},
		"it is gone":    {gone, nil, true},
		"nobody tries":  {refuses, []pool.Option{pool.WithReconnect(0, 0)}, false},
		"tried by hand": {gone, []pool.Option{pool.WithReconnect(0, 0)}, false},
		"its own times": {func(int) error { return nil }, []pool.Option{pool.WithReconnect(time.Second, time.Second)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := toolServer(t, "a", "echo")
				program := &moody{Transport: s.Transport(), mood: func(try int) error {
					if try == 1 {
						return nil
					}
					return tt.after(try)
				}}
				off := pool.WithServerOptions(func(string) []client.Option {
					return []client.Option{client.WithResilience(client.Resilience{Restart: client.Restart{Off: true}})}
				})
				p, err := pool.Open(t.Context(), []pool.Server{serverAt("a", program)}, append(tt.opts, off)...)
				require.NoError(t, err)
				defer func() { require.NoError(t, p.Close()) }()
				_, err = p.Tools(t.Context())
				require.NoError(t, err)
				s.Fail(1, clienttest.ErrCut)
				_, err = p.CallTool(t.Context(), "echo", nil)
				require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err), "%v", err)
				for range 3 {
					_, err = p.CallTool(t.Context(), "echo", nil)
					require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err), "%v", err)
					require.NotContains(t, err.Error(), "close this client", "that is not the application's to do")
					synctest.Wait()
				}
				h := p.Health()[0]
				require.Equal(t, pool.Failed, h.State)
				_, err = p.CallTool(t.Context(), "echo", nil)
				require.Equal(t, tt.again, mcperrors.Retryable(err), "%v", err)
				require.Equal(t, tt.again, !h.NextAttempt.IsZero())
				if !tt.again {
					require.Zero(t, mcperrors.RetryAfter(err))
					return
				}
				require.Equal(t, time.Until(h.NextAttempt), mcperrors.RetryAfter(err))
				require.LessOrEqual(t, mcperrors.RetryAfter(err), time.Second, "a program that has ended can be started")
				time.Sleep(mcperrors.RetryAfter(err) + time.Millisecond)
				require.Equal(t, int32(2), program.tries.Load(), "it was tried when the error said")
				_, err = p.CallTool(t.Context(), "echo", nil)
				if tt.after(2) == nil {
					require.NoError(t, err)
					return
				}
				require.True(t, mcperrors.Retryable(err), "%v", err)
				require.Equal(t, time.Until(p.Health()[0].NextAttempt), mcperrors.RetryAfter(err))
			})
		})
	}
}
