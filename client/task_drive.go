package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/object"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// How a task is followed. The server's interval counts between these bounds, and
// the lower one when it names none (resilience.md F19): a server that says 0 is
// not asked without a pause, one that says a year is not forgotten.
const (
	minPoll     = time.Second
	maxPoll     = 5 * time.Minute
	maxTaskTime = 24 * time.Hour
	// maxPollFailures is how many requests in a row may fail in a way that may
	// pass before the wait ends.
	maxPollFailures = 5
)

// drive waits until the task has ended, for bound at most (0 is none), and
// returns the result as it came.
func (t *Task) drive(ctx context.Context, bound time.Duration) (json.RawMessage, error) {
	if !t.ended() { // an end is told whatever ctx says
		if err := t.lock(ctx); err != nil {
			return nil, err
		}
		defer t.unlock()
		if err := t.follow(ctx, bound); err != nil {
			if ctx.Err() != nil && t.opts.cancelTask {
				t.cancelBehind()
			}
			return nil, t.unsettled(err)
		}
		if t.progress != nil {
			t.progress.listener.finish(ctx, t.c) // f is not called any more once Wait has returned
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.outcome), t.failure
}

// lock makes the caller the one who follows the task: two would answer its
// questions twice.
func (t *Task) lock(ctx context.Context) error {
	select {
	case t.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return t.about(mcperrors.From(ctx.Err(), mcperrors.Unknown))
	case <-t.c.life.Done():
		return t.about(errClosed())
	}
}

func (t *Task) unlock() { <-t.turn }

// follow asks for the status, does what it calls for and pauses, until the task
// has ended.
func (t *Task) follow(ctx context.Context, bound time.Duration) error {
	if t.ended() { // while this one waited for its turn
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
		return t.about(mcperrors.Timeout(mcperrors.Unknown, "the task did not end", bound, nil))
	}
	return err
}

func (t *Task) poll(ctx context.Context) error {
	hint, done := t.c.hints.get().listen(t.id)
	defer done()
	state, since := t.last()
	known := !since.IsZero()
	for failures := 0; ; {
		var err error
		if !known {
			state, err = t.Status(ctx)
		}
		if since.IsZero() {
			_, since = t.last()
		}
		if err == nil {
			var ended bool
			if ended, err = t.step(ctx, state); ended {
				return nil
			}
		}
		wait := min(max(state.PollInterval, minPoll), maxPoll)
		if err == nil {
			failures = 0
		} else {
			failures++
			if ctx.Err() != nil || failures > maxPollFailures || !mayPass(err) {
				return err
			}
			wait = max(wait, min(mcperrors.RetryAfter(err), maxPoll))
		}
		if state.TTL != nil && !since.IsZero() && time.Since(since)-wait > *state.TTL {
			return t.about(mcperrors.New(mcperrors.E204, mcperrors.KindNotFound, mcperrors.Unknown,
				fmt.Sprintf("the task did not end within the %v the server keeps it", *state.TTL), nil))
		}
		if err := t.pause(ctx, wait, hint); err != nil {
			return err
		}
		known = false
	}
}

// step does what a state calls for, and reports whether the task has ended.
func (t *Task) step(ctx context.Context, state TaskState) (ended bool, err error) {
	switch {
	case state.Status == mcp.TaskCancelled:
		t.end(nil, t.about(mcperrors.Canceled(mcperrors.Answered, errTaskCancelled)))
		return true, nil
	case state.Status.Final() && t.stateless:
		t.endWith(state)
		return true, nil
	case state.Status.Final():
		return t.fetch(ctx, state.Status)
	case state.Status == mcp.TaskInputRequired && t.stateless:
		return false, t.fulfil(ctx, state.InputRequests)
	case state.Status == mcp.TaskInputRequired:
		return t.fetchEarly(ctx)
	}
	return false, nil
}

var errTaskCancelled = errors.New("the task was cancelled")

// pause waits for the next poll. A notification about the task shortens it, but
// not below minPoll: notifications are hints, and may be many (TASK-02).
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
			return t.about(mcperrors.From(ctx.Err(), mcperrors.Unknown))
		case <-t.c.life.Done():
			return t.about(errClosed())
		}
	}
}

// mayPass reports whether asking again may help: what is known of the task is
// not wrong because a request about it got lost.
func mayPass(err error) bool {
	var e *mcperrors.Error
	if !errors.As(err, &e) || !e.Retryable {
		return false
	}
	switch e.Kind { //nolint:exhaustive // the rest is about the task or about us
	case mcperrors.KindTransport, mcperrors.KindTimeout, mcperrors.KindOverloaded, mcperrors.KindCircuitOpen,
		mcperrors.KindServer, mcperrors.KindSessionLost:
		return true
	}
	return false
}

// ask sends one request about the task. Giving up such a request is not told to
// the server, which could take it for giving up the task (UTIL-03, TASK-10); but
// for tasks/result, which waits there.
func (t *Task) ask(ctx context.Context, method string, members []byte) (json.RawMessage, error) {
	c := t.c
	cl := call{method: method, tool: t.tool, name: t.id, uncancelled: method != mcp.MethodTasksResult}
	cl.opts.idle, cl.opts.max, cl.opts.timesSet = t.opts.idle, t.opts.max, t.opts.timesSet
	if t.id == "" {
		return nil, c.about(cl.subject(), mcperrors.New(mcperrors.E203, mcperrors.KindInvalidArguments, mcperrors.NotSent, "the task has no id", nil))
	}
	if err := c.gate(cl.subject()); err != nil {
		return nil, t.about(err)
	}
	if t.stateless && !c.offersTasks() {
		return nil, t.about(c.about(cl.subject(), withoutTasks()))
	}
	cl.open = jsonrpc.AppendString([]byte(`{"taskId":`), t.id)
	cl.open = object.Append(cl.open, members)
	if cl.follows = t.follows; cl.follows == nil && !t.token.IsZero() {
		cl.follows = c.progress.get().follow(t.token)
		defer c.progress.get().remove(cl.follows)
	}
	raw, err := c.converse(ctx, &cl)
	if err != nil {
		return nil, t.about(err)
	}
	return raw, nil
}

// about says in an error which task it is about.
func (t *Task) about(err error) error {
	var known *TaskError
	e := mcperrors.From(err, mcperrors.Unknown)
	if e == nil || t.id == "" || errors.As(e, &known) {
		return e
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Cause = &TaskError{ID: t.id, Tool: t.tool, Status: t.seen.Status, Err: e.Cause}
	if e.Server == "" {
		e.Server, e.Method, e.Tool = t.c.server, mcp.MethodToolsCall, t.tool
	}
	return e
}

// unsettled is the error of a wait. That a poll did not reach the server, or was
// refused, is no sign that the call was: repeating the call may do things twice.
func (t *Task) unsettled(err error) error {
	var e *mcperrors.Error
	if t.id == "" || !errors.As(err, &e) || (e.Delivery == mcperrors.Answered && !refusesPoll(e.Kind)) {
		return err
	}
	if _, since := t.last(); since.IsZero() && e.Kind == mcperrors.KindUnsupported {
		return err // a server that cannot have it
	}
	e.Delivery = mcperrors.Unknown
	return err
}

// refusesPoll reports the kinds of answers that are about the question itself:
// how the call ended they do not say.
func refusesPoll(k mcperrors.Kind) bool {
	switch k {
	case mcperrors.KindNotFound, mcperrors.KindUnsupported, mcperrors.KindInvalidArguments, mcperrors.KindProtocol, mcperrors.KindVersion:
		return true
	default:
		return false
	}
}

// heard notes a state.
func (t *Task) heard(state TaskState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		t.since = time.Now()
	}
	t.seen = state
}

// last returns what was heard last, and when something was for the first time.
func (t *Task) last() (state TaskState, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seen, t.since
}

func (t *Task) ended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.done
}

// end notes how the task ended. Until then its progress token stays valid
// (UTIL-10).
func (t *Task) end(outcome json.RawMessage, failure error) {
	t.mu.Lock()
	t.done, t.outcome, t.failure = true, outcome, failure
	t.mu.Unlock()
	if t.progress != nil {
		t.c.progress.get().remove(t.progress)
	}
}

// failedWith is the error of a call that failed while it was a task: the one it
// would have had otherwise. But its code is no proof that nothing was done: the
// server had taken the call.
func (t *Task) failedWith(rpc *jsonrpc.Error) error {
	c, s := t.c, subject{method: mcp.MethodToolsCall, tool: t.tool}
	sent := outcome.Sent{Method: s.method, Tool: s.tool, Version: c.live.Agreed().Version, Profile: c.cfg.profile}
	e := sent.Map(rpc, false)
	c.doubtTool(s, e)
	e = c.about(s, e)
	e.Delivery = mcperrors.Answered
	return t.about(e)
}

// cancelBehind cancels the task behind the caller's back.
func (t *Task) cancelBehind() {
	t.c.behind(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, cancelTimeout)
		defer cancel()
		if err := t.Cancel(ctx); err != nil {
			t.c.log.Warn("[MCP] a task could not be cancelled", "server", t.c.server, "tool", t.tool, "error", err)
		}
	})
}
