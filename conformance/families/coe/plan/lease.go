package plan

import "time"

// Overdue returns the tasks that an agent has, has not ended, and has not been heard
// of since a time.
func (v *View) Overdue(since time.Time) []*Task {
	var out []*Task
	for _, t := range v.tasks {
		if t.Overdue(since) {
			out = append(out, t)
		}
	}
	return out
}

// Overdue reports whether an agent has the task, has not ended it, and has not been
// heard of since a time.
func (t *Task) Overdue(since time.Time) bool {
	return t.Holder != Holder{} && t.State != Done && !t.Seen.IsZero() && t.Seen.Before(since)
}

// TakeBack takes a task from the agent that has it, and puts it back into the queue.
func (tx *Tx) TakeBack(id string) error {
	t, err := tx.open(id)
	if err != nil {
		return err
	}
	return tx.move(id, Queued, t.Hold, Holder{})
}

// Renew notes that the holder of a task was heard of.
func (tx *Tx) Renew(id string) error {
	t, err := tx.open(id)
	if err != nil {
		return err
	}
	tx.change(t, func(*Task) {})
	return nil
}
