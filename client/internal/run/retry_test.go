package run

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func lostAttempt(d mcperrors.Delivery) resilience.Attempt {
	return resilience.Attempt{Method: mcp.MethodToolsList, Class: resilience.ClassLost, Delivery: d, Kind: mcperrors.KindTransport}
}

// chance allows a retry.
func chance() *Chance {
	budget := NewBudget(0)
	return &Chance{
		Repeat: resilience.Repeatable, Remaining: time.Minute, Random: 0.5, Now: time.Now(), Budget: func() *resilience.Budget { return budget },
	}
}

// spent uses up the budget.
func spent(c *Chance) {
	for range 100 {
		r := &Retries{}
		r.Failed(lostAttempt(mcperrors.NotSent))
		r.Next(&mcperrors.Error{}, c)
	}
}

// A retry needs the policy, the time and the budget.
func TestNext(t *testing.T) {
	t.Parallel()
	busy := resilience.Attempt{Method: mcp.MethodToolsList, Class: resilience.ClassBusy, Delivery: mcperrors.Rejected}
	asked := busy
	asked.RetryAfter = 3 * time.Second
	limit := busy
	limit.Class = resilience.ClassThrottled
	app := resilience.Attempt{Method: mcp.MethodToolsList, Class: resilience.ClassApp, Delivery: mcperrors.Answered}
	for _, tt := range []struct {
		name string
		last resilience.Attempt
		set  func(*Chance)
		want Decision
	}{
		{"at a random time", busy, func(*Chance) {}, Decision{Again: true, Wait: 50 * time.Millisecond}},
		{"when the server says", asked, func(*Chance) {}, Decision{Again: true, Wait: 3300 * time.Millisecond}},
		{"not before a throttle is over", busy, func(c *Chance) { c.Throttled = 2 * time.Second }, Decision{Again: true, Wait: 2 * time.Second}},
		{"at the application's time", busy, func(c *Chance) { c.Pauses.Base = time.Second }, Decision{Again: true, Wait: 500 * time.Millisecond}},
		{"at most so late", busy, func(c *Chance) { c.Pauses = resilience.Backoff{Base: time.Minute, Cap: 4 * time.Second} }, Decision{Again: true, Wait: 2 * time.Second}},
		{"a throttled one from one second on", limit, func(c *Chance) { c.Pauses.Base = time.Millisecond }, Decision{Again: true, Wait: 500 * time.Millisecond}},
		{"the server's time stays", asked, func(c *Chance) { c.Pauses.Cap = time.Second }, Decision{Again: true, Wait: 3300 * time.Millisecond}},
		{"not after the call's end", busy, func(c *Chance) { c.Remaining = 10 * time.Millisecond }, Decision{Denied: resilience.DeniedTime, Why: "the deadline leaves no time for it"}},
		{"not a throttle that ends after it", busy, func(c *Chance) { c.Throttled = time.Hour }, Decision{Denied: resilience.DeniedTime, Why: "the deadline leaves no time for it"}},
		{"not without a budget", busy, spent, Decision{Denied: resilience.DeniedBudget, Why: "the budget for retries is used up"}},
		{"not if it may have been done", lostAttempt(mcperrors.Unknown), func(c *Chance) { c.Repeat = resilience.Unsafe }, Decision{}},
		{"not without a policy", busy, func(c *Chance) { c.Policy = resilience.Never }, Decision{}},
		{"not what would fail again", app, func(*Chance) {}, Decision{}},
	} {
		r, c := &Retries{}, chance()
		r.Failed(tt.last)
		tt.set(c)
		got := r.Next(&mcperrors.Error{}, c)
		require.Equal(t, tt.want, got, tt.name)
	}
}

// A used-up budget denies retries, and successful calls refill it.
func TestBudget(t *testing.T) {
	t.Parallel()
	var none *resilience.Budget
	none.Success()
	retries := func(b *resilience.Budget) (n int) {
		for ; n < 1000; n++ {
			r, c := &Retries{}, chance()
			c.Now, c.Budget = time.Unix(0, 0).Add(time.Duration(n)*time.Minute), func() *resilience.Budget { return b }
			if r.Failed(lostAttempt(mcperrors.NotSent)); !r.Next(&mcperrors.Error{}, c).Again {
				return n
			}
		}
		return n
	}
	require.Equal(t, 1000, retries(NewBudget(-1)))
	few := NewBudget(2)
	full := few.Tokens()
	require.Positive(t, full)
	few.Success()
	require.Equal(t, full, few.Tokens(), "not more than full")
}

// The attempts of a call are limited.
func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	r, c := &Retries{}, chance()
	c.Attempts = 2
	r.Failed(lostAttempt(mcperrors.NotSent))
	require.True(t, r.Next(&mcperrors.Error{}, c).Again)
	r.Failed(lostAttempt(mcperrors.NotSent))
	d := r.Next(&mcperrors.Error{}, c)
	require.False(t, d.Again)
	require.Equal(t, Decision{Denied: resilience.DeniedAttempts, Why: "tried often enough"}, d)
}

// If one attempt may have run, the call may have run.
func TestDoubt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		attempt, last, want mcperrors.Delivery
	}{
		{mcperrors.NotSent, mcperrors.NotSent, mcperrors.NotSent},
		{mcperrors.Rejected, mcperrors.NotSent, mcperrors.NotSent},
		{mcperrors.Unknown, mcperrors.NotSent, mcperrors.Unknown},
		{mcperrors.Answered, mcperrors.Rejected, mcperrors.Unknown},
		{mcperrors.Unknown, mcperrors.Answered, mcperrors.Answered},
	} {
		r := &Retries{}
		r.Failed(lostAttempt(tt.attempt))
		r.Failed(lostAttempt(mcperrors.NotSent))
		e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, tt.last, "no", nil)
		require.Same(t, e, r.InDoubt(e))
		require.Equal(t, tt.want, e.Delivery, "%+v", tt)
	}
	var none *Retries
	require.NoError(t, none.InDoubt(nil))
}

// A retry that the client refuses fails with the error of the attempt.
func TestRefusedRetry(t *testing.T) {
	t.Parallel()
	first := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, "first", nil)
	open := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindCircuitOpen, mcperrors.NotSent, "open", nil)
	open.RetryAfter = time.Minute
	gone := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindClosed, mcperrors.NotSent, "closed", nil)
	r := &Retries{}
	require.Same(t, open, r.Refused(open, 1), "there was no retry")
	r.Failed(lostAttempt(mcperrors.NotSent))
	require.True(t, r.Next(first, chance()).Again)
	require.Same(t, gone, r.Refused(gone, 1), "not a refusal of a limit")
	require.Same(t, first, r.Refused(open, 2))
	require.Equal(t, time.Minute, first.RetryAfter)
	require.Equal(t, 2, first.Attempts)
	e := r.Stopped(context.Canceled)
	require.ErrorIs(t, e, context.Canceled)
	require.ErrorIs(t, e, first)
	require.Equal(t, mcperrors.NotSent, e.Delivery)
	r.Doubt = true
	require.Equal(t, mcperrors.Unknown, r.Stopped(errors.New("x")).Delivery)
}
