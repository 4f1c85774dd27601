package coe

import (
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

// errHeld is a report that would take a task from the agent that has it.
var errHeld = errors.New("another agent has this task; take it over with reportTaskStatus in_progress first, or wait for its lease to end")

// startPart begins a task of which an agent has done a part. It stays with the agent that
// has it.
func (b *board) startPart(c *call, p *plan.Tx, id string) error {
	if errors.Is(b.mayReport(c, p, id), errHeld) {
		return nil
	}
	return p.Start(id, b.holder(c))
}

// mayReport refuses an agent that ends, pauses or blocks the task of another one. An agent that can never come back, or has not been heard of for longer
// than the lease, has none.
func (b *board) mayReport(c *call, p *plan.Tx, id string) error {
	t := p.Task(id)
	switch {
	case t == nil:
		return plan.ErrUnknown
	case t.Holder == plan.Holder{}, t.Holder == b.holder(c), b.overdue(t, c.now), len(b.gone([]plan.Holder{t.Holder})) > 0:
		return nil
	}
	return errHeld
}

// overdue reports whether the lease of a task has ended.
func (b *board) overdue(t *plan.Task, now time.Time) bool {
	return b.lease > 0 && t.Overdue(now.Add(-b.lease))
}

// late returns the tasks whose leases have ended.
func (b *board) late(v *plan.View, now time.Time) []*plan.Task {
	if b.lease == 0 {
		return nil
	}
	return v.Overdue(now.Add(-b.lease))
}
