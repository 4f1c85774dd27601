package guard

import (
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// Signal is an event that does not end a request or a call.
type Signal struct {
	Kind Kind
	// Method and Tool are empty for an event without a request.
	Method, Tool string
	// Wait is the duration of a throttle, or the time in a queue.
	Wait   time.Duration
	Reason string
	// Denied is why a retry was denied.
	Denied resilience.Denial
	Count  int
}

// Kind is the kind of a signal.
type Kind uint8

// The kinds of signals.
const (
	// RefusedOpen: the circuit of the server is open.
	RefusedOpen Kind = iota + 1
	// RefusedToolOpen: the circuit of the tool is open.
	RefusedToolOpen
	// RefusedThrottled: the server has sent Retry-After.
	RefusedThrottled
	// RefusedFull: too many requests are in flight or in the queue.
	RefusedFull
	// RefusedRate: the wait for the rate limit would be too long.
	RefusedRate
	// ThrottledServer: a 503 throttles all clients that share the circuit.
	ThrottledServer
	// ThrottledCredentials: a 429 throttles this client.
	ThrottledCredentials
	// Probed: the server was pinged for a half-open circuit.
	Probed
	// SilenceProbed: a silent server was pinged.
	SilenceProbed
	// Silent: the circuit of a silent server was opened.
	Silent
	// Queued: a call has waited for the bulkhead or the rate limit.
	Queued
	// LateAnswers: answers arrived without a call that waits for them.
	LateAnswers
	// Retried: a request is retried after a pause.
	Retried
	// RetryDenied: a retry that could help was denied.
	RetryDenied
	// Hedged: a second request was sent beside a slow one.
	Hedged
	// HedgeWon: the second request was answered first.
	HedgeWon
)

// Report reports an event of a call, or of no call for the zero Subject.
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
