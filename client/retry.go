package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
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

// budgets returns what pays for retries, nil before the first.
func (c *Client) budgets() *run.Budgets {
	if parts := c.parts.peek(); parts != nil {
		return parts.budgets.peek()
	}
	return nil
}

// retry applies the retry policy to an attempt that failed and that nothing
// has repaired. It reports whether the call is sent again, after a pause. When it
// is not and there is no error, the result that the error was read from is the
// call's.
func (c *Client) retry(ctx context.Context, cl *call, out *outcome.Outcome) (again bool, err error) {
	err = c.awaitRetry(ctx, cl, out)
	switch {
	case err == nil:
		return true, nil
	case out.Result != nil && err == error(out.Err): //nolint:errorlint // identity: it is not sent again
		return false, nil
	}
	return false, err
}

// awaitRetry waits until a call may be sent again and returns nil, or the error of one
// that may not.
func (c *Client) awaitRetry(ctx context.Context, cl *call, out *outcome.Outcome) error {
	err, r := out.Error(), cl.retries
	if r == nil || cl.purpose == link.Handshake || cl.purpose == link.Liveness {
		return err
	}
	if out.Local() { // what was seen of the server says more
		return r.Refused(err, cl.attempts)
	}
	if cl.method == mcp.MethodTasksGet || cl.method == mcp.MethodTasksResult {
		return r.InDoubt(err) // who follows a task asks again by himself
	}
	set, policy := c.res.Retry, c.policy(cl)
	d := r.Next(errormap.From(err, mcperrors.Unknown), &run.Chance{
		Settings: run.Settings{Attempts: set.Attempts, LockedAttempts: set.LockedAttempts, First: set.Base, Most: set.Cap},
		Policy:   policy, Repeat: c.repeatable(cl, policy),
		Remaining: c.span(cl).Remaining(ctx), Throttled: c.throttle().Left(), Random: rand.Float64(), Now: time.Now(),
		Budgets: func() *run.Budgets {
			return c.parts.get().budgets.made(func() *run.Budgets { return run.NewBudgets(set.Budget) })
		},
	})
	if !d.Again {
		if d.Denied {
			c.happened(RetryDenied, cl.subject(), 0, d.Why)
		}
		return r.InDoubt(err)
	}
	c.happened(Retried, cl.subject(), d.Wait, r.Last.Class.String())
	if d.Wait > 0 && !c.sleep(ctx, d.Wait) {
		cause := context.Cause(ctx)
		if cause == nil {
			cause = errClosed()
		}
		return c.about(cl.subject(), r.Stopped(cause))
	}
	if e := c.awaitLink(ctx, cl); e != nil { // nor while the server is started again
		return r.Refused(e, cl.attempts)
	}
	if cl.progress != nil {
		c.progressTable().Renew(cl.progress)
	}
	return nil
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
