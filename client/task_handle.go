package client

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/tasks"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// handle describes the task to package tasks.
func (t *Task) handle(id, tool string) tasks.Handle {
	return tasks.Handle{
		ID: id, Tool: tool, Stateless: t.c.core.Links.Agreed().Era == mcp.EraStateless, CancelWithWait: t.opts.CancelTask,
		Call: (*taskCall)(t),
	}
}

// taskCall is the part of a Task that package tasks uses.
type taskCall Task

// Send implements [tasks.Call]. If such a request is canceled, the client sends no
// notification, because the server could take it for a cancellation of the task. The
// exception is tasks/result, which waits for the end of the task.
func (t *taskCall) Send(ctx context.Context, method string, answers mcp.InputResponses) (json.RawMessage, error) {
	c, id := t.c, t.task.ID
	cl := newCall(method, nil)
	cl.Tool, cl.Name, cl.Uncancelled = t.task.Tool, id, method != mcp.MethodTasksResult
	cl.Wait = t.opts.Wait
	var members []byte
	if answers != nil {
		var err error
		if members, err = ask.Encode(answers, nil); err != nil {
			return nil, badOption(err)
		}
	}
	if id == "" {
		return nil, c.core.About(cl.Subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, "the task has no id", nil))
	}
	if err := c.gate(cl.Subject()); err != nil {
		return nil, err
	}
	if t.task.Stateless && !c.cfg.offer.HasExtension(c.core.Links.Agreed().Version, mcp.ExtensionTasks) {
		return nil, c.core.About(cl.Subject(), withoutTasks())
	}
	cl.Params = doc.AppendMembers(jsonrpc.AppendString([]byte(`{"taskId":`), id), members)
	if cl.Follows = t.follows; cl.Follows == nil && !t.token.IsZero() {
		cl.Follows = c.inbound().Progress().Follow(t.token)
		defer c.inbound().Progress().Remove(cl.Follows)
	}
	return c.do(ctx, &cl)
}

// Answer implements [tasks.Call].
func (t *taskCall) Answer(ctx context.Context, requests mcp.InputRequests) (mcp.InputResponses, error) {
	if t.opts.Manual {
		return nil, inputRequired(&InputRequired{Requests: requests})
	}
	responses, err := t.c.inbound().Asks().AnswerAll(ctx,
		ask.Occasion{Agreed: t.c.core.Links.Agreed(), Method: mcp.MethodToolsCall, Tool: t.task.Tool}, requests)
	if err != nil {
		return nil, inputError(err, nil)
	}
	return responses, nil
}

// Ended implements [tasks.Call]. It ends the progress of the task: the application's
// function is not called again.
func (t *taskCall) Ended(ctx context.Context) {
	if t.progress != nil {
		t.c.inbound().Progress().Remove(t.progress)
		t.progress.Finish(ctx)
	}
}

// follower returns the part that follows tasks. The first use creates it.
func (c *Client) follower() *tasks.Follower {
	return c.tasks.Make(func() *tasks.Follower {
		return tasks.New(&c.core, tasks.Config{
			Name: func(ref tasks.Ref, err error) error { return nameTask(c.core.Server, ref, err) },
			Refused: func(tool string, rpc *jsonrpc.Error) *mcperrors.Error {
				s := outcome.Subject{Method: mcp.MethodToolsCall, Tool: tool}
				sent := outcome.Sent{Method: s.Method, Tool: s.Tool, Version: c.core.Links.Agreed().Version, Profile: c.cfg.profile}
				e := sent.Map(rpc, false)
				if e.Kind == mcperrors.KindNotFound {
					c.catalog().Doubt()
				}
				return c.core.About(s, e)
			},
		})
	})
}

// nameTask adds a [TaskError] to err, unless err has one.
func nameTask(server string, ref tasks.Ref, err error) error {
	var named *TaskError
	e := errormap.From(err, mcperrors.Unknown)
	if ref.ID == "" || errors.As(e, &named) {
		return e
	}
	e.Cause = &TaskError{ID: ref.ID, Tool: ref.Tool, Status: ref.Status, Err: e.Cause}
	if e.Server == "" {
		e.Server, e.Method, e.Tool = server, mcp.MethodToolsCall, ref.Tool
	}
	return e
}
