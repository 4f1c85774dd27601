package client

import (
	"errors"
	"fmt"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// RetryPolicy sets which calls may be retried after a failure.
type RetryPolicy uint8

const (
	// RetryProof retries calls for which a second run provably does no harm: the server
	// did nothing, or the method can be repeated (lists, reads, prompts), or the server
	// honours the call's idempotency key. It is the default.
	RetryProof RetryPolicy = iota
	// RetryHints also retries tools that are read-only or idempotent by their
	// annotations. Use it for servers that you trust, as the specification asks.
	RetryHints
	// RetryAlways retries every call, even one that may have run. Use it for
	// servers whose tools are all idempotent. A request with requestState is
	// never retried this way: the state may be valid only once.
	RetryAlways
	// RetryNever retries nothing.
	RetryNever
)

// Retry sets how the client retries calls after transient failures. The zero
// Retry has the defaults below; Policy: RetryNever disables retries.
//
// The client pauses before a retry, for a random time below a bound that doubles each
// time, and at least for the Retry-After of the server. If the pause would
// exceed the call's deadline, the call fails at once, with RetryAfter set. The
// client does not retry calls that it refused itself, such as those of an open
// circuit.
type Retry struct {
	// Policy sets which calls may be retried.
	Policy RetryPolicy
	// Attempts bounds the attempts of a call. The default is 3.
	Attempts int
	// MinPause bounds the first pause and MaxPause every pause. The defaults
	// are 100 ms and 20 s. When the server throttles the call, the first bound is
	// one second.
	MinPause, MaxPause time.Duration
	// Budget bounds the share of traffic that is retries: it is the number of
	// retries that a full budget pays for. The default is 10; a negative value
	// disables the bound. Ten successful calls pay for one retry. A retry after
	// a timeout costs twice as much. Three retries in ten seconds are always
	// allowed.
	Budget int
}

func (r Retry) check() error {
	switch {
	case r.Policy > RetryNever:
		return fmt.Errorf("resilience: unknown retry policy %d", r.Policy)
	case r.Attempts < 0 || r.MinPause < 0 || r.MaxPause < 0:
		return errors.New("resilience: attempts and pauses of retries must not be negative; 0 means the default")
	case r.MaxPause > 0 && r.MinPause > r.MaxPause:
		return errors.New("resilience: MinPause of retries exceeds their MaxPause")
	case r.Policy == RetryNever && r != (Retry{Policy: RetryNever}):
		return errors.New("resilience: the policy RetryNever excludes other settings of retries")
	}
	return nil
}

// WithRetryPolicy sets the policy of one call; see [Resilience].Retry.
func WithRetryPolicy(p RetryPolicy) CallOption {
	return callOptionFunc(func(o *callOptions) { o.Policy, o.OwnPolicy = p.policy(), true })
}

// policy returns the policy of package resilience, Never for an unknown one.
func (p RetryPolicy) policy() resilience.Policy {
	switch p {
	case RetryProof:
		return resilience.Proof
	case RetryHints:
		return resilience.Hints
	case RetryAlways:
		return resilience.Always
	case RetryNever:
	}
	return resilience.Never
}
