package client

import (
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Meter is told what the client does, for counters and histograms
// . Calls wait for its methods, which are called from many
// goroutines at once: they must return at once, and must not call the client. Embed
// [NoMeter], so that methods that come later are there.
type Meter interface {
	// AttemptEnded is called for every request that was made for a call.
	AttemptEnded(AttemptRecord)
	// CallEnded is called for every call, however many requests it took, none
	// included.
	CallEnded(CallRecord)
	// Happened is called for what is neither.
	Happened(Happening)
}

// NoMeter is a [Meter] that does nothing, to be embedded.
type NoMeter struct{}

// AttemptEnded implements [Meter].
func (NoMeter) AttemptEnded(AttemptRecord) {}

// CallEnded implements [Meter].
func (NoMeter) CallEnded(CallRecord) {}

// Happened implements [Meter].
func (NoMeter) Happened(Happening) {}

// WithMeter tells m what the client does. The default is nobody, which costs
// nothing.
func WithMeter(m Meter) Option { return optionFunc(func(c *config) { c.meter = m }) }

// AttemptRecord is one request that has ended.
type AttemptRecord struct {
	// Server names the server, Method is the MCP method, Tool the tool for
	// tools/call.
	Server, Method, Tool string
	Version              mcp.Version
	// Number counts the requests of the call, from 1.
	Number int
	// Class is what was seen, in kebab case: "result", "internal-error", "lost"; the values may grow.
	Class string
	// Delivery is what became of the request, Answered for a result.
	Delivery mcperrors.Delivery
	// OnServer and OnTool say how it counted for the circuit of the server and
	// of the tool.
	OnServer, OnTool breaker.Verdict
	// Status is the HTTP status of a failure, RPCCode the JSON-RPC code of an
	// error answer; 0 for none.
	Status  int
	RPCCode int64
	// Elapsed is from sending to the end.
	Elapsed time.Duration
}

// CallRecord is one call that has ended.
type CallRecord struct {
	// Server names the server, Method is the MCP method, Name what it was about:
	// the tool, prompt, URI or task.
	Server, Method, Name string
	Version              mcp.Version
	// Attempts is how many requests were made.
	Attempts int
	// Elapsed is from the caller's call to its end: waits, pauses and what was
	// asked of the user included.
	Elapsed time.Duration
	// Err is the error of the call, nil for one that was answered with a result
	// (an isError of a tool is a result). It is the caller's and must not be
	// changed.
	Err *mcperrors.Error
}

// Happening is something that is no end of a request or a call.
type Happening struct {
	What Occurrence
	// Server names the server, Method and Tool what it was about, "" where that
	// is nothing of the kind.
	Server, Method, Tool string
	// Wait is how long: of a hold, of a pause before a retry, in a queue.
	Wait time.Duration
	// Reason says more, in words that may change.
	Reason string
	// Count is how many: 1, but for what is noticed together.
	Count int
}

// Occurrence is what happened.
type Occurrence uint8

const (
	// RefusedOpen: a call was refused because the server's circuit is open.
	RefusedOpen Occurrence = iota + 1
	// RefusedToolOpen: a call was refused because the tool's circuit is open.
	RefusedToolOpen
	// RefusedHeld: a call was refused because the server said Retry-After, and
	// that is not over.
	RefusedHeld
	// RefusedFull: a call was refused because too many were in flight or in the
	// queue.
	RefusedFull
	// RefusedRate: a call was refused because its turn by the rate limit would
	// have come too late.
	RefusedRate
	// Retried: a request is made again after Wait.
	Retried
	// RetryDenied: a request that could have been made again was not: Reason
	// says whether budget, deadline or attempts did not allow it.
	RetryDenied
	// HeldServer and HeldCredential: a server's Retry-After keeps calls back for
	// Wait: all there are (503), or those of this client (429).
	HeldServer
	HeldCredential
	// Probed: the circuit was half-open and the server was asked for a sign of
	// life.
	Probed
	// SilenceProbed: nothing came for a while although a call waits, and the
	// server was asked for a sign of life.
	SilenceProbed
	// Silent: it gave none, and its circuit was opened.
	Silent
	// Hedged: a second request was sent beside one that takes long; HedgeWon: it
	// was answered first.
	Hedged
	HedgeWon
	// Queued: a call waited for Wait because of the bulkhead or the rate limit.
	Queued
	// LateAnswers: Count answers came that nobody waits for.
	LateAnswers
)

var occurrences = [...]string{
	RefusedOpen: "refused-open", RefusedToolOpen: "refused-tool-open", RefusedHeld: "refused-held", RefusedFull: "refused-full",
	RefusedRate: "refused-rate", Retried: "retried", RetryDenied: "retry-denied", HeldServer: "held-server",
	HeldCredential: "held-credential", Probed: "probed", SilenceProbed: "silence-probed", Silent: "silent",
	Hedged: "hedged", HedgeWon: "hedge-won", Queued: "queued", LateAnswers: "late-answers",
}

// String returns the name in kebab case, for labels of metrics; "unknown" for a
// number that is no occurrence.
func (o Occurrence) String() string {
	if o == 0 || int(o) >= len(occurrences) {
		return "unknown"
	}
	return occurrences[o]
}

// happened tells the meter, if there is one.
func (c *Client) happened(what Occurrence, s subject, wait time.Duration, reason string) {
	if c.cfg.meter != nil {
		c.cfg.meter.Happened(Happening{What: what, Server: c.server, Method: s.method, Tool: s.tool, Wait: wait, Reason: reason, Count: 1})
	}
}

// callEnded tells the meter of a call.
func (c *Client) callEnded(cl *call, began time.Time, err error) {
	agreed := c.live.Agreed()
	if cl.link != nil {
		agreed = cl.link.Agreed
	}
	c.cfg.meter.CallEnded(CallRecord{
		Server: c.server, Method: cl.method, Name: cl.name, Version: agreed.Version,
		Attempts: cl.attempts, Elapsed: time.Since(began), Err: errormap.From(err, mcperrors.Unknown),
	})
}
