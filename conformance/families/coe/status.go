package coe

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/envelope"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

func (s *server) statusTool() tool {
	return tool{
		name: "reportTaskStatus", title: "Report task status",
		description: "Report the progress of a task with metrics. Done closes its investigation tickets and unblocks what waited for it, " +
			"in one step; the answer counts both. Token impact ~300-700. Call: /agent call MCP reportTaskStatus {json_props}",
		pick: only(version{
			form: enveloped, writes: true, handle: s.taskStatus,
			beside: func(e envelope.Envelope) any { return undone{Envelope: e} },
		}),
	}
}

// statusReport holds the arguments of reportTaskStatus.
type statusReport struct {
	TaskID          string   `json:"task_id"`
	Status          string   `json:"status,omitempty"`
	ProgressPercent *float64 `json:"progress_percent,omitempty"`
	Details         string   `json:"details,omitempty"`
	Metrics         *metrics `json:"metrics,omitempty"`
	Priority        int      `json:"priority,omitempty"`
}

type metrics struct {
	TokensUsed    *int     `json:"tokens_used,omitempty"`
	TimeSeconds   *float64 `json:"time_seconds,omitempty"`
	CoverageAdded *float64 `json:"coverage_added,omitempty"`
}

func readStatus(c *call) (*statusReport, error) {
	o := params.Read(c.Arguments, "task_id", "status", "progress_percent", "details", "metrics", "priority")
	o.Need("task_id")
	r := &statusReport{
		TaskID: o.ID("task_id"), Status: o.Enum("status", "in_progress", "blocked", "done", "failed", "paused"),
		ProgressPercent: given(o, "progress_percent", float64(o.Int("progress_percent", 0, 100, 0))), Details: o.Text("details", 600),
	}
	if o.Has("metrics") {
		m := o.Object("metrics", "tokens_used", "time_seconds", "coverage_added")
		r.Metrics = &metrics{
			TokensUsed:    given(m, "tokens_used", m.Int("tokens_used", 0, math.MaxInt32, 0)),
			TimeSeconds:   given(m, "time_seconds", m.Number("time_seconds", 0, math.Inf(1))),
			CoverageAdded: given(m, "coverage_added", m.Number("coverage_added", math.Inf(-1), math.Inf(1))),
		}
	}
	r.Priority = o.Int("priority", 1, 3, 0)
	return r, o.Err()
}

// hours is how long the task took so far, by the report.
func (r *statusReport) hours() float64 {
	if r.Metrics == nil || r.Metrics.TimeSeconds == nil {
		return 0
	}
	return *r.Metrics.TimeSeconds / time.Hour.Seconds()
}

type cascade struct {
	TicketsResolved int `json:"ticketsResolved"`
	TasksUnblocked  int `json:"tasksUnblocked"`
}

type statusAnswer struct {
	Acknowledged bool    `json:"acknowledged"`
	NextAction   *string `json:"next_action"`
	Cascaded     cascade `json:"cascaded"`
}

// undone is the envelope of a failure together with the cascade, of which
// nothing has happened (S1: cascaded failure).
type undone struct {
	envelope.Envelope
	Cascaded cascade `json:"cascaded"`
}

func (s *server) taskStatus(ctx context.Context, c *call) (any, error) {
	r, err := readStatus(c)
	if err != nil {
		return nil, err
	}
	c.Started(ctx, slog.String("status", r.Status))
	answer := &statusAnswer{Acknowledged: true}
	var kept ledger.Record
	err = s.change(ctx, c.Tool, func(p *plan.Tx, l ledger.Tx) error {
		if err := s.applyStatus(ctx, c, p, l, r, answer); err != nil {
			return err
		}
		kept, err = keep(ctx, l, c, ledger.Report, r.TaskID, 3, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	answer.NextAction = nextAction(r.Status, s.plan.View(), s.holder(c))
	c.logKept(ctx, kept)
	c.Completed(slog.Int("tickets_resolved", answer.Cascaded.TicketsResolved), slog.Int("tasks_unblocked", answer.Cascaded.TasksUnblocked))
	return answer, nil
}

// applyStatus makes the transition that was reported.
func (s *server) applyStatus(ctx context.Context, c *call, p *plan.Tx, l ledger.Tx, r *statusReport, answer *statusAnswer) error {
	if r.Status != "" && r.Status != "in_progress" { // to start the task of another agent is to take it over
		if err := s.mayReport(c, p, r.TaskID); err != nil {
			return err
		}
	}
	if err := p.Progress(r.TaskID, r.ProgressPercent, r.hours()); err != nil {
		return err
	}
	switch r.Status {
	case "in_progress":
		return p.Start(r.TaskID, s.holder(c))
	case "blocked":
		return p.Hold(r.TaskID, cmp.Or(r.Details, "reported as blocked"))
	case "failed":
		return p.Fail(r.TaskID)
	case "paused":
		return p.Pause(r.TaskID)
	case "done":
		end, err := s.finish(ctx, c, p, l, r.TaskID)
		answer.Cascaded = cascade{end.tickets, len(end.Unblocked)}
		return err
	}
	return nil
}

// nextAction says what the agent should do now; nil is nothing.
func nextAction(status string, v *plan.View, agent plan.Holder) *string {
	action := "continue"
	switch status {
	case "done":
		if v.Next(agent) == nil {
			return nil
		}
	case "blocked":
		action = "create_ticket"
	case "failed":
		action = "report_issue"
	case "paused":
		action = "resume_later"
	}
	return &action
}
