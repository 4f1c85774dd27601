package plan

import (
	"cmp"
	"slices"
)

// A View is the plan at one moment. It does not change.
type View struct {
	tasks map[string]*Task
	// dependants are the tasks that wait for a task, by its id.
	dependants map[string][]string
	// verifications is how many of the tasks verify another one.
	verifications int
	nextTask      int
	nextVerify    int
	nextOrder     int
}

// Task returns a task, or nil.
func (v *View) Task(id string) *Task { return v.tasks[id] }

// Status returns the status of a task: a queued one is ready when nothing it
// depends on is open and nobody has put it on hold (S1-NEXT-07).
func (v *View) Status(t *Task) Status {
	switch t.State {
	case InProgress:
		return StatusInProgress
	case Paused:
		return StatusPending
	case Failed:
		return StatusBlocked
	case Done:
		return StatusDone
	case Queued:
		if t.Hold != "" || len(v.BlockedBy(t)) > 0 {
			return StatusBlocked
		}
	}
	return StatusReady
}

// BlockedBy returns the dependencies of a task that are not done.
func (v *View) BlockedBy(t *Task) []string {
	open := []string{}
	for _, id := range t.Dependencies {
		if d := v.tasks[id]; d != nil && d.State != Done {
			open = append(open, id)
		}
	}
	return open
}

// A Filter chooses tasks of the queue.
type Filter string

// The filters of getNextTask.
const (
	FilterReady   Filter = "ready"
	FilterBlocked Filter = "blocked"
	FilterAll     Filter = "all"
)

// Queue returns the tasks of the queue that match a filter, the most urgent
// first and of those the oldest (S1-NEXT-05). What is done is no longer in it.
func (v *View) Queue(f Filter) []*Task {
	var queue []*Task
	for _, t := range v.tasks {
		if t.Verifies != "" || t.State == Done {
			continue
		}
		if f == FilterAll || string(v.Status(t)) == string(f) {
			queue = append(queue, t)
		}
	}
	slices.SortFunc(queue, func(a, b *Task) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.order, b.order))
	})
	return queue
}

// Next returns the task that getNextTask returns, or nil.
func (v *View) Next() *Task {
	var next *Task
	for _, t := range v.tasks {
		if t.Verifies != "" || t.State != Queued || v.Status(t) != StatusReady {
			continue
		}
		if next == nil || t.Priority < next.Priority || t.Priority == next.Priority && t.order < next.order {
			next = t
		}
	}
	return next
}

// Counts are the numbers of the dashboard. Verification tasks count for
// themselves alone.
type Counts struct {
	Total, Completed, Ready, Blocked, VerificationPending int
}

// Counts counts the tasks.
func (v *View) Counts() Counts {
	var c Counts
	for _, t := range v.tasks {
		if t.Verifies != "" {
			if t.State != Done {
				c.VerificationPending++
			}
			continue
		}
		c.Total++
		switch v.Status(t) {
		case StatusDone:
			c.Completed++
		case StatusReady:
			c.Ready++
		case StatusBlocked:
			c.Blocked++
		case StatusPending, StatusInProgress:
		}
	}
	return c
}
