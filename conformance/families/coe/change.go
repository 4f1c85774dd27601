package coe

import (
	"context"
	"errors"
	"math"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/faults"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

// An ending is what the end of a task has set off, whichever tool reported it
// (C-12).
type ending struct {
	plan.Outcome
	tickets int
}

// finish ends a task: its investigations close, its dependants may start, its
// verification is created.
func (s *server) finish(ctx context.Context, c *call, p *plan.Tx, l ledger.Tx, id string) (ending, error) {
	if err := s.mayEnd(c, p, id); err != nil {
		return ending{}, err
	}
	tickets, err := l.CloseInvestigations(ctx, id)
	if err != nil {
		return ending{}, err
	}
	if _, ok := s.faults.Strike(c.Tool, faults.Unblock); ok {
		return ending{}, errors.New("injected: tasks cannot be unblocked")
	}
	out, err := p.Finish(id, c.now)
	return ending{out, tickets}, err
}

// fail gives a task up.
func (s *server) fail(c *call, p *plan.Tx, id string) error {
	if err := s.mayEnd(c, p, id); err != nil {
		return err
	}
	return p.Fail(id)
}

// errHeld is the end of a task by another agent than the one that has it.
var errHeld = errors.New("another agent has this task; take it over with reportTaskStatus in_progress first, or wait for its lease to end")

// mayEnd refuses an agent that ends the task of another one. An agent that can never
// come back, or has not been heard of for longer than the lease, has none.
func (s *server) mayEnd(c *call, p *plan.Tx, id string) error {
	t := p.Task(id)
	switch {
	case t == nil:
		return plan.ErrUnknown
	case t.Holder == plan.Holder{}, t.Holder == s.holder(c), s.overdue(t, c.now), len(s.gone([]plan.Holder{t.Holder})) > 0:
		return nil
	}
	return errHeld
}

// nextID returns the task that getNextTask would return to an agent, or nil. To
// name it hands nothing out.
func nextID(v *plan.View, agent plan.Holder) *string {
	if t := v.Next(agent); t != nil {
		return &t.ID
	}
	return nil
}

// A dashboard is what reportTaskDone says of the whole plan.
type dashboard struct {
	CompletedCount           int     `json:"completedCount"`
	TotalCount               int     `json:"totalCount"`
	PercentComplete          float64 `json:"percentComplete"`
	BlockedCount             int     `json:"blockedCount"`
	VerificationPendingCount int     `json:"verificationPendingCount"`
}

func newDashboard(n plan.Counts) *dashboard {
	d := &dashboard{
		CompletedCount: n.Completed, TotalCount: n.Total,
		BlockedCount: n.Blocked, VerificationPendingCount: n.VerificationPending,
	}
	if n.Total > 0 {
		d.PercentComplete = math.Round(1000*float64(n.Completed)/float64(n.Total)) / 10
	}
	return d
}

// excerpt shortens a text for a title or an alert.
func excerpt(s string) string {
	const most = 60
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "…"
}
