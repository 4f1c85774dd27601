package client

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/progress"
	"github.com/mainstay-mcp/mainstay/client/internal/tasks"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithTasks lets servers of the stateless era turn calls of tools into tasks: it
// declares the extension io.modelcontextprotocol/tasks on every request.
// [Client.CallTool] then follows such a task to its end. It is off by default, as
// extensions are: a server that may make tasks may make one of a call that it
// would have answered at once. Revision 2025-11-25 needs no option: there the
// client asks for a task.
func WithTasks() Option {
	return optionFunc(func(c *config) {
		c.offer.Extend(mcp.ExtensionTasks, json.RawMessage(`{}`))
	})
}

// WithTaskTTL asks the server to keep a task for ttl from its creation. Servers may
// decide otherwise; those of the stateless era do not learn of it.
func WithTaskTTL(ttl time.Duration) CallOption {
	return callOptionFunc(func(o *callOptions) { o.ttl = ttl })
}

// WithTaskCancel cancels the task when the context of the call ends. Without it the
// task goes on and can be resumed.
func WithTaskCancel() CallOption {
	return callOptionFunc(func(o *callOptions) { o.cancelTask = true })
}

// Task is a call of a tool that the server carries out while nobody waits. Its
// methods may be called from many goroutines at once. A Task needs no Close.
type Task struct {
	c        *Client
	task     *tasks.Task
	opts     callOptions
	output   json.RawMessage // the tool's output schema, as in call
	listed   bool
	progress *progress.Call // nil unless progress was asked for
	// token is that of the call that made the task, follows is what progress with
	// the token counts for (UTIL-10).
	token   jsonrpc.ID
	follows *progress.Call
}

// TaskState is how far a task has come, as its server last said.
type TaskState struct {
	Status mcp.TaskStatus
	// Message is the server's text about the status; untrusted.
	Message string
	// CreatedAt and LastUpdatedAt are ISO 8601 times of the server's clock.
	CreatedAt, LastUpdatedAt string
	// TTL is how long the server keeps the task from its creation; nil means
	// forever.
	TTL *time.Duration
	// PollInterval is the shortest interval between polls that the server wants; 0
	// when it does not say.
	PollInterval time.Duration
	// InputRequests are the questions of a task of the stateless era. Wait answers
	// them with the registered handlers, [Task.Answer] by hand.
	InputRequests mcp.InputRequests
}

// TaskError says which task an error is about. It is the cause of errors of a call
// that became a task. The task may go on: [Client.ResumeTask] follows it again, in
// another process too.
type TaskError struct {
	// ID and Tool are what [Client.ResumeTask] takes.
	ID, Tool string
	// Status is the last one heard of, "" for none.
	Status mcp.TaskStatus
	// Err is the error underneath, nil when there is none.
	Err error
}

func (e *TaskError) Error() string {
	text := "task " + strconv.Quote(jsonrpc.Printable(e.ID, 100))
	if e.Status != "" {
		text += ", " + jsonrpc.Printable(string(e.Status), 40) + " when last heard of"
	}
	return text
}

// Unwrap returns Err.
func (e *TaskError) Unwrap() error { return e.Err }

// StartTool calls a tool as a task and returns as soon as the server has taken the
// call; [Task.Wait] returns the result. Arguments are those of [Client.CallTool].
// StartTool fails without sending anything when the server or, in revision
// 2025-11-25, the tool has no tasks, and in the stateless era without [WithTasks].
// A server of the stateless era may answer at once: then the task has ended and
// its ID is empty. Progress asked for with [WithProgress] is delivered until Wait
// sees the end.
func (c *Client) StartTool(ctx context.Context, tool string, args any, opts ...CallOption) (*Task, error) {
	cl := newCall(mcp.MethodToolsCall, opts)
	cl.tool, cl.name = tool, tool
	if err := c.require(cl.subject(), "tools"); err != nil {
		return nil, err
	}
	params, start, err := appendToolParams(nil, tool, args)
	if err != nil {
		return nil, c.about(cl.subject(), errormap.From(err, mcperrors.NotSent))
	}
	cl.open = params
	if err := c.checkArguments(ctx, &cl, params[start:]); err != nil {
		return nil, err
	}
	if err := c.checkPin(ctx, &cl); err != nil {
		return nil, err
	}
	if err := c.askTask(ctx, &cl); err != nil {
		return nil, err
	}
	if err := c.takeOptions(&cl); err != nil {
		return nil, err
	}
	cl.task |= taskHandle
	if cl.opts.progress != nil {
		cl.progress = c.progressTable().Add(cl.opts.progress)
	}
	raw, err := c.do(ctx, &cl)
	var t *Task
	if err == nil {
		t, err = c.taskOf(&cl, cl.progress, raw)
	}
	if err != nil {
		if cl.progress != nil {
			c.progressTable().Remove(cl.progress)
			cl.progress.Finish(ctx)
		}
		return nil, err
	}
	return t, nil
}

// ResumeTask returns a task by the name of its tool and its id, after a restart or
// in another process. It sends nothing; the first request shows whether the
// server still has the task. opts are those of the call: [WithTimeouts] bounds
// each request about the task.
func (c *Client) ResumeTask(tool, id string, opts ...CallOption) *Task {
	t := &Task{c: c, opts: collect(opts)}
	t.task = c.follower().Known(t.handle(id, tool))
	return t
}

// ID returns the server's name for the task, to be stored with Tool for
// [Client.ResumeTask]. It is empty when the server answered without making a
// task.
func (t *Task) ID() string { return t.task.ID }

// Tool returns the name of the tool that was called.
func (t *Task) Tool() string { return t.task.Tool }

// Status asks the server for the state of the task.
func (t *Task) Status(ctx context.Context) (TaskState, error) {
	state, err := t.task.Status(ctx)
	return TaskState(state), err
}

// Wait follows the task to its end and returns what [Client.CallTool] would have:
// the tool's result, checked against its output schema, or its error. The
// registered handlers answer what the task asks, each question once. When ctx ends
// first the task goes on, unless the call has [WithTaskCancel]: the error has a
// [*TaskError] as its cause, and Wait may be called again. A task that its server
// never ends is waited for until the task's TTL is over, for 24 hours at most.
func (t *Task) Wait(ctx context.Context) (*mcp.CallToolResult, error) {
	raw, err := t.task.Wait(ctx, tasks.MaxTime)
	if err != nil {
		return nil, err
	}
	cl := call{request: request{method: mcp.MethodToolsCall, tool: t.task.Tool, known: known{output: t.output, listed: t.listed}, opts: t.opts}}
	return t.c.toolResult(ctx, &cl, t.c.live.Agreed(), raw)
}

// Cancel asks the server to give the task up, and returns once the server has
// agreed. A task that has ended already stays as it is. The server may still end
// the task in another way, which [Task.Status] shows.
func (t *Task) Cancel(ctx context.Context) error { return t.task.Cancel(ctx) }

// Answer answers questions of a task of the stateless era, see [TaskState]. Wait
// runs no handler for a question that has an answer.
func (t *Task) Answer(ctx context.Context, responses mcp.InputResponses) error {
	return t.task.Answer(ctx, responses)
}

// Tasks iterates over the tasks that a server of revision 2025-11-25 keeps for this
// client, over all pages. An error is the last value.
func (c *Client) Tasks(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.Task, error] {
	return walk(ctx, c, mcp.MethodTasksList, func(v mcp.Task) string { return v.TaskID }, func(ctx context.Context, cursor *string) (page[mcp.Task], error) {
		if err := c.gate(subject{method: mcp.MethodTasksList}); err != nil {
			return page[mcp.Task]{}, err
		}
		res := &mcp.ListTasksResult{}
		size, err := c.fetchPage(ctx, mcp.MethodTasksList, "tasks.list", cursor, res, opts)
		return page[mcp.Task]{res.Tasks, res.NextCursor, size}, err
	})
}
