package store

import (
	"context"
	"time"
)

// A TaskStore is the queue of the Task Tracking service (tools.md §2.9).
type TaskStore interface {
	// AddTasks puts a batch into the queue, all of it or none, and returns the
	// ids of the tasks in the order of the batch. An artifact that is pending
	// or in progress in the project is a [*DuplicateError].
	AddTasks(ctx context.Context, b Batch) ([]string, error)
	// NextTask returns the oldest task of the project with the status, or
	// [ErrNotFound].
	NextTask(ctx context.Context, project string, status Status) (*Task, error)
	// SetStatus applies a change to a task and returns the task as it is then.
	// The errors are those of [Task.Apply], and [ErrNotFound].
	SetStatus(ctx context.Context, id string, c Change) (*Task, error)
	// RemoveTasks takes tasks of a project out of the queue, all of them or none,
	// and returns how many it removed. One that is not there is no error, so that
	// a removal can be repeated; one that was begun is a [*BegunError].
	RemoveTasks(ctx context.Context, project string, tasks []TaskRef) (int, error)
	// Tasks returns the tasks that pass the filter, oldest first.
	Tasks(ctx context.Context, f TaskFilter) ([]Task, error)
}

// Status is the state of a task.
type Status string

// The statuses of a task: pending → in_progress → completed (tools.md §2.9).
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
)

// Known reports whether s is one of the three.
func (s Status) Known() bool { return s == Pending || s == InProgress || s == Completed }

// A Task is a row of the queue.
type Task struct {
	// ID is TASK-NNN, from one sequence shared by all projects.
	ID         string
	Project    string
	ArtifactID string
	Generator  string
	Status     Status
	// Description is for people.
	Description string
	// CorrelationID is the task_id the caller gave the task, which names the
	// workflow it belongs to (C-17).
	CorrelationID string
	Inputs        []Input
	CreatedAt     time.Time
	UpdatedAt     time.Time
	// StartedAt and CompletedAt are zero before the task gets there.
	StartedAt   time.Time
	CompletedAt time.Time
	// Worker is who has the task in progress, when they said who they are.
	Worker          string
	CompletionNotes string
}

// An Input is a resolved input of a generator (tools.md §2.5).
type Input struct {
	Name           string `json:"name"`
	Classification string `json:"classification"`
	ArtifactType   string `json:"artifact_type,omitempty"`
	ArtifactID     string `json:"artifact_id,omitempty"`
	ResourcePath   string `json:"resource_path,omitempty"`
	ResourceURI    string `json:"mcp_resource_uri,omitempty"`
	Status         string `json:"status,omitempty"`
}

// Mandatory is the classification of an input a task cannot do without.
const Mandatory = "mandatory"

// A TaskRef names a task and what it makes. A task of that id which makes
// something else is not the one that is meant.
type TaskRef struct{ ID, ArtifactID string }

// A Batch is tasks that enter the queue together.
type Batch struct {
	Project string
	Tasks   []NewTask
	Key     Key
	Now     time.Time
}

// Check refuses a batch that has two open tasks for one artifact, as it would
// be refused had the first come in a batch before.
func (b Batch) Check() error {
	open := map[string]bool{}
	for _, t := range b.Tasks {
		if open[t.ArtifactID] && t.Status != Completed {
			return &DuplicateError{ArtifactID: t.ArtifactID}
		}
		open[t.ArtifactID] = open[t.ArtifactID] || t.Status != Completed
	}
	return nil
}

// A NewTask is a task before it has an id.
type NewTask struct {
	ArtifactID    string
	Generator     string
	Status        Status
	Description   string
	CorrelationID string
	Inputs        []Input
}

// Task returns n as the row with the given number.
func (n NewTask) Task(project string, number int64, now time.Time) Task {
	now = Instant(now)
	t := Task{
		ID: FormatID("TASK", number), Project: project, ArtifactID: n.ArtifactID, Generator: n.Generator,
		Status: n.Status, Description: n.Description, CorrelationID: n.CorrelationID, Inputs: n.Inputs,
		CreatedAt: now, UpdatedAt: now,
	}
	if t.Inputs == nil {
		t.Inputs = []Input{}
	}
	switch n.Status {
	case Pending:
	case InProgress:
		t.StartedAt = now
	case Completed:
		t.StartedAt, t.CompletedAt = now, now
	}
	return t
}

// A TaskFilter says which tasks are wanted. Empty members do not filter.
type TaskFilter struct {
	Project    string
	Status     Status
	ArtifactID string
	// InputArtifactID finds the tasks that depend on an artifact: those with an
	// input of that id (S0-TASKAPI-11).
	InputArtifactID string
	// WithoutMandatory finds the tasks that have no mandatory input
	// (S0-TASKAPI-12).
	WithoutMandatory bool
	// Limit bounds the answer; 0 is no bound.
	Limit, Offset int
}

// A Change is a new status for a task.
type Change struct {
	Status Status
	// Notes are the completion notes; empty leaves them as they are.
	Notes string
	// Worker names who takes the task. With a name, taking the task twice is
	// harmless; without one the second taker cannot be told from a rival.
	Worker string
	// Reset allows completed → pending, which nothing else does.
	Reset bool
	Now   time.Time
}

// Apply returns t after the change. changed is false when there is nothing to
// write: the status was that already.
//
// The legal moves are pending → in_progress → completed, and completed →
// pending with Reset; any other is a [*TransitionError]. A status to itself
// changes nothing, but in_progress again by another worker is [ErrClaimed]: of
// two workers that race for a task one must lose (S0-TASKAPI-16).
func (t Task) Apply(c Change) (after Task, changed bool, err error) {
	after = t
	now := Instant(c.Now)
	switch {
	case c.Status == InProgress && t.Status == InProgress:
		if c.Worker == "" || c.Worker != t.Worker {
			return t, false, ErrClaimed
		}
		return t, false, nil
	case c.Status == t.Status:
		return t, false, nil
	case t.Status == Pending && c.Status == InProgress:
		after.StartedAt, after.Worker = now, c.Worker
	case t.Status == InProgress && c.Status == Completed:
		after.CompletedAt = now
		if c.Notes != "" {
			after.CompletionNotes = c.Notes
		}
	case t.Status == Completed && c.Status == Pending && c.Reset:
		after.StartedAt, after.CompletedAt = time.Time{}, time.Time{}
		after.Worker, after.CompletionNotes = "", ""
	default:
		return t, false, &TransitionError{From: t.Status, To: c.Status}
	}
	after.Status, after.UpdatedAt = c.Status, now
	return after, true, nil
}
