package coe

import (
	"context"
	"log/slog"
	"math"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/plan"
)

func (s *server) completedTool() tool {
	return tool{
		name: "reportTaskCompleted", title: "Report task completed",
		description: "Signal the end of a task with metrics, and get the next task suggested. The effects are those of reportTaskDone. " +
			"Token impact ~200-500. Call: /agent call MCP reportTaskCompleted {json_props}",
		pick: only(version{form: enveloped, writes: true, handle: s.completed}),
	}
}

type completedAnswer struct {
	Acknowledged      bool    `json:"acknowledged"`
	NextTaskSuggested *string `json:"next_task_suggested"`
}

func (s *server) completed(ctx context.Context, c *call) (any, error) {
	o := params.Read(c.Arguments, "task_id", "status", "output_summary", "files_modified", "coverage_percent", "test_results", "priority_completed")
	o.Need("task_id", "status")
	task, status := o.ID("task_id"), o.Enum("status", "success", "partial", "failed")
	o.Text("output_summary", 500)
	o.Paths("files_modified")
	if !o.Null("coverage_percent") {
		o.Number("coverage_percent", math.Inf(-1), math.Inf(1))
	}
	results := o.Object("test_results", "passed", "failed")
	results.Int("passed", 0, math.MaxInt32, 0)
	results.Int("failed", 0, math.MaxInt32, 0)
	o.Int("priority_completed", 1, 3, 0)
	if err := o.Err(); err != nil {
		return nil, err
	}
	c.Started(ctx, slog.String("status", status))
	err := s.change(ctx, c.Tool, func(p *plan.Tx, l ledger.Tx) error {
		switch status {
		case "partial":
			return p.Start(task)
		case "failed":
			return p.Fail(task)
		}
		_, err := s.finish(ctx, c, p, l, task)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &completedAnswer{Acknowledged: true, NextTaskSuggested: nextID(s.plan.View())}, nil
}
