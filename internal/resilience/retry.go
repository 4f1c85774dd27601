package resilience

import (
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Policy decides which calls may be repeated. The zero value is Proof.
type Policy uint8

const (
	// Proof repeats calls that are known to be safe: the server did not run them, the method is
	// idempotent, or the server supports the call's idempotency key.
	Proof Policy = iota
	// Hints trusts the annotations of every server.
	Hints
	// Always repeats every call.
	Always
	// Never repeats no call.
	Never
)

// Repeat is whether a request may run twice.
type Repeat uint8

const (
	// Unsafe: a second run may do harm. The request is repeated only if the first certainly did
	// not run.
	Unsafe Repeat = iota
	// Repeatable: two runs have the same effect as one.
	Repeatable
	// Keyed: the server runs requests with the same key once.
	Keyed
)

// Request has the properties that decide whether a request may run twice.
type Request struct {
	Method string
	// Annotations are the tool's, nil if unknown.
	Annotations *mcp.ToolAnnotations
	// Key is set if the request has an idempotency key and the server supports keys.
	Key bool
	// Stateful is set if the request has a requestState, which may be valid only once.
	Stateful bool
	Policy   Policy
}

// RepeatOf returns whether a request may run twice. Unknown methods may not.
func RepeatOf(r Request) Repeat {
	switch {
	case r.Key:
		return Keyed
	case r.Stateful: // under any policy: the state may be valid only once
		return Unsafe
	case r.Policy == Always:
		return Repeatable
	}
	hinted := r.Method == mcp.MethodToolsCall && r.Policy == Hints && r.Annotations.Idempotent()
	if hinted || mcp.Idempotent(r.Method) {
		return Repeatable
	}
	return Unsafe
}

// Attempts of one call.
const (
	// DefaultAttempts is the default number of attempts.
	DefaultAttempts = 3
	// unprocessedAttempts limits the attempts of a request that HTTP/2 reports as not processed,
	// under any policy: as many as the standard library makes for idempotent requests.
	unprocessedAttempts = 8
)

// State is the history of a call after an attempt. [State.After] updates its counters.
type State struct {
	Policy Policy
	Repeat Repeat
	// MaxAttempts limits the attempts; 0 means [DefaultAttempts].
	MaxAttempts int
	// Failed counts the failed attempts of this call before the current one, Exits those in which
	// the program exited, Stale those that lost a reused connection, and Waits the pauses since a
	// server sent Retry-After.
	Failed, Exits, Stale, Waits int
	// Pauses limits the pauses. The defaults are 100 ms, doubling to 20 s.
	Pauses Backoff
	// Remaining is the time to the call's deadline, [math.MaxInt64] without one. Without remaining
	// time there is no retry.
	Remaining time.Duration
	// Random is from [0, 1), new for each decision.
	Random float64
}

// Charge is the cost of a retry; see [Budget] and [Prices].
type Charge uint8

const (
	// ChargeNone: the retry is free.
	ChargeNone Charge = iota
	// ChargeRetry: a retry.
	ChargeRetry
	// ChargeTimeout: a retry after a timeout, which costs the server more.
	ChargeTimeout
)

// Decision is the decision whether to retry a call.
type Decision struct {
	Again bool
	// Wait is the delay before the retry.
	Wait time.Duration
	// Charge is the cost of the retry.
	Charge Charge
	// Denied is what prevents a retry that would be safe and may succeed, 0 for nothing.
	Denied Denial
	// Why is the reason of the decision, in a few words for logs.
	Why string
}

// Denial is what prevents a retry that could help.
type Denial uint8

const (
	// DeniedBudget: all calls together have used up the retry budget.
	DeniedBudget Denial = iota + 1
	// DeniedTime: the deadline of the call comes first, or the server requests a longer pause.
	DeniedTime
	// DeniedAttempts: the call has no attempts left.
	DeniedAttempts
)

// Decide decides whether to retry a call after attempt a. The retry never comes before the
// Retry-After of the server. If that is more than [MaxThrottle], or after the deadline, the call is
// not retried.
func Decide(a Attempt, s State) Decision {
	switch {
	case s.Policy == Never && a.Class != ClassUnprocessed:
		return no("retries are off")
	case a.Class.Corrected():
		return no("needs a correction, not a retry")
	case !a.Class.Retryable() || a.Final:
		return no("would end the same way")
	case a.Class == ClassInternal && a.Method != mcp.MethodToolsCall && a.RetryAfter == 0 && s.Policy != Always:
		// Some servers answer a list or a read with -32603 while their backend is down. A retry
		// would get the same answer, only later.
		return no("the server has answered")
	}
	why := harmless(a, s.Repeat)
	if why == "" {
		return no("it may have run")
	}
	if a.Class == ClassExited && (a.Repeated || s.Repeats(a)) {
		return denied(DeniedAttempts, "the program ended under it twice")
	}
	d := Decision{Again: true, Charge: ChargeRetry, Why: why}
	switch {
	case a.Class == ClassUnprocessed: // no work for the server, so no cost
		if d.Charge = ChargeNone; s.Failed+1 >= max(unprocessedAttempts, s.MaxAttempts) {
			return denied(DeniedAttempts, "tried often enough")
		}
	case s.Failed+1 >= orDefault(s.MaxAttempts, DefaultAttempts):
		return denied(DeniedAttempts, "tried often enough")
	case a.Class == ClassTimeout, a.Kind == mcperrors.KindTimeout:
		d.Charge = ChargeTimeout
	}
	return d.when(a, s)
}

// harmless returns why a retry is safe, "" if it is not.
func harmless(a Attempt, r Repeat) string {
	switch {
	case a.Delivery == mcperrors.NotSent:
		return "it was not sent"
	case a.Delivery == mcperrors.Rejected:
		return "it was rejected before it ran"
	case r == Repeatable:
		return "it is idempotent"
	case r == Keyed:
		return "its key prevents a second run"
	}
	return ""
}

// when sets the delay, or denies the retry if the deadline comes first.
func (d Decision) when(a Attempt, s State) Decision {
	room := max(s.Remaining, 0)
	switch {
	case a.RetryAfter > 0:
		if a.RetryAfter > MaxThrottle {
			return denied(DeniedTime, "the Retry-After of the server is too long")
		}
		if a.RetryAfter > room {
			return denied(DeniedTime, "the Retry-After of the server is after the deadline")
		}
		// Up to 20 % later than Retry-After, so that clients do not retry all at once, but not
		// after the deadline.
		d.Wait = min(a.RetryAfter+scaled(a.RetryAfter/5, s.Random), room)
	case a.Class == ClassLost && a.Reused && !a.Repeated && !s.Repeats(a):
		d.Wait = 0 // on a new connection
	case a.Class == ClassUnprocessed && s.Failed == 0:
		d.Wait = 0 // the server is shutting down: on another connection
	default:
		pauses := s.Pauses.or(retryPauses)
		if a.Class == ClassThrottled {
			pauses.Base = max(pauses.Base, throttledPause)
		}
		d.Wait = pauses.Wait(s.Waits, s.Random)
	}
	if room <= 0 || d.Wait > room {
		return denied(DeniedTime, "the deadline leaves no time for it")
	}
	return d
}

// After returns the state of a call that is retried after attempt a. A Retry-After of the server
// resets the exponential pauses.
func (s State) After(a Attempt) State {
	s.Failed++
	switch {
	case a.Class == ClassExited:
		s.Exits++
	case a.Class == ClassLost && a.Reused:
		s.Stale++
	}
	if s.Waits++; a.RetryAfter > 0 {
		s.Waits = 0
	}
	return s
}

func no(why string) Decision { return Decision{Why: why} }

func denied(by Denial, why string) Decision { return Decision{Denied: by, Why: why} }

func orDefault(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}
