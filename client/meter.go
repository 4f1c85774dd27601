package client

import (
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Meter records what the client does, for counters and histograms. Calls wait
// for its methods, which run on many goroutines at once: they must return
// quickly and must not call the client. Embed [NoMeter] to stay compatible
// with methods that are added later.
type Meter interface {
	// AttemptEnded is called at the end of every request that belongs to a
	// call.
	AttemptEnded(AttemptRecord)
	// CallEnded is called at the end of every call, even if it sent no request.
	CallEnded(CallRecord)
	// Observe is called for every other event.
	Observe(Signal)
}

// NoMeter is a [Meter] that does nothing. Embed it.
type NoMeter struct{}

// AttemptEnded implements [Meter].
func (NoMeter) AttemptEnded(AttemptRecord) {}

// CallEnded implements [Meter].
func (NoMeter) CallEnded(CallRecord) {}

// Observe implements [Meter].
func (NoMeter) Observe(Signal) {}

// WithMeter sets the Meter of the client. By default there is none, at no
// cost.
func WithMeter(m Meter) Option { return optionFunc(func(c *config) { c.meter = m }) }

// AttemptRecord describes one finished request.
type AttemptRecord struct {
	// Server is the name of the server, Method the MCP method, Tool the tool for
	// tools/call.
	Server, Method, Tool string
	Version              mcp.Version
	// Number counts the requests of the call, from 1.
	Number int
	// Class classifies the outcome in kebab case, for example "result",
	// "internal-error" or "lost". More values may be added.
	Class string
	// Delivery tells whether the request reached the server; Answered for a
	// result.
	Delivery mcperrors.Delivery
	// OnServer and OnTool are the verdicts for the circuits of the server and
	// the tool.
	OnServer, OnTool breaker.Verdict
	// Status is the HTTP status of a failure, RPCCode the JSON-RPC code of an
	// error answer; 0 for none.
	Status  int
	RPCCode int64
	// Elapsed is the time from sending to the end.
	Elapsed time.Duration
}

// CallRecord describes one finished call.
type CallRecord struct {
	// Server is the name of the server, Method the MCP method. Name is its target:
	// the tool, prompt, URI or task.
	Server, Method, Name string
	Version              mcp.Version
	// Attempts is the number of requests.
	Attempts int
	// Elapsed is the whole time of the call, including queues, pauses and the
	// user's answers.
	Elapsed time.Duration
	// Err is the error of the call, nil if it returned a result (even one with
	// isError). It belongs to the caller and must not be changed.
	Err *mcperrors.Error
}

// Signal is an event that does not end a request or a call.
type Signal struct {
	Kind SignalKind
	// Server is the name of the server. Method and Tool are the call it belongs to, ""
	// for none.
	Server, Method, Tool string
	// Wait is the length of a throttle, of a pause before a retry or of a wait
	// in a queue.
	Wait time.Duration
	// Reason has details as text that may change.
	Reason string
	// Denied is what prevented a retry, 0 for any other Kind than RetryDenied.
	Denied RetryDenial
	// Count is the number of events: 1, except for events that are noticed
	// together.
	Count int
	// Login is what happened to the login, "" for any other Kind than LoginSignal.
	Login transport.LoginState
}

// SignalKind is the kind of a [Signal].
type SignalKind uint8

const (
	// RefusedOpen: a call was refused because the server's circuit is open.
	RefusedOpen SignalKind = iota + 1
	// RefusedToolOpen: a call was refused because the tool's circuit is open.
	RefusedToolOpen
	// RefusedThrottled: a call was refused because the server's Retry-After is not
	// over.
	RefusedThrottled
	// RefusedFull: a call was refused because too many calls were in flight or
	// queued.
	RefusedFull
	// RefusedRate: a call was refused because the rate limit would have delayed
	// it too long.
	RefusedRate
	// Retried: the client retries a request after Wait.
	Retried
	// RetryDenied: a request was not retried although that was safe and might have
	// helped. Denied tells what prevented it.
	RetryDenied
	// ThrottledServer and ThrottledCredentials: a Retry-After throttles calls for Wait,
	// either all calls to the server (503) or those of this client (429).
	ThrottledServer
	ThrottledCredentials
	// Probed: the circuit was half-open and the client sent a liveness probe.
	Probed
	// SilenceProbed: the server sent nothing for a while although a call waits,
	// and the client sent a liveness probe.
	SilenceProbed
	// Silent: the server answered no probe, and its circuit was opened.
	Silent
	// Hedged: the client sent a second request beside a slow one. HedgeWon: the
	// second request was answered first.
	Hedged
	HedgeWon
	// Queued: a call waited for Wait because of the bulkhead or the rate limit.
	Queued
	// LateAnswers: Count answers arrived after their calls had ended.
	LateAnswers
	// LoginSignal: the login changed; see Login. Each client that uses the login
	// reports it.
	LoginSignal
)

var signalNames = [...]string{
	RefusedOpen: "refused-open", RefusedToolOpen: "refused-tool-open", RefusedThrottled: "refused-throttled", RefusedFull: "refused-full",
	RefusedRate: "refused-rate", Retried: "retried", RetryDenied: "retry-denied", ThrottledServer: "throttled-server",
	ThrottledCredentials: "throttled-credentials", Probed: "probed", SilenceProbed: "silence-probed", Silent: "silent",
	Hedged: "hedged", HedgeWon: "hedge-won", Queued: "queued", LateAnswers: "late-answers",
	LoginSignal: "login",
}

// String returns the name in kebab case, for metric labels, or "unknown" for
// an undefined value.
func (o SignalKind) String() string {
	if o == 0 || int(o) >= len(signalNames) {
		return "unknown"
	}
	return signalNames[o]
}

// RetryDenial is what prevented a retry; see [RetryDenied].
type RetryDenial uint8

const (
	// DeniedByBudget: the client has retried too much lately.
	DeniedByBudget RetryDenial = iota + 1
	// DeniedByTime: the retry would begin after the deadline of the call, or later
	// than the client waits for a server.
	DeniedByTime
	// DeniedByAttempts: the call has used all its attempts.
	DeniedByAttempts
)

var denialNames = [...]string{DeniedByBudget: "budget", DeniedByTime: "time", DeniedByAttempts: "attempts"}

// String returns "budget", "time" or "attempts", for metric labels, or "unknown" for
// an undefined value.
func (d RetryDenial) String() string {
	if d == 0 || int(d) >= len(denialNames) {
		return "unknown"
	}
	return denialNames[d]
}

// ended reports the end of a call to the meter of its client.
func (cl *call) ended(c *Client, began time.Time, err error) {
	agreed := c.core.Links.Agreed()
	if cl.Link != nil {
		agreed = cl.Link.Agreed
	}
	c.cfg.meter.CallEnded(CallRecord{
		Server: c.core.Server, Method: cl.Method, Name: cl.Name, Version: agreed.Version,
		Attempts: cl.Attempts, Elapsed: time.Since(began), Err: errormap.From(err, mcperrors.Unknown),
	})
}

// guardedMeter protects the goroutines of the client from panics of the application's
// meter.
type guardedMeter struct {
	failed func(*callback.Error)
	m      Meter
}

// AttemptEnded implements [Meter].
func (g guardedMeter) AttemptEnded(r AttemptRecord) {
	callback.Aside("Meter.AttemptEnded", g.failed, func() { g.m.AttemptEnded(r) })
}

// CallEnded implements [Meter].
func (g guardedMeter) CallEnded(r CallRecord) {
	callback.Aside("Meter.CallEnded", g.failed, func() { g.m.CallEnded(r) })
}

// Observe implements [Meter].
func (g guardedMeter) Observe(h Signal) {
	callback.Aside("Meter.Observe", g.failed, func() { g.m.Observe(h) })
}
