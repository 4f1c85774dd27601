package keeper_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// A client that has not lost a link has no keeper, and its link is usable.
func TestNoKeeper(t *testing.T) {
	t.Parallel()
	var h keeper.Holder
	k, l := h.Peek(), link.New(newProgram())
	require.Nil(t, k)
	require.Equal(t, []bool{false, false, false}, []bool{k.Restarting(), k.Interrupted(), k.Renewing()})
	waited, e := k.Await(t.Context(), core.Span{})
	require.False(t, waited)
	require.Nil(t, e)
	require.False(t, k.AwaitRestart(t.Context()))
	_, down, _ := k.Outage()
	require.False(t, down)
	require.Nil(t, k.Done())
	require.Nil(t, k.Refusal(l, "ping"))
	k.Ask(l)
	k.Kill(l, errors.New("no use"))
	k.Unanswered()
	require.Nil(t, h.Peek())
}

// Only a lost session creates a keeper of sessions, and without a call it is renewed only if a
// session is wanted.
func TestNoteLoss(t *testing.T) {
	t.Parallel()
	gone := &transport.Failure{Reason: transport.ReasonSession, Err: errors.New("gone")}
	for name, tt := range map[string]struct {
		err      error
		restarts bool
		wanted   bool
		made     bool
		steps    []string
	}{
		"another failure":     {err: &transport.Failure{Reason: transport.ReasonLost, Err: errors.New("lost")}, wanted: true},
		"nobody waits":        {err: gone, made: true},
		"somebody waits":      {err: gone, wanted: true, made: true, steps: []string{"making", "open", "use", "ready", "restore"}},
		"a stream, restarted": {err: gone, restarts: true, wanted: true, made: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, tt.restarts, nil)
				defer h.end()
				h.wanted = tt.wanted
				made := false
				holder := keeper.Holder{Sessions: func() *keeper.Keeper {
					made = true
					return h.Keeper
				}}
				holder.NoteLoss(h.core.Links.Load(), tt.err)
				pass(time.Minute)
				require.Equal(t, tt.made, made)
				require.Equal(t, tt.steps, h.steps)
			})
		})
	}
}

// session is a connection whose session can be dropped.
type session struct {
	transport.Conn
	drops int
}

func (s *session) Traits() transport.Traits { return transport.Traits{Exchanges: true} }
func (s *session) DropSession()             { s.drops++ }

// A session whose handshake fails half-way is dropped with its agreement.
func TestSessionThatFailsHalfWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn := &session{}
		var h *house
		h = newHouse(t, false, func(set *keeper.Config) {
			set.Open = func(context.Context) (func(), error) {
				h.core.Links.Agree(&link.Agreement{Instructions: "half-way"})
				return func() { h.note("use") }, errTry
			}
		})
		defer h.end()
		h.core.Links.Use(conn)
		before := h.core.Links.Load()
		e := h.Renew(t.Context(), before, mcperrors.Rejected)
		require.Equal(t, []any{mcperrors.KindSessionLost, mcperrors.Rejected}, []any{e.Kind, e.Delivery})
		require.Same(t, before, h.core.Links.Load())
		require.Equal(t, 1, conn.drops)
		require.Equal(t, []string{"making", "held"}, h.steps)
	})
}

// A call may open a session between a failed try and the decision to continue: that session is
// not replaced.
func TestSessionOpenedMeanwhileIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var h *house
		asked := false
		h = newHouse(t, false, func(set *keeper.Config) {
			set.Renewals.Wanted = func() bool {
				if asked {
					return true
				}
				asked = true
				time.Sleep(time.Minute) // until the next try is allowed
				require.Nil(t, h.Renew(t.Context(), h.core.Links.Load(), mcperrors.Rejected))
				return true
			}
		})
		h.opens = []error{errTry, nil}
		h.finds("a call", h.core.Links.Load())
		pass(time.Hour)
		require.Equal(t, 2, h.tries)
		h.end()
	})
}

// A keeper of links that are not replaced reports their end, and the errors of later calls.
func TestEndIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, false, func(set *keeper.Config) { set.Renewals = nil })
		h.Watch()
		pass(time.Minute)
		require.Empty(t, h.steps)
		require.Nil(t, h.Refusal(h.core.Links.Load(), "ping"))
		close(h.live().ended)
		synctest.Wait()
		require.Equal(t, []string{"ended", "gone"}, h.steps)
		h.end()

		closed := newHouse(t, false, func(set *keeper.Config) { set.Renewals = nil })
		closed.Watch()
		closed.end()
		require.Empty(t, closed.steps)
	})
}

// A program that was started while the client closed is not used.
func TestStartedTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, true, nil)
		first := h.live()
		close(first.ended)
		synctest.Wait()
		h.core.Life.Move(life.Closed, nil)
		pass(time.Minute)
		require.Same(t, first, h.live())
		require.Equal(t, []string{"making", "open"}, h.steps)
		h.end()
	})
}
