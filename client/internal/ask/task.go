package ask

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Bounds of the questions that run as tasks.
const (
	maxTasks = 100
	// taskTime is how long a task is kept after its creation, unless the server wants less;
	// a person has leastTaskTime in any case.
	taskTime      = time.Hour
	leastTaskTime = time.Minute
	// taskPoll is how often the server should ask for the state.
	taskPoll = 500 * time.Millisecond
)

var errTaskCancelled = errors.New("the server cancelled the task")

// taskTable holds the questions of a server that run as tasks: the server gets an id at once, and
// asks for the state and the answer with it (2025-11-25, basic/utilities/tasks).
type taskTable struct {
	mu    sync.Mutex
	tasks []*task // oldest first
}

// task is one question. The table's mutex guards state and size.
type task struct {
	state   mcp.Task
	expires time.Time
	cancel  context.CancelCauseFunc
	size    int           // of the question, then of the answer
	done    chan struct{} // closed when the state is final
	// The answer, set before done is closed.
	result json.RawMessage
	no     *Refusal
}

// tasks returns the capability to run questions as tasks, nil for none.
func (o *Offer) tasks(v mcp.Version) *mcp.TasksCapability {
	if !o.Tasks || v != mcp.Version2025_11_25 {
		return nil
	}
	var can mcp.TaskRequestsCapability
	if o.Sampling != nil && o.Raw[mcp.MethodSamplingCreateMessage] == nil {
		can.Sampling = &mcp.TaskSamplingCapability{CreateMessage: &mcp.EmptyCapability{}}
	}
	if (o.Form != nil || o.URL != nil) && o.Raw[mcp.MethodElicitationCreate] == nil {
		can.Elicitation = &mcp.TaskElicitationCapability{Create: &mcp.EmptyCapability{}}
	}
	if can.Sampling == nil && can.Elicitation == nil {
		return nil
	}
	return &mcp.TasksCapability{List: &mcp.EmptyCapability{}, Cancel: &mcp.EmptyCapability{}, Requests: &can}
}

// answerRequest answers a request of the session era: the client itself if it is about a task,
// else a handler.
func (d *Dispatcher) answerRequest(ctx context.Context, from *link.Link, req Incoming) (json.RawMessage, *Refusal) {
	o := Occasion{Agreed: from.Agreed}
	can := d.Offer.tasks(o.Agreed.Version)
	if can == nil || d.Offer.Raw[req.Method] != nil {
		return d.Answer(ctx, o, req.Method, req.Params)
	}
	switch req.Method {
	case mcp.MethodTasksList:
		return d.listTasks(req.Params)
	case mcp.MethodTasksGet, mcp.MethodTasksResult, mcp.MethodTasksCancel:
		t, no := d.findTask(req.Params)
		switch {
		case no != nil:
			return nil, no
		case req.Method == mcp.MethodTasksResult:
			return t.await(ctx)
		case req.Method == mcp.MethodTasksCancel:
			return d.cancelTask(t)
		}
		return d.taskState(t)
	case mcp.MethodSamplingCreateMessage, mcp.MethodElicitationCreate:
		if ttl, wanted := wantsTask(req.Params); wanted && (can.Requests.Sampling != nil && req.Method == mcp.MethodSamplingCreateMessage ||
			can.Requests.Elicitation != nil && req.Method == mcp.MethodElicitationCreate) {
			return d.startTask(ctx, o, req, ttl)
		}
	}
	return d.Answer(ctx, o, req.Method, req.Params)
}

// wantsTask reports whether a request shall run as a task, and for how long the server wants it
// kept.
func wantsTask(params json.RawMessage) (ttl time.Duration, wanted bool) {
	ttl = taskTime
	err := jsonrpc.Members(params, func(name, value []byte) bool {
		if string(name) != "task" || doc.First(value) != '{' {
			return true
		}
		wanted = true
		var meta mcp.TaskMetadata
		if mcp.Unmarshal(value, &meta) == nil && meta.TTL != nil && *meta.TTL < taskTime.Milliseconds() {
			ttl = max(time.Duration(*meta.TTL)*time.Millisecond, leastTaskTime)
		}
		return false
	})
	return ttl, err == nil && wanted
}

// startTask starts a question and returns its task. It fails at once if the question is invalid or
// there are too many.
func (d *Dispatcher) startTask(ctx context.Context, o Occasion, req Incoming, ttl time.Duration) (json.RawMessage, *Refusal) {
	ask, no := d.check(d.requester(o), o.Agreed.Version, req.Method, req.Params)
	if no != nil {
		return nil, no
	}
	now := time.Now()
	bounded, release := context.WithDeadline(d.Life.Values(ctx), now.Add(ttl)) // it outlives its request
	own, cancel := context.WithCancelCause(bounded)
	stamp, lasts, poll := now.UTC().Format(time.RFC3339Nano), ttl.Milliseconds(), taskPoll.Milliseconds()
	t := &task{
		state: mcp.Task{
			TaskID: uuid.NewString(), Status: mcp.TaskWorking, CreatedAt: stamp, LastUpdatedAt: stamp, TTL: &lasts, PollInterval: &poll,
		},
		expires: now.Add(ttl), size: len(req.Params), cancel: cancel, done: make(chan struct{}),
	}
	created, err := json.Marshal(mcp.CreateTaskResult{Task: t.state})
	if err != nil || !d.addTask(t) || !d.Life.Go(func() {
		defer release()
		result, no := d.put(own, req.Method, ask)
		d.endTask(t, result, no)
	}) {
		release()
		d.dropTask(t)
		return nil, refuse(codeBusy, "Too many tasks at once")
	}
	return created, nil
}

// addTask adds a task, in place of the oldest one that has ended if there are too many.
func (d *Dispatcher) addTask(t *task) bool {
	d.held.mu.Lock()
	defer d.held.mu.Unlock()
	d.forgetTasks()
	if len(d.held.tasks) == maxTasks {
		oldest := slices.IndexFunc(d.held.tasks, func(t *task) bool { return t.state.Status.Final() })
		if oldest < 0 {
			return false
		}
		first := d.held.tasks[oldest]
		d.removeTasks(func(t *task) bool { return t == first })
	}
	if !d.Budget.Take(t.size) {
		return false
	}
	d.held.tasks = append(d.held.tasks, t)
	return true
}

// forgetTasks removes the tasks whose time is over. The caller holds the mutex.
func (d *Dispatcher) forgetTasks() {
	now := time.Now()
	d.removeTasks(func(t *task) bool { return now.After(t.expires) })
}

// removeTasks removes the tasks that remove selects. The caller holds the mutex.
func (d *Dispatcher) removeTasks(remove func(*task) bool) {
	d.held.tasks = slices.DeleteFunc(d.held.tasks, func(t *task) bool {
		if !remove(t) {
			return false
		}
		d.Budget.Give(t.size)
		return true
	})
}

func (d *Dispatcher) dropTask(t *task) {
	d.held.mu.Lock()
	defer d.held.mu.Unlock()
	d.removeTasks(func(other *task) bool { return other == t })
}

// dropTasks cancels all tasks. The next session does not know their ids.
func (d *Dispatcher) dropTasks(why error) {
	d.held.mu.Lock()
	defer d.held.mu.Unlock()
	d.removeTasks(func(t *task) bool {
		t.cancel(why)
		return true
	})
}

// endTask keeps the answer of a question, unless its task is already over.
func (d *Dispatcher) endTask(t *task, result json.RawMessage, no *Refusal) {
	status, text := mcp.TaskCompleted, ""
	if no != nil {
		status, text = mcp.TaskFailed, no.rpc.Message
	}
	d.held.mu.Lock()
	defer d.held.mu.Unlock()
	if t.state.Status.Final() || !slices.Contains(d.held.tasks, t) {
		return
	}
	d.Budget.Give(t.size)
	if !d.Budget.Take(len(result)) {
		result, no = nil, refuse(codeBusy, "No room for the answer")
		status, text = mcp.TaskFailed, no.rpc.Message
	}
	t.size, t.result, t.no = len(result), result, no
	t.end(status, text)
}

// end makes a task final. The caller holds the mutex.
func (t *task) end(status mcp.TaskStatus, text string) {
	t.state.Status, t.state.StatusMessage = status, text
	t.state.LastUpdatedAt = time.Now().UTC().Format(time.RFC3339Nano)
	close(t.done)
}

// findTask returns the task that params name.
func (d *Dispatcher) findTask(params json.RawMessage) (*task, *Refusal) {
	var named mcp.TaskParams
	if err := mcp.Unmarshal(params, &named); err != nil {
		return nil, refuse(jsonrpc.CodeInvalidParams, "Invalid params: %v", err)
	}
	d.held.mu.Lock()
	defer d.held.mu.Unlock()
	d.forgetTasks()
	for _, t := range d.held.tasks {
		if t.state.TaskID == named.TaskID {
			return t, nil
		}
	}
	return nil, refuse(jsonrpc.CodeInvalidParams, "No such task, or its time is over")
}

// taskState returns the state of a task as the result of tasks/get and tasks/cancel.
func (d *Dispatcher) taskState(t *task) (json.RawMessage, *Refusal) {
	d.held.mu.Lock()
	defer d.held.mu.Unlock()
	return encodeTasks(t.state)
}

// cancelTask cancels a task and the handler of its question.
func (d *Dispatcher) cancelTask(t *task) (json.RawMessage, *Refusal) {
	d.held.mu.Lock()
	defer d.held.mu.Unlock()
	if t.state.Status.Final() {
		return nil, refuse(jsonrpc.CodeInvalidParams, "The task is already %s", t.state.Status)
	}
	t.no = refuse(jsonrpc.CodeInvalidRequest, "The task was cancelled")
	t.end(mcp.TaskCancelled, "")
	t.cancel(errTaskCancelled)
	return encodeTasks(t.state)
}

// listTasks returns all tasks on one page.
func (d *Dispatcher) listTasks(params json.RawMessage) (json.RawMessage, *Refusal) {
	var page mcp.PaginatedParams
	if params != nil && mcp.Unmarshal(params, &page) != nil || page.Cursor != nil {
		return nil, refuse(jsonrpc.CodeInvalidParams, "There is one page of tasks, without a cursor")
	}
	d.held.mu.Lock()
	defer d.held.mu.Unlock()
	d.forgetTasks()
	all := mcp.ListTasksResult{Tasks: make([]mcp.Task, len(d.held.tasks))}
	for i, t := range d.held.tasks {
		all.Tasks[i] = t.state
	}
	return encodeTasks(all)
}

func encodeTasks(v any) (json.RawMessage, *Refusal) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, handlerFailed(err)
	}
	return raw, nil
}

// await returns the answer of a task, when there is one. It names its task, unlike the states.
func (t *task) await(ctx context.Context) (json.RawMessage, *Refusal) {
	select {
	case <-t.done:
		id, err := json.Marshal(mcp.RelatedTask{TaskID: t.state.TaskID})
		if err != nil {
			return nil, handlerFailed(err)
		}
		return relate(id, t.result), t.no
	case <-ctx.Done():
		return nil, gaveUp(ctx.Err())
	}
}
