package client

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// conn is a connection by its identity only.
type namedConn struct {
	transport.Conn
	name string
}

func (namedConn) Traits() transport.Traits { return transport.Traits{Process: true} }

// The poison rule counts programs that ended under a call, not how often it is
// asked (fault E13).
func TestPoisonRule(t *testing.T) {
	t.Parallel()
	lost := func(notSent bool, p *mcperrors.ProcessEvidence) *transport.Failure {
		return &transport.Failure{Reason: transport.ReasonLost, NotSent: notSent, Process: p, Err: jsonrpc.ErrPeerClosed}
	}
	died := &mcperrors.ProcessEvidence{Exited: true}
	timeout := &transport.Failure{Reason: transport.ReasonTimeout, Process: died, Err: jsonrpc.ErrIdle}
	c, cl := &Client{}, &call{}
	first, second := link.New(&namedConn{name: "1"}), link.New(&namedConn{name: "2"})
	steps := []struct {
		what string
		link *link.Link
		f    *transport.Failure
		want bool
	}{
		{"a timeout is no end of a program", first, timeout, false},
		{"nor is a connection that is none of a program", first, lost(false, nil), false},
		{"what was not sent did not end it", first, lost(true, died), false},
		{"once", first, lost(false, died), false},
		{"asked again", first, lost(false, died), false},
		{"twice", second, lost(false, died), true},
		{"asked again", second, lost(false, died), true},
	}
	for _, s := range steps {
		cl.link = s.link
		require.Equal(t, s.want, c.crashed(cl, s.f), s.what)
	}
}

// The breaker hears once of the end of a program, however many calls it took.
func TestOneEndIsCountedOnce(t *testing.T) {
	t.Parallel()
	c := &Client{}
	f := &transport.Failure{Reason: transport.ReasonLost, Process: &mcperrors.ProcessEvidence{Exited: true}}
	first, second := link.New(&namedConn{name: "1"}), link.New(&namedConn{name: "2"})
	require.False(t, c.countedEnd(first, f), "nobody is started again")
	c.sup.part.Store(&supervisor{})
	require.False(t, c.countedEnd(first, f))
	require.True(t, c.countedEnd(first, f))
	require.True(t, c.countedEnd(first.With(&link.Agreement{}), f))
	require.False(t, c.countedEnd(second, f))
	require.False(t, c.countedEnd(second, &transport.Failure{Reason: transport.ReasonTimeout, Process: f.Process}))
	require.False(t, c.countedEnd(nil, f))
}

// What is refused while there is no program says why, and when to come back.
func TestRefusalOfAnOutage(t *testing.T) {
	t.Parallel()
	cause := mcperrors.New(mcperrors.E201, mcperrors.KindTransport, mcperrors.Unknown, "it stopped", errors.New("gone"))
	cause.Process = &mcperrors.ProcessEvidence{Exited: true, Exit: 3, Stderr: []string{"out of luck"}}
	require.Nil(t, (&outage{}).refusal())
	require.Nil(t, (&outage{cause: cause}).refusal())
	require.Nil(t, (&outage{cause: cause, until: time.Now().Add(-time.Second)}).refusal())
	held := (&outage{cause: cause, until: time.Now().Add(time.Hour)}).refusal()
	require.True(t, held.Retryable)
	require.Equal(t, mcperrors.NotSent, held.Delivery)
	require.InDelta(t, time.Hour, held.RetryAfter, float64(time.Minute))
	require.Same(t, cause.Process, held.Process)
	for _, o := range []*outage{{cause: cause, final: true}, {cause: errors.New("plain"), final: true}} {
		e := o.refusal()
		require.False(t, e.Retryable)
		require.Contains(t, e.Message, "the server has ended")
		require.Equal(t, mcperrors.NotSent, e.Delivery)
	}
}

// RestartNow lets the tests of the package's users do what the silence detector
// does.
func (c *Client) RestartNow(cause error) { c.restart(cause) }

// Only the loss of the program is waited for: what this side refuses says nothing
// of it, and must not end it.
func TestOwnRefusalsAreNoEndOfAProgram(t *testing.T) {
	t.Parallel()
	c := &Client{}
	c.sup.part.Store(&supervisor{})
	cl := &call{link: &link.Link{Conn: &namedConn{name: "1"}}}
	lost := &transport.Failure{Reason: transport.ReasonLost, Err: jsonrpc.ErrPeerClosed}
	for _, err := range []error{
		mcperrors.New(mcperrors.E201, mcperrors.KindOverloaded, mcperrors.NotSent, "too many calls", nil),
		mcperrors.New(mcperrors.E205, mcperrors.KindUnsupported, mcperrors.NotSent, "not this one", errOtherEra),
		mcperrors.New(mcperrors.E201, mcperrors.KindTransport, mcperrors.Unknown, "lost", lost),
		mcperrors.New(mcperrors.E201, mcperrors.KindClosed, mcperrors.NotSent, "closed", &transport.Failure{Reason: transport.ReasonClosed, NotSent: true, Err: jsonrpc.ErrClosed}),
	} {
		mine, got := c.mendServer(t.Context(), cl, err)
		require.False(t, mine)
		require.Same(t, err, got)
	}
}

// Who finds a client held finds the reason, too; and nobody is refused before the
// client is held.
func TestReasonIsThereBeforeTheHold(t *testing.T) {
	t.Parallel()
	c := &Client{cfg: &config{uncommon: &uncommon{}}, log: slog.New(slog.DiscardHandler)}
	c.state.Store(uint32(StateRestarting))
	c.life, c.end = context.WithCancel(t.Context())
	s := &supervisor{schedule: Restart{Crashes: 1, Hold: time.Hour}.schedule()}
	s.become(&outage{}) // as fell does
	why := errors.New("out of luck")

	c.mu.Lock() // no state is entered
	gone := make(chan bool)
	go func() { gone <- s.bringBack(c, why) }()
	told := func() bool { return errors.Is(s.down.Load().cause, why) }
	noted := assert.Eventually(t, told, 5*time.Second, time.Millisecond, "the reason")
	refused := s.down.Load().refusal()
	c.mu.Unlock()
	if noted {
		assert.Nil(t, refused, "callers wait on until the state says so")
		assert.False(t, s.down.Load().until.IsZero(), "when it is started again is known as early")
		assert.Eventually(t, func() bool { return s.down.Load().refusal() != nil }, 5*time.Second, time.Millisecond)
		assert.Equal(t, StateHeld, c.State())
	}
	c.end()
	require.False(t, <-gone)
}

// killable is a program that counts how often it is killed.
type killable struct {
	namedConn
	kills []error
}

func (k *killable) Done() <-chan struct{}   { return nil }
func (k *killable) Exited() <-chan struct{} { return nil }
func (k *killable) Kill(cause error)        { k.kills = append(k.kills, cause) }

// A program is killed once, for the first reason, whoever else finds out.
func TestProgramIsKilledOnce(t *testing.T) {
	t.Parallel()
	c, k, s := &Client{}, &killable{}, &supervisor{}
	first, second := errors.New("first"), errors.New("second")
	c.sup.part.Store(s)
	c.live.Store(link.New(k))
	c.restart(first)
	c.restart(second)
	require.Equal(t, []error{first}, k.kills)
	require.Equal(t, first, s.reason)
	c.restartOf(link.New(&namedConn{name: "of before"}), second)
	require.Len(t, k.kills, 1)
}
