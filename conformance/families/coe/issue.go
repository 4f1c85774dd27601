package coe

import (
	"context"
	"log/slog"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
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

// issueReport holds the arguments of reportIssue, and what came of it.
type issueReport struct {
	IssueDescription string `json:"issue_description"`
	Severity         int    `json:"severity"`
	TaskID           string `json:"task_id,omitempty"`
	FilePath         string `json:"file_path,omitempty"`
	ReproSteps       string `json:"repro_steps,omitempty"`
	Immediate        *bool  `json:"immediate,omitempty"`
	Escalated        bool   `json:"escalated"`
}

func (s *server) issue(ctx context.Context, c *call) (any, error) {
	o := params.Read(c.Arguments, "issue_description", "severity", "task_id", "file_path", "repro_steps", "immediate")
	o.Need("issue_description", "severity")
	r := &issueReport{
		IssueDescription: o.Filled("issue_description", 800), Severity: o.Int("severity", 1, 3, 0),
		TaskID: optionalID(o), FilePath: optionalPath(o), ReproSteps: o.Text("repro_steps", 0),
	}
	immediate := o.Bool("immediate", false)
	r.Immediate = given(o, "immediate", immediate)
	if err := o.Err(); err != nil {
		return nil, err
	}
	c.Started(ctx, slog.Int("severity", r.Severity), slog.Bool("immediate", immediate))
	r.Escalated = r.Severity == 1 || immediate
	rec, err := s.keepAlone(ctx, c, ledger.Issue, r.TaskID, r.Severity, r)
	if err != nil {
		return nil, err
	}
	c.Completed(slog.String("issue_id", rec.ID), slog.Bool("escalated", r.Escalated))
	return &issueAnswer{Logged: true, Escalated: r.Escalated}, nil
}
