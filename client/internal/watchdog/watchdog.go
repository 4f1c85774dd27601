// Package watchdog detects a server that accepts requests but answers none.
//
// Circuits alone would detect it only after five timeouts in a row, and not at all if callers
// give up earlier. The timer of a [Watchdog] checks whether anything arrives while a request is
// in flight, which costs a request only a few atomic operations. If nothing arrives, the watchdog
// probes the server. If the probes fail, it opens the circuit, and closes it as soon as anything
// arrives.
package watchdog

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

const (
	// ProbeTime limits a liveness probe. The circuit opens after two failed probes.
	ProbeTime = 2 * time.Second
	// steps is how often the timer fires within [Config].After: a silent server is detected at
	// most one step late.
	steps = 20
	// healInterval is how often the timer checks for traffic of a silent server that has requests
	// in flight.
	healInterval = time.Second
)

// Config configures a [Watchdog].
type Config struct {
	*core.Core
	// After is how long nothing may arrive while a request is in flight.
	After time.Duration
	// Breaker is opened when the server is silent.
	Breaker *breaker.Breaker
	// InFlight counts the requests in flight.
	InFlight *atomic.Int32
	Host     Host
}

// Host has the functions of the client that a Watchdog needs.
type Host interface {
	// Probe sends a liveness probe that bypasses all circuits and queues, and waits at most
	// [ProbeTime] for the answer.
	Probe() outcome.Outcome
	// ThrottledFor returns how long the server is throttled.
	ThrottledFor() time.Duration
	// Silent is called after the breaker was opened.
	Silent()
	// Stuck is called when the server no longer reads.
	Stuck(cause error)
	// LateAnswers is called when n late answers have arrived.
	LateAnswers(n int)
}

// Watchdog detects a silent server. Its methods may be called from many goroutines at once. A nil
// Watchdog does nothing.
type Watchdog struct {
	core  *resilience.Silence
	began time.Time
	after time.Duration
	step  time.Duration
	armed atomic.Bool // the timer is scheduled, or look runs
	// set is nil once the client is closed: the runtime keeps a stopped timer for a while,
	// and the timer must not keep the client in memory.
	set atomic.Pointer[Config]
	// trip is set if silence opened the circuit and nothing has arrived since.
	trip atomic.Pointer[silent]

	// Only look uses these:
	timer *time.Timer
	link  *link.Link
	heard uint64
	late  uint64
	backlog

	mu sync.Mutex // guards timer
}

// silent is a circuit that was opened because nothing arrived over a connection. heard is the
// number of bytes received before.
type silent struct {
	trip   breaker.Tripped
	number uint32 // of the connection
	heard  uint64
}

// New returns a Watchdog that becomes active with the first request.
func New(set *Config, now time.Time) *Watchdog {
	s := &Watchdog{
		core:  resilience.NewSilence(resilience.SilenceSettings{After: set.After}),
		began: now, after: set.After, step: max(set.After/steps, 1),
	}
	s.set.Store(set)
	return s
}

// Sent records that a request is sent now. Call Ended once for each Sent.
func (s *Watchdog) Sent(now time.Time) {
	s.core.Sent(now.Sub(s.began))
	if !s.armed.Load() && s.armed.CompareAndSwap(false, true) {
		s.schedule(s.step)
	}
}

// Ended records that the client no longer waits for a request.
func (s *Watchdog) Ended() {
	if s != nil {
		s.core.Ended()
	}
}

// Heard records a failed request: the server is not silent.
func (s *Watchdog) Heard() {
	if s != nil {
		s.core.Heard(s.now())
		s.Heal()
	}
}

// Heal closes the circuit that silence has opened once anything has arrived: the server was busy,
// or suspended for a while. It never closes a circuit that was opened for another reason. A new
// connection counts as an answer.
func (s *Watchdog) Heal() {
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
	if s.trip.CompareAndSwap(t, nil) && t.trip.Retract("the server sends again") {
		set.Log.Info("[MCP] the server sends again; its circuit is closed", "server", set.Server)
	}
}

// LookAgain checks once more after an unanswered probe of the circuit.
func (s *Watchdog) LookAgain() {
	if s != nil && s.trip.Load() != nil && s.armed.CompareAndSwap(false, true) {
		s.schedule(1)
	}
}

// Busy reports whether the server is processing a request that it has read from a pipe, and may
// therefore not answer anything else.
func (s *Watchdog) Busy(l *link.Link) bool {
	out, ok := l.Conn.(link.Outbox)
	return ok && s != nil && s.working(out.Backlog())
}

// Close stops the timer.
func (s *Watchdog) Close() {
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

// schedule makes the timer call look after in.
func (s *Watchdog) schedule(in time.Duration) {
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

// look checks for silence. Usually there is nothing to do.
func (s *Watchdog) look() {
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
	case resilience.Idle:
		s.armed.Store(false)
		// A request sent just before relies on the timer.
		if what, _ := s.core.Look(s.now()); what != resilience.Idle && s.armed.CompareAndSwap(false, true) {
			s.schedule(s.step)
		}
	case resilience.Probe:
		if set.throttled() { // by the server, or by the application
			s.schedule(s.step)
			return
		}
		set.Life.Go(func() {
			defer s.schedule(s.step) // also when the application's transport calls runtime.Goexit
			s.probe(set)
		})
	case resilience.Watch, resilience.Trip:
		s.schedule(max(1, min(s.step, next-s.now())))
	}
}

// throttled reports whether nothing may be sent, not even a liveness probe: Retry-After applies
// to probes, too.
func (c *Config) throttled() bool {
	b := c.Breaker.Snapshot()
	return b.Throttled || b.Mode == breaker.ForcedOpen || c.Host.ThrottledFor() > 0
}

func (s *Watchdog) now() time.Duration { return time.Since(s.began) }

// listen records whether anything has arrived since the last check.
func (s *Watchdog) listen(set *Config) {
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
			// Their time starts now, even if they are canceled.
			s.core.Sent(now)
			s.core.Ended()
		}
	}
	if late := counter.Late(); late > s.late {
		set.Host.LateAnswers(int(late - s.late))
		s.late = late
	}
}

// excuse allows a server that reads one message at a time from a pipe to be silent while it works
// on a request: later requests wait in the pipe. HTTP requests do not wait behind each other, so
// their time counts.
func (s *Watchdog) excuse(l *link.Link) {
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

// probe sends liveness probes until one is answered or the circuit is opened.
func (s *Watchdog) probe(set *Config) {
	for set.Life.Context().Err() == nil && !set.throttled() {
		out := set.Host.Probe()
		s.listen(set)
		if out.Err == nil || out.Record.Class != resilience.ClassTimeout {
			// The server is alive, or calls will fail at once.
			s.core.Heard(s.now())
			return
		}
		switch what, _ := s.core.Missed(s.now()); what {
		case resilience.Probe:
			continue
		case resilience.Trip:
			set.Log.Warn("[MCP] the server is silent; its circuit is opened", "server", set.Server, "after", s.after)
			s.trip.Store(&silent{trip: set.Breaker.Trip("silence"), number: s.link.Number, heard: s.heard})
			set.Host.Silent()
		case resilience.Idle, resilience.Watch:
		}
		return
	}
}

var errStuck = errors.New("it neither reads nor writes")

// lookWhileOpen runs while the circuit is not closed. Nothing is sent then, but requests in
// flight may still be answered.
func (s *Watchdog) lookWhileOpen(set *Config) {
	if s.trip.Load() != nil && s.stuck(s.now(), s.after+2*ProbeTime) {
		set.Log.Warn("[MCP] the server no longer reads; it is restarted", "server", set.Server)
		set.Host.Stuck(errStuck)
	}
	if set.InFlight.Load() == 0 { // the next call heals, or starts the timer
		s.armed.Store(false)
		if set.InFlight.Load() == 0 || !s.armed.CompareAndSwap(false, true) {
			return
		}
	}
	s.schedule(max(s.step, healInterval))
}
