package coe

import (
	"context"
	"log/slog"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/params"
)

func (s *server) issueTool() tool {
	return tool{
		name: "reportIssue", title: "Report issue",
		description: "Flag an issue that blocks or worries. Severity 1 (critical) and immediate ones are escalated. " +
			"Token impact ~250-600. Call: /agent call MCP reportIssue {json_props}",
		pick: only(version{form: enveloped, writes: true, handle: s.issue}),
	}
}

type issueAnswer struct {
	Logged    bool `json:"logged"`
	Escalated bool `json:"escalated"`
}

func (s *server) issue(ctx context.Context, c *call) (any, error) {
	o := params.Read(c.Arguments, "issue_description", "severity", "task_id", "file_path", "repro_steps", "immediate")
	o.Need("issue_description", "severity")
	text := o.Filled("issue_description", 800)
	severity := o.Int("severity", 1, 3, 0)
	task := optionalID(o)
	path := optionalPath(o)
	steps := o.Text("repro_steps", 0)
	immediate := o.Bool("immediate", false)
	if err := o.Err(); err != nil {
		return nil, err
	}
	c.Started(ctx, slog.Int("severity", severity), slog.Bool("immediate", immediate))
	escalated := severity == 1 || immediate
	rec, err := s.record(c, ledger.Issue, "ISSUE", task, severity, map[string]any{
		"issue_description": text, "severity": severity, "file_path": path, "repro_steps": steps, "escalated": escalated,
	})
	if err != nil {
		return nil, err
	}
	if err := s.ledger.Write(ctx, c.Tool, func(l ledger.Tx) error { return l.AddRecords(ctx, rec) }); err != nil {
		return nil, err
	}
	c.Completed(slog.String("issue_id", rec.ID), slog.Bool("escalated", escalated))
	return &issueAnswer{Logged: true, Escalated: escalated}, nil
}
