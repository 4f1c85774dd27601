// Package tasks follows calls that a server runs as tasks, in both forms: the tasks of revision
// 2025-11-25 and the extension of the stateless era. A [Task] polls its server, answers the
// task's questions, and ends with the result or the error of the call.
package tasks

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Config configures a [Follower]. It is immutable.
type Config struct {
	// Name adds the task to an error, unless the error already names one.
	Name func(Ref, error) error
	// Refused returns the error of a call of tool that a server answered with rpc.
	Refused func(tool string, rpc *jsonrpc.Error) *mcperrors.Error
}

// Ref identifies a task in errors.
type Ref struct {
	// ID is the server's id of the task, "" if the server answered without a task.
	ID   string
	Tool string
	// Status is the last known status, "" for none.
	Status mcp.TaskStatus
}

// Follower follows the tasks of one client. Its methods may be called from many
// goroutines at once.
type Follower struct {
	*core.Core
	Config
	hints hints
}

// New returns a follower.
func New(c *core.Core, set Config) *Follower { return &Follower{Core: c, Config: set} }

// Hint wakes the wait for a task that a notification mentions. It never blocks.
func (f *Follower) Hint(n jsonrpc.Notification) { f.hints.tell(n) }

// Handle connects a [Task] to its call.
type Handle struct {
	ID, Tool string
	// Stateless is set if the task has the form of the stateless era.
	Stateless bool
	// CancelWithWait cancels the task if the context of a wait ends.
	CancelWithWait bool
	Call           Call
}

// Call is the call of a task.
type Call interface {
	// Send sends a request about the task; answers are those of tasks/update.
	Send(ctx context.Context, method string, answers mcp.InputResponses) (json.RawMessage, error)
	// Answer answers questions of the task.
	Answer(context.Context, mcp.InputRequests) (mcp.InputResponses, error)
	// Ended is called when a wait has found that the task has ended.
	Ended(context.Context)
}

// Created returns a task from the server's answer to its call.
func (f *Follower) Created(h Handle, state State) *Task {
	t := f.Known(h)
	if t.Stateless && state.Status != mcp.TaskCancelled {
		// Only tasks/get has the data of the other statuses.
		state.Status = mcp.TaskWorking
	}
	t.hear(report{State: state})
	return t
}

// Known returns a task with no known state.
func (f *Follower) Known(h Handle) *Task {
	return &Task{Handle: h, follower: f, turn: make(chan struct{}, 1)}
}

// Answered returns the ended task of a call that the server answered at once.
func (f *Follower) Answered(h Handle, result json.RawMessage) *Task {
	t := f.Known(h)
	t.seen.Status = mcp.TaskCompleted
	t.end(result, nil)
	return t
}

// Limits of polling. The server's interval is used between minPoll and maxPoll, and minPoll if it
// sends none: an interval of 0 does not cause a busy loop, and one of a year does not stop
// polling.
const (
	minPoll = time.Second
	maxPoll = 5 * time.Minute
	// MaxTime limits the wait for a task without another limit.
	MaxTime = 24 * time.Hour
	// maxPollFailures is how many polls in a row may fail with temporary errors before the wait
	// ends.
	maxPollFailures = 5
	// cancelTimeout limits the cancellation of a task whose caller has given up.
	cancelTimeout = 5 * time.Second
)

// subject returns the subject of errors of tasks/get.
func (t *Task) subject() outcome.Subject {
	return outcome.Subject{Method: mcp.MethodTasksGet, Tool: t.Tool}
}
