// Package tasks follows calls that a server carries out as tasks, in both forms:
// the tasks of revision 2025-11-25 and the extension of the stateless era. A
// [Task] polls its server, answers what the task asks, and ends with the result
// or the error that the call would have had.
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

// Config is what a [Follower] is made of. It does not change.
type Config struct {
	*core.Core
	// Name says in an error which task it is about, unless the error names one.
	Name func(Ref, error) error
	// Refused makes the error of a call of tool that a server answers with rpc.
	Refused func(tool string, rpc *jsonrpc.Error) *mcperrors.Error
}

// Ref names a task.
type Ref struct {
	// ID is the server's name for the task; "" when it answered without a task.
	ID   string
	Tool string
	// Status is the last one heard of, "" for none.
	Status mcp.TaskStatus
}

// Follower follows the tasks of one client. Its methods may be called from many
// goroutines at once.
type Follower struct {
	Config
	hints hints
}

// New returns a follower.
func New(c Config) *Follower { return &Follower{Config: c} }

// Hint wakes the wait for a task that a notification mentions. It never waits.
func (f *Follower) Hint(n jsonrpc.Notification) { f.hints.tell(n) }

// Handle is what a [Task] needs of the call that it was.
type Handle struct {
	ID, Tool string
	// Stateless says that the task has the form of the stateless era.
	Stateless bool
	// CancelWithWait makes the end of a wait's context cancel the task.
	CancelWithWait bool
	Call           Call
}

// Call is the call behind a task.
type Call interface {
	// Send sends a request about the task, tasks/update with these answers.
	Send(ctx context.Context, method string, answers mcp.InputResponses) (json.RawMessage, error)
	// Answer answers questions of the task.
	Answer(context.Context, mcp.InputRequests) (mcp.InputResponses, error)
	// Ended runs when a wait has seen the end of the task.
	Ended(context.Context)
}

// Created returns a task that the server has just described.
func (f *Follower) Created(h Handle, state State) *Task {
	t := f.Known(h)
	if t.Stateless && state.Status != mcp.TaskCancelled {
		// Only tasks/get has what goes with the other statuses.
		state.Status = mcp.TaskWorking
	}
	t.hear(report{State: state})
	return t
}

// Known returns a task of which nothing was heard yet.
func (f *Follower) Known(h Handle) *Task {
	return &Task{Handle: h, follower: f, turn: make(chan struct{}, 1)}
}

// Answered returns the task of a call that the server answered at once: it has
// ended.
func (f *Follower) Answered(h Handle, result json.RawMessage) *Task {
	t := f.Known(h)
	t.seen.Status = mcp.TaskCompleted
	t.end(result, nil)
	return t
}

// How a task is polled. The server's interval counts between these bounds, and the
// lower one when it names none: a server that says 0 is not asked without a pause,
// one that says a year is not forgotten.
const (
	minPoll = time.Second
	maxPoll = 5 * time.Minute
	// MaxTime bounds the wait for a task without another bound.
	MaxTime = 24 * time.Hour
	// maxPollFailures is how many requests in a row may fail with errors that may
	// pass before the wait ends.
	maxPollFailures = 5
	// cancelTimeout bounds the cancellation of a task that nobody waits for.
	cancelTimeout = 5 * time.Second
)

// subject is what errors of tasks/get are about.
func (t *Task) subject() outcome.Subject {
	return outcome.Subject{Method: mcp.MethodTasksGet, Tool: t.Tool}
}
