package guard_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// A throttle is never shortened, and ends by itself.
func TestThrottle(t *testing.T) {
	t.Parallel()
	var none *guard.Throttle
	require.Zero(t, none.Left())
	require.Nil(t, none.Refusal())
	synctest.Test(t, func(t *testing.T) {
		var h guard.Throttle
		require.Zero(t, h.Left())
		require.True(t, h.Extend(time.Minute))
		require.False(t, h.Extend(time.Second))
		require.False(t, h.Extend(time.Minute))
		require.Equal(t, time.Minute, h.Left())
		e := h.Refusal()
		require.Equal(t, []any{mcperrors.CodeRateLimited, mcperrors.KindOverloaded, mcperrors.NotSent, time.Minute}, []any{e.Code, e.Kind, e.Delivery, e.RetryAfter})
		time.Sleep(59 * time.Second)
		require.True(t, h.Extend(2*time.Second))
		time.Sleep(2*time.Second - 1)
		require.EqualValues(t, 1, h.Left())
		time.Sleep(1)
		require.Zero(t, h.Left())
		require.Nil(t, h.Refusal())
	})
}

// pipe is a connection that counts what comes and what waits.
type pipe struct {
	transport.Conn
	received, late uint64
	backlog        jsonrpc.Backlog
}

func (p *pipe) Traits() transport.Traits { return transport.Traits{Process: true} }
func (p *pipe) Received() uint64         { return p.received }
func (p *pipe) Late() uint64             { return p.late }
func (p *pipe) Backlog() jsonrpc.Backlog { return p.backlog }

// watch is a detector and everything it is given.
type watch struct {
	*guard.Silence
	links    link.Holder
	pipe     *pipe
	breaker  *breaker.Breaker
	throttle guard.Throttle
	inFlight atomic.Int64
	work     sync.WaitGroup
	end      context.CancelFunc

	answers bool // signs of life are given
	asked   int
	tripped int
	deaf    []error
	late    int
}

func newWatch(t *testing.T) *watch {
	t.Helper()
	w := &watch{pipe: &pipe{}, breaker: breaker.New(breaker.Settings{})}
	w.links.Use(w.pipe)
	life, end := context.WithCancel(t.Context())
	w.Silence = guard.NewSilence(&guard.SilenceConfig{
		After: 10 * time.Second, Links: &w.links, Breaker: w.breaker, Throttled: w.throttle.Left, InFlight: &w.inFlight,
		Server: "s", Log: slog.New(slog.DiscardHandler), Life: life,
		Go: func(f func()) bool { w.work.Go(f); return true },
		Ask: func() outcome.Outcome {
			w.asked++
			if w.answers {
				w.pipe.received++
				return outcome.Outcome{}
			}
			<-time.After(guard.SilenceProbe)
			e := mcperrors.New(mcperrors.CodeTimeout, mcperrors.KindTimeout, mcperrors.Unknown, "no answer", errors.New("idle"))
			return outcome.Outcome{Err: e, Record: resilience.Attempt{Class: resilience.ClassTimeout}}
		},
		Tripped: func() { w.tripped++ },
		Deaf:    func(cause error) { w.deaf = append(w.deaf, cause) },
		Late:    func(n int) { w.late += n },
	}, time.Now())
	w.end = func() {
		end()
		w.Close()
		w.work.Wait()
	}
	return w
}

// send is a request that goes out now.
func (w *watch) send() {
	w.inFlight.Add(1)
	w.Sent(time.Now())
}

func (w *watch) done() {
	w.inFlight.Add(-1)
	w.Ended()
}

// A server that says nothing while a request is under way is asked twice, and then
// its circuit is opened; anything that comes closes it again.
func TestSilence(t *testing.T) {
	t.Parallel()
	inBubble := func(name string, f func(t *testing.T, w *watch)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWatch(t)
				defer w.end()
				f(t, w)
			})
		})
	}
	inBubble("trips and heals", func(t *testing.T, w *watch) {
		w.send()
		time.Sleep(16 * time.Second)
		require.Equal(t, []int{2, 1}, []int{w.asked, w.tripped})
		require.Equal(t, breaker.Open, w.breaker.State())
		w.Heal()
		require.Equal(t, breaker.Open, w.breaker.State(), "nothing has come")
		w.pipe.received++
		time.Sleep(2 * time.Second)
		require.Equal(t, breaker.Closed, w.breaker.State())
		w.done()
	})
	inBubble("a failed request is a sign of life", func(t *testing.T, w *watch) {
		w.send()
		for range 6 {
			time.Sleep(9 * time.Second)
			w.Silence.Heard()
			w.send()
			w.done()
		}
		require.Zero(t, w.asked)
		w.done()
	})
	inBubble("a server that answers is asked once", func(t *testing.T, w *watch) {
		w.answers = true
		w.send()
		time.Sleep(15 * time.Second)
		require.Equal(t, []int{1, 0}, []int{w.asked, w.tripped})
		w.done()
	})
	inBubble("nothing is asked while nothing is under way", func(t *testing.T, w *watch) {
		w.send()
		w.done()
		time.Sleep(time.Hour)
		require.Zero(t, w.asked)
	})
	inBubble("nothing is asked before Retry-After is over", func(t *testing.T, w *watch) {
		w.throttle.Extend(time.Minute)
		w.send()
		time.Sleep(time.Minute - time.Second)
		require.Zero(t, w.asked)
		time.Sleep(2 * time.Second)
		require.Equal(t, 1, w.asked)
		w.done()
	})
	inBubble("a request it works on is an excuse", func(t *testing.T, w *watch) {
		w.pipe.backlog = jsonrpc.Backlog{Sent: 100, Running: 100}
		w.send()
		time.Sleep(time.Hour)
		require.Zero(t, w.tripped)
		require.True(t, w.Busy(w.links.Load()))
		w.pipe.backlog = jsonrpc.Backlog{Sent: 200, Running: 200}
		require.False(t, w.Busy(w.links.Load()), "it came later than the silence")
		w.done()
	})
	inBubble("a server that does not read is deaf", func(t *testing.T, w *watch) {
		w.pipe.backlog = jsonrpc.Backlog{Sent: 100, Waiting: true}
		w.send()
		time.Sleep(time.Minute)
		require.Equal(t, 1, w.tripped)
		require.NotEmpty(t, w.deaf)
		require.ErrorContains(t, w.deaf[0], "neither reads")
		w.done()
	})
	inBubble("it looks again after a probe of the circuit", func(t *testing.T, w *watch) {
		w.send()
		w.LookAgain() // nothing has tripped
		time.Sleep(16 * time.Second)
		w.done()
		time.Sleep(time.Minute) // nobody waits: it has stopped looking
		w.pipe.received++
		require.Equal(t, breaker.Open, w.breaker.State())
		w.LookAgain()
		time.Sleep(time.Second)
		require.Equal(t, breaker.Closed, w.breaker.State())
	})
	inBubble("late answers are counted", func(t *testing.T, w *watch) {
		w.send()
		time.Sleep(time.Second)
		w.pipe.late, w.pipe.received = 3, 1
		time.Sleep(time.Second)
		require.Equal(t, 3, w.late)
		w.done()
	})
	inBubble("closed", func(t *testing.T, w *watch) {
		w.send()
		w.Close()
		w.Sent(time.Now())
		time.Sleep(time.Hour)
		require.Zero(t, w.asked)
		w.Heal()
	})
}

// A client that has sent nothing has no detector.
func TestNoSilence(t *testing.T) {
	t.Parallel()
	var s *guard.Silence
	s.Ended()
	s.Heard()
	s.Heal()
	s.LookAgain()
	s.Close()
	require.False(t, s.Busy(link.New(&pipe{})))
}
