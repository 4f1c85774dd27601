package run

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/guard"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// RetrySettings configure retries. A zero value means the default of package resilience.
type RetrySettings struct {
	Policy   resilience.Policy
	Attempts int
	// Pauses limits the pauses between attempts.
	Pauses resilience.Backoff
	// Budget is the size of the budget; see [NewBudget].
	Budget int
}

// NewBudget returns a budget that pays for size retries when it is full. 0 means the default, and
// a negative size means no limit.
func NewBudget(size int) *resilience.Budget {
	var p resilience.Prices
	switch {
	case size < 0:
		p.Size = math.MaxInt32
	case size > 0:
		p.Size = 10 * size
	}
	return resilience.NewBudget(p)
}

// Retries is the retry state of a call. It is nil for a call without a failure.
type Retries struct {
	// Last is the record of the last attempt that failed.
	Last resilience.Attempt
	// Doubt is set if an attempt may have run on the server: then the call may have run, whatever
	// the outcome of later attempts.
	Doubt bool

	// Owed is the failure that circuits count if the call fails.
	Owed guard.Owed

	err   *mcperrors.Error // of the last attempt that was retried
	state resilience.State
}

// Failed notes an attempt that failed.
func (r *Retries) Failed(a resilience.Attempt) {
	r.Last = a
	// An error answer may be sent after the call has partly run.
	r.Doubt = r.Doubt || a.Delivery == mcperrors.Unknown || a.Delivery == mcperrors.Answered
}

// Chance has the inputs of a retry decision besides the call's history.
type Chance struct {
	RetrySettings
	Repeat resilience.Repeat
	// Remaining is the time until the call must end, and Throttled how long the server is
	// throttled.
	Remaining, Throttled time.Duration
	Random               float64 // from [0, 1)
	Now                  time.Time
	Budget               func() *resilience.Budget
}

// Decision is the decision whether to retry a call.
type Decision struct {
	Again bool
	Wait  time.Duration
	// Denied is what denied a retry that could have helped, 0 for nothing. Why describes it.
	Denied resilience.Denial
	Why    string
}

// Next decides whether to retry a call whose last attempt failed with err. It pays for the retry
// from the budget.
func (r *Retries) Next(err *mcperrors.Error, c *Chance) Decision {
	s := r.state
	s.Policy, s.Repeat, s.MaxAttempts = c.Policy, c.Repeat, c.Attempts
	s.Remaining, s.Random, s.Pauses = c.Remaining, c.Random, c.Pauses
	d := resilience.Decide(r.Last, s)
	if !d.Again {
		if d.Denied == 0 {
			return Decision{}
		}
		return Decision{Denied: d.Denied, Why: d.Why}
	}
	wait := max(d.Wait, c.Throttled)
	if wait >= s.Remaining {
		return Decision{Denied: resilience.DeniedTime, Why: "the deadline leaves no time for it"}
	}
	if !c.Budget().Take(d.Charge, c.Now) {
		return Decision{Denied: resilience.DeniedBudget, Why: "the budget for retries is used up"}
	}
	r.state, r.err = s.After(r.Last), err
	return Decision{Again: true, Wait: wait}
}

// InDoubt records in the error of a call that an earlier attempt may have run. It returns err.
func (r *Retries) InDoubt(err error) error {
	var e *mcperrors.Error
	if r != nil && r.Doubt && errors.As(err, &e) && (e.Delivery == mcperrors.NotSent || e.Delivery == mcperrors.Rejected) {
		e.Delivery = mcperrors.Unknown
	}
	return err
}

// Refused returns the error of a call whose retry this client refuses: the error of the attempt
// before, with the time until a later call may succeed.
func (r *Retries) Refused(err error, attempts int) error {
	kind := mcperrors.KindOf(err)
	if r.err == nil || (kind != mcperrors.KindCircuitOpen && kind != mcperrors.KindOverloaded) {
		return r.InDoubt(err)
	}
	if after := mcperrors.RetryAfter(err); r.err.Retryable && after > r.err.RetryAfter {
		r.err.RetryAfter = after
	}
	r.err.Attempts = attempts
	return r.InDoubt(r.err)
}

// Stopped returns the error of a call that ends in the pause before a retry. Nothing is in flight
// then: the call did not run unless an earlier attempt did.
func (r *Retries) Stopped(cause error) *mcperrors.Error {
	delivery := r.err.Delivery
	if r.Doubt {
		delivery = mcperrors.Unknown
	}
	e := *errormap.From(cause, delivery)
	e.Delivery = delivery
	e.Cause = errors.Join(cause, r.err)
	return &e
}

// Repeat reports whether the call may run twice. hints are the annotations of its tool if the
// policy uses them, and prefix is the prefix of idempotency keys.
func (c *Call) Repeat(prefix string, p resilience.Policy, hints *mcp.ToolAnnotations) resilience.Repeat {
	return resilience.RepeatOf(resilience.Request{
		Method: c.Method, Policy: p, Key: c.KeyAccepted(prefix), Stateful: len(c.Round) > 0, Annotations: hints,
	})
}

// Budget returns the retry budget, nil before the first retry.
func (r *Runner) Budget() *resilience.Budget {
	if l := r.learned.Peek(); l != nil {
		return l.budget.Peek()
	}
	return nil
}

// retry applies the retry policy to a failed attempt that was not repaired. It reports whether to
// send the call again. If not, and there is no error, the call returns the result that the error
// was derived from.
func (r *Runner) retry(ctx context.Context, c *Call, out *outcome.Outcome) (again bool, err error) {
	again, err = r.awaitRetry(ctx, c, out)
	if again || err != nil || out.Result != nil {
		return again, err
	}
	return false, c.Retries.InDoubt(out.Error())
}

// awaitRetry decides whether to send a call again, and waits until it may be sent. It returns
// false without an error if the call ends with the failure of the attempt.
func (r *Runner) awaitRetry(ctx context.Context, c *Call, out *outcome.Outcome) (again bool, err error) {
	had := c.Retries
	switch {
	case had == nil, c.Purpose == link.Handshake, c.Purpose == link.Liveness:
		return false, nil
	case out.Local(): // the server's own error is more useful
		return false, had.Refused(out.Error(), c.Attempts)
	case c.Method == mcp.MethodTasksGet, c.Method == mcp.MethodTasksResult:
		return false, nil // the task follower polls again
	}
	chance := Chance{
		RetrySettings: r.Set.Retry, Repeat: r.repeatable(ctx, c),
		Remaining: r.Span(c).Remaining(ctx), Throttled: r.Guard.Throttle().Left(), Random: rand.Float64(), Now: time.Now(),
		Budget: func() *resilience.Budget {
			return r.learned.Get().budget.Make(func() *resilience.Budget { return NewBudget(r.Set.Retry.Budget) })
		},
	}
	chance.Policy = r.policy(c)
	d := had.Next(out.Err, &chance)
	if !d.Again {
		if d.Denied != 0 {
			r.Guard.Deny(c.Subject(), d.Denied, d.Why)
		}
		return false, nil
	}
	r.Guard.Report(guard.Retried, c.Subject(), d.Wait, had.Last.Class.String())
	if d.Wait > 0 {
		if err := r.Life.Sleep(ctx, d.Wait); err != nil {
			return false, r.about(c, had.Stopped(err))
		}
	}
	if err := r.awaitLink(ctx, c); err != nil { // nor while the server is restarted
		return false, had.Refused(err, c.Attempts)
	}
	if c.Progress != nil {
		r.Client.Inbound().Progress().Renew(c.Progress)
	}
	return true, nil
}

// policy returns the retry policy of a call, [resilience.Never] for no retries.
func (r *Runner) policy(c *Call) resilience.Policy {
	if c.OwnPolicy {
		return c.Policy
	}
	return r.Set.Retry.Policy
}

// repeatable reports whether a call may run twice.
func (r *Runner) repeatable(ctx context.Context, c *Call) resilience.Repeat {
	var hints *mcp.ToolAnnotations
	p := r.policy(c)
	if c.Method == mcp.MethodToolsCall && p == resilience.Hints {
		tools := c.Tools(ctx, r.Client.Catalog())
		hints = tools.Annotations(c.Tool)
	}
	return c.Repeat(r.Set.KeyPrefix, p, hints)
}
