package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// endWith ends a task of the stateless era, whose last state has everything
// (TASK-08).
func (t *Task) endWith(state TaskState) {
	s := subject{method: mcp.MethodTasksGet, tool: t.tool}
	switch {
	case state.Status == mcp.TaskFailed && state.err != nil:
		t.end(nil, t.failedWith(state.err))
	case state.Status == mcp.TaskCompleted && state.result != nil:
		t.end(slices.Clone(state.result), nil)
	default:
		t.end(nil, t.about(t.c.undecodable(s, fmt.Errorf("a task that is %s comes without its outcome", state.Status))))
	}
}

// fetch gets the outcome of a task of 2025-11-25 that has ended: the result, or
// the error, that the call would have had. A failed task has one too (TASK-05).
func (t *Task) fetch(ctx context.Context, status mcp.TaskStatus) (ended bool, err error) {
	raw, err := t.ask(ctx, mcp.MethodTasksResult, nil)
	e := mcperrors.From(err, mcperrors.Unknown)
	switch {
	case e == nil:
		t.end(raw, nil)
	case e.RPC == nil:
		return false, err
	case status == mcp.TaskCompleted && e.Kind == mcperrors.KindNotFound:
		// It ended well, and its result has expired since (TASK-04).
		t.end(nil, t.unsettled(err))
	default:
		t.end(nil, t.failedWith(e.RPC))
	}
	return true, nil
}

// fetchEarly waits for the outcome at the server, which needs the open request to
// ask its questions on (TASK-03). A server that refuses to be waited at is
// polled again.
func (t *Task) fetchEarly(ctx context.Context) (ended bool, err error) {
	raw, err := t.ask(ctx, mcp.MethodTasksResult, nil)
	if err == nil {
		t.end(raw, nil)
		return true, nil
	}
	e := mcperrors.From(err, mcperrors.Unknown)
	switch {
	case ctx.Err() != nil:
		return false, err
	case e.Kind == mcperrors.KindTimeout && e.RPC == nil:
		return false, nil // people take their time
	case e.RPC == nil:
		return false, err
	}
	state, statusErr := t.Status(ctx)
	switch {
	case statusErr != nil:
		return false, statusErr
	case state.Status == mcp.TaskFailed:
		t.end(nil, t.failedWith(e.RPC))
		return true, nil
	case state.Status == mcp.TaskCompleted: // since: the error was about waiting
		return t.fetch(ctx, state.Status)
	}
	return false, nil
}

// taskInputs is what a task of the stateless era wanted to know so far.
type taskInputs struct {
	answered map[string]bool
	// pending are answers that did not reach the server yet: nobody is asked for
	// them again.
	pending mcp.InputResponses
}

// maxTaskInputs bounds what one task may want to know.
const maxTaskInputs = 1_000

// fulfil answers what the task wants to know and was not told yet, through the
// same handlers as everything else (TASK-09, MRTR-14).
func (t *Task) fulfil(ctx context.Context, requests mcp.InputRequests) error {
	if t.opts.manualInput {
		return t.about(inputRequired(&InputRequired{Requests: requests}))
	}
	if t.inputs.pending == nil {
		fresh := maps.Clone(requests)
		maps.DeleteFunc(fresh, func(key string, _ mcp.InputRequest) bool { return t.inputs.answered[key] })
		if len(fresh) == 0 {
			return nil // told already; it comes through in time
		}
		if len(t.inputs.answered)+len(fresh) > maxTaskInputs {
			return t.about(t.c.about(subject{method: mcp.MethodTasksGet, tool: t.tool}, mcperrors.New(mcperrors.E203, mcperrors.KindProtocol, mcperrors.Answered,
				fmt.Sprintf("the task wants to know more than %d things", maxTaskInputs), nil)))
		}
		c := t.c
		responses, err := c.dispatcher().AnswerAll(ctx, ask.Occasion{Agreed: c.live.Agreed(), Method: mcp.MethodToolsCall, Tool: t.tool}, fresh)
		if err != nil {
			return t.about(inputError(err, nil))
		}
		t.inputs.pending = responses
	}
	return t.answer(ctx, t.inputs.pending)
}

var errNoAnswers = errors.New("there are no input responses to tell the task")

// answer sends answers. The holder of the turn calls it.
func (t *Task) answer(ctx context.Context, responses mcp.InputResponses) error {
	encoded, err := ask.Encode(responses, nil)
	if err == nil && len(responses) == 0 {
		err = errNoAnswers
	}
	if err != nil {
		return t.about(badOption(err))
	}
	if _, err = t.ask(ctx, mcp.MethodTasksUpdate, encoded); err != nil {
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
