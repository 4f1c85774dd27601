package tasks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/life"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// follow polls the task until it has ended, at most for bound.
func (t *Task) follow(ctx context.Context, bound time.Duration) error {
	if t.hasEnded() { // while this goroutine waited for its turn
		return nil
	}
	outer := ctx
	if bound > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, bound)
		defer cancel()
	}
	err := t.poll(ctx)
	if err != nil && ctx.Err() != nil && outer.Err() == nil {
		return t.name(errormap.Timeout(mcperrors.Unknown, "the task did not end", bound, nil))
	}
	return err
}

// poll requests the status, acts on it and pauses, until the task has ended.
func (t *Task) poll(ctx context.Context) error {
	hint, done := t.follower.hints.listen(t.ID)
	defer done()
	r, since := t.last()
	known := !since.IsZero()
	for failures := 0; ; {
		var err error
		if !known {
			r, err = t.status(ctx)
		}
		if since.IsZero() {
			_, since = t.last()
		}
		if err == nil {
			var ended bool
			if ended, err = t.act(ctx, r); ended {
				return nil
			}
		}
		wait := min(max(r.PollInterval, minPoll), maxPoll)
		if err == nil {
			failures = 0
		} else {
			failures++
			if ctx.Err() != nil || failures > maxPollFailures || !mayPass(err) {
				return err
			}
			wait = max(wait, min(mcperrors.RetryAfter(err), maxPoll))
		}
		if r.TTL != nil && !since.IsZero() && time.Since(since)-wait > *r.TTL {
			return t.name(mcperrors.New(mcperrors.CodeToolNotFound, mcperrors.KindNotFound, mcperrors.Unknown,
				fmt.Sprintf("the task did not end within %v, after which the server may delete it", *r.TTL), nil))
		}
		if err := t.pause(ctx, wait, hint); err != nil {
			return err
		}
		known = false
	}
}

// act acts on a state, and reports whether the task has ended.
func (t *Task) act(ctx context.Context, r report) (ended bool, err error) {
	switch {
	case r.Status == mcp.TaskCancelled:
		t.end(nil, t.name(errormap.Canceled(mcperrors.Answered, errCancelled)))
		return true, nil
	case r.Status.Final() && t.Stateless:
		t.endWith(r)
		return true, nil
	case r.Status.Final():
		return t.fetch(ctx, r.Status)
	case r.Status == mcp.TaskInputRequired && t.Stateless:
		return false, t.answerNew(ctx, r.InputRequests)
	case r.Status == mcp.TaskInputRequired:
		return t.fetchEarly(ctx)
	}
	return false, nil
}

var errCancelled = errors.New("the task was cancelled")

// pause waits for the next poll. A notification about the task shortens the wait, but not below
// minPoll: notifications are hints, and may be frequent.
func (t *Task) pause(ctx context.Context, wait time.Duration, hint <-chan struct{}) error {
	began := time.Now()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-hint:
			hint = nil
			timer.Reset(max(0, min(wait, minPoll)-time.Since(began)))
		case <-ctx.Done():
			return t.name(errormap.From(ctx.Err(), mcperrors.Unknown))
		case <-t.follower.Life.Context().Done():
			return t.name(life.ErrClosed())
		}
	}
}

// mayPass reports whether another poll may help: a lost poll is no evidence about the task.
func mayPass(err error) bool {
	var e *mcperrors.Error
	if !errors.As(err, &e) || !e.Retryable {
		return false
	}
	switch e.Kind { //nolint:exhaustive // all others are permanent
	case mcperrors.KindTransport, mcperrors.KindTimeout, mcperrors.KindOverloaded, mcperrors.KindCircuitOpen,
		mcperrors.KindServer, mcperrors.KindSessionLost:
		return true
	}
	return false
}
