package client

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"
	"sync"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithTasks lets servers of the stateless era turn calls of tools into tasks:
// the extension io.modelcontextprotocol/tasks is declared on every request
// . [Client.CallTool] then drives such a task to its end. It is off by
// default, as extensions are: a server that may make tasks may make
// one of a call that would have been answered at once. Revision 2025-11-25 needs
// no option, there it is the client that asks for a task.
func WithTasks() Option {
	return optionFunc(func(c *config) {
		c.offer.Extend(mcp.ExtensionTasks, json.RawMessage(`{}`))
	})
}

// WithTaskTTL says how long a task is wanted by the server to be kept, from its
// creation. Servers may decide otherwise; those of the stateless era are not
// told.
func WithTaskTTL(ttl time.Duration) CallOption {
	return callOptionFunc(func(o *callOptions) { o.ttl = ttl })
}

// WithTaskCancel makes the end of a call's context cancel the task as well.
// Without it the task goes on and can be resumed.
func WithTaskCancel() CallOption {
	return callOptionFunc(func(o *callOptions) { o.cancelTask = true })
}

// Task is a call of a tool that the server carries out while nobody waits. Its
// methods may be called from many goroutines at once. Nothing has to be closed.
type Task struct {
	c        *Client
	id, tool string
	opts     callOptions
	output   json.RawMessage // the tool's output schema, as in call
	listed   bool
	progress *progressCall // nil unless progress was asked for
	// token is that of the call that made the task, follows what progress with it
	// counts for (UTIL-10).
	token     jsonrpc.ID
	follows   *progressCall
	stateless bool
	turn      chan struct{} // held by whoever waits

	mu    sync.Mutex
	seen  TaskState
	since time.Time // when the task was first heard of
	// done says that outcome or failure is how the task ended.
	done    bool
	outcome json.RawMessage
	failure error

	inputs taskInputs // of the holder of turn
}

// TaskState is how far a task has come, as its server last said.
type TaskState struct {
	Status mcp.TaskStatus
	// Message is the server's text about the status; untrusted.
	Message string
	// CreatedAt and LastUpdatedAt are ISO 8601 times of the server's clock.
	CreatedAt, LastUpdatedAt string
	// TTL is how long the server keeps the task from its creation; nil means
	// without end.
	TTL *time.Duration
	// PollInterval is how often the server wants to be asked at most; 0 when it
	// does not say.
	PollInterval time.Duration
	// InputRequests is what a task of the stateless era wants to know. Wait
	// answers with the registered handlers, [Task.Answer] by hand.
	InputRequests mcp.InputRequests

	result json.RawMessage
	err    *jsonrpc.Error
}

// TaskError says which task an error is about. It is the cause of errors of a
// call that became a task: the task may go on, and [Client.ResumeTask] gets
// hold of it again, also in another process.
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

// StartTool calls a tool as a task and returns as soon as the server has taken
// it; [Task.Wait] has the result. Arguments are those of [Client.CallTool]. It is
// refused without traffic when the server or, in revision 2025-11-25, the tool
// has no tasks, and in the stateless era without [WithTasks]. A server
// of the stateless era decides itself and may answer at once: the task has ended
// then and its ID is empty. Progress asked for with [WithProgress] is delivered
// until Wait knows the end.
func (c *Client) StartTool(ctx context.Context, tool string, args any, opts ...CallOption) (*Task, error) {
	cl := newCall(mcp.MethodToolsCall, opts)
	cl.tool, cl.name = tool, tool
	if err := c.require(cl.subject(), "tools"); err != nil {
		return nil, err
	}
	params, start, err := appendToolParams(nil, tool, args)
	if err != nil {
		return nil, c.about(cl.subject(), mcperrors.From(err, mcperrors.NotSent))
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
		cl.progress = c.progress.get().add(cl.opts.progress)
	}
	raw, err := c.converse(ctx, &cl)
	var t *Task
	if err == nil {
		t, err = c.taskOf(&cl, raw)
	}
	if err != nil {
		if cl.progress != nil {
			c.progress.get().remove(cl.progress)
			cl.progress.listener.finish(ctx, c)
		}
		return nil, err
	}
	return t, nil
}

// ResumeTask returns a task by the name of its tool and its id, after a restart
// or in another process. Nothing is sent; whether the server still has the task
// shows when it is asked. opts are those of the call: [WithTimeouts] bounds each
// request about the task.
func (c *Client) ResumeTask(tool, id string, opts ...CallOption) *Task {
	t := c.newTask(id, tool)
	t.opts = collect(opts)
	return t
}

func (c *Client) newTask(id, tool string) *Task {
	return &Task{c: c, id: id, tool: tool, stateless: c.live.Agreed().Era == mcp.EraStateless, turn: make(chan struct{}, 1)}
}

// ID returns the server's name for the task, to be stored with Tool for
// [Client.ResumeTask]. It is empty when the server answered without making a
// task.
func (t *Task) ID() string { return t.id }

// Tool returns the name of the tool that was called.
func (t *Task) Tool() string { return t.tool }

// Status asks the server how far the task is.
func (t *Task) Status(ctx context.Context) (TaskState, error) {
	if t.id == "" {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.done {
			return t.seen, nil
		}
	}
	raw, err := t.ask(ctx, mcp.MethodTasksGet, nil)
	if err != nil {
		return TaskState{}, err
	}
	state, err := readTask(raw, t.stateless, t.id)
	if err != nil {
		return TaskState{}, t.about(t.c.undecodable(subject{method: mcp.MethodTasksGet, tool: t.tool}, err))
	}
	t.heard(state)
	return state, nil
}

// Wait drives the task to its end and returns what [Client.CallTool] would have:
// the tool's result, held against its output schema, or its error. What the task
// wants to know is answered by the registered handlers, each thing once. When ctx
// ends first the task goes on, unless [WithTaskCancel] says otherwise: the error
// has a [*TaskError] as its cause, and Wait may be called again. A server that
// never ends a task is waited for until the task's TTL is over, for 24 hours at
// most.
func (t *Task) Wait(ctx context.Context) (*mcp.CallToolResult, error) {
	raw, err := t.drive(ctx, maxTaskTime)
	if err != nil {
		return nil, err
	}
	cl := call{method: mcp.MethodToolsCall, tool: t.tool, output: t.output, listed: t.listed, opts: t.opts}
	return t.c.toolResult(ctx, &cl, t.c.live.Agreed(), raw)
}

// Cancel asks the server to give the task up, and returns once it has heard so.
// A task that has ended already stays as it is. The server may still end the
// task in another way, which [Task.Status] shows.
func (t *Task) Cancel(ctx context.Context) error {
	if t.ended() {
		return nil
	}
	_, err := t.ask(ctx, mcp.MethodTasksCancel, nil)
	if mcperrors.KindOf(err) == mcperrors.KindNotFound {
		// In 2025-11-25 it is the same error when the task has ended (TASK-04).
		if state, statusErr := t.Status(ctx); statusErr == nil && state.Status.Final() {
			return nil
		}
	}
	return err
}

// Answer tells a task of the stateless era what it wants to know, see
// [TaskState]. Wait asks no handler for what was answered.
func (t *Task) Answer(ctx context.Context, responses mcp.InputResponses) error {
	err := t.lock(ctx)
	if err != nil {
		return err
	}
	defer t.unlock()
	return t.answer(ctx, responses)
}

// Tasks walks the tasks a server of revision 2025-11-25 keeps for this client,
// over all pages. An error is the last value.
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
