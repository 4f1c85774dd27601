package resilience

import (
	"math"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Policy says what may be made again. The zero value is
// Proof.
type Policy uint8

const (
	// Proof repeats what is known to do no harm: the server did nothing, or the
	// method or the tool of a trusted server can be repeated, or the server
	// honours idempotency keys.
	Proof Policy = iota
	// Hints believes the annotations of every server.
	Hints
	// Always repeats every call.
	Always
	// Never repeats none.
	Never
)

// Repeat is whether a request may run twice.
type Repeat uint8

const (
	// Unsafe: a second run may do harm. It is made again only with proof that
	// there was no first.
	Unsafe Repeat = iota
	// Repeatable: two runs do the same as one.
	Repeatable
	// Keyed: the server promises to run requests with the same key once.
	Keyed
)

// Request is what decides whether a request may run twice.
type Request struct {
	Method string
	// Annotations are the tool's, nil when they are not known.
	Annotations *mcp.ToolAnnotations
	// Key: the request has an idempotency key and the server announced that it
	// honours them.
	Key bool
	// Stateful: the request carries a requestState, which may be good for one
	// use only.
	Stateful bool
	Policy   Policy
}

// RepeatOf tells whether a request may run twice. Methods
// that nobody has heard of may not.
func RepeatOf(r Request) Repeat {
	switch {
	case r.Key:
		return Keyed
	case r.Stateful: // whatever the policy: the state may be good only once
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
	// DefaultAttempts is how often a call is tried.
	DefaultAttempts = 3
	// unprocessedAttempts is how often a request is sent that HTTP/2 says was not
	// processed, under any policy: as often as the HTTP layer of the standard library
	// sends a request that may run twice.
	unprocessedAttempts = 8
)

// Unbounded is the Remaining of a call without a deadline.
const Unbounded = time.Duration(math.MaxInt64)

// State is the history of a call when an attempt of it has ended. [State.After] keeps its
// counters.
type State struct {
	Policy Policy
	Repeat Repeat
	// MaxAttempts bounds the attempts; 0 means [DefaultAttempts].
	MaxAttempts int
	// Failed counts the attempts of this call that failed before the one in
	// question, Exits those in which the program ended, Stale those that lost a
	// connection that had been used before, and Waits the pauses since a server named
	// a time.
	Failed, Exits, Stale, Waits int
	// Pauses bounds the pauses. The defaults are 100 ms, doubling to 20 s.
	Pauses Backoff
	// Remaining is the time to the call's deadline, [Unbounded] without one.
	// Without remaining time nothing is repeated.
	Remaining time.Duration
	// Random is from [0, 1), new for each decision.
	Random float64
}

// Charge is how much a retry costs; see [Budget] and [Prices].
type Charge uint8

const (
	// ChargeNone: nothing is paid.
	ChargeNone Charge = iota
	// ChargeRetry: a retry.
	ChargeRetry
	// ChargeTimeout: a retry after a timeout, which cost the server more.
	ChargeTimeout
)

// Decision says whether a call is made again.
type Decision struct {
	Again bool
	// Wait is how long to wait first.
	Wait time.Duration
	// Charge has to be paid first.
	Charge Charge
	// Denied is what keeps a call from being made again that would be safe to make
	// again and might end otherwise, 0 where nothing does.
	Denied Denial
	// Why says why not, or why it may be, in a few words for logs.
	Why string
}

// Denial is what keeps a retry that could help from being made.
type Denial uint8

const (
	// DeniedBudget: the retries of all calls together are too many.
	DeniedBudget Denial = iota + 1
	// DeniedTime: the call has no time left for it, or the server wants to be left
	// alone for longer.
	DeniedTime
	// DeniedAttempts: the call was tried often enough.
	DeniedAttempts
)

// Decide tells whether a call is made again after attempt a. A server that names a time
// is never asked earlier: one that names
// more than [MaxHold], or more than is left of the deadline, is not asked again
// within the call.
func Decide(a Attempt, s State) Decision {
	switch {
	case s.Policy == Never && a.Class != ClassUnprocessed:
		return no("retries are off")
	case a.Class.Corrected():
		return no("needs a correction, not a retry")
	case !a.Class.Retryable() || a.Final:
		return no("would end the same way")
	case a.Class == ClassInternal && a.Method != mcp.MethodToolsCall && a.RetryAfter == 0 && s.Policy != Always:
		// Servers answer a list or a read with -32603 while their backend is away. A
		// moment later the answer is the same, and the caller would wait for it.
		return no("the server has answered")
	}
	why := harmless(a, s.Repeat)
	if why == "" {
		return no("it may have been done")
	}
	if a.Class == ClassExited && (a.Repeated || s.Repeats(a)) {
		return denied(DeniedAttempts, "the program ended under it twice")
	}
	d := Decision{Again: true, Charge: ChargeRetry, Why: why}
	switch {
	case a.Class == ClassUnprocessed: // no work for the server, and none for the budget
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

// harmless says why running the request again does no harm, "" when it may.
func harmless(a Attempt, r Repeat) string {
	switch {
	case a.Delivery == mcperrors.NotSent:
		return "it was not sent"
	case a.Delivery == mcperrors.Rejected:
		return "it was refused undone"
	case r == Repeatable:
		return "it can be repeated"
	case r == Keyed:
		return "its key keeps it from running twice"
	}
	return ""
}

// when sets the wait, or gives up where the deadline leaves no room for it.
func (d Decision) when(a Attempt, s State) Decision {
	room := max(s.Remaining, 0)
	switch {
	case a.RetryAfter > 0:
		if a.RetryAfter > MaxHold {
			return denied(DeniedTime, "the server wants to be left alone too long")
		}
		if a.RetryAfter > room {
			return denied(DeniedTime, "the server wants to be left alone beyond the deadline")
		}
		// Later than told by up to a fifth, so that not all come at once, but
		// not beyond the deadline for the sake of that.
		d.Wait = min(a.RetryAfter+scaled(a.RetryAfter/5, s.Random), room)
	case a.Class == ClassLost && a.Reused && !a.Repeated && !s.Repeats(a):
		d.Wait = 0 // on a connection that is not old
	case a.Class == ClassUnprocessed && s.Failed == 0:
		d.Wait = 0 // a server that shuts down: on another connection
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

// After returns the state of a call that is made again after attempt a. A wait
// that the server named restarts the exponential pauses.
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
