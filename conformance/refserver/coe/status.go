package coe

import (
	"context"
	"log/slog"
	"math"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/envelope"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/plan"
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

type statusReport struct {
	taskID, status string
	percent        *float64
	seconds        float64
}

func readStatus(c *call) (*statusReport, error) {
	o := params.Read(c.Arguments, "task_id", "status", "progress_percent", "details", "metrics", "priority")
	o.Need("task_id")
	r := &statusReport{taskID: o.ID("task_id"), status: o.Enum("status", "in_progress", "blocked", "done", "failed", "paused")}
	if percent := float64(o.Int("progress_percent", 0, 100, 0)); o.Has("progress_percent") {
		r.percent = &percent
	}
	o.Text("details", 600)
	metrics := o.Object("metrics", "tokens_used", "time_seconds", "coverage_added")
	metrics.Int("tokens_used", 0, math.MaxInt32, 0)
	r.seconds = metrics.Number("time_seconds", 0, math.Inf(1))
	metrics.Number("coverage_added", math.Inf(-1), math.Inf(1))
	o.Int("priority", 1, 3, 0)
	return r, o.Err()
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
	c.Started(ctx, slog.String("status", r.status))
	answer := &statusAnswer{Acknowledged: true}
	err = s.change(ctx, c.Tool, func(p *plan.Tx, l ledger.Tx) error {
		if err := p.Progress(r.taskID, r.percent, hours(r.seconds)); err != nil {
			return err
		}
		switch r.status {
		case "in_progress":
			return p.Start(r.taskID)
		case "blocked":
			return p.Hold(r.taskID, "reported as blocked")
		case "failed":
			return p.Fail(r.taskID)
		case "paused":
			return p.Pause(r.taskID)
		case "done":
			end, err := s.finish(ctx, c, p, l, r.taskID)
			answer.Cascaded = cascade{end.tickets, len(end.Unblocked)}
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	answer.NextAction = nextAction(r.status, s.plan.View())
	c.Completed(slog.Int("tickets_resolved", answer.Cascaded.TicketsResolved), slog.Int("tasks_unblocked", answer.Cascaded.TasksUnblocked))
	return answer, nil
}

// nextAction says what the agent should do now; nil is nothing.
func nextAction(status string, v *plan.View) *string {
	action := "continue"
	switch status {
	case "done":
		if v.Next() == nil {
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
