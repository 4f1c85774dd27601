package client

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Resilience is how a client keeps a bad server from hurting its application.
// What is left out is off, so begin with [DefaultResilience], which is what a
// client has without options.
type Resilience struct {
	// Breaker guards the server; nil means none. Sharing follows the pointer:
	// one breaker in two clients opens for both.
	Breaker *breaker.Breaker
	// Tools are the circuits of the server's tools, each made when its tool fails
	// first: one bad tool does not close the server to the others. nil means none,
	// and that what a tool does wrong counts against the server.
	// Like a breaker it may be shared by clients of the same server.
	Tools *breaker.Group
	// IdleTimeout is how long nothing may come for a request; progress resets it,
	// whether or not the call has [WithProgress]; see [WithProgressTokens]. MaxTime bounds a call, with all its attempts and rounds. 0
	// means no bound but the caller's context.
	IdleTimeout, MaxTime time.Duration
	// MaxInFlight is how many requests may wait for answers; one more is
	// refused at once. 0 means no bound.
	MaxInFlight int
	// Retry says what is tried again.
	Retry Retry
	// Silence is how long nothing may come from a server that has a request to
	// answer before it is asked for a sign of life, and its circuit opened when
	// it gives none twice within 2 s. It finds a server that
	// hangs long before calls time out, and also when every caller gives up
	// early. The default is 10 s. Zero disables it, and so does a nil Breaker.
	//
	// A program that handles one request at a time is not silent while it works
	// on a call and its pipe takes what is sent: later calls wait in the pipe,
	// each within its own deadline. The time counts from the moment when the
	// calls are over that were in flight when the silence was noticed, or when
	// the pipe takes nothing more. Over HTTP it always counts: later calls are
	// refused until the server says anything, which closes the circuit at once
	// (in probation). Calls in flight go on. To let such calls wait at an HTTP
	// server, set more than its tools take, or 0.
	//
	// Silence alone never ends a program: only one that also does not take what
	// it is sent for as long, with no call that it has taken in flight, is ended
	// and started again.
	Silence time.Duration
	// Bulkhead bounds requests in flight, and lets calls wait for a place.
	Bulkhead Bulkhead
	// Rate bounds how many requests are made a second.
	Rate Rate
	// Hedge sends a second request beside one that takes unusually long.
	Hedge Hedge

	log *breakerLog // of the breakers of DefaultResilience
}

// Bulkhead bounds the requests in flight to one server, so that a slow one does
// not get all this program has. Who comes first is served first; cancellations,
// signs of life and subscriptions have a lane of their own. The zero Bulkhead is
// off; 64 over HTTP and 16 for a program are usual.
type Bulkhead struct {
	// Limit is how many requests are in flight at most; 0 is off.
	Limit int
	// Queue is how many calls may wait for a place, for a second or what is left
	// of their time; 0 means twice the limit, less than 0 none. One more is
	// refused at once with a KindOverloaded.
	Queue int
	// Adaptive lowers the limit by a tenth when the server is too slow or says
	// that it is asked too much, and raises it again by one where it is used,
	// between 1 and Limit.
	Adaptive bool
}

// Rate bounds requests a second. A call waits for its turn for a second at most;
// one that would have to wait longer is refused at once. The zero Rate is off.
type Rate struct {
	// PerSecond is how many requests a second are made; 0 is off.
	PerSecond float64
	// Burst is how many may be made at once after a pause; 0 means 1.
	Burst int
}

// Defaults of [DefaultResilience].
const (
	DefaultIdleTimeout = 60 * time.Second
	DefaultMaxTime     = 10 * time.Minute
	DefaultMaxInFlight = 10_000
	DefaultSilence     = 10 * time.Second
)

// DefaultResilience returns deadlines, a limit on requests in flight, a fresh
// breaker for the server and circuits for its tools, retries where they do no
// harm, and the detector of silence. A client without options has the same, with
// a breaker that is named after its server. The circuits log to the client's logger;
// where several clients share them, to that of one.
func DefaultResilience() Resilience {
	r := defaultBounds
	r.log = &breakerLog{}
	r.Breaker = breaker.New(r.log.settings())
	r.Tools = breaker.NewGroup(breaker.GroupSettings{Settings: r.log.settings()})
	return r
}

// defaultBounds is the part of [DefaultResilience] that clients share: breakers
// each has to itself.
var defaultBounds = Resilience{
	IdleTimeout: DefaultIdleTimeout, MaxTime: DefaultMaxTime, MaxInFlight: DefaultMaxInFlight,
	Retry: Retry{Policy: RetryProof}, Silence: DefaultSilence,
}

// chainParts is what a call needs once something has gone wrong, and what
// watches over those under way.
type chainParts struct {
	throttle lazy[guard.Throttle]
	tools    lazy[breaker.Group] // unless the options gave one
	budgets  lazy[run.Budgets]
	silence  lazy[guard.Silence]
	hedging  lazy[run.Hedging]
	streak   lazy[streak]

	secrets  atomic.Pointer[secrets]          // nil while there are none
	doubted  atomic.Pointer[time.Time]        // when the list of tools last was
	logLevel atomic.Pointer[mcp.LoggingLevel] // as last set, nil before
}

// Breaker returns the breaker that guards the server, nil when it was switched
// off. See [breaker.Handler] for a health endpoint.
func (c *Client) Breaker() *breaker.Breaker {
	if !c.cfg.ownBreaker {
		return c.res.Breaker
	}
	return c.guard.made(func() *breaker.Breaker {
		return breaker.New(breaker.Settings{Name: c.server, Logger: c.log})
	})
}

// breaker is the breaker for an attempt, nil for none. A handshake, and what gives
// a new session what the old one had, does not make the client's own: it would
// tell a new breaker nothing that Connect does not tell the application.
func (c *Client) breaker(handshake bool) *breaker.Breaker {
	if handshake && c.restarting() != nil {
		return nil // the start of a program is a probe, on a schedule of its own (resilience.md 3.5)
	}
	if handshake && c.cfg.ownBreaker {
		return c.guard.peek()
	}
	return c.Breaker()
}

// ToolBreakers returns the circuits of the server's tools, nil when they are off
// or, without options, before the first tool has failed.
func (c *Client) ToolBreakers() *breaker.Group { return c.toolsThatFailed() }

// toolLevel reports whether tools have circuits of their own.
func (c *Client) toolLevel() bool { return c.cfg.ownBreaker || c.res.Tools != nil }

// toolsThatFailed are the circuits there are, nil for none yet.
func (c *Client) toolsThatFailed() *breaker.Group {
	if !c.cfg.ownBreaker {
		return c.res.Tools
	}
	if parts := c.parts.peek(); parts != nil {
		return parts.tools.peek()
	}
	return nil
}

// toolGroup makes them. Requires toolLevel.
func (c *Client) toolGroup() *breaker.Group {
	if !c.cfg.ownBreaker {
		return c.res.Tools
	}
	return c.parts.get().tools.made(func() *breaker.Group {
		return breaker.NewGroup(breaker.GroupSettings{Settings: breaker.Settings{Name: c.server, Logger: c.log}})
	})
}

// lanes are the limits that calls wait for, nil for none.
func (r *Resilience) lanes() *lanes {
	l := &lanes{}
	if r.Bulkhead.Limit > 0 {
		l.bulkhead = resilience.NewBulkhead(resilience.BulkheadSettings{Limit: r.Bulkhead.Limit, Queue: r.Bulkhead.Queue, Adaptive: r.Bulkhead.Adaptive})
	}
	if r.Rate.PerSecond > 0 {
		l.rate = resilience.NewRate(r.Rate.PerSecond, r.Rate.Burst)
	}
	if *l == (lanes{}) {
		return nil
	}
	return l
}

func (r Resilience) check() error {
	if r.IdleTimeout < 0 || r.MaxTime < 0 || r.MaxInFlight < 0 || r.Silence < 0 || r.Bulkhead.Limit < 0 ||
		!(r.Rate.PerSecond >= 0) || r.Rate.Burst < 0 {
		return errors.New("resilience: timeouts and limits must not be negative; 0 switches one off")
	}
	if r.Bulkhead.Limit == 0 && r.Bulkhead != (Bulkhead{}) {
		return errors.New("resilience: a bulkhead needs a limit")
	}
	return errors.Join(r.Retry.check(), r.Hedge.check())
}
