package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// supervisor starts the server's program again when it has ended (resilience.md
// §3.8), or connects again to an HTTP+SSE server whose stream has ended. Clients of
// other servers have none. Its goroutine waits for the end of the program, and ends with the client.
type supervisor struct {
	t        transport.Transport
	set      Restart
	stream   bool                // it opens the stream of HTTP+SSE again, not a program
	schedule *resilience.Restart // of run

	down  atomic.Pointer[outage] // nil while there is a program
	ended chan struct{}          // closed when run has returned

	mu      sync.Mutex
	counted uint32 // number of the last one whose end the breaker was told of
	killed  uint32 // number of the last one that was killed, and why
	reason  error
	mute    mute
}

// mute is a program that has not answered a probe of its circuit, and all that had
// come from it by then.
type mute struct {
	number uint32
	heard  uint64
	since  time.Time
}

// streamRestart is when the stream of HTTP+SSE is opened again. Some proxies end
// streams every few seconds, which is no failure of the server.
var streamRestart = Restart{Healthy: 5 * time.Second, Hold: 5 * time.Second, MaxHold: 30 * time.Second} //nolint:gochecknoglobals // a constant

// programGrace is how long a program may take to end of which nothing can come
// any more: the transport kills it before that (fault E7).
const programGrace = 3 * time.Second

// watchOver has the client come back when its program or its HTTP+SSE stream ends
// (t is how), and tells when another stream ends. What has an exchange for each message has no such end.
func (c *Client) watchOver(t transport.Transport) {
	l := c.live.Load()
	set, again := c.cfg.restart, l.Traits.Process && !c.cfg.restart.Off
	if l.Traits.SessionOnly { // HTTP+SSE: its end is that of one stream, not of the server
		set, again = streamRestart, true
		if c.EraChosen().Fallback {
			t = fallbackOf(t)
		}
	}
	if again {
		s := &supervisor{t: t, set: set, stream: l.Traits.SessionOnly, schedule: set.schedule(), ended: make(chan struct{})}
		c.sup.part.Store(s)
		s.schedule.Started(time.Now())
		if !c.within(func() { s.run(c) }) {
			close(s.ended)
		}
		return
	}
	c.cfg.connecting = nil
	if !l.Traits.Exchanges {
		c.within(c.watchEnd)
	}
}

// verb is what is done again.
func (s *supervisor) verb() string {
	if s.stream {
		return "connected"
	}
	return "started"
}

// run waits for the end of the program and brings it back, until the client is
// closed or there is no hope.
func (s *supervisor) run(c *Client) {
	defer close(s.ended)
	for {
		l := c.live.Load()
		select {
		case <-c.life.Done():
			return
		case <-l.Conn.Done():
		}
		if c.isClosed() {
			return
		}
		s.fell(c, l)
		cause := s.causeOf(c, l)
		c.log.Warn("[MCP] the server has ended; it is "+s.verb()+" again", "server", c.server, "error", cause)
		c.enter(StateRestarting, cause, 0)
		if d := c.asks.peek(); d != nil {
			d.LinkEnded()
		}
		if p, ok := l.Conn.(transport.Program); ok {
			wait(c.life, p.Exited(), programGrace)
		}
		if !s.bringBack(c, cause) {
			return
		}
	}
}

// wait waits for done, no longer than bound.
func wait(ctx context.Context, done <-chan struct{}, bound time.Duration) {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// bringBack starts the program until it works. It reports false when that is
// over for good.
func (s *supervisor) bringBack(c *Client, ended error) bool {
	for cause := ended; ; {
		next := s.schedule.Ended(time.Now(), rand.Float64())
		if next.Loop {
			c.log.Warn("[MCP] the server ends again and again; it is left alone for a time", "server", c.server, "for", next.Wait, "ends", next.Try)
			until := time.Now().Add(next.Wait)
			s.become(&outage{cause: cause, until: until, untold: true}) // first: who sees the state finds its reason
			c.enter(StateHeld, cause, next.Wait)                        // then: a caller that hears of it finds it in State
			s.become(&outage{cause: cause, until: until})
		}
		if !sleep(c.life, next.Wait) {
			return false
		}
		if next.Loop {
			s.become(&outage{cause: cause})
			c.enter(StateRestarting, cause, 0)
		}
		before := c.live.Agreed()
		err := s.start(c)
		switch {
		case c.isClosed():
			return false
		case err == nil:
			s.schedule.Started(time.Now())
			s.back(c, before, ended)
			return true
		case neverStarts(err):
			c.log.Warn("[MCP] the server cannot be "+s.verb()+" again", "server", c.server, "error", err)
			s.become(&outage{cause: err, final: true})
			c.enter(StateEnded, err, 0)
			c.emit(Disconnected{Cause: err})
			return false
		}
		c.log.Warn("[MCP] the server was "+s.verb()+" again and does not work", "server", c.server, "error", err, "tries", next.Try)
		cause = err
	}
}

// neverStarts reports what starting again does not help: a program that is not
// there any more, or must not be run (fault E1).
func neverStarts(err error) bool {
	var e *mcperrors.Error
	f := outcome.FailureOf(err)
	return errors.As(err, &e) && !e.Retryable && (f.Reason == transport.ReasonUnavailable || f.Reason == transport.ReasonOption)
}

// start starts a program and opens the conversation with it. Until that is open
// nobody but the handshake uses it.
func (s *supervisor) start(c *Client) error {
	ctx, cancel := context.WithTimeoutCause(c.life, orElse(s.set.StartTimeout, defaultStartTimeout), errSlowStart)
	defer cancel()
	n, err := c.negotiateAgain(ctx, s.t)
	if err == nil && !s.install(c) {
		err = errClosed()
	}
	if err != nil {
		c.live.Discard()
		return err
	}
	n.settled(true)
	return nil
}

var errSlowStart = errors.New("the server was not ready in time after it was started or connected again")

// install makes the program that was opened the client's, and reports whether
// that is not closed. Calls still wait.
func (s *supervisor) install(c *Client) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() {
		return false
	}
	c.live.Promote()
	return true
}

// back lets calls go on, tells, and gives the new program what the old one had.
func (s *supervisor) back(c *Client, before *link.Agreement, cause error) {
	agreed := c.live.Agreed()
	c.cache().Clear(before.Key)
	c.forgetAll()
	if c.cfg.ownBreaker { // one that is shared has learnt of more than this program
		if b := c.guard.peek(); b != nil {
			b.Renewed("the server was " + s.verb() + " again")
		}
	}
	s.become(nil)
	c.enter(StateReady, nil, 0)
	c.log.Info("[MCP] The server was "+s.verb()+" again", "server", c.server)
	if s.stream {
		c.emit(Reinitialized{Server: agreed.Server(), Version: agreed.Version})
	} else {
		c.emit(Restarted{Cause: cause, Server: agreed.Server(), Version: agreed.Version})
	}
	c.reattend(before)
}

// restart ends the server's program, which does not work any more, and has it
// started again: calls in flight fail with cause, and later ones wait. It does
// nothing where the server is no program, or none that is started again. It
// never waits.
func (c *Client) restart(cause error) {
	if l := c.live.Load(); l != nil {
		c.restartOf(l, cause)
	}
}

// restartOf is restart for one program, should it still be the client's.
func (c *Client) restartOf(l *link.Link, cause error) {
	s := c.sup.peek()
	if s == nil || c.live.Load().Number != l.Number {
		return
	}
	select {
	case <-l.Conn.Done():
		return // it is known already
	default:
	}
	s.mu.Lock()
	first := s.killed != l.Number
	if first {
		s.killed, s.reason = l.Number, cause
	}
	s.mu.Unlock()
	if !first {
		return
	}
	if p, ok := l.Conn.(transport.Program); ok {
		p.Kill(cause)
	} else {
		c.within(l.Abort)
	}
}

// unproven is told that a program which is not busy has not answered the probe of its circuit. One
// that has not said anything since such a probe long ago hangs, and is started
// again (fault E8); one that was only stopped for a while is left alone (E10).
func (c *Client) unproven() {
	s := c.sup.peek()
	if s == nil || s.set.Hung < 0 {
		return
	}
	l := c.live.Load()
	counter, ok := l.Conn.(transport.Counter)
	if !ok {
		return
	}
	now := mute{number: l.Number, heard: counter.Received(), since: time.Now()}
	s.mu.Lock()
	before := s.mute
	known := before.number == now.number && before.heard == now.heard
	if !known {
		s.mute = now
	}
	s.mu.Unlock()
	if known && now.since.Sub(before.since) > orElse(s.set.Hung, orElse(c.res.IdleTimeout, defaultHung)) {
		c.log.Warn("[MCP] the server hangs; it is ended", "server", c.server, "silent", now.since.Sub(before.since))
		c.restartOf(l, errHung)
	}
}

var errHung = errors.New("it has not said anything for long, nor answered the probes of its circuit")

// causeOf is why there is no program any more.
func (s *supervisor) causeOf(c *Client, l *link.Link) error {
	f := l.Ended()
	s.mu.Lock()
	reason := s.reason
	if s.killed != l.Number {
		reason = nil
	}
	s.mu.Unlock()
	if reason == nil {
		return c.failed(subject{}, f)
	}
	e := mcperrors.New(mcperrors.E201, mcperrors.KindTransport, mcperrors.NotSent,
		"the server did not work any more and was ended: "+reason.Error(), reason)
	e.Process = f.Process
	return c.about(subject{}, e)
}
