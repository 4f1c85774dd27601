package guard

import (
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// Signal is an event that does not end a request or a call.
type Signal struct {
	Kind Kind
	// Method and Tool are empty for an event that is about no request.
	Method, Tool string
	// Wait is how long: of a throttle, or in a queue.
	Wait   time.Duration
	Reason string
	// Denied is what denied a retry.
	Denied resilience.Denial
	Count  int
}

// Kind is what happened.
type Kind uint8

// The kinds of signals.
const (
	// RefusedOpen: the circuit of the server is open.
	RefusedOpen Kind = iota + 1
	// RefusedToolOpen: the circuit of the tool is open.
	RefusedToolOpen
	// RefusedThrottled: the server has said Retry-After.
	RefusedThrottled
	// RefusedFull: too many requests are in flight or in the queue.
	RefusedFull
	// RefusedRate: the rate limit would make the call wait too long.
	RefusedRate
	// ThrottledServer: a 503 throttles all that share the circuit.
	ThrottledServer
	// ThrottledCredentials: a 429 throttles this client.
	ThrottledCredentials
	// Probed: a half-open circuit had the server pinged.
	Probed
	// SilenceProbed: a silent server was pinged.
	SilenceProbed
	// Silent: a silent server had its circuit opened.
	Silent
	// Queued: a call has waited for the bulkhead or the rate limit.
	Queued
	// LateAnswers: answers came that no call waits for.
	LateAnswers
	// Retried: a request is retried after a pause.
	Retried
	// RetryDenied: a retry that could help is not made.
	RetryDenied
	// Hedged: a second request was sent beside a slow one.
	Hedged
	// HedgeWon: the second request was answered first.
	HedgeWon
)

// Report reports an event of a call, of no call for the zero Subject.
func (g *Gate) Report(kind Kind, s outcome.Subject, wait time.Duration, reason string) {
	if g.metered {
		g.parts().Signal(Signal{Kind: kind, Method: s.Method, Tool: s.Tool, Wait: wait, Reason: reason, Count: 1})
	}
}

// Deny reports that a retry of a call was denied.
func (g *Gate) Deny(s outcome.Subject, by resilience.Denial, reason string) {
	if g.metered {
		g.parts().Signal(Signal{Kind: RetryDenied, Method: s.Method, Tool: s.Tool, Denied: by, Reason: reason, Count: 1})
	}
}
