package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/mcp"
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
// The client pauses before a retry: for a random time below a bound that
// doubles, and at least for the Retry-After of the server. If the pause would
// exceed the call's deadline, the call fails at once, with RetryAfter set. The
// client does not retry calls that it refused itself, such as those of an open
// circuit.
type Retry struct {
	// Policy sets which calls may be retried.
	Policy RetryPolicy
	// Attempts bounds the attempts of a call. The default is 3. LockedAttempts
	// does the same for calls that fail because the server's database is
	// locked, which are counted separately. The default is 5.
	Attempts, LockedAttempts int
	// MinPause bounds the first pause and MaxPause every pause. The defaults
	// are 100 ms and 20 s. When the server throttles the call or its database
	// is locked, the first bound is one second.
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
	case r.Attempts < 0 || r.LockedAttempts < 0 || r.MinPause < 0 || r.MaxPause < 0:
		return errors.New("resilience: attempts and pauses of retries must not be negative; 0 means the default")
	case r.MaxPause > 0 && r.MinPause > r.MaxPause:
		return errors.New("resilience: MinPause of retries is more than their MaxPause")
	case r.Policy == RetryNever && r != (Retry{Policy: RetryNever}):
		return errors.New("resilience: retries are set up, but their policy is RetryNever")
	}
	return nil
}

// WithRetryPolicy sets the policy of one call; see [Resilience].Retry.
func WithRetryPolicy(p RetryPolicy) CallOption {
	return callOptionFunc(func(o *callOptions) { o.Policy, o.OwnPolicy = p.policy(), true })
}

// policy is the one for a call, resilience.Never for none.
func (c *Client) policy(cl *run.Call) resilience.Policy {
	if cl.OwnPolicy {
		return cl.Policy
	}
	return c.res.Retry.Policy.policy()
}

// policy returns what package resilience calls p, Never for a p that is unknown.
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

// budgets returns what pays for retries, nil before the first.
func (c *Client) budgets() *run.Budgets {
	if parts := c.parts.Peek(); parts != nil {
		return parts.budgets.Peek()
	}
	return nil
}

// retry applies the retry policy to an attempt that failed and that nothing
// has repaired. It reports whether the call is sent again, after a pause. When it
// is not and there is no error, the result that the error was read from is the
// call's.
func (c *Client) retry(ctx context.Context, cl *run.Call, out *outcome.Outcome) (again bool, err error) {
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
func (c *Client) awaitRetry(ctx context.Context, cl *run.Call, out *outcome.Outcome) error {
	err, r := out.Error(), cl.Retries
	if r == nil || cl.Purpose == link.Handshake || cl.Purpose == link.Liveness {
		return err
	}
	if out.Local() { // what was seen of the server says more
		return r.Refused(err, cl.Attempts)
	}
	if cl.Method == mcp.MethodTasksGet || cl.Method == mcp.MethodTasksResult {
		return r.InDoubt(err) // who follows a task asks again by himself
	}
	set, policy := c.res.Retry, c.policy(cl)
	d := r.Next(errormap.From(err, mcperrors.Unknown), &run.Chance{
		Settings: run.Settings{Attempts: set.Attempts, LockedAttempts: set.LockedAttempts, Pauses: resilience.Backoff{Base: set.MinPause, Cap: set.MaxPause}},
		Policy:   policy, Repeat: c.repeatable(ctx, cl, policy),
		Remaining: c.span(cl).Remaining(ctx), Throttled: c.ThrottledFor(), Random: rand.Float64(), Now: time.Now(),
		Budgets: func() *run.Budgets {
			return c.parts.Get().budgets.Make(func() *run.Budgets { return run.NewBudgets(set.Budget) })
		},
	})
	if !d.Again {
		if d.Denied {
			c.happened(RetryDenied, cl.Subject(), 0, d.Why)
		}
		return r.InDoubt(err)
	}
	c.happened(Retried, cl.Subject(), d.Wait, r.Last.Class.String())
	if d.Wait > 0 && !c.sleep(ctx, d.Wait) {
		cause := context.Cause(ctx)
		if cause == nil {
			cause = life.ErrClosed()
		}
		return c.about(cl.Subject(), r.Stopped(cause))
	}
	if e := c.awaitLink(ctx, cl); e != nil { // nor while the server is started again
		return r.Refused(e, cl.Attempts)
	}
	if cl.Progress != nil {
		c.inbound().Progress().Renew(cl.Progress)
	}
	return nil
}

// repeatable tells whether a call may run twice.
func (c *Client) repeatable(ctx context.Context, cl *run.Call, p resilience.Policy) resilience.Repeat {
	var hints *mcp.ToolAnnotations
	if cl.Method == mcp.MethodToolsCall && p == resilience.Hints {
		hints = c.catalog().Annotations(ctx, cl.Tool)
	}
	return cl.Repeat(c.cfg.keyPrefix, p, hints)
}
