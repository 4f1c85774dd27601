package guard

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

const (
	// SilenceProbe bounds a sign of life, of which two have to fail.
	SilenceProbe = 2 * time.Second
	// silenceSteps is how often Silence looks within the time that nothing may
	// come: the time is that much longer at most.
	silenceSteps = 20
	// silenceHeal is how often Silence looks whether a silent server says something
	// after all, while calls wait for it.
	silenceHeal = time.Second
)

// SilenceConfig is what a [Silence] knows and what the layers above do for it.
type SilenceConfig struct {
	// After is how long nothing may come while a request is under way.
	After time.Duration
	Links *link.Holder
	// Breaker is opened when the server is silent.
	Breaker *breaker.Breaker
	// Throttled returns how long nothing may be sent.
	Throttled func() time.Duration
	// InFlight counts the requests under way.
	InFlight *atomic.Int32
	// Server is the name of the server in the log.
	Server string
	Log    *slog.Logger
	Life   *life.Life
	// Ask asks the server for a sign of life, for SilenceProbe at most, past all
	// circuits and queues.
	Ask func() outcome.Outcome
	// Tripped is called when the breaker was opened.
	Tripped func()
	// Deaf is called when the server does not read any more.
	Deaf func(cause error)
	// Late is called when n answers have come too late; nil when nobody wants to
	// know.
	Late func(n int)
}

// Silence finds a server that takes requests and answers nothing. Circuits alone
// would find it when five requests have timed out, one after the other, and never
// where callers give up before. So a timer looks whether anything comes while a
// request is under way (resilience.md 3.4); requests pay for that with a few
// atomics. Its methods may be called from many goroutines at once; a nil Silence
// knows nothing.
type Silence struct {
	core  *resilience.Silence
	began time.Time
	after time.Duration
	step  time.Duration
	armed atomic.Bool // the timer runs, or somebody looks
	// set is nil once the client is closed: a stopped timer stays with the runtime
	// for a while, and is not to keep a client alive.
	set atomic.Pointer[SilenceConfig]
	// trip is what opened the circuit; nil when nothing has, or something came since.
	trip atomic.Pointer[silent]

	// Of the one that looks:
	timer *time.Timer
	link  *link.Link
	heard uint64
	late  uint64
	backlog

	mu sync.Mutex // of timer
}

// silent is a circuit opened because nothing came over a connection, from which
// so much had come before.
type silent struct {
	trip   breaker.Tripped
	number uint32 // of the connection
	heard  uint64
}

// NewSilence returns a detector that begins to look with the first request.
func NewSilence(set *SilenceConfig, now time.Time) *Silence {
	s := &Silence{
		core:  resilience.NewSilence(resilience.SilenceSettings{After: set.After}),
		began: now, after: set.After, step: max(set.After/silenceSteps, 1),
	}
	s.set.Store(set)
	return s
}

// Sent notes that a request goes out now. Each Sent has one Ended.
func (s *Silence) Sent(now time.Time) {
	s.core.Sent(now.Sub(s.began))
	if !s.armed.Load() && s.armed.CompareAndSwap(false, true) {
		s.schedule(s.step)
	}
}

// Ended notes that a request is not waited for any more.
func (s *Silence) Ended() {
	if s != nil {
		s.core.Ended()
	}
}

// Heard notes that the server is not silent: a request has failed.
func (s *Silence) Heard() {
	if s != nil {
		s.core.Heard(s.now())
		s.Heal()
	}
}

// Heal takes back what silence has opened once anything has come: the server was
// busy, or stopped for a while. It never closes what something else has opened.
// Another connection exists because of an answer.
func (s *Silence) Heal() {
	if s == nil {
		return
	}
	t, set := s.trip.Load(), s.set.Load()
	if t == nil || set == nil {
		return
	}
	if l := set.Links.Load(); l.Number == t.number && l.Conn.(link.Counter).Received() == t.heard {
		return
	}
	if s.trip.CompareAndSwap(t, nil) && t.trip.Retract("the server is not silent any more") {
		set.Log.Info("[MCP] the server is not silent any more; its circuit is closed again", "server", set.Server)
	}
}

// LookAgain looks once after a probe of the circuit was not answered either.
func (s *Silence) LookAgain() {
	if s != nil && s.trip.Load() != nil && s.armed.CompareAndSwap(false, true) {
		s.schedule(1)
	}
}

// Busy reports whether a request that the server has taken through a pipe is a
// reason for it not to answer anything else.
func (s *Silence) Busy(l *link.Link) bool {
	out, ok := l.Conn.(link.Outbox)
	return ok && s != nil && s.working(out.Backlog())
}

// Close ends the looking for good.
func (s *Silence) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set.Store(nil)
	if s.timer != nil {
		s.timer.Stop()
	}
}

// schedule has the timer look in a while.
func (s *Silence) schedule(in time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.set.Load() == nil:
	case s.timer == nil:
		s.timer = time.AfterFunc(in, s.look)
	default:
		s.timer.Reset(in)
	}
}

// look does what is due: nothing, most of the time.
func (s *Silence) look() {
	set := s.set.Load()
	if set == nil {
		return
	}
	s.listen(set)
	if set.Breaker.State() != breaker.Closed {
		s.lookWhileOpen(set)
		return
	}
	switch what, next := s.core.Look(s.now()); what {
	case resilience.Quiet:
		s.armed.Store(false)
		// A request that was sent just before relies on somebody looking.
		if what, _ := s.core.Look(s.now()); what != resilience.Quiet && s.armed.CompareAndSwap(false, true) {
			s.schedule(s.step)
		}
	case resilience.Probe:
		if set.keptBack() { // by the server's own word, or by hand
			s.schedule(s.step)
			return
		}
		set.Life.Go(func() {
			defer s.schedule(s.step) // also when the application's transport ends the goroutine
			s.probe(set)
		})
	case resilience.Watch, resilience.Trip:
		s.schedule(max(1, min(s.step, next-s.now())))
	}
}

// keptBack reports whether nothing may be sent, not even a question for a sign of
// life: Retry-After holds for that, too.
func (c *SilenceConfig) keptBack() bool {
	b := c.Breaker.Snapshot()
	return b.Throttled || b.Mode == breaker.ForcedOpen || c.Throttled() > 0
}

func (s *Silence) now() time.Duration { return time.Since(s.began) }

// listen notes whether something came since the last time.
func (s *Silence) listen(set *SilenceConfig) {
	l := set.Links.Load()
	counter, ok := l.Conn.(link.Counter)
	if !ok {
		return
	}
	s.Heal()
	defer s.excuse(l)
	if n := counter.Received(); l != s.link || n != s.heard {
		if l != s.link {
			s.late = counter.Late()
		}
		s.link, s.heard = l, n
		now := s.now()
		s.core.Heard(now)
		if set.InFlight.Load() > 0 {
			// What is under way is due from now on, also when it is given up.
			s.core.Sent(now)
			s.core.Ended()
		}
	}
	if late := counter.Late(); late > s.late && set.Late != nil {
		set.Late(int(late - s.late))
		s.late = late
	}
}

// excuse lets a server that takes one message after the other from a pipe be
// silent while it works on a request: what is sent meanwhile waits there for its
// turn (decisions 35). Over HTTP, where nothing waits behind anything else, the
// time counts.
func (s *Silence) excuse(l *link.Link) {
	now := s.now()
	start, quiet := s.core.Since()
	if !quiet {
		start = now
	}
	s.backlog.look(l.Conn, now, start, s.after)
	if quiet && s.working(s.seen) {
		s.core.Excuse(s.excused(now))
	}
}

// probe asks for signs of life until there is one or the circuit is opened.
func (s *Silence) probe(set *SilenceConfig) {
	for set.Life.Context().Err() == nil && !set.keptBack() {
		out := set.Ask()
		s.listen(set)
		if out.Err == nil || out.Record.Class != resilience.ClassTimeout {
			// It lives, or is gone in a way that calls find out at once.
			s.core.Heard(s.now())
			return
		}
		switch what, _ := s.core.Missed(s.now()); what {
		case resilience.Probe:
			continue
		case resilience.Trip:
			set.Log.Warn("[MCP] the server has fallen silent; its circuit is opened", "server", set.Server, "after", s.after)
			s.trip.Store(&silent{trip: set.Breaker.Trip("silence"), number: s.link.Number, heard: s.heard})
			set.Tripped()
		case resilience.Quiet, resilience.Watch:
		}
		return
	}
}

var errDeaf = errors.New("it neither reads nor writes")

// lookWhileOpen looks while the circuit is not closed. What opened it is known,
// and nothing is sent; but what is under way may be answered, or may never be.
func (s *Silence) lookWhileOpen(set *SilenceConfig) {
	if s.trip.Load() != nil && s.deaf(s.now(), s.after+2*SilenceProbe) {
		set.Log.Warn("[MCP] the server does not read any more; it is started again", "server", set.Server)
		set.Deaf(errDeaf)
	}
	if set.InFlight.Load() == 0 { // the next call heals, or sends and has somebody look
		s.armed.Store(false)
		if set.InFlight.Load() == 0 || !s.armed.CompareAndSwap(false, true) {
			return
		}
	}
	s.schedule(max(s.step, silenceHeal))
}

// silence returns the detector of servers that hang, nil before the first request that
// it watches.
func (g *Gate) silence() *Silence {
	if h := g.made.Peek(); h != nil {
		return h.silence.Peek()
	}
	return nil
}

func (g *Gate) newSilence() *Silence {
	h := g.parts()
	return h.silence.Make(func() *Silence {
		set := &SilenceConfig{
			After: g.set.Silence, Links: h.Links, Breaker: g.Breaker(), Throttled: h.throttle.Left, InFlight: &g.inFlight,
			Server: h.Server, Log: h.Log, Life: h.Life,
			Ask: g.pingSilent, Tripped: g.fellSilent, Deaf: g.restart,
		}
		if g.metered {
			set.Late = func(n int) { h.Signal(Signal{Kind: LateAnswers, Count: n}) }
		}
		return NewSilence(set, time.Now())
	})
}

// Busy reports whether the server works on a request that it has taken from the pipe of
// l, which is a reason not to answer another one.
func (g *Gate) Busy(l *link.Link) bool { return g.silence().Busy(l) }

// pingSilent pings a server that is silent.
func (g *Gate) pingSilent() outcome.Outcome {
	g.Report(SilenceProbed, outcome.Subject{}, 0, "")
	h := g.parts()
	out := h.Ping(h.Life.Context(), SilenceProbe)
	g.ObeyRetryAfter(ping, out.Record) // it is for every request
	return out
}

// fellSilent follows when silence has opened the circuit.
func (g *Gate) fellSilent() {
	g.emptyQueue(g.Breaker())
	g.Report(Silent, outcome.Subject{}, 0, "")
}

// restart has a program that does not read any more started again.
func (g *Gate) restart(cause error) {
	h := g.parts()
	h.Keeper.Peek().Kill(h.Links.Load(), cause)
}
