package client

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// A server that takes requests and answers nothing would be found when five of
// them have timed out, one after the other, and never by callers who give up
// before. So somebody looks whether anything comes while something is due
// (resilience.md 3.4). Calls pay for that with a few atomics; the looking is a
// timer's, which runs only while calls are under way.
const (
	// silenceProbe bounds a sign of life, of which two have to fail.
	silenceProbe = 2 * time.Second
	// silenceSteps is how often is looked within the time that nothing may come:
	// the time is that much longer at most.
	silenceSteps = 20
	// silenceHeal is how often is looked whether a server that was found silent
	// says something after all, while calls wait for it.
	silenceHeal = time.Second
)

// silenceWatch watches over what comes of the server.
type silenceWatch struct {
	core  *resilience.Silence
	began time.Time
	step  time.Duration
	armed atomic.Bool // the timer runs, or somebody looks
	// client is nil once it is closed: a stopped timer stays with the runtime for
	// a while, and is not to keep a client alive.
	client atomic.Pointer[Client]
	// fell is what opened the circuit; nil when nothing has, or something came since.
	fell atomic.Pointer[fallenSilent]

	// Of whoever looks, one at a time.
	timer *time.Timer
	link  *link.Link
	heard uint64
	late  uint64
	clog

	mu sync.Mutex // of timer
}

// fallenSilent is a circuit opened because nothing came over a connection, from
// which so much had come before.
type fallenSilent struct {
	trip   breaker.Tripped
	number uint32 // of the connection
	heard  uint64
}

// sending notes that a request goes out now.
func (c *Client) sending(cl *call, p *permits) {
	p.sent = cl.began
	if cl.attempts > 1 || p.sent.IsZero() || cl.waited {
		p.sent = time.Now()
	}
	if counter, ok := cl.link.Conn.(transport.Counter); ok {
		p.heard = counter.Received()
		if c.res.Silence > 0 && cl.purpose != link.Handshake && cl.purpose != link.Liveness && (c.cfg.ownBreaker || c.res.Breaker != nil) {
			p.watch = c.watchSilence(p.sent)
		}
	}
}

// watchSilence has somebody look while a request is under way.
func (c *Client) watchSilence(now time.Time) *silenceWatch {
	w := c.parts.get().silence.made(func() *silenceWatch {
		w := &silenceWatch{
			core:  resilience.NewSilence(resilience.SilenceSettings{After: c.res.Silence}),
			began: now, step: max(c.res.Silence/silenceSteps, 1),
		}
		w.client.Store(c)
		return w
	})
	w.core.Sent(now.Sub(w.began))
	if !w.armed.Load() && w.armed.CompareAndSwap(false, true) {
		w.again(w.step)
	}
	return w
}

// again has somebody look in a while.
func (w *silenceWatch) again(in time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.client.Load() == nil:
	case w.timer == nil:
		w.timer = time.AfterFunc(in, w.look)
	default:
		w.timer.Reset(in)
	}
}

// look does what is due: nothing, most of the time.
func (w *silenceWatch) look() {
	c := w.client.Load()
	if c == nil {
		return
	}
	w.listen(c)
	if c.Breaker().State() != breaker.Closed {
		w.attend(c)
		return
	}
	switch h, next := w.core.Look(w.now()); h {
	case resilience.Quiet:
		w.armed.Store(false)
		// Who sent just before that relies on somebody looking.
		if h, _ := w.core.Look(w.now()); h != resilience.Quiet && w.armed.CompareAndSwap(false, true) {
			w.again(w.step)
		}
	case resilience.Probe:
		if c.keptBack() { // by the server's own word, or by hand
			w.again(w.step)
			return
		}
		c.within(func() {
			defer w.again(w.step) // also when the application's transport ends the goroutine
			w.probe(c)
		})
	case resilience.Watch, resilience.Trip:
		w.again(max(1, min(w.step, next-w.now())))
	}
}

// keptBack reports whether nothing may be sent, not even a question for a sign of
// life: Retry-After holds for that, too.
func (c *Client) keptBack() bool {
	s := c.Breaker().Snapshot()
	return s.Throttled || s.Mode == breaker.ForcedOpen || c.ThrottledFor() > 0
}

func (w *silenceWatch) now() time.Duration { return time.Since(w.began) }

// listen notes whether something came since the last time.
func (w *silenceWatch) listen(c *Client) {
	l := c.live.Load()
	counter, ok := l.Conn.(transport.Counter)
	if !ok {
		return
	}
	w.heal(c)
	defer w.excuse(c, l)
	if n := counter.Received(); l != w.link || n != w.heard {
		if l != w.link {
			w.late = counter.Late()
		}
		w.link, w.heard = l, n
		now := w.now()
		w.core.Heard(now)
		if c.inFlight.Load() > 0 {
			// What is under way is due from now on, also when it is given up.
			w.core.Sent(now)
			w.core.Ended()
		}
	}
	if late := counter.Late(); late > w.late && c.cfg.meter != nil {
		c.cfg.meter.Happened(Happening{What: LateAnswers, Server: c.server, Count: int(late - w.late)})
		w.late = late
	}
}

// excuse lets a server that has one message after the other through a pipe be
// silent while it works on a call: what is sent meanwhile waits there for its turn
// (decisions 35). Over HTTP, where nothing waits behind anything else, it counts.
func (w *silenceWatch) excuse(c *Client, l *link.Link) {
	now := w.now()
	start, silent := w.core.Since()
	if !silent {
		start = now
	}
	w.clog.look(l.Conn, now, start, c.res.Silence)
	if silent && w.working(w.clog.seen) {
		w.core.Excuse(w.excused(now))
	}
}

// busy reports whether a call that the server has taken through a pipe is a reason
// for it not to answer anything else.
func (c *Client) busy(l *link.Link) bool {
	parts := c.parts.peek()
	if parts == nil {
		return false
	}
	w := parts.silence.peek()
	out, ok := l.Conn.(transport.Outbox)
	return ok && w != nil && w.working(out.Backlog())
}

// probe asks for signs of life until there is one or the circuit is opened.
func (w *silenceWatch) probe(c *Client) {
	for c.life.Err() == nil && !c.keptBack() {
		c.happened(SilenceProbed, subject{}, 0, "")
		out := c.signOfLife(c.life, c.cfg.nextID(), silenceProbe)
		w.listen(c)
		if d := out.Record.Judge(c.toolLevel()).Hold; d > 0 {
			c.hold(subject{method: mcp.MethodPing}, c.Breaker(), out.Record, d) // Retry-After holds whoever was told
		}
		if out.Err == nil || out.Record.Class != resilience.ClassTimeout {
			// It lives, or is gone in a way that calls find out at once.
			w.core.Heard(w.now())
			return
		}
		switch h, _ := w.core.Missed(w.now()); h {
		case resilience.Probe:
			continue
		case resilience.Trip:
			c.log.Warn("[MCP] the server has fallen silent; its circuit is opened", "server", c.server, "after", c.res.Silence)
			w.fell.Store(&fallenSilent{trip: c.Breaker().Trip("silence"), number: w.link.Number, heard: w.heard})
			c.leaveQueue(c.Breaker())
			c.happened(Silent, subject{}, 0, "")
		case resilience.Quiet, resilience.Watch:
		}
		return
	}
}

// attend looks while the circuit is not closed. What opened it is known, and
// nothing is sent; but what is under way may be answered, or may never be.
func (w *silenceWatch) attend(c *Client) {
	if w.fell.Load() != nil && w.deaf(w.now(), c.res.Silence+2*silenceProbe) {
		c.log.Warn("[MCP] the server does not read any more; it is started again", "server", c.server)
		c.restart(errDeaf)
	}
	if c.inFlight.Load() == 0 { // whoever comes next heals, or sends and has somebody look
		w.armed.Store(false)
		if c.inFlight.Load() == 0 || !w.armed.CompareAndSwap(false, true) {
			return
		}
	}
	w.again(max(w.step, silenceHeal))
}

// heal takes back what silence has opened once anything has come: the server was
// busy, or stopped for a while. It never closes what something else has opened.
// Another connection has come to be by an answer.
func (w *silenceWatch) heal(c *Client) {
	f := w.fell.Load()
	if f == nil {
		return
	}
	if l := c.live.Load(); l.Number == f.number && l.Conn.(transport.Counter).Received() == f.heard {
		return
	}
	if w.fell.CompareAndSwap(f, nil) && f.trip.Retract("the server is not silent any more") {
		c.log.Info("[MCP] the server is not silent any more; its circuit is closed again", "server", c.server)
	}
}

// heal is for whoever is about to be refused.
func (c *Client) heal() {
	if parts := c.parts.peek(); parts != nil {
		if w := parts.silence.peek(); w != nil {
			w.heal(c)
		}
	}
}

// listenAgain has somebody look once after a probe of the circuit was not
// answered either.
func (c *Client) listenAgain() {
	if parts := c.parts.peek(); parts != nil {
		if w := parts.silence.peek(); w != nil && w.fell.Load() != nil && w.armed.CompareAndSwap(false, true) {
			w.again(1)
		}
	}
}

// heardSince reports whether anything came over a link since it had counted n.
func (c *Client) heardSince(l *link.Link, n uint64) bool {
	counter, ok := l.Conn.(transport.Counter)
	return ok && counter.Received() != n
}

// hush ends the looking for good.
func (c *Client) hush() {
	if parts := c.parts.peek(); parts != nil {
		if w := parts.silence.peek(); w != nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.client.Store(nil)
			if w.timer != nil {
				w.timer.Stop()
			}
		}
	}
}
