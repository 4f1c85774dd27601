package coe

import (
	"context"
	"log/slog"
	"math"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
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

// completedReport holds the arguments of reportTaskCompleted.
type completedReport struct {
	TaskID            string       `json:"task_id"`
	Status            string       `json:"status"`
	OutputSummary     string       `json:"output_summary,omitempty"`
	FilesModified     []string     `json:"files_modified,omitempty"`
	CoveragePercent   *float64     `json:"coverage_percent,omitempty"`
	TestResults       *testResults `json:"test_results,omitempty"`
	PriorityCompleted int          `json:"priority_completed,omitempty"`
}

type testResults struct {
	Passed *int `json:"passed,omitempty"`
	Failed *int `json:"failed,omitempty"`
}

func readCompleted(c *call) (*completedReport, error) {
	o := params.Read(c.Arguments, "task_id", "status", "output_summary", "files_modified", "coverage_percent", "test_results", "priority_completed")
	o.Need("task_id", "status")
	r := &completedReport{
		TaskID: o.ID("task_id"), Status: o.Enum("status", "success", "partial", "failed"),
		OutputSummary: o.Text("output_summary", 500), FilesModified: o.Paths("files_modified"),
	}
	if !o.Null("coverage_percent") {
		r.CoveragePercent = given(o, "coverage_percent", o.Number("coverage_percent", math.Inf(-1), math.Inf(1)))
	}
	if o.Has("test_results") {
		t := o.Object("test_results", "passed", "failed")
		r.TestResults = &testResults{
			Passed: given(t, "passed", t.Int("passed", 0, math.MaxInt32, 0)), Failed: given(t, "failed", t.Int("failed", 0, math.MaxInt32, 0)),
		}
	}
	r.PriorityCompleted = o.Int("priority_completed", 1, 3, 0)
	return r, o.Err()
}

func (s *server) completed(ctx context.Context, c *call) (any, error) {
	r, err := readCompleted(c)
	if err != nil {
		return nil, err
	}
	c.Started(ctx, slog.String("status", r.Status))
	var kept ledger.Record
	err = s.change(ctx, c.Tool, func(p *plan.Tx, l ledger.Tx) (err error) {
		if err = s.mayReport(c, p, r.TaskID); err != nil && r.Status != "partial" {
			return err
		}
		switch r.Status {
		case "partial":
			err = s.startPart(c, p, r.TaskID)
		case "failed":
			err = p.Fail(r.TaskID)
		default:
			_, err = s.finish(ctx, c, p, l, r.TaskID)
		}
		if err != nil {
			return err
		}
		kept, err = keep(ctx, l, c, ledger.Report, r.TaskID, 3, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.logKept(ctx, kept)
	return &completedAnswer{Acknowledged: true, NextTaskSuggested: nextID(s.plan.View(), s.holder(c))}, nil
}
