package plan

import (
	"fmt"
	"slices"
	"time"
)

// open returns a task that may still change.
func (tx *Tx) open(id string) (*Task, error) {
	t := tx.Task(id)
	switch {
	case t == nil:
		return nil, ErrUnknown
	case t.State == Done:
		return nil, ErrDone
	}
	return t, nil
}

// HandOut notes who was given a task. It changes nothing else: reading
// the queue starts no task.
func (tx *Tx) HandOut(id string, to Holder) error {
	t, err := tx.open(id)
	if err != nil {
		return err
	}
	tx.change(t, func(t *Task) { t.Holder = to })
	return nil
}

// Start puts a task in progress and takes it off hold; an agent that held it loses
// it. Dependencies do not keep an agent from starting early: S1 has no error
// for that.
func (tx *Tx) Start(id string, by Holder) error { return tx.move(id, InProgress, "", by) }

// Pause interrupts a task. It stays with who has it.
func (tx *Tx) Pause(id string) error {
	t, err := tx.open(id)
	if err != nil {
		return err
	}
	return tx.move(id, Paused, "", t.Holder)
}

// Fail gives a task up.
func (tx *Tx) Fail(id string) error { return tx.move(id, Failed, "", Holder{}) }

// Hold puts a task back into the queue as blocked, for a reason.
func (tx *Tx) Hold(id, reason string) error { return tx.move(id, Queued, reason, Holder{}) }

func (tx *Tx) move(id string, to State, hold string, holder Holder) error {
	t, err := tx.open(id)
	if err != nil {
		return err
	}
	tx.change(t, func(t *Task) { t.State, t.Hold, t.Holder = to, hold, holder })
	return nil
}

// MaxHours bounds the time spent on a task, a century: the sum of whatever is
// reported stays a number that JSON can write.
const MaxHours = 100 * 365 * 24.0

// Progress notes how far a task is, in percent, and how long it took so far.
func (tx *Tx) Progress(id string, percent *float64, hours float64) error {
	t, err := tx.open(id)
	if err != nil {
		return err
	}
	tx.change(t, func(t *Task) {
		if percent != nil {
			t.Progress = *percent
		}
		t.ActualHours = min(t.ActualHours+hours, MaxHours)
	})
	return nil
}

// An Outcome is what the end of a task has set off.
type Outcome struct {
	// Unblocked are the dependants that have become ready.
	Unblocked []string
	// Verification is the task that checks this one.
	Verification *Task
}

// Finish marks a task as done, creates its verification task and tells which
// dependants have become ready by it (S1-DONE-05, S1-DONE-07).
func (tx *Tx) Finish(id string, now time.Time) (Outcome, error) {
	t, err := tx.open(id)
	if err != nil {
		return Outcome{}, err
	}
	if t.Verifies != "" {
		return Outcome{}, ErrVerification
	}
	tx.change(t, func(t *Task) { t.State, t.Hold, t.Progress, t.Holder = Done, "", 100, Holder{} })
	tx.drop(t.verification) // this end is verified, not an earlier one
	var out Outcome
	for _, d := range tx.dependants[id] {
		// It was blocked by this one, so if it is ready now, that is why.
		if w := tx.tasks[d]; w != nil && w.State == Queued && tx.Status(w) == StatusReady {
			out.Unblocked = append(out.Unblocked, d)
		}
	}
	out.Verification = tx.put(Task{
		Title:       "Verify: " + t.Title,
		Description: fmt.Sprintf("Check that %s does what its acceptance criteria ask for", t.ID),
		Priority:    t.Priority, Verifies: t.ID, Related: []string{t.ID}, Reference: t.Reference,
	}, now)
	tx.change(tx.tasks[id], func(t *Task) { t.verification = out.Verification.ID })
	return out, nil
}

// A Verdict is what becomes of a task that has been verified.
type Verdict int

// The verdicts.
const (
	// Confirmed leaves the task done.
	Confirmed Verdict = iota
	// Incomplete leaves it done, with work that follows.
	Incomplete
	// Rework puts it back into the queue. What depends on it and has not been
	// started waits again.
	Rework
	// Undecided leaves the verification open and the task in progress, until a
	// person has looked.
	Undecided
)

// Verify ends a verification task with a verdict on the task it is about. A
// verification that was undecided may be ended later.
func (tx *Tx) Verify(id string, v Verdict) error {
	verification, err := tx.open(id)
	if err != nil {
		return err
	}
	t := tx.Task(verification.Verifies)
	if t == nil {
		return ErrUnknown
	}
	if v != Undecided {
		tx.change(verification, func(t *Task) { t.State = Done })
	}
	tx.change(t, func(t *Task) {
		t.Holder = Holder{}
		switch v {
		case Confirmed, Incomplete:
			t.State, t.Hold, t.Progress = Done, "", 100
		case Rework:
			t.State, t.Progress = Queued, 0
		case Undecided:
			t.State = InProgress
		}
	})
	return nil
}

// BlockOn lets a task wait for another one, unless it is done or waits already.
// It says whether it waits now.
func (tx *Tx) BlockOn(id, on string) bool {
	t, err := tx.open(id)
	if err != nil {
		return false
	}
	if !slices.Contains(t.Dependencies, on) {
		tx.change(t, func(t *Task) { t.Dependencies = append(slices.Clip(t.Dependencies), on) })
		tx.depend(on, id)
	}
	return true
}
