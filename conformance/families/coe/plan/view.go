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
	// epoch and revision are those of the [Head] that the view knows.
	epoch, revision int64
}

// Knows returns which stored changes the view knows: [Head.Epoch] and
// [Head.Revision].
func (v *View) Knows() (epoch, revision int64) { return v.epoch, v.revision }

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
// Of ready tasks it returns those that nobody else than the given agent has.
func (v *View) Queue(f Filter, agent Holder) []*Task {
	var queue []*Task
	for _, t := range v.tasks {
		if t.Verifies != "" || t.State == Done || f == FilterReady && t.heldBeside(agent) {
			continue
		}
		if f == FilterAll || string(v.Status(t)) == string(f) {
			queue = append(queue, t)
		}
	}
	slices.SortFunc(queue, (*Task).compare)
	return queue
}

// Length returns how many tasks are in the queue, assigned or not.
func (v *View) Length() int {
	n := 0
	for _, t := range v.tasks {
		if t.Verifies == "" && t.State != Done {
			n++
		}
	}
	return n
}

// compare orders tasks as the queue does. Ages are equal only when a plan has
// grown meanwhile.
func (t *Task) compare(u *Task) int {
	switch {
	case t.Priority != u.Priority:
		return cmp.Compare(t.Priority, u.Priority)
	case t.order != u.order:
		return cmp.Compare(t.order, u.order)
	}
	return cmp.Compare(t.ID, u.ID)
}

// heldBeside says whether somebody else than the agent has the task.
func (t *Task) heldBeside(agent Holder) bool { return t.Holder != Holder{} && t.Holder != agent }

// Next returns the task that getNextTask returns to an agent, or nil.
func (v *View) Next(agent Holder) *Task {
	var next *Task
	for _, t := range v.tasks {
		if t.Verifies != "" || t.State != Queued || t.heldBeside(agent) || v.Status(t) != StatusReady {
			continue
		}
		if next == nil || t.compare(next) < 0 {
			next = t
		}
	}
	return next
}

// Holders returns the agents that have ready tasks, each once.
func (v *View) Holders() []Holder {
	var out []Holder
	for _, t := range v.tasks {
		if (t.Holder != Holder{}) && !slices.Contains(out, t.Holder) && v.Status(t) == StatusReady {
			out = append(out, t.Holder)
		}
	}
	return out
}

// Release takes from an agent the ready tasks that it was given.
func (tx *Tx) Release(agent Holder) {
	for _, t := range tx.tasks {
		if t.Holder == agent && tx.Status(t) == StatusReady {
			tx.change(t, func(t *Task) { t.Holder = Holder{} })
		}
	}
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
