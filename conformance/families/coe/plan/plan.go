package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// MaxTasks bounds a plan: a change copies the index of the tasks, and a caller
// may create them forever. Verifications do not count: each task has one at
// most, and no end of a task may fail for want of room.
const MaxTasks = 20_000

// What a change of the plan may be refused with.
var (
	// ErrUnknown is a task that is not in the plan.
	ErrUnknown = errors.New("task not found")
	// ErrDone is a change to a task that is done: only its verification can
	// open it again.
	ErrDone = errors.New("task already marked as done")
	// ErrVerification is the end of a verification task by another tool than
	// the one for that.
	ErrVerification = errors.New("a verification task ends with reportVerificationResult")
	// ErrFull is a task too many.
	ErrFull = errors.New("the task queue is full")
)

// A Seed is what a plan begins with.
type Seed struct {
	// Tasks are in the order of their age.
	Tasks []Task
	// NextTask is the number of the first task a tool creates; 0 is the one
	// after the number of tasks.
	NextTask int
}

// Plan is a task queue. Reading takes no lock; changes run one after another.
type Plan struct {
	seed    Seed
	ids     []string         // of the plans that the seed's tasks are from
	planned map[string]*Task // the seed's tasks by id
	view    atomic.Pointer[View]
	turn    chan struct{} // holds a token while nobody changes the plan
}

// New returns a plan of its own.
func New(seed Seed) *Plan {
	p := &Plan{seed: seed, planned: seed.view().tasks, turn: make(chan struct{}, 1)}
	for _, t := range seed.Tasks {
		if !slices.Contains(p.ids, t.Reference.PlanID) {
			p.ids = append(p.ids, t.Reference.PlanID)
		}
	}
	p.view.Store(seed.view())
	p.turn <- struct{}{}
	return p
}

func (s Seed) view() *View {
	v := &View{
		tasks: make(map[string]*Task, len(s.Tasks)), dependants: map[string][]string{},
		nextTask: s.NextTask, nextVerify: 1,
	}
	if v.nextTask == 0 {
		v.nextTask = len(s.Tasks) + 1
	}
	for _, t := range s.Tasks {
		t.order = v.nextOrder
		v.nextOrder++
		v.tasks[t.ID] = &t
		if t.Verifies != "" {
			v.verifications++
		}
		for _, d := range t.Dependencies {
			v.dependants[d] = append(v.dependants[d], t.ID)
		}
	}
	return v
}

// View returns the plan as it is now.
func (p *Plan) View() *View { return p.view.Load() }

// Update changes the plan: what change does to the transaction becomes visible
// at once when it returns nil, and is forgotten otherwise. change may take its
// time; readers do not wait for it.
func (p *Plan) Update(ctx context.Context, change func(*Tx) error) error {
	select {
	case <-p.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { p.turn <- struct{}{} }()
	tx := &Tx{View: *p.View(), plan: p, now: time.Now().UTC().Truncate(time.Second)}
	tx.tasks, tx.dependants = maps.Clone(tx.tasks), maps.Clone(tx.dependants)
	if err := change(tx); err != nil {
		return err
	}
	p.view.Store(&tx.View)
	return nil
}

// A Tx is a change of the plan that is under way. Its View shows what has been
// changed so far.
type Tx struct {
	View
	plan *Plan
	// touched are the plans of the tasks that were changed, by task.
	touched map[string]string
	reset   bool
	now     time.Time
}

func (tx *Tx) touch(t *Task) {
	if tx.touched == nil {
		tx.touched = map[string]string{}
	}
	tx.touched[t.ID] = t.Reference.PlanID
}

// Clear removes every task. Numbers are not used twice.
func (tx *Tx) Clear() {
	for _, t := range tx.tasks {
		tx.touch(t)
	}
	tx.tasks, tx.dependants, tx.verifications = map[string]*Task{}, map[string][]string{}, 0
}

// Reset brings the plan back to what it began with.
func (tx *Tx) Reset() {
	epoch, revision := tx.epoch, tx.revision
	tx.View = *tx.plan.seed.view()
	tx.epoch, tx.revision, tx.touched, tx.reset = epoch, revision, nil, true
}

// Add puts a task into the queue and gives it its ids and its age.
func (tx *Tx) Add(t Task, now time.Time) (*Task, error) {
	if len(tx.tasks)-tx.verifications >= MaxTasks {
		return nil, ErrFull
	}
	return tx.put(t, now), nil
}

func (tx *Tx) put(t Task, now time.Time) *Task {
	if t.Verifies != "" {
		t.ID = fmt.Sprintf("TASK-VERIFY-%03d", tx.nextVerify)
		t.TicketID = fmt.Sprintf("TICKET-VERIFY-%03d", tx.nextVerify)
		tx.nextVerify++
		tx.verifications++
	} else {
		t.ID = fmt.Sprintf("TASK-%03d", tx.nextTask)
		t.TicketID = fmt.Sprintf("TICKET-%03d", tx.nextTask)
		tx.nextTask++
	}
	t.Created, t.order = now, tx.nextOrder
	tx.nextOrder++
	if t.Urgent {
		t.order = -t.order
	}
	tx.tasks[t.ID] = &t
	tx.touch(&t)
	for _, d := range t.Dependencies {
		tx.depend(d, t.ID)
	}
	return &t
}

// drop removes a task, if it is there.
func (tx *Tx) drop(id string) {
	t := tx.tasks[id]
	if t == nil {
		return
	}
	if t.Verifies != "" {
		tx.verifications--
	}
	delete(tx.tasks, id)
	tx.touch(t)
}

// depend notes that a task waits for another. The list is copied: older views
// share it.
func (tx *Tx) depend(on, id string) {
	tx.dependants[on] = append(slices.Clip(tx.dependants[on]), id)
}

// change replaces a task by a changed copy.
func (tx *Tx) change(t *Task, f func(*Task)) {
	c := *t
	f(&c)
	if c.Seen = (time.Time{}); c.Holder != (Holder{}) {
		c.Seen = tx.now
	}
	tx.tasks[t.ID] = &c
	tx.touch(&c)
}
