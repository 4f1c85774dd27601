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
