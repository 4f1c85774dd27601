package client

import (
	"context"
	"iter"
	"strconv"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/catalog"
	"github.com/mainstay-mcp/mainstay/client/internal/inbound"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/internal/tasks"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithTasks lets servers of the stateless era turn tool calls into tasks, by
// declaring the extension io.modelcontextprotocol/tasks on every request.
// [Client.CallTool] follows such a task to its end. The default is off: a
// server could make a task of a call that it would otherwise answer at once.
// Revision 2025-11-25 needs no option for that, because there the client asks for
// a task. What the option allows there is the other direction: a server may run
// what it asks a handler ([OnSampling], [OnElicitForm], [OnElicitURL]) as a task of
// the client. It gets the id of a task at once, and asks for the answer with it. The
// client holds up to 100 of them, each for an hour, or for as long as the server wants
// if that is less, but at least a minute. The end of a session ends its tasks.
func WithTasks() Option {
	return optionFunc(func(c *config) { c.offer.Tasks = true })
}

// TaskOptions sets up the task behind one call, if the call becomes one.
type TaskOptions struct {
	// TTL asks the server to keep the task for this long from its creation. Servers may
	// decide otherwise; those of the stateless era do not learn of it.
	TTL time.Duration
	// Cancel cancels the task when the context of the call ends. By default the task goes
	// on, and [Client.ResumeTask] follows it again.
	Cancel bool
}

// WithTask sets up the task behind one call; see [TaskOptions].
func WithTask(t TaskOptions) CallOption {
	return callOptionFunc(func(o *callOptions) { o.ttl, o.CancelTask = t.TTL, t.Cancel })
}

// Task is a tool call that the server runs in the background. Its methods are
// safe for concurrent use. A Task needs no Close.
type Task struct {
	c    *Client
	task *tasks.Task
	opts run.Options
	// unverified leaves the result unchecked.
	unverified bool
	known      catalog.Known
	progress   *inbound.Progress // nil unless progress was asked for
	// token is the progress token of the call that made the task. follows gets progress
	// with this token.
	token   jsonrpc.ID
	follows *inbound.Progress
}

// TaskState is the last state of a task that its server reported.
type TaskState struct {
	Status mcp.TaskStatus
	// Message is the server's text about the status; untrusted.
	Message string
	// CreatedAt and LastUpdatedAt are ISO 8601 times of the server's clock.
	CreatedAt, LastUpdatedAt string
	// TTL is how long the server keeps the task from its creation; nil means
	// forever.
	TTL *time.Duration
	// PollInterval is the shortest interval between polls that the server asks
	// for; 0 for none.
	PollInterval time.Duration
	// InputRequests are the questions of a task in the stateless era. Wait
	// answers them with the registered handlers; [Task.Answer] answers them
	// manually.
	InputRequests mcp.InputRequests
}

// TaskError identifies the task that an error is about. It is the cause of
// errors of a call that became a task. The task may continue:
// [Client.ResumeTask] follows it again, even in another process.
type TaskError struct {
	// ID and Tool are the arguments for [Client.ResumeTask].
	ID, Tool string
	// Status is the last known status, "" for none.
	Status mcp.TaskStatus
	// Err is the underlying error; may be nil.
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

// StartTool calls a tool as a task and returns once the server has accepted
// the call. [Task.Wait] returns the result. Arguments are those of
// [Client.CallTool].
//
// StartTool sends nothing and fails if tasks are not available: the server or
// (in revision 2025-11-25) the tool does not support them, or (in the
// stateless era) [WithTasks] is not set. A server of the stateless era may
// answer at once; the task has then ended, and its ID is empty. A
// [WithProgress] function is called until Wait sees the end.
func (c *Client) StartTool(ctx context.Context, tool string, args any, opts ...CallOption) (*Task, error) {
	cl := newCall(mcp.MethodToolsCall, opts)
	cl.Tool = tool
	if err := c.prepareTool(ctx, &cl, nil, args); err != nil {
		return nil, err
	}
	if err := c.askTask(ctx, &cl); err != nil {
		return nil, err
	}
	if err := c.takeOptions(&cl); err != nil {
		return nil, err
	}
	cl.Task |= run.TaskHandle
	if cl.opts.progress != nil {
		cl.Progress = c.inbound().Progress().Add(cl.opts.progress)
	}
	raw, err := c.do(ctx, &cl)
	var t *Task
	if err == nil {
		t, err = c.taskOf(&cl.Call, cl.Progress, raw)
	}
	if err != nil {
		if cl.Progress != nil {
			c.inbound().Progress().Remove(cl.Progress)
			cl.Progress.Finish(ctx)
		}
		return nil, err
	}
	t.unverified = cl.opts.unverified
	return t, nil
}

// ResumeTask returns a task by the name of its tool and its id, for use after
// a restart or in another process. It sends nothing; the first request shows
// whether the server still has the task. opts are those of the call:
// [WithTimeouts] bounds each request about the task.
func (c *Client) ResumeTask(tool, id string, opts ...CallOption) *Task {
	o := collect(opts)
	t := &Task{c: c, opts: o.Options, unverified: o.unverified}
	t.task = c.follower().Known(t.handle(id, tool))
	return t
}

// ID returns the server's id of the task. Store it with Tool for
// [Client.ResumeTask]. It is empty if the server answered without a task.
func (t *Task) ID() string { return t.task.ID }

// Tool returns the name of the tool that was called.
func (t *Task) Tool() string { return t.task.Tool }

// Status asks the server for the state of the task.
func (t *Task) Status(ctx context.Context) (TaskState, error) {
	state, err := t.task.Status(ctx)
	return TaskState(state), err
}

// Wait follows the task to its end and returns what [Client.CallTool] would
// have returned. The registered handlers answer the task's questions, each one
// once.
//
// If ctx ends first, the task continues unless [TaskOptions].Cancel is set. The
// error then has a [*TaskError] as its cause, and Wait may be called again. If the
// server never ends the task, Wait stops when the task's TTL is over, after 24
// hours at the latest.
func (t *Task) Wait(ctx context.Context) (*mcp.CallToolResult, error) {
	raw, err := t.task.Wait(ctx, tasks.MaxTime)
	if err != nil {
		return nil, err
	}
	cl := newCall(mcp.MethodToolsCall, nil)
	cl.Tool, cl.Known, cl.opts.unverified = t.task.Tool, t.known, t.unverified
	return t.c.toolResult(ctx, &cl, t.c.core.Links.Agreed(), raw)
}

// Cancel asks the server to cancel the task and returns once the server has
// agreed. A task that has already ended is unchanged. The server may still end
// the task in another way, which [Task.Status] shows.
func (t *Task) Cancel(ctx context.Context) error { return t.task.Cancel(ctx) }

// Answer answers questions of a task in the stateless era; see [TaskState].
// Wait then runs no handlers for them.
func (t *Task) Answer(ctx context.Context, responses mcp.InputResponses) error {
	return t.task.Answer(ctx, responses)
}

// Tasks iterates over the tasks that a server of revision 2025-11-25 keeps for
// this client, over all pages. If a request fails, the last value is its
// error.
func (c *Client) Tasks(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.Task, error] {
	return taskList.walk(ctx, c, opts, nil, nil)
}
