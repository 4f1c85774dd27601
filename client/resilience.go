package client

import (
	"cmp"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Resilience protects an application from a failing server. Each zero field has its
// default, so a client without options has the zero Resilience. A negative number
// disables a limit; the other parts have a field that disables them.
type Resilience struct {
	// Off disables every part that is left zero, instead of giving it its
	// default. For example, Resilience{Off: true, MaxTime: time.Minute} only
	// bounds calls.
	Off bool
	// Breaker is the circuit breaker of the server. By default the client has
	// its own, named after the server. Clients with the same Breaker share its
	// state: if it opens for one, it opens for all.
	Breaker *breaker.Breaker
	// NoBreaker disables the breaker of the server, and Silence with it.
	NoBreaker bool
	// Tools holds a circuit breaker for each tool, made at the tool's first
	// failure. One bad tool then does not block the server's other tools. By
	// default the client has its own. Clients of the same server may share it.
	Tools *breaker.Group
	// NoToolBreakers disables the breakers of tools: failures of a tool count
	// against the server.
	//
	// # Experimental
	NoToolBreakers bool
	// IdleTimeout bounds how long a request may wait without an answer or progress, which
	// resets it. The default is 60 s. MaxTime bounds a call with all its attempts and
	// rounds. The default is 10 minutes. A negative value leaves only the caller's context.
	IdleTimeout, MaxTime time.Duration
	// NoProgressTokens sends tools/call without a progress token, except for calls with
	// [WithProgress]. By default every tools/call has one, so that progress of the server
	// resets IdleTimeout.
	//
	// # Experimental
	NoProgressTokens bool
	// Retry sets which failed calls are retried, and how often.
	Retry Retry
	// Restart sets how the client restarts a program that exits.
	Restart Restart
	// Silence is how long a server with a pending request may send nothing
	// before the client probes it. If two probes in a row, of 2 s each, fail,
	// the circuit opens. This detects a hung server long before calls time out,
	// even if every caller gives up early. The default is 10 s. A negative
	// value disables it.
	//
	// Programs: one that handles one request at a time is not silent while it
	// works on a call and its pipe still accepts data. Later calls wait in the
	// pipe, each within its own deadline. The time starts when the calls that
	// were in flight have ended, or when the pipe accepts no more data.
	//
	// HTTP: the time always counts. Once the circuit is open, later calls are
	// refused until the server sends anything, which closes the circuit at once
	// (in probation). Calls in flight continue. If tools run longer than
	// Silence and calls should wait for them, set a longer time.
	//
	// Silence alone never ends a program. The client restarts one only if it
	// also accepts no data for as long while none of the calls it has accepted
	// is in flight.
	Silence time.Duration
	// KeepAlive is the idle time after which the client sends a liveness probe: ping in
	// the session era, server/discover in the stateless one. The client is not idle while
	// a call is in flight, and every message and answer, even an error, starts the idle
	// time again. A probe without an answer is a failure for the breaker and emits
	// [LivenessFailed]; the connection is not closed. It is off by default.
	KeepAlive time.Duration
	// Bulkhead bounds the requests in flight, and lets calls wait for a place. By default
	// 10,000 requests may be in flight, and one more fails at once.
	Bulkhead Bulkhead
	// Rate bounds the requests per second. It is off by default.
	Rate Rate
	// Hedge sends a second request beside one that takes unusually long. It is
	// off by default.
	Hedge Hedge
}

// Bulkhead bounds the requests in flight to one server, so that a slow server
// cannot take all resources of this program. Calls queue in order of arrival.
// Cancellations, liveness probes and subscriptions bypass the queue. Typical limits
// are 64 over HTTP and 16 for a program.
type Bulkhead struct {
	// Limit bounds the requests in flight. 0 means 10,000 without a queue; a negative
	// value means no bound.
	Limit int
	// Queue bounds the calls that wait for a place. A call waits for at most a
	// second, and never longer than its own deadline. 0 means twice the limit;
	// a negative value disables the queue. Calls beyond it fail at once with
	// KindOverloaded.
	Queue int
	// Adaptive adjusts the limit between 1 and Limit. It lowers the limit by a
	// tenth when the server is too slow or reports overload, and raises it by
	// one while the limit is in use.
	//
	// # Experimental
	Adaptive bool
}

// Rate bounds the requests per second. A call waits for its turn for at most a
// second; a call that would wait longer is refused at once. The zero Rate is
// off.
type Rate struct {
	// PerSecond is the number of requests per second; 0 is off.
	PerSecond float64
	// Burst is how many requests may go out at once after a pause; 0 means 1.
	Burst int
}

// Hedge sends a second request beside one that takes longer than nearly all of
// its kind. The first result wins, and the client cancels the other request.
// If both fail, the call returns the error with the least certain Delivery.
//
// Hedging shortens the longest waits where several servers share one URL, and
// helps nowhere else. The client hedges only idempotent calls over HTTP, while
// the circuits are closed and nothing is throttled. A second request counts
// against Rate and Bulkhead but never waits for them: it is sent
// only if there is room at once. The zero Hedge is off.
//
// # Experimental
//
// When a second request is sent, and for which calls, may change.
type Hedge struct {
	// Share bounds the fraction of calls that may have a second request, such
	// as 0.05; 0 is off.
	Share float64
	// After is how long the first request may take before the second is sent. 0
	// means the 95th percentile of the last calls of the same method and tool,
	// once there are 100.
	After time.Duration
}

func (h Hedge) check() error {
	if !(h.Share >= 0) || h.Share > 1 || h.After < 0 || (h.Share == 0 && h.After > 0) {
		return errors.New("resilience: Hedge.Share must be above 0 and at most 1, and Hedge.After must not be negative")
	}
	return nil
}

// Defaults of [Resilience].
const (
	defaultIdleTimeout = 60 * time.Second
	defaultMaxTime     = 10 * time.Minute
	defaultMaxInFlight = 10_000
	defaultSilence     = 10 * time.Second
)

// theUsualBounds are shared by clients without options.
var theUsualBounds = Resilience{
	IdleTimeout: defaultIdleTimeout, MaxTime: defaultMaxTime, Silence: defaultSilence,
}

// settled returns r with its defaults, and 0 for limits that are off.
func (r Resilience) settled() Resilience {
	usual := theUsualBounds
	if r.Off {
		usual = Resilience{}
		r.NoBreaker = r.NoBreaker || r.Breaker == nil
		r.NoToolBreakers = r.NoToolBreakers || r.Tools == nil
		if r.Retry == (Retry{}) {
			r.Retry.Policy = RetryNever
		}
		if r.Restart == (Restart{}) {
			r.Restart.Off = true
		}
	}
	r.IdleTimeout = settledBound(r.IdleTimeout, usual.IdleTimeout)
	r.MaxTime = settledBound(r.MaxTime, usual.MaxTime)
	r.Silence = settledBound(r.Silence, usual.Silence)
	r.KeepAlive = settledBound(r.KeepAlive, 0)
	return r
}

// settledBound returns the usual bound for 0, and 0, which is no bound, for a negative n.
func settledBound[N int | time.Duration](n, usual N) N {
	return max(cmp.Or(n, usual), 0)
}

// usualGuard is shared by clients without [WithResilience].
var usualGuard = theUsualBounds.guardSettings() //nolint:gochecknoglobals // never changed

// guardSettings returns the limits of a client.
func (c *config) guardSettings() *guard.Settings {
	if c.resilience == &theUsualBounds {
		return usualGuard
	}
	return c.resilience.guardSettings()
}

func (r *Resilience) guardSettings() *guard.Settings {
	set := &guard.Settings{
		OwnBreaker: r.Breaker == nil && !r.NoBreaker, Breaker: r.Breaker,
		OwnTools: r.Tools == nil && !r.NoToolBreakers, Tools: r.Tools,
		MaxInFlight: max(r.Bulkhead.Limit, defaultMaxInFlight),
	}
	if r.Off || r.Bulkhead.Limit < 0 {
		set.MaxInFlight = 0
	}
	if !r.NoBreaker {
		set.Silence = r.Silence
	}
	if r.Bulkhead.Limit > 0 {
		set.Bulkhead = resilience.NewBulkhead(resilience.BulkheadSettings{Limit: r.Bulkhead.Limit, Queue: r.Bulkhead.Queue, Adaptive: r.Bulkhead.Adaptive})
	}
	if r.Rate.PerSecond > 0 {
		set.Rate = resilience.NewRate(r.Rate.PerSecond, r.Rate.Burst)
	}
	return set
}

// usualCalls is shared by clients whose options change nothing for their calls.
var usualCalls = (&config{resilience: &theUsualBounds, uncommon: theUsual}).newCallSettings() //nolint:gochecknoglobals // never changed

// callSettings returns the settings of the calls of a client.
func (c *config) callSettings() *run.Settings {
	if c.resilience == &theUsualBounds && c.uncommon == theUsual && !c.validation.ResultTypes {
		return usualCalls
	}
	return c.newCallSettings()
}

func (c *config) newCallSettings() *run.Settings {
	r := c.resilience
	return &run.Settings{
		Wait: jsonrpc.Wait{Idle: r.IdleTimeout, Max: r.MaxTime},
		Retry: run.RetrySettings{
			Policy: r.Retry.Policy.policy(), Attempts: r.Retry.Attempts,
			Pauses: resilience.Backoff{Base: r.Retry.MinPause, Cap: r.Retry.MaxPause}, Budget: r.Retry.Budget,
		},
		Hedge: run.HedgeSettings{Share: r.Hedge.Share, After: r.Hedge.After}, Beats: r.KeepAlive > 0,
		NextID: c.nextID, KeyPrefix: c.keyPrefix, NoTokens: r.NoProgressTokens, Typed: c.validation.ResultTypes,
		Offer: &c.offer, Asked: c.offer.Asks(), Profile: c.profile,
	}
}

// Breaker returns the breaker that guards the server, or nil if it is off. For
// a health endpoint, see [breaker.Handler].
func (c *Client) Breaker() *breaker.Breaker { return c.calls.Guard.Breaker() }

// ToolBreakers returns the circuits of the server's tools. It returns nil if
// they are off, or if the client has its own and no tool has failed yet.
func (c *Client) ToolBreakers() *breaker.Group { return c.calls.Guard.Tools() }

// ThrottledFor returns how long the client still holds its calls back because
// the server has throttled these credentials (429 with Retry-After). It
// returns 0 if calls may go out. It takes no lock.
func (c *Client) ThrottledFor() time.Duration { return c.calls.Guard.Throttle().Left() }

// Throttle holds the calls of this client back for d from now, as a 429 response
// with Retry-After does. Use it when another process has learned that the server
// throttles the same credentials. A throttle is never shortened: an end that is
// earlier than the present one has no effect. Throttle does nothing if d is 0 or
// less, or if the client has no breaker.
func (c *Client) Throttle(d time.Duration) { c.calls.Guard.ThrottleFor(d) }

func (r Resilience) check() error {
	switch {
	case !(r.Rate.PerSecond >= 0) || r.Rate.Burst < 0:
		return errors.New("resilience: a rate must not be negative; 0 disables it")
	case r.Bulkhead.Limit <= 0 && (r.Bulkhead.Queue != 0 || r.Bulkhead.Adaptive):
		return errors.New("resilience: a bulkhead with a queue or an adaptive limit needs a limit above 0")
	case r.NoBreaker && r.Breaker != nil:
		return errors.New("resilience: Breaker and NoBreaker exclude each other; set one of the two")
	case r.NoToolBreakers && r.Tools != nil:
		return errors.New("resilience: Tools and NoToolBreakers exclude each other; set one of the two")
	}
	return errors.Join(r.Retry.check(), r.Restart.check(), r.Hedge.check())
}
