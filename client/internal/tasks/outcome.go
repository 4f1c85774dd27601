package tasks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// endWith ends a task of the stateless era, whose last report has everything.
func (t *Task) endWith(r report) {
	switch {
	case r.Status == mcp.TaskFailed && r.err != nil:
		t.end(nil, t.failedWith(r.err))
	case r.Status == mcp.TaskCompleted && r.result != nil:
		t.end(slices.Clone(r.result), nil)
	default:
		t.end(nil, t.name(t.follower.Undecodable(t.subject(), fmt.Errorf("the server reports the task as %s, but without an outcome", r.Status))))
	}
}

// failedWith is the error of a call that failed while it was a task: the one that
// the call would have had. But its code is no proof that nothing was done: the
// server had taken the call.
func (t *Task) failedWith(rpc *jsonrpc.Error) error {
	e := t.follower.Refused(t.Tool, rpc)
	e.Delivery = mcperrors.Answered
	return t.name(e)
}

// fetch gets the outcome of a task of 2025-11-25 that has ended: the result or the
// error that the call would have had. A failed task has one too.
func (t *Task) fetch(ctx context.Context, status mcp.TaskStatus) (ended bool, err error) {
	raw, err := t.send(ctx, mcp.MethodTasksResult, nil)
	e := errormap.From(err, mcperrors.Unknown)
	switch {
	case e == nil:
		t.end(raw, nil)
	case e.RPC == nil:
		return false, err
	case status == mcp.TaskCompleted && e.Kind == mcperrors.KindNotFound:
		// The task succeeded, and its result has expired since.
		t.end(nil, t.inDoubt(err))
	default:
		t.end(nil, t.failedWith(e.RPC))
	}
	return true, nil
}

// fetchEarly waits for the outcome at the server, which asks its questions on the
// open request. A server that refuses such a wait is polled again.
func (t *Task) fetchEarly(ctx context.Context) (ended bool, err error) {
	raw, err := t.send(ctx, mcp.MethodTasksResult, nil)
	if err == nil {
		t.end(raw, nil)
		return true, nil
	}
	e := errormap.From(err, mcperrors.Unknown)
	switch {
	case ctx.Err() != nil:
		return false, err
	case e.Kind == mcperrors.KindTimeout && e.RPC == nil:
		return false, nil // people take their time
	case e.RPC == nil:
		return false, err
	}
	r, statusErr := t.status(ctx)
	switch {
	case statusErr != nil:
		return false, statusErr
	case r.Status == mcp.TaskFailed:
		t.end(nil, t.failedWith(e.RPC))
		return true, nil
	case r.Status == mcp.TaskCompleted: // since: the error was about waiting
		return t.fetch(ctx, r.Status)
	}
	return false, nil
}

// inputs are the questions of a task of the stateless era so far.
type inputs struct {
	answered map[string]bool
	// pending are answers that did not reach the server yet: no handler runs for
	// them again.
	pending mcp.InputResponses
}

// maxInputs bounds how much one task may ask.
const maxInputs = 1_000

// answerNew answers the questions that the task has no answer to yet, through the
// same handlers as everything else.
func (t *Task) answerNew(ctx context.Context, requests mcp.InputRequests) error {
	if t.inputs.pending == nil {
		unanswered := maps.Clone(requests)
		maps.DeleteFunc(unanswered, func(key string, _ mcp.InputRequest) bool { return t.inputs.answered[key] })
		if len(unanswered) == 0 {
			return nil // the server has the answers and takes its time
		}
		if len(t.inputs.answered)+len(unanswered) > maxInputs {
			return t.name(t.follower.About(t.subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
				fmt.Sprintf("the task asks more than %d questions", maxInputs), nil)))
		}
		responses, err := t.Call.Answer(ctx, unanswered)
		if err != nil {
			return t.name(err)
		}
		t.inputs.pending = responses
	}
	return t.update(ctx, t.inputs.pending)
}

// Answer answers questions of a task of the stateless era by hand.
func (t *Task) Answer(ctx context.Context, responses mcp.InputResponses) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	defer t.unlock()
	return t.update(ctx, responses)
}

var errNoAnswers = errors.New("there are no input responses for the task")

// update sends answers. The holder of the turn calls it.
func (t *Task) update(ctx context.Context, responses mcp.InputResponses) error {
	if len(responses) == 0 {
		return t.name(mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, errNoAnswers.Error(), errNoAnswers))
	}
	if _, err := t.send(ctx, mcp.MethodTasksUpdate, responses); err != nil {
		return err
	}
	if t.inputs.answered == nil {
		t.inputs.answered = map[string]bool{}
	}
	for key := range responses {
		t.inputs.answered[key] = true
	}
	t.inputs.pending = nil
	return nil
}
