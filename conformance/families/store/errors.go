package store

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound says that no row answers the question: no such task,
	// reservation or artifact, or a reservation that has expired.
	ErrNotFound = errors.New("not found")
	// ErrClaimed says that another worker has the task in progress.
	ErrClaimed = errors.New("task already in progress")
	// ErrKeyReused says that an idempotency key came back with another request.
	ErrKeyReused = errors.New("idempotency key was used for another request")
	// ErrExhausted says that a sequence has no number left (the columns of S0
	// are 32 bits wide).
	ErrExhausted = errors.New("no id left in the sequence")
	// ErrBusy says that others kept the database locked for longer than a call
	// waits, or conflicted with it in every attempt. Nothing was written.
	ErrBusy = errors.New("database is locked by others")
	// ErrUnavailable says that the database could not be reached, or was lost
	// during the call. Nothing was written, unless the connection was lost
	// during the commit itself: then the outcome is unknown, and only a call
	// with a [Key] can be repeated safely.
	ErrUnavailable = errors.New("database is unavailable")
)

// A DuplicateError says that an artifact of a batch is already in the queue.
type DuplicateError struct{ ArtifactID string }

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("artifact_id %s already exists in queue", e.ArtifactID)
}

// A BegunError says that a task cannot be removed, because somebody began it.
type BegunError struct {
	ID, ArtifactID string
	Status         Status
}

func (e *BegunError) Error() string {
	return fmt.Sprintf("Task %s for %s is %s", e.ID, e.ArtifactID, e.Status)
}

// A TransitionError says that a task cannot go from one status to the other.
type TransitionError struct{ From, To Status }

func (e *TransitionError) Error() string {
	return fmt.Sprintf("Invalid status transition: %s → %s", e.From, e.To)
}
