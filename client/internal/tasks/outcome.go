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

// endWith ends a task of the stateless era with its last report.
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

// failedWith returns the error of a call that failed as a task: the error of the call, but its
// code is no proof that the call did not run, because the server had accepted it.
func (t *Task) failedWith(rpc *jsonrpc.Error) error {
	e := t.follower.Refused(t.Tool, rpc)
	e.Delivery = mcperrors.Answered
	return t.name(e)
}

// fetch fetches the outcome of an ended task of 2025-11-25: the result or the error of the call.
// A failed task has one too.
func (t *Task) fetch(ctx context.Context, status mcp.TaskStatus) (ended bool, err error) {
	raw, err := t.send(ctx, mcp.MethodTasksResult, nil)
	e := errormap.From(err, mcperrors.Unknown)
	switch {
	case e == nil:
		t.end(raw, nil)
	case e.RPC == nil:
		return false, err
	case status == mcp.TaskCompleted && e.Kind == mcperrors.KindNotFound:
		// The task succeeded, but its result has expired.
		t.end(nil, t.inDoubt(err))
	default:
		t.end(nil, t.failedWith(e.RPC))
	}
	return true, nil
}

// fetchEarly waits for the outcome with an open request, over which the server asks its
// questions. If the server rejects that, the task is polled again.
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
		return false, nil // people take their time to answer
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
	case r.Status == mcp.TaskCompleted: // it has completed meanwhile: the error was about the wait
		return t.fetch(ctx, r.Status)
	}
	return false, nil
}

// inputs has the questions of a task of the stateless era so far.
type inputs struct {
	answered map[string]bool
	// pending are answers that have not reached the server yet: their handlers are not called
	// again.
	pending mcp.InputResponses
}

// maxInputs limits the number of questions of one task.
const maxInputs = 1_000

// answerNew answers the new questions of the task, with the same handlers as for other calls.
func (t *Task) answerNew(ctx context.Context, requests mcp.InputRequests) error {
	if t.inputs.pending == nil {
		unanswered := maps.Clone(requests)
		maps.DeleteFunc(unanswered, func(key string, _ mcp.InputRequest) bool { return t.inputs.answered[key] })
		if len(unanswered) == 0 {
			return nil // the server has the answers but has not used them yet
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

// Answer sends the caller's answers to a task of the stateless era.
func (t *Task) Answer(ctx context.Context, responses mcp.InputResponses) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	defer t.unlock()
	return t.update(ctx, responses)
}

var errNoAnswers = errors.New("there are no input responses for the task")

// update sends answers. The caller must hold the turn.
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
