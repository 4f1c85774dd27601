package guard_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// gate is a Gate with everything it needs.
type gate struct {
	guard.Gate
	core   core.Core
	keeper keeper.Holder
	ping   func() outcome.Outcome // outcome of a ping

	report  func() // called before the end of a request is counted; may be nil
	signal  func() // called for each signal; may be nil
	mu      sync.Mutex
	signals []guard.Signal
	reports int // number of reported ends
}

func newGate(t *testing.T, set guard.Settings) *gate {
	t.Helper()
	g := &gate{}
	g.core.Server, g.core.Log = "s", slog.New(slog.DiscardHandler)
	g.core.Links.Use(&pipe{})
	g.core.Life.Begin()
	t.Cleanup(func() {
		g.core.Life.Move(life.Closed, nil)
		g.core.Life.End()
		g.Close()
		require.True(t, g.core.Life.Await(time.Minute))
	})
	g.Init(&set, true, hooks(func() *guard.Hooks {
		return &guard.Hooks{
			Core: &g.core, Keeper: &g.keeper,
			Ping: func(context.Context, time.Duration) outcome.Outcome { return g.ping() },
			Signal: func(s guard.Signal) {
				if g.signal != nil {
					g.signal()
				}
				g.mu.Lock()
				defer g.mu.Unlock()
				g.signals = append(g.signals, s)
			},
			Ended: func(guard.Request, *link.Link, resilience.Attempt, resilience.Judgement) {
				g.mu.Lock()
				defer g.mu.Unlock()
				if g.reports++; g.report != nil {
					g.report()
				}
			},
		}
	}))
	return g
}

// The circuit counts the exit of a program once, however many requests fail.
func TestOneEndIsCountedOnce(t *testing.T) {
	t.Parallel()
	g := newGate(t, guard.Settings{})
	ended := func(f transport.Failure) *outcome.Outcome {
		f.Err = errors.New("x")
		out := outcome.OfFailure(&outcome.Sent{}, &f)
		return &out
	}
	exited := &mcperrors.ProcessEvidence{Exited: true}
	lost := ended(transport.Failure{Reason: transport.ReasonLost, Process: exited})
	first, second := link.New(&pipe{}), link.New(&pipe{})
	require.False(t, g.EndCounted(first, lost), "nothing is started again")
	g.keeper.Set(keeper.New(nil, keeper.Config{Restarts: &keeper.Restarts{}}))
	require.False(t, g.EndCounted(first, lost))
	require.True(t, g.EndCounted(first, lost))
	require.True(t, g.EndCounted(first.With(&link.Agreement{}), lost))
	require.False(t, g.EndCounted(second, lost))
	require.True(t, g.EndCounted(second, ended(transport.Failure{Reason: transport.ReasonLost, Process: &mcperrors.ProcessEvidence{}})), "it takes no more requests")
	require.False(t, g.EndCounted(second, ended(transport.Failure{Reason: transport.ReasonLost})), "not a program")
	require.False(t, g.EndCounted(second, ended(transport.Failure{Reason: transport.ReasonTimeout, Process: exited})))
	require.False(t, g.EndCounted(second, &outcome.Outcome{}))
	require.False(t, g.EndCounted(nil, lost))
}

// A handshake does not create the circuit of the server, but uses an existing one. A given
// circuit is used from the start, unless the start of a program has its own schedule.
func TestCircuitOfAHandshake(t *testing.T) {
	t.Parallel()
	held := func(g *gate) bool {
		permit, err := g.AcquireProbe()
		require.NoError(t, err)
		defer permit.Release()
		return permit != breaker.Permit{}
	}
	own := newGate(t, guard.Settings{OwnBreaker: true})
	require.False(t, held(own))
	made := own.Breaker()
	require.NotNil(t, made)
	require.Same(t, made, own.Breaker())
	require.True(t, held(own))

	b := breaker.New(breaker.Settings{})
	given := newGate(t, guard.Settings{Breaker: b})
	require.Same(t, b, given.Breaker())
	require.True(t, held(given))
	given.keeper.Set(keeper.New(nil, keeper.Config{Renewals: &keeper.Renewals{}}))
	require.True(t, held(given))
	given.keeper.Set(keeper.New(nil, keeper.Config{Restarts: &keeper.Restarts{}}))
	require.False(t, held(given))

	off := newGate(t, guard.Settings{})
	require.Nil(t, off.Breaker())
	require.False(t, held(off))
}

// pipe is a connection to a program.
type pipe struct{ transport.Conn }

func (*pipe) Traits() transport.Traits { return transport.Traits{Process: true} }
func (*pipe) Received() uint64         { return 0 }
func (*pipe) Late() uint64             { return 0 }

// hooks is a host that is a function.
type hooks func() *guard.Hooks

func (h hooks) Hooks() *guard.Hooks { return h() }
