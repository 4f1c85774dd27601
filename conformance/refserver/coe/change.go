package coe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/faults"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/plan"
)

// change changes the plan and the ledger together: both, or neither. f runs
// again, on the plan as it is by then, when the database was locked; others
// change the plan meanwhile.
func (s *server) change(ctx context.Context, tool string, f func(p *plan.Tx, l ledger.Tx) error) error {
	return s.ledger.Retry(ctx, func() error {
		return s.plan.Update(ctx, func(p *plan.Tx) error {
			return s.ledger.Attempt(ctx, tool, func(l ledger.Tx) error { return f(p, l) })
		})
	})
}

// An ending is what the end of a task has set off, whichever tool reported it
// (C-12).
type ending struct {
	plan.Outcome
	tickets int
}

// finish ends a task: its investigations close, its dependants may start, its
// verification is created.
func (s *server) finish(ctx context.Context, c *call, p *plan.Tx, l ledger.Tx, id string) (ending, error) {
	if p.Task(id) == nil {
		return ending{}, plan.ErrUnknown
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

// nextID returns the task that getNextTask would return, or nil.
func nextID(v *plan.View) *string {
	if t := v.Next(); t != nil {
		return &t.ID
	}
	return nil
}

// record makes a record of a kind, whose id has the prefix.
func (s *server) record(c *call, kind ledger.Kind, prefix, taskID string, rank int, body any) (ledger.Record, error) {
	raw, err := json.Marshal(body)
	return ledger.Record{
		Kind: kind, ID: fmt.Sprintf("%s-%03d", prefix, s.ledger.Number(kind)),
		TaskID: taskID, Agent: c.agent(), Rank: rank, Body: raw, Created: c.now,
	}, err
}

// rank turns a word of severity into a number: only for sorting (C-11).
func rank(severity string) int {
	switch severity {
	case "critical":
		return 1
	case "high":
		return 2
	}
	return 3
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

// hours turns seconds into hours.
func hours(seconds float64) float64 { return seconds / time.Hour.Seconds() }

// excerpt shortens a text for a title or an alert.
func excerpt(s string) string {
	const most = 60
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "…"
}
