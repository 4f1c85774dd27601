package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// RetryPolicy says which calls may be made again after a failure.
type RetryPolicy uint8

const (
	// RetryNever makes none again.
	RetryNever RetryPolicy = iota
	// RetryProof makes again what provably does no harm: the server did nothing,
	// or the method can be repeated (lists, reads, prompts), or the tool says so
	// of a server that is trusted ([WithTrustedServer]), or the server honours
	// the call's idempotency key. It is the default.
	RetryProof
	// RetryHints is RetryProof that believes the annotations of every server.
	// The specification wants them disbelieved otherwise.
	RetryHints
	// RetryAlways makes every call again, also one that may have been executed:
	// for servers whose every tool can be run twice. What carries requestState is
	// the exception: that may be good for one use only.
	RetryAlways
)

// Retry says what is tried again after a failure that may pass, and how often.
// The zero Retry is off; Retry{Policy: RetryProof} has the defaults below. A
// retry waits: for a random time below a bound that doubles, or for as long as
// the server says by Retry-After, never shorter. One that would not end within
// the call's time is not begun: the call fails at once, with RetryAfter set.
// Calls that the client refuses itself, above all by an open circuit, are not
// tried again within the call.
type Retry struct {
	Policy RetryPolicy
	// Attempts is how often a call is tried at most; 0 means 3. LockedAttempts is
	// the same for calls that a server refuses because its database is locked,
	// which are counted apart; 0 means 5.
	Attempts, LockedAttempts int
	// Base bounds the first wait and Cap all of them; 0 means 100 ms and 20 s.
	// Servers that are asked too often are asked again from one second on.
	Base, Cap time.Duration
	// Budget bounds how much of the traffic is retries: how many can be paid from
	// a full budget, 0 means 10, less than 0 is no bound. Ten calls that succeed
	// pay for one more; a retry after a timeout costs twice as much, and three in
	// ten seconds are always possible.
	Budget int
}

func (r Retry) check() error {
	switch {
	case r.Policy > RetryAlways:
		return fmt.Errorf("resilience: unknown retry policy %d", r.Policy)
	case r.Attempts < 0 || r.LockedAttempts < 0 || r.Base < 0 || r.Cap < 0:
		return errors.New("resilience: attempts and waits of retries must not be negative; 0 means the default")
	case r.Cap > 0 && r.Base > r.Cap:
		return errors.New("resilience: the first wait of retries is over their cap")
	case r.Policy == RetryNever && r != (Retry{}):
		return errors.New("resilience: retries are set up, but their policy is RetryNever")
	}
	return nil
}

// WithTrustedServer says that what the server's annotations claim of its tools
// is true: tools that are read-only or idempotent by their annotations are tried
// again after failures.
func WithTrustedServer() Option { return optionFunc(func(c *config) { c.trusted = true }) }

// WithRetryPolicy sets the policy of one call; see [Resilience].Retry.
func WithRetryPolicy(p RetryPolicy) CallOption {
	return callOptionFunc(func(o *callOptions) { o.policy, o.policySet = p, true })
}

// policy is the one for a call, resilience.Never for none.
func (c *Client) policy(cl *call) resilience.Policy {
	p := c.res.Retry.Policy
	if cl.opts.policySet {
		p = cl.opts.policy
	}
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

// retrying is how far a call has come that has failed.
type retrying struct {
	last  resilience.Attempt // the last attempt that failed
	state resilience.State
	// doubt says that an attempt may have been executed: whatever becomes of
	// later ones, the call may have been.
	doubt bool
	// err is the error of the last attempt that was made again.
	err *mcperrors.Error
}

// budgets pay for retries.
type budgets struct{ retries, locked *resilience.Budget }

func (c *Client) budgets() *budgets {
	if parts := c.parts.peek(); parts != nil {
		return parts.budgets.peek()
	}
	return nil
}

func (c *Client) madeBudgets() *budgets {
	return c.parts.get().budgets.made(func() *budgets {
		prices := func(p resilience.Prices) *resilience.Budget {
			switch n := c.res.Retry.Budget; {
			case n < 0:
				p.Size = math.MaxInt32
			case n > 0:
				p.Size = 10 * n
			}
			return resilience.NewBudget(p)
		}
		return &budgets{retries: prices(resilience.Prices{}), locked: prices(resilience.LockedPrices())}
	})
}

// retryAfter applies the retry policy to an attempt that failed and that nothing
// has repaired. It reports whether the call is sent again, after a pause. When it
// is not and there is no error, the result that the error was read from is the
// call's.
func (c *Client) retryAfter(ctx context.Context, cl *call, out *outcome.Outcome) (again bool, err error) {
	err = c.denied(ctx, cl, out)
	switch {
	case err == nil:
		return true, nil
	case out.Result != nil && err == error(out.Err): //nolint:errorlint // identity: it is not sent again
		return false, nil
	}
	return false, err
}

// denied waits until a call may be sent again and returns nil, or the error of one
// that may not.
func (c *Client) denied(ctx context.Context, cl *call, out *outcome.Outcome) error {
	err, r := out.Error(), cl.retry
	if r == nil || cl.purpose == link.Handshake || cl.purpose == link.Liveness {
		return err
	}
	if out.Local() { // what was seen of the server says more
		return c.refusedAgain(cl, err)
	}
	if cl.method == mcp.MethodTasksGet || cl.method == mcp.MethodTasksResult {
		return c.inDoubt(cl, err) // who follows a task asks again by himself
	}
	s := r.state
	s.Policy, s.MaxAttempts, s.MaxLocked = c.policy(cl), c.res.Retry.Attempts, c.res.Retry.LockedAttempts
	s.Repeat = c.repeatable(cl, s.Policy)
	s.Remaining, s.Random = c.remaining(ctx, cl), rand.Float64()
	d := resilience.Decide(r.last, s)
	if !d.Again {
		if r.last.Class.Retryable() && s.Policy != resilience.Never {
			c.happened(RetryDenied, cl.subject(), 0, d.Why)
		}
		return c.inDoubt(cl, err)
	}
	d.Wait = max(c.backoff(d.Wait, r.last, s), c.throttle().Left())
	budget := c.madeBudgets().retries
	if d.Charge == resilience.ChargeLocked {
		budget = c.madeBudgets().locked
	}
	if d.Wait >= s.Remaining || !budget.Take(d.Charge, time.Now()) {
		c.happened(RetryDenied, cl.subject(), 0, "budget or time")
		return c.inDoubt(cl, err)
	}
	r.state, r.err = s.After(r.last), errormap.From(err, mcperrors.Unknown)
	c.happened(Retried, cl.subject(), d.Wait, r.last.Class.String())
	if d.Wait > 0 && !c.sleep(ctx, d.Wait) {
		return c.about(cl.subject(), c.stopped(ctx, r))
	}
	if e := c.awaitLink(ctx, cl); e != nil { // nor while the server is started again
		return c.refusedAgain(cl, e)
	}
	if cl.progress != nil {
		c.progressTable().Renew(cl.progress)
	}
	return nil
}

// backoff replaces a wait by one of the application's own times. What a server
// asked for stays.
func (c *Client) backoff(wait time.Duration, a resilience.Attempt, s resilience.State) time.Duration {
	own := c.res.Retry
	if wait == 0 || a.RetryAfter > 0 || (own.Base == 0 && own.Cap == 0) {
		return wait
	}
	b := resilience.Backoff{Base: 100 * time.Millisecond, Cap: 20 * time.Second}
	if own.Base > 0 {
		b.Base = own.Base
	}
	if a.Class == resilience.ClassThrottled || a.Class == resilience.ClassLocked {
		b.Base = max(b.Base, time.Second)
	}
	if own.Cap > 0 {
		b.Cap = own.Cap
	}
	return b.Wait(s.Waits, s.Random)
}

// repeatable tells whether a call may run twice.
func (c *Client) repeatable(cl *call, p resilience.Policy) resilience.Repeat {
	r := resilience.Request{
		Method: cl.method, Trusted: c.cfg.trusted, Policy: p, Key: c.keyed(cl), Stateful: len(cl.round) > 0,
	}
	if cl.method == mcp.MethodToolsCall && (r.Trusted || p == resilience.Hints) {
		if t, _, ok := c.cache().Lookup(cl.link.Agreed.Key, cl.tool); ok {
			r.Annotations = t.Annotations
		}
	}
	return resilience.RepeatOf(r)
}

// inDoubt says in the error of a call what an earlier attempt may have done.
func (c *Client) inDoubt(cl *call, err error) error {
	var e *mcperrors.Error
	if cl.retry != nil && cl.retry.doubt && errors.As(err, &e) && (e.Delivery == mcperrors.NotSent || e.Delivery == mcperrors.Rejected) {
		e.Delivery = mcperrors.Unknown
	}
	return err
}

// refusedAgain is the error of a call that this client refuses to make again:
// what it failed with, and when it may be tried later.
func (c *Client) refusedAgain(cl *call, err error) error {
	e := cl.retry.err
	kind := mcperrors.KindOf(err)
	if e == nil || (kind != mcperrors.KindCircuitOpen && kind != mcperrors.KindOverloaded) {
		return c.inDoubt(cl, err)
	}
	if after := mcperrors.RetryAfter(err); e.Retryable && after > e.RetryAfter {
		e.RetryAfter = after
	}
	e.Attempts = cl.attempts
	return c.inDoubt(cl, e)
}

// stopped is the error of a call that ends in the pause before a retry. Nothing
// is on its way then: the call was not done, unless an attempt before may have.
func (c *Client) stopped(ctx context.Context, r *retrying) *mcperrors.Error {
	delivery := r.err.Delivery
	if r.doubt {
		delivery = mcperrors.Unknown
	}
	cause := context.Cause(ctx)
	if cause == nil {
		cause = errClosed()
	}
	e := *errormap.From(cause, delivery)
	e.Delivery = delivery
	e.Cause = errors.Join(cause, r.err)
	return &e
}
