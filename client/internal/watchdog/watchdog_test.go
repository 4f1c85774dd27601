package watchdog_test

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/watchdog"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// pipe is a connection that counts received and waiting bytes.
type pipe struct {
	transport.Conn
	received, late atomic.Uint64
	backlog        atomic.Pointer[jsonrpc.Backlog]
}

func (p *pipe) Traits() transport.Traits { return transport.Traits{Process: true} }
func (p *pipe) Received() uint64         { return p.received.Load() }
func (p *pipe) Late() uint64             { return p.late.Load() }

func (p *pipe) Backlog() jsonrpc.Backlog {
	if b := p.backlog.Load(); b != nil {
		return *b
	}
	return jsonrpc.Backlog{}
}

// watch is a watchdog with its hooks.
type watch struct {
	*watchdog.Watchdog
	core     core.Core
	pipe     *pipe
	breaker  *breaker.Breaker
	throttle time.Time // its end
	inFlight atomic.Int32
	end      func()

	answers              atomic.Bool // liveness probes are answered
	asked, tripped, late atomic.Int64
	stuck                atomic.Pointer[error] // why the server was killed
}

func newWatch(t *testing.T) *watch {
	t.Helper()
	w := &watch{pipe: &pipe{}, breaker: breaker.New(breaker.Settings{})}
	w.core.Log = slog.New(slog.DiscardHandler)
	w.core.Links.Use(w.pipe)
	w.core.Life.Begin()
	w.Watchdog = watchdog.New(&watchdog.Config{
		Core: &w.core, After: 10 * time.Second, Breaker: w.breaker, InFlight: &w.inFlight, Host: w,
	}, time.Now())
	w.end = func() {
		w.core.Life.Move(life.Closed, nil)
		w.core.Life.End()
		w.Close()
		require.True(t, w.core.Life.Await(time.Minute))
	}
	return w
}

// Probe implements [watchdog.Host].
func (w *watch) Probe() outcome.Outcome {
	w.asked.Add(1)
	if w.answers.Load() {
		w.pipe.received.Add(1)
		return outcome.Outcome{}
	}
	<-time.After(watchdog.ProbeTime)
	e := mcperrors.New(mcperrors.CodeTimeout, mcperrors.KindTimeout, mcperrors.Unknown, "no answer", errors.New("idle"))
	return outcome.Outcome{Err: e, Record: resilience.Attempt{Class: resilience.ClassTimeout}}
}

// ThrottledFor implements [watchdog.Host].
func (w *watch) ThrottledFor() time.Duration { return time.Until(w.throttle) }

// Silent implements [watchdog.Host].
func (w *watch) Silent() { w.tripped.Add(1) }

// Stuck implements [watchdog.Host].
func (w *watch) Stuck(cause error) { w.stuck.Store(&cause) }

// LateAnswers implements [watchdog.Host].
func (w *watch) LateAnswers(n int) { w.late.Add(int64(n)) }

// send sends a request now.
func (w *watch) send() {
	w.inFlight.Add(1)
	w.Sent(time.Now())
}

func (w *watch) done() {
	w.inFlight.Add(-1)
	w.Ended()
}

// A server that sends nothing while a request is in flight is probed twice, then its circuit
// opens; anything that arrives closes it again.
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
		require.Equal(t, []int64{2, 1}, []int64{w.asked.Load(), w.tripped.Load()})
		require.Equal(t, breaker.Open, w.breaker.State())
		w.Heal()
		require.Equal(t, breaker.Open, w.breaker.State(), "nothing has come")
		w.pipe.received.Add(1)
		time.Sleep(2 * time.Second)
		require.Equal(t, breaker.Closed, w.breaker.State())
		w.done()
	})
	inBubble("a failed request proves liveness", func(t *testing.T, w *watch) {
		w.send()
		for range 6 {
			time.Sleep(9 * time.Second)
			w.Watchdog.Heard()
			w.send()
			w.done()
		}
		require.Zero(t, w.asked.Load())
		w.done()
	})
	inBubble("a server that answers is asked once", func(t *testing.T, w *watch) {
		w.answers.Store(true)
		w.send()
		time.Sleep(15 * time.Second)
		require.Equal(t, []int64{1, 0}, []int64{w.asked.Load(), w.tripped.Load()})
		w.done()
	})
	inBubble("nothing is asked while nothing is under way", func(t *testing.T, w *watch) {
		w.send()
		w.done()
		time.Sleep(time.Hour)
		require.Zero(t, w.asked.Load())
	})
	inBubble("nothing is asked before Retry-After is over", func(t *testing.T, w *watch) {
		w.throttle = time.Now().Add(time.Minute)
		w.send()
		time.Sleep(time.Minute - time.Second)
		require.Zero(t, w.asked.Load())
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 1, w.asked.Load())
		w.done()
	})
	inBubble("a request it works on is an excuse", func(t *testing.T, w *watch) {
		w.pipe.backlog.Store(&jsonrpc.Backlog{Sent: 100, Running: 100})
		w.send()
		time.Sleep(time.Hour)
		require.Zero(t, w.tripped.Load())
		require.True(t, w.Busy(w.core.Links.Load()))
		w.pipe.backlog.Store(&jsonrpc.Backlog{Sent: 200, Running: 200})
		require.False(t, w.Busy(w.core.Links.Load()), "it came later than the silence")
		w.done()
	})
	inBubble("a server that does not read is deaf", func(t *testing.T, w *watch) {
		w.pipe.backlog.Store(&jsonrpc.Backlog{Sent: 100, Waiting: true})
		w.send()
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, w.tripped.Load())
		require.NotNil(t, w.stuck.Load())
		require.ErrorContains(t, *w.stuck.Load(), "neither reads")
		w.done()
	})
	inBubble("it looks again after a probe of the circuit", func(t *testing.T, w *watch) {
		w.send()
		w.LookAgain() // nothing has tripped
		time.Sleep(16 * time.Second)
		w.done()
		time.Sleep(time.Minute) // no requests: it has stopped
		w.pipe.received.Add(1)
		require.Equal(t, breaker.Open, w.breaker.State())
		w.LookAgain()
		time.Sleep(time.Second)
		require.Equal(t, breaker.Closed, w.breaker.State())
	})
	inBubble("late answers are counted", func(t *testing.T, w *watch) {
		w.send()
		time.Sleep(time.Second)
		w.pipe.late.Store(3)
		w.pipe.received.Store(1)
		time.Sleep(time.Second)
		require.EqualValues(t, 3, w.late.Load())
		w.done()
	})
	inBubble("closed", func(t *testing.T, w *watch) {
		w.send()
		w.Close()
		w.Sent(time.Now())
		time.Sleep(time.Hour)
		require.Zero(t, w.asked.Load())
		w.Heal()
	})
}

// A client that has sent nothing has no watchdog.
func TestNoSilence(t *testing.T) {
	t.Parallel()
	var s *watchdog.Watchdog
	s.Ended()
	s.Heard()
	s.Heal()
	s.LookAgain()
	s.Close()
	require.False(t, s.Busy(link.New(&pipe{})))
}
