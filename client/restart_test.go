package client_test

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// A program that ends is started again, soon, and calls that come meanwhile wait
// for it. What was in flight is not made again.
func TestProgramIsStartedAgain(t *testing.T) {
	var inFlight error
	supervised(t, func(n int, s *fakeServer) error {
		if n == 1 {
			s.crashesOn("tools/call")
		}
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings) {
		require.NoError(t, c.Ping(t.Context()))
		inFlight = callOnce(t.Context(), c)
		require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(inFlight), inFlight)
		began := time.Now()
		require.NoError(t, callOnce(t.Context(), c))
		require.Less(t, time.Since(began), 250*time.Millisecond)
		require.Equal(t, 2, p.count())
		require.Equal(t, 1, p.last().count("tools/call"))
		require.Equal(t, []string{"initialize", "notifications/initialized", "tools/call"}, p.last().methods())
		_, err := c.GetToolSchema(t.Context(), "echo")
		require.NoError(t, err)
		require.Equal(t, 1, p.last().count("tools/list"), "what was kept of the one before is not used")
		synctest.Wait()
		require.Equal(t, client.StateReady, c.State())
		require.Equal(t, []string{"ready to restarting", "restarting to ready", "restarted"}, h.take())
	})
}

// Programs that exit as soon as they are started are not restarted for a time: calls
// fail at once, with that time.
func TestCrashLoopIsHeld(t *testing.T) {
	supervised(t, func(n int, s *fakeServer) error {
		if n > 1 && n < 8 {
			s.crashesOn("initialize")
		}
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings) {
		p.last().crash()
		err := callOnce(t.Context(), c) // waits until there is a hold
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, []any{mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, true}, []any{e.Code, e.Kind, e.Delivery, e.Retryable}, e)
		require.Equal(t, 60*time.Second, e.RetryAfter)
		require.Contains(t, e.Message, "next restart in 1m0s")
		require.ErrorContains(t, e, "status 3")
		require.ErrorContains(t, e, "out of luck")
		require.Equal(t, 5, p.count())
		require.Equal(t, client.StateBackoff, c.State())
		pass(20 * time.Second)
		require.ErrorAs(t, callOnce(t.Context(), c), &e)
		require.Equal(t, 40*time.Second, e.RetryAfter)
		require.ErrorAs(t, c.Notify(t.Context(), "x/y", nil), &e)
		require.Equal(t, mcperrors.NotSent, e.Delivery)
		synctest.Wait()
		require.Equal(t, []string{"ready to restarting", "restarting to backoff"}, h.take())

		pass(41 * time.Second) // the sixth, which ends too: twice as long
		require.Equal(t, 6, p.count())
		require.ErrorAs(t, callOnce(t.Context(), c), &e)
		require.Greater(t, e.RetryAfter, 110*time.Second)
		pass(2 * time.Minute) // the seventh, four minutes
		require.Equal(t, 7, p.count())
		require.ErrorAs(t, callOnce(t.Context(), c), &e)
		require.Greater(t, e.RetryAfter, 220*time.Second)
		pass(4 * time.Minute)
		require.Equal(t, client.StateReady, c.State())
		require.NoError(t, callOnce(t.Context(), c))
		require.Equal(t, []string{
			"backoff to restarting", "restarting to backoff", "backoff to restarting", "restarting to backoff",
			"backoff to restarting", "restarting to ready", "restarted",
		}, h.take())
	})
}

// A program that is not there any more is not tried again.
func TestProgramThatIsGoneIsNotTriedAgain(t *testing.T) {
	supervised(t, func(n int, _ *fakeServer) error {
		if n > 1 {
			return exec.ErrNotFound
		}
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings) {
		p.last().crash()
		for range 10 {
			var e *mcperrors.Error
			require.ErrorAs(t, callOnce(t.Context(), c), &e)
			require.Equal(t, []any{mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, false}, []any{e.Code, e.Kind, e.Delivery, e.Retryable}, e)
			require.Contains(t, e.Message, "check the command")
		}
		pass(time.Hour)
		require.Equal(t, 2, p.count())
		require.Equal(t, client.StateEnded, c.State())
		require.Equal(t, []string{"ready to restarting", "restarting to ended", "disconnected"}, h.take())
	})
}

// Calls wait for a program within their own time and within a bound; what waited
// was not sent.
func TestCallsWaitWithinBounds(t *testing.T) {
	supervised(t, func(n int, s *fakeServer) error {
		if n > 1 {
			s.on("initialize", func(jsonrpc.Request) any { return nil }) // says nothing
		}
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		p.last().crash()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var e *mcperrors.Error
		require.ErrorAs(t, callOnce(ctx, c), &e)
		require.Equal(t, []any{mcperrors.CodeTimeout, mcperrors.NotSent}, []any{e.Code, e.Delivery}, e)
		require.Equal(t, time.Second, time.Since(began))

		began = time.Now()
		require.ErrorAs(t, callOnce(t.Context(), c), &e)
		require.Equal(t, []any{mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, true}, []any{e.Code, e.Kind, e.Delivery, e.Retryable}, e)
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Equal(t, client.StateRestarting, c.State())
		pass(50 * time.Second)
		require.Greater(t, p.count(), 2, "the start is bounded too")
		require.Zero(t, p.last().count("tools/call"))
	}, client.WithResilience(client.Resilience{Restart: client.Restart{CallWait: 10 * time.Second, StartTimeout: 20 * time.Second}}))
}

// Close ends waiting calls at once, in any state of the supervisor.
func TestCloseWhileRestarting(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		set   func(s *fakeServer)
		after time.Duration
		state client.State
	}{
		"before the next start": {nil, 0, client.StateRestarting},
		"in a handshake":        {func(s *fakeServer) { s.on("initialize", func(jsonrpc.Request) any { return nil }) }, 5 * time.Second, client.StateRestarting},
		"held":                  {func(s *fakeServer) { s.crashesOn("initialize") }, 30 * time.Second, client.StateBackoff},
		"after a good start":    {nil, time.Second, client.StateReady},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			supervised(t, func(n int, s *fakeServer) error {
				if n > 1 && tt.set != nil {
					tt.set(s)
				}
				return nil
			}, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
				p.last().crash()
				results := make(chan error, 1)
				if tt.state == client.StateRestarting {
					synctest.Wait()
					go func() { results <- callOnce(t.Context(), c) }()
				}
				pass(tt.after)
				synctest.Wait()
				require.Equal(t, tt.state, c.State())
				began, starts := time.Now(), p.count()
				require.NoError(t, c.Close())
				require.LessOrEqual(t, time.Since(began), time.Second)
				if tt.state == client.StateRestarting {
					err := <-results
					require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(err), err)
					require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
				}
				pass(time.Hour)
				require.Equal(t, starts, p.count())
			})
		})
	}
}

// The start of a program is neither refused by an open circuit nor counted by
// it, and all calls that one end takes with it are one failure.
func TestCrashIsOneFailure(t *testing.T) {
	supervised(t, func(n int, s *fakeServer) error {
		if n == 1 {
			s.on("tools/call", func(jsonrpc.Request) any { return nil })
		}
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		errs := make(chan error, 20)
		for range cap(errs) {
			go func() { errs <- callOnce(t.Context(), c) }()
		}
		synctest.Wait()
		p.last().crash()
		for range cap(errs) {
			require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(<-errs))
		}
		for range 10 {
			require.NoError(t, callOnce(t.Context(), c))
		}
		require.Equal(t, breaker.Closed, c.Breaker().State())
	})
}

// Wrong options fail at connect.
func TestRestartOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, r := range []client.Restart{{CallWait: -1}, {Crashes: -1}, {MaxHold: -time.Second}} {
		_, err := client.Connect(t.Context(), &fakePrograms{t: t}, sessionEra, client.WithResilience(client.Resilience{Restart: r}))
		require.ErrorContains(t, err, "restarts")
	}
	require.Equal(t, "backoff", client.StateBackoff.String())
	require.Equal(t, "unknown", client.State(99).String())
	text, err := client.StateEnded.MarshalText()
	require.NoError(t, err)
	require.Equal(t, "ended", string(text))
}

// A lost session that is reopened goes through the same states; one that cannot be
// reopened stays in backoff until the next try.
func TestStatesOfSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, h := newSessionSite(t), &happenings{}
		c := s.dial(t, h.option())
		synctest.Wait()
		h.take()
		s.restart()
		require.NoError(t, c.Ping(t.Context()))
		synctest.Wait()
		require.Equal(t, []string{"ready to restarting", "restarting to ready", "reinitialized"}, h.take())
		s.locked(func() { s.session, s.down = "", true })
		for range 3 {
			require.Error(t, c.Ping(t.Context()))
		}
		require.Equal(t, client.StateBackoff, c.State())
		s.locked(func() { s.down = false })
		pass(time.Minute)
		require.NoError(t, c.Ping(t.Context()))
		synctest.Wait()
		got := h.take()
		require.Equal(t, []string{"ready to restarting", "restarting to backoff"}, got[:2])
		require.Equal(t, []string{"restarting to ready", "reinitialized"}, got[len(got)-2:])
		require.Equal(t, client.StateReady, c.State())
	})
}

// A program that no longer answers is killed with its calls, and restarted. A
// connection that is not a program is not.
func TestHungProgramIsRestarted(t *testing.T) {
	supervised(t, func(n int, s *fakeServer) error {
		if n == 1 {
			s.on("tools/call", func(jsonrpc.Request) any { return nil })
		}
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings) {
		errs := make(chan error, 3)
		for range cap(errs) {
			go func() { errs <- callOnce(t.Context(), c) }()
		}
		synctest.Wait()
		silence := errors.New("no answer to probes")
		began := time.Now()
		c.RestartNow(silence)
		c.RestartNow(silence) // a second caller finds out, too
		for range cap(errs) {
			err := <-errs
			require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err), err)
		}
		require.NoError(t, callOnce(t.Context(), c))
		require.Less(t, time.Since(began), time.Second)
		synctest.Wait()
		require.Equal(t, 2, p.count())
		require.Equal(t, []string{"ready to restarting", "restarting to ready", "restarted"}, h.take())
	})
}

// Nothing is restarted that is no program, or is not to be.
func TestOnlyProgramsAreRestarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := connected(t)
		c.RestartNow(errors.New("no answer to probes"))
		require.NoError(t, callOnce(t.Context(), c))
		p := &fakePrograms{t: t}
		off, err := client.Connect(t.Context(), p, sessionEra, client.WithResilience(client.Resilience{Restart: client.Restart{Off: true}}))
		require.NoError(t, err)
		off.RestartNow(errors.New("no answer to probes"))
		require.NoError(t, callOnce(t.Context(), off))
		p.last().crash()
		synctest.Wait()
		require.Equal(t, client.StateEnded, off.State())
		require.Error(t, callOnce(t.Context(), off))
		require.Equal(t, 1, p.count())
		require.NoError(t, off.Close())
		require.NoError(t, ignoreClosed(c.Close()))
	})
}

// What ended long ago says nothing of a program that has been well since it was
// started again.
func TestHealthyProgramIsForgiven(t *testing.T) {
	supervised(t, nil, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		for n := range 4 {
			p.last().crash()
			pass(10 * time.Second)
			require.Equal(t, client.StateReady, c.State())
			require.Equal(t, n+2, p.count())
			pass(2 * time.Minute)
		}
	}, client.WithResilience(client.Resilience{Restart: client.Restart{Crashes: 2, Within: time.Hour, Hold: time.Hour}}))
}
