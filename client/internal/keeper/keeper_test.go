package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// program is a connection that exits, is killed or sends something under control of the test.
type program struct {
	transport.Conn
	ended   chan struct{}
	heard   uint64
	kills   []error
	lingers bool // it does not exit when it is killed
}

func newProgram() *program { return &program{ended: make(chan struct{})} }

func (p *program) Traits() transport.Traits { return transport.Traits{Process: true} }
func (p *program) Done() <-chan struct{}    { return p.ended }
func (p *program) Exited() <-chan struct{}  { return p.ended }
func (p *program) Received() uint64         { return p.heard }
func (p *program) Late() uint64             { return 0 }
func (p *program) Close() error             { return nil }

func (p *program) Kill(cause error) {
	if p.kills = append(p.kills, cause); !p.lingers {
		close(p.ended)
	}
}

// house is a keeper with its hooks, which record the steps in order.
type house struct {
	*keeper.Keeper
	t        *testing.T
	core     core.Core
	restarts bool // otherwise it renews sessions
	end      func()
	work     sync.WaitGroup

	// opens are the outcomes of the tries to open a link; the last one repeats. A try takes a
	// second.
	opens   []error
	allowed error // refuses a renewal
	wanted  bool

	mu    sync.Mutex
	steps []string
	state string   // last reported state
	calls []string // their outcomes, and the state at that moment
	tries int
}

func (h *house) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, fmt.Sprintf(format, args...))
}

// ended records the outcome of a call.
func (h *house) ended(name string, e *mcperrors.Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	outcome := "goes"
	if e != nil {
		outcome = fmt.Sprintf("%s, %s,", e.Kind, e.Delivery)
	}
	if h.core.Life.Closed() { // no order after Close
		h.calls = append(h.calls, name+" closed")
		return
	}
	h.calls = append(h.calls, name+" "+outcome+" when "+h.state)
}

func (h *house) open(ctx context.Context) (opened func(), _ error) {
	h.note("open")
	var err error
	if len(h.opens) > 0 {
		err = h.opens[min(h.tries, len(h.opens)-1)]
	}
	h.tries++
	takes := time.Second
	switch {
	case errors.Is(err, errSlow):
		takes = time.Hour
	case errors.Is(err, errAtOnce):
		takes = 0
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err == nil && h.restarts {
		h.core.Links.Begin(newProgram())
	} else if err == nil {
		h.core.Links.Use(newProgram())
	}
	return func() { h.note("use") }, err
}

var stateNames = map[life.State]string{life.Ready: "ready", life.Restarting: "making", life.Backoff: "held", life.Ended: "ended"}

func (h *house) live() *program { return h.core.Links.Load().Conn.(*program) }

func (h *house) await(ctx context.Context) *mcperrors.Error {
	_, e := h.Await(ctx, core.Span{})
	return e
}

// call starts a call now.
func (h *house) call(name string) {
	h.work.Go(func() { h.ended(name, h.await(h.t.Context())) })
}

// finds starts a call that finds the session of l lost.
func (h *house) finds(name string, l *link.Link) {
	h.work.Go(func() { h.ended(name, h.Renew(h.t.Context(), l, mcperrors.Rejected)) })
}

// newHouse returns a keeper of links or of sessions.
func newHouse(t *testing.T, restarts bool, change func(*keeper.Config)) *house {
	t.Helper()
	h := &house{t: t, state: "ready", restarts: restarts}
	h.core.Server, h.core.Log = "s", slog.New(slog.DiscardHandler)
	h.core.Emit = func(event.Event) { h.note("gone") }
	h.core.Links.Use(newProgram())
	h.core.Life.Begin()
	set := keeper.Config{
		Open: h.open, Timeout: time.Minute,
		Enter: func(to life.State, cause error, _ time.Duration) {
			var e *mcperrors.Error
			if errors.As(cause, &e) && strings.Contains(e.Message, "was killed") {
				h.note("killed: %v", e.Cause)
			}
			h.note("%s", stateNames[to])
			h.mu.Lock()
			h.state = stateNames[to]
			h.mu.Unlock()
		},
		Restore: func(*link.Agreement, error) { h.note("restore") },
	}
	if restarts {
		set.Restarts = &keeper.Restarts{
			Schedule: resilience.NewRestart(resilience.RestartSettings{Crashes: 3}), Again: "started", Paused: "the server keeps exiting; next restart", Patience: 10 * time.Second, Hung: time.Minute,
		}
		set.Restarts.Schedule.Started(time.Now())
	} else {
		set.Renewals = &keeper.Renewals{
			Schedule: resilience.NewRenewal(resilience.RenewalSettings{}),
			Allowed:  func() error { return h.allowed },
			Wanted:   func() bool { return h.wanted },
		}
	}
	if change != nil {
		change(&set)
	}
	h.Keeper = keeper.New(&h.core, set)
	h.end = func() {
		h.core.Life.Move(life.Closed, nil)
		h.core.Life.End()
		h.work.Wait()
		require.True(t, h.core.Life.Await(time.Minute))
	}
	if restarts {
		h.Watch()
	}
	return h
}

var (
	errTry    = mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.Unknown, "it stopped", errors.New("gone"))
	errAbsent = func() *mcperrors.Error {
		e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, "no such program",
			&transport.Failure{Reason: transport.ReasonUnavailable, NotSent: true, Err: errors.New("not found")})
		e.Retryable = false
		return e
	}()
	errSlow   = errors.New("it takes an hour")
	errAtOnce = errors.New("it fails at once")
	errHeld   = mcperrors.New(mcperrors.CodeRateLimited, mcperrors.KindOverloaded, mcperrors.NotSent, "asked too often", nil)
	errOpen   = mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindCircuitOpen, mcperrors.NotSent, "the circuit is open", nil)
)

// The order rules. The end of a link, states and calls have one order, whichever caller notices
// the loss first: the state is reported before a call continues or fails, and the state of the
// old link is restored after that.
func TestOrder(t *testing.T) {
	t.Parallel()
	const restarts, renews = true, false
	fails := func(errs ...error) func(*house) { return func(h *house) { h.opens = errs } }
	exit := func(h *house) {
		close(h.live().ended)
		synctest.Wait()
	}
	tests := map[string]struct {
		restarts bool
		set      func(h *house)
		run      func(h *house)
		steps    []string
		calls    []string
	}{
		"a program exits": {restarts, nil, func(h *house) {
			exit(h)
			h.call("waits")
			pass(5 * time.Second)
			h.call("comes later")
		}, []string{"making", "open", "use", "ready", "restore"}, []string{"comes later goes when ready", "waits goes when ready"}},

		"a call sees the exit first": {restarts, nil, func(h *house) {
			h.Lost(h.core.Links.Load())
			h.call("waits")
			synctest.Wait()
			exit(h)
			pass(5 * time.Second)
		}, []string{"making", "open", "use", "ready", "restore"}, []string{"waits goes when ready"}},

		"a start fails, and calls wait on": {restarts, fails(errTry, nil), func(h *house) {
			exit(h)
			h.call("waits")
			pass(5 * time.Second)
		}, []string{"making", "open", "open", "use", "ready", "restore"}, []string{"waits goes when ready"}},

		"the program keeps exiting": {restarts, fails(errTry, errTry, nil), func(h *house) {
			exit(h)
			h.call("waits")
			pass(5 * time.Second)
			h.call("comes in the hold")
			pass(time.Minute)
			h.call("comes after it")
			pass(5 * time.Second)
		}, []string{"making", "open", "open", "held", "making", "open", "use", "ready", "restore"}, []string{
			"comes after it goes when ready", "comes in the hold transport, not-sent, when held", "waits transport, not-sent, when held",
		}},

		"the program is not there any more": {restarts, fails(errAbsent), func(h *house) {
			exit(h)
			h.call("waits")
			pass(5 * time.Second)
			h.call("comes later")
			pass(time.Hour)
			<-h.Done()
		}, []string{"making", "open", "ended", "gone"}, []string{
			"comes later transport, not-sent, when ended", "waits transport, not-sent, when ended",
		}},

		"a call waits for a bounded time": {restarts, fails(errSlow, nil), func(h *house) {
			exit(h)
			h.call("waits")
			pass(11 * time.Second)
			pass(time.Minute)
		}, []string{"making", "open", "open", "use", "ready", "restore"}, []string{"waits transport, not-sent, when making"}},

		"closed in the pause before a start": {restarts, fails(errTry), func(h *house) {
			exit(h)
			pass(5 * time.Second)
			h.end()
			h.call("late")
		}, []string{"making", "open", "open", "held"}, []string{"late closed"}},

		"closed during a start": {restarts, nil, func(h *house) {
			exit(h)
			h.call("waits")
			pass(500 * time.Millisecond)
			h.end()
			<-h.Done()
		}, []string{"making", "open"}, []string{"waits closed"}},

		"killed, for the first reason": {restarts, nil, func(h *house) {
			l := h.core.Links.Load()
			h.Kill(l, errors.New("first"))
			h.Kill(l, errors.New("second"))
			pass(5 * time.Second)
			h.Kill(l, errors.New("of the program before"))
			pass(5 * time.Second)
		}, []string{"killed: first", "making", "open", "use", "ready", "restore"}, nil},

		"a program takes no call": {restarts, nil, func(h *house) {
			l := h.core.Links.Load()
			h.work.Go(func() { h.ended("not taken", h.Replace(h.t.Context(), l, errors.New("not taken"))) })
			pass(5 * time.Second)
		}, []string{"killed: not taken", "making", "open", "use", "ready", "restore"}, []string{"not taken goes when ready"}},

		"a program has no session to renew": {restarts, nil, func(h *house) {
			h.finds("finds", h.core.Links.Load())
			h.Ask(h.core.Links.Load())
			h.Persist(h.core.Links.Load())
			pass(time.Minute)
		}, nil, []string{"finds goes when ready"}},

		"a session is lost": {renews, nil, func(h *house) {
			l := h.core.Links.Load()
			h.finds("first", l)
			synctest.Wait()
			h.finds("second", l)
			h.call("waits")
			synctest.Wait()
			require.True(h.t, h.Renewing())
			pass(time.Second)
			h.finds("late", l)
			synctest.Wait()
		}, []string{"making", "open", "use", "ready", "restore"}, []string{
			"first goes when ready", "late goes when ready", "second goes when ready", "waits goes when ready",
		}},

		"a try fails, and so do those that waited for it": {renews, fails(errTry, nil), func(h *house) {
			l := h.core.Links.Load()
			h.finds("finds", l)
			synctest.Wait()
			h.call("waits")
			pass(2 * time.Second)
			h.call("will find out")
			synctest.Wait()
			h.finds("next", l)
			pass(2 * time.Second)
		}, []string{"making", "open", "held", "making", "open", "use", "ready", "restore"}, []string{
			"finds session-lost, rejected, when held", "next goes when ready",
			"waits session-lost, not-sent, when held", "will find out goes when held",
		}},

		"the third try in a row has the next one wait": {renews, fails(errAtOnce), func(h *house) {
			l := h.core.Links.Load()
			for i := range 3 {
				h.finds(fmt.Sprint(i), l)
				synctest.Wait()
			}
			h.finds("too early", l)
			synctest.Wait()
			pass(2 * time.Minute)
			h.finds("after a quiet time", l)
			pass(time.Second)
		}, []string{"making", "open", "held", "making", "open", "held", "making", "open", "held", "making", "open", "held"}, []string{
			"0 session-lost, rejected, when held", "1 session-lost, rejected, when held", "2 session-lost, rejected, when held",
			"after a quiet time session-lost, rejected, when held", "too early session-lost, rejected, when held",
		}},

		"what the circuit refuses is no try": {renews, fails(errOpen), func(h *house) {
			l := h.core.Links.Load()
			for i := range 4 {
				h.finds(fmt.Sprint(i), l)
				pass(time.Second)
			}
		}, []string{"making", "open", "held", "making", "open", "held", "making", "open", "held", "making", "open", "held"}, []string{
			"0 circuit-open, rejected, when held", "1 circuit-open, rejected, when held",
			"2 circuit-open, rejected, when held", "3 circuit-open, rejected, when held",
		}},

		"nothing is sent before Retry-After is over": {renews, func(h *house) { h.allowed = errHeld }, func(h *house) {
			h.finds("finds", h.core.Links.Load())
			synctest.Wait()
			h.allowed = nil
			h.Ask(h.core.Links.Load())
			pass(2 * time.Second)
		}, []string{"making", "open", "use", "ready", "restore"}, []string{"finds overloaded, rejected, when ready"}},

		"a listener has the keeper go on": {renews, func(h *house) { h.opens, h.wanted = []error{errTry, errTry, nil}, true }, func(h *house) {
			h.Persist(h.core.Links.Load())
			h.Persist(h.core.Links.Load())
			pass(time.Minute)
		}, []string{"making", "open", "held", "making", "open", "held", "making", "open", "use", "ready", "restore"}, nil},

		"closed during a try": {renews, nil, func(h *house) {
			h.finds("finds", h.core.Links.Load())
			synctest.Wait()
			h.call("waits")
			pass(500 * time.Millisecond)
			h.end()
			h.finds("late", h.core.Links.Load())
			h.work.Wait()
		}, []string{"making", "open", "held"}, []string{
			"finds closed", "late closed", "waits closed",
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, tt.restarts, nil)
				if tt.set != nil {
					tt.set(h)
				}
				tt.run(h)
				synctest.Wait()
				require.Equal(t, tt.steps, h.steps)
				slices.Sort(h.calls)
				require.Equal(t, tt.calls, h.calls)
				h.end()
			})
		})
	}
}

// The error of a call without a link has the reason, and the time to retry.
func TestRefusal(t *testing.T) {
	t.Parallel()
	process := &mcperrors.ProcessEvidence{Exited: true, Exit: 3, Stderr: []string{"out of luck"}}
	because := func(e *mcperrors.Error) *mcperrors.Error {
		other := *e
		other.Process = process
		return &other
	}
	for name, tt := range map[string]struct {
		open    error
		state   life.State
		message string
		after   time.Duration // of the refusal
		plain   bool          // the cause has no evidence
	}{
		"held":  {because(errTry), life.Backoff, "the server keeps exiting; next restart in 1m0s: it stopped", time.Minute, false},
		"plain": {errors.New("plain"), life.Backoff, "the server keeps exiting; next restart in 1m0s: ", time.Minute, true},
		"ended": {because(errAbsent), life.Ended, "the server has exited and cannot be started again: no such program", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, true, nil)
				h.opens = []error{tt.open}
				require.Nil(t, h.Refusal(h.core.Links.Load(), "tools/call"))
				_, ok, _ := h.Outage()
				require.False(t, ok)
				close(h.live().ended)
				synctest.Wait()
				require.Nil(t, h.Refusal(h.core.Links.Load(), "tools/call"), "calls wait")
				e := h.await(t.Context())
				require.NotNil(t, e)
				require.Equal(t, e, h.Refusal(h.core.Links.Load(), "tools/call"))
				require.Equal(t, []any{mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent}, []any{e.Code, e.Kind, e.Delivery})
				require.Equal(t, []any{tt.message, tt.after, tt.state == life.Backoff}, []any{e.Message, e.RetryAfter, e.Retryable})
				if !tt.plain {
					require.Same(t, process, e.Process)
				}
				until, ok, cause := h.Outage()
				require.True(t, ok)
				require.Equal(t, tt.open, cause)
				require.Equal(t, tt.state == life.Backoff, until.Equal(time.Now().Add(time.Minute)))
				h.end()
			})
		})
	}
}

// A call that fails during a pause has the reason in its error, and no call fails before the
// state is reported.
func TestReasonIsThereBeforeTheHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h *house
		refused := make(chan *mcperrors.Error, 1)
		h = newHouse(t, true, func(set *keeper.Config) {
			set.Enter = func(to life.State, _ error, _ time.Duration) {
				if to != life.Backoff {
					return
				}
				until, _, cause := h.Outage()
				require.Equal(t, error(errTry), cause)
				require.Equal(t, time.Now().Add(time.Minute), until)
				h.work.Go(func() { refused <- h.await(t.Context()) })
				time.Sleep(time.Second)
				require.Empty(t, refused)
			}
		})
		h.opens = []error{errTry}
		close(h.live().ended)
		pass(5 * time.Second)
		require.Len(t, refused, 1)
		h.end()
	})
}

// A waiting call gives up with its context, and the keeper continues.
func TestCallerGivesUp(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t, restarts, nil)
			ctx, cancel := context.WithCancelCause(t.Context())
			gaveUp := make(chan *mcperrors.Error, 2)
			if restarts {
				close(h.live().ended)
			} else {
				h.work.Go(func() { gaveUp <- h.Renew(ctx, h.core.Links.Load(), mcperrors.Rejected) })
			}
			synctest.Wait()
			h.work.Go(func() { gaveUp <- h.await(ctx) })
			synctest.Wait()
			if restarts {
				h.work.Go(func() {
					require.True(t, h.AwaitRestart(ctx))
					gaveUp <- h.await(ctx)
				})
			} else {
				require.False(t, h.AwaitRestart(ctx))
			}
			synctest.Wait()
			cancel(context.Canceled)
			synctest.Wait()
			for range cap(gaveUp) {
				require.Equal(t, mcperrors.KindCanceled, (<-gaveUp).Kind)
			}
			pass(5 * time.Second)
			require.Nil(t, h.await(t.Context()))
			require.False(t, h.AwaitRestart(t.Context()))
			h.end()
		})
	}
}

// A program that sends nothing between two probes that are far apart hangs; one that has sent
// something, or was replaced, does not.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, true, nil)
		h.Unanswered()
		pass(time.Minute)
		h.Unanswered()
		require.Empty(t, h.live().kills, "not long enough by a nanosecond")
		h.live().heard++
		pass(time.Minute)
		h.Unanswered()
		pass(time.Minute + 1)
		hung := h.live()
		h.Unanswered()
		require.Len(t, hung.kills, 1)
		pass(5 * time.Second)
		require.NotSame(t, hung, h.live())
		h.Unanswered()
		require.Empty(t, h.live().kills)
		h.end()

		never := newHouse(t, true, func(set *keeper.Config) { set.Restarts.Hung = -1 })
		for range 3 {
			never.Unanswered()
			pass(time.Hour)
		}
		require.Empty(t, never.live().kills)
		never.end()
	})
}

// The exit of a program is counted once, however many calls fail.
func TestFirstEndOf(t *testing.T) {
	t.Parallel()
	k := keeper.New(nil, keeper.Config{Restarts: &keeper.Restarts{}})
	first, second := link.New(newProgram()), link.New(newProgram())
	require.True(t, k.FirstEndOf(first))
	require.False(t, k.FirstEndOf(first.With(&link.Agreement{})))
	require.True(t, k.FirstEndOf(second))
	require.False(t, k.FirstEndOf(second))
}

// pass advances the time of a bubble, and lets due events happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
