package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

// A Head says which changes of a stored plan a view knows, and how its numbers
// go on.
type Head struct {
	// Epoch changes when what was stored is thrown away; 0 is nothing stored yet.
	Epoch int64
	// Revision grows with every change in an epoch.
	Revision                        int64
	NextTask, NextVerify, NextOrder int
}

// A Row is the stored state of one task. Plan and ID are its identity.
type Row struct {
	Plan, ID string
	// Gone says that the task was removed.
	Gone bool
	Body json.RawMessage
}

// Changes are what a transaction has to store: first the rows of the plans Reset
// go, then Rows take the place of their older forms.
type Changes struct {
	Reset []string
	Rows  []Row
	Head  Head
}

// saveVersion is the form of the rows.
const saveVersion = 1

// saved is a row's body.
type saved struct {
	Version int `json:"version"`
	// Title is that of a task whose id comes from its place in the plan, so that the
	// state can be found by it.
	Title        string    `json:"title,omitempty"`
	State        string    `json:"state"`
	Hold         string    `json:"hold,omitempty"`
	Progress     float64   `json:"progress,omitempty"`
	ActualHours  float64   `json:"actualHours,omitempty"`
	Holder       Holder    `json:"handedOutTo,omitzero"`
	Seen         time.Time `json:"seen,omitzero"`
	Verification string    `json:"verification,omitempty"`
	WaitsFor     []string  `json:"waitsFor,omitempty"` // beside what the plan says
	// Task is what a plan's own tasks have from the plan.
	Task *created `json:"task,omitempty"`
}

// created is a task that a tool has created.
type created struct {
	TicketID       string    `json:"ticketId"`
	Title          string    `json:"title"`
	Description    string    `json:"description"`
	Priority       string    `json:"priority"`
	Related        []string  `json:"relatedTasks,omitempty"`
	Reference      Reference `json:"planReference"`
	EstimatedHours float64   `json:"estimatedHours"`
	Verifies       string    `json:"verifies,omitempty"`
	Urgent         bool      `json:"urgent,omitempty"`
	Created        time.Time `json:"createdAt"`
	Order          int       `json:"order"`
}

// stateWords are the states as they are stored.
var stateWords = map[State]string{Queued: "queued", InProgress: "in_progress", Paused: "paused", Failed: "failed", Done: "done"}

// parseState returns the state of a word.
func parseState(word string) (State, bool) {
	for s, w := range stateWords {
		if w == word {
			return s, true
		}
	}
	return 0, false
}

// Changes returns what the transaction has changed, and whether it has changed
// anything.
func (tx *Tx) Changes() (Changes, bool) {
	c := Changes{Head: Head{tx.epoch, tx.revision, tx.nextTask, tx.nextVerify, tx.nextOrder}}
	if tx.reset {
		c.Reset = tx.plan.ids
	}
	for _, id := range slices.Sorted(maps.Keys(tx.touched)) {
		row := Row{Plan: tx.touched[id], ID: id, Gone: tx.tasks[id] == nil}
		if !row.Gone {
			row.Body = tx.plan.save(tx.tasks[id])
		} else if planned := tx.plan.planned[id]; planned != nil && planned.Numbered {
			row.Body = tx.plan.save(planned) // for the title
		}
		c.Rows = append(c.Rows, row)
	}
	return c, tx.reset || len(c.Rows) > 0
}

// Stored notes that the changes have been stored, as the given revision.
func (tx *Tx) Stored(epoch, revision int64) { tx.epoch, tx.revision = epoch, revision }

// save writes the state of a task.
func (p *Plan) save(t *Task) json.RawMessage {
	s := saved{
		Version: saveVersion, State: stateWords[t.State], Hold: t.Hold, Progress: t.Progress, ActualHours: t.ActualHours,
		Holder: t.Holder, Seen: t.Seen, Verification: t.verification, WaitsFor: t.Dependencies,
	}
	if planned := p.planned[t.ID]; planned != nil {
		s.WaitsFor = t.Dependencies[len(planned.Dependencies):]
		if planned.Numbered {
			s.Title = planned.Title
		}
	} else {
		s.Task = &created{
			t.TicketID, t.Title, t.Description, t.Priority.String(), t.Related, t.Reference, t.EstimatedHours, t.Verifies, t.Urgent, t.Created, t.order,
		}
	}
	raw, err := json.Marshal(s)
	if err != nil { // texts and finite numbers can be written
		panic(err)
	}
	return raw
}

// ErrSaved is a row that cannot be restored.
var ErrSaved = errors.New("the stored state of a task cannot be restored")

// Restored tells what became of rows.
type Restored struct {
	// Kept is how many tasks have a stored state, of those that have one besides an id.
	Kept int
	// Dropped are such tasks of this plan that the plan no longer has. Their rows stay.
	Dropped []string
	// Other is how many rows are of other plans.
	Other int
}

// Restore brings the view of the transaction up to date with rows: all there are
// when the head is of another epoch, else those that are newer than the view.
// What it does is no change of its own.
func (tx *Tx) Restore(head Head, rows []Row) (Restored, error) {
	if head.Epoch != tx.epoch {
		tx.View = *tx.plan.seed.view()
	}
	var done Restored
	for _, row := range rows {
		switch {
		case !slices.Contains(tx.plan.ids, row.Plan):
			done.Other++
		case row.Gone:
			if !tx.plan.another(row) {
				tx.drop(row.ID)
			}
		default:
			t, err := tx.plan.restore(row)
			if err != nil {
				return done, fmt.Errorf("%w: task %s of plan %q: %w", ErrSaved, row.ID, row.Plan, err)
			}
			pinned := onlyPinned(row)
			if t == nil && !pinned {
				done.Dropped = append(done.Dropped, row.ID)
			}
			if t == nil {
				continue
			}
			tx.take(t)
			if !pinned {
				done.Kept++
			}
		}
	}
	tx.epoch, tx.revision = head.Epoch, head.Revision
	tx.nextTask, tx.nextVerify = max(tx.nextTask, head.NextTask), max(tx.nextVerify, head.NextVerify)
	tx.nextOrder = max(tx.nextOrder, head.NextOrder)
	tx.touched = nil
	return done, nil
}

// onlyPinned reports whether a row has the id of a task and nothing else.
func onlyPinned(row Row) bool {
	var s saved
	return json.Unmarshal(row.Body, &s) == nil && s.Title != "" &&
		reflect.DeepEqual(s, saved{Version: saveVersion, Title: s.Title, State: stateWords[Queued]})
}

// another reports whether a row is of a task that had its id by its place, with another
// title than the one that has the id in this plan.
func (p *Plan) another(row Row) bool {
	planned := p.planned[row.ID]
	var s saved
	return planned != nil && json.Unmarshal(row.Body, &s) == nil && s.Title != "" && folded(s.Title) != folded(planned.Title)
}

// take puts a restored task in the place of its older form.
func (tx *Tx) take(t *Task) {
	older := tx.tasks[t.ID]
	if older == nil && t.Verifies != "" {
		tx.verifications++
	}
	tx.tasks[t.ID] = t
	for _, d := range t.Dependencies {
		if !slices.Contains(tx.dependants[d], t.ID) {
			tx.depend(d, t.ID)
		}
	}
}

// restore returns the task of a row, or nil for one that the plan no longer has.
func (p *Plan) restore(row Row) (*Task, error) {
	var s saved
	if err := json.Unmarshal(row.Body, &s); err != nil {
		return nil, err
	}
	if s.Version != saveVersion {
		return nil, fmt.Errorf("its form is %d, and %d is known", s.Version, saveVersion)
	}
	state, ok := parseState(s.State)
	if !ok {
		return nil, fmt.Errorf("state %q is unknown", s.State)
	}
	var t Task
	switch planned := p.planned[row.ID]; {
	case s.Task == nil && (planned == nil || planned.Reference.PlanID != row.Plan || p.another(row)):
		return nil, nil
	case s.Task == nil:
		t = *planned
		t.Dependencies = slices.Clip(planned.Dependencies)
		for _, id := range s.WaitsFor {
			if !slices.Contains(t.Dependencies, id) {
				t.Dependencies = append(t.Dependencies, id)
			}
		}
	case planned != nil:
		return nil, fmt.Errorf("an agent created it as %q, and the plan has another task with this id; give the plan's task another id", s.Task.Title)
	default:
		priority, ok := ParsePriority(s.Task.Priority)
		if !ok {
			return nil, fmt.Errorf("priority %q is unknown", s.Task.Priority)
		}
		c := s.Task
		t = Task{
			ID: row.ID, TicketID: c.TicketID, Title: c.Title, Description: c.Description, Priority: priority, Related: c.Related, Dependencies: s.WaitsFor,
			Reference: c.Reference, EstimatedHours: c.EstimatedHours, Verifies: c.Verifies, Urgent: c.Urgent, Created: c.Created, order: c.Order,
		}
	}
	t.State, t.Hold, t.Progress, t.ActualHours = state, s.Hold, s.Progress, s.ActualHours
	t.Holder, t.Seen, t.verification = s.Holder, s.Seen, s.Verification
	return &t, nil
}
