package llm

import (
	"context"
	"fmt"
	"time"
)

// Attempts and times of a real provider (S3: up to 2 retries; U3: 15 s).
const (
	Attempts    = 3
	CallTimeout = 15 * time.Second
	firstPause  = 200 * time.Millisecond
)

// A Fallback asks a provider, and the mock when the provider fails: a
// clarification never fails for want of a language model.
type Fallback struct {
	provider Provider // nil is the mock alone
	mock     Mock
}

// NewFallback returns a fallback around p; nil is the mock alone.
func NewFallback(p Provider) *Fallback { return &Fallback{provider: p} }

// Questions is [Provider.Questions]. The cause is why the mock answered
// instead of the provider, or nil. Err is only ever that of ctx.
func (f *Fallback) Questions(ctx context.Context, req Request, mockOnly bool) (c Clarification, cause, err error) {
	return ask(ctx, f, mockOnly, func(ctx context.Context, p Provider) (Clarification, error) { return p.Questions(ctx, req) })
}

// Extract is [Provider.Extract], like [Fallback.Questions]. Err may also be
// [ErrNothing], from the mock.
func (f *Fallback) Extract(ctx context.Context, req Request, mockOnly bool) (d Decision, cause, err error) {
	return ask(ctx, f, mockOnly, func(ctx context.Context, p Provider) (Decision, error) { return p.Extract(ctx, req) })
}

func ask[T any](ctx context.Context, f *Fallback, mockOnly bool, call func(context.Context, Provider) (T, error)) (out T, cause, err error) {
	if f.provider != nil && !mockOnly {
		out, cause = attempts(ctx, f.provider, call)
		if cause == nil {
			return out, nil, nil
		}
		if ctx.Err() != nil {
			return out, nil, context.Cause(ctx)
		}
	}
	out, err = call(ctx, f.mock)
	return out, cause, err
}

func attempts[T any](ctx context.Context, p Provider, call func(context.Context, Provider) (T, error)) (out T, err error) {
	pause := firstPause
	for n := 1; ; n++ {
		out, err = attempt(ctx, p, call)
		if err == nil || n == Attempts || ctx.Err() != nil {
			return out, err
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return out, context.Cause(ctx)
		}
		pause *= 2
	}
}

func attempt[T any](ctx context.Context, p Provider, call func(context.Context, Provider) (T, error)) (out T, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, CallTimeout, fmt.Errorf("no answer within %s", CallTimeout))
	defer cancel()
	return call(ctx, p)
}
