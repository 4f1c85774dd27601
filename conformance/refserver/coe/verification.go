package coe

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/plan"
)

func (s *server) verificationTool() tool {
	return tool{
		name: "reportVerificationResult", title: "Report verification result",
		description: "Report what came of a verification task. Passed confirms the original task; failed items become issues with " +
			"follow-up tasks, and needs_rework puts the original task back into the queue.",
		pick: only(version{form: numeric, writes: true, handle: s.verify}),
	}
}

type verificationReport struct {
	verificationID, originalID, status, original, summary string
	failed                                                []failedItem
	suggested                                             []string
}

type failedItem struct {
	Item  string `json:"item"`
	Issue string `json:"issue"`
	Why   string `json:"why"`
}

func readVerification(c *call) (*verificationReport, error) {
	o := params.Read(c.Arguments, "verificationTaskId", "originalTaskId", "verificationStatus", "verification", "originalTaskStatus",
		"suggestedActions")
	o.Need("verificationTaskId", "originalTaskId", "verificationStatus", "verification", "originalTaskStatus")
	r := &verificationReport{
		verificationID: o.ID("verificationTaskId"), originalID: o.ID("originalTaskId"),
		status: o.Enum("verificationStatus", "passed", "failed", "partial", "needs-manual-review"),
	}
	v := o.Object("verification", "checklist", "failedItems", "summary")
	v.Need("checklist", "summary")
	for _, item := range v.Objects("checklist", "item", "status", "note") {
		item.Need("item", "status")
		item.Text("item", 0)
		item.Enum("status", "passed", "failed", "skipped")
		item.Text("note", 0)
	}
	v.AtMost("failedItems", maxItems)
	for _, item := range v.Objects("failedItems", "item", "issue", "why") {
		item.Need("item", "issue", "why")
		r.failed = append(r.failed, failedItem{item.Text("item", 0), item.Text("issue", 0), item.Text("why", 0)})
	}
	r.summary = v.Text("summary", 0)
	r.original = o.Enum("originalTaskStatus", "done", "done_but_incomplete", "needs_rework")
	r.suggested = o.Texts("suggestedActions")
	return r, o.Err()
}

// verdict is what becomes of the original task and how the answer calls it.
func (r *verificationReport) verdict() (plan.Verdict, string) {
	switch {
	case r.status == "passed":
		return plan.Confirmed, "done"
	case r.status == "needs-manual-review":
		return plan.Undecided, "open"
	case r.original == "needs_rework":
		return plan.Rework, "needs_rework"
	}
	// A verification that did not pass leaves nothing simply done.
	return plan.Incomplete, "done_but_incomplete"
}

type verificationAnswer struct {
	Success              bool               `json:"success"`
	VerificationTaskID   string             `json:"verificationTaskId"`
	VerificationStatus   string             `json:"verificationStatus"`
	OriginalTaskStatus   string             `json:"originalTaskStatus"`
	Message              string             `json:"message"`
	IssuesFound          []issueFound       `json:"issuesFound,omitempty"`
	FollowUpTasksCreated []followUpTask     `json:"followUpTasksCreated,omitempty"`
	OriginalTaskMarked   string             `json:"originalTaskMarked"`
	BlockerCleared       bool               `json:"blockerCleared"`
	DashboardUpdate      verificationUpdate `json:"dashboardUpdate"`
}

type issueFound struct {
	IssueID           string   `json:"issueId"`
	Title             string   `json:"title"`
	RelatedComponents []string `json:"relatedComponents"`
	Severity          string   `json:"severity"`
}

type followUpTask struct {
	TaskID    string        `json:"taskId"`
	Title     string        `json:"title"`
	RelatedTo string        `json:"relatedTo"`
	Priority  plan.Priority `json:"priority"`
}

type verificationUpdate struct {
	Message            string `json:"message"`
	IssuesCount        int    `json:"issuesCount"`
	FollowUpTasksCount int    `json:"followUpTasksCount"`
}

func (s *server) verify(ctx context.Context, c *call) (any, error) {
	r, err := readVerification(c)
	if err != nil {
		return nil, err
	}
	c.Started(ctx, slog.String("verification_status", r.status), slog.Int("failed_items", len(r.failed)))
	var answer *verificationAnswer
	var records []ledger.Record
	err = s.change(ctx, c.Tool, func(p *plan.Tx, l ledger.Tx) error {
		original, err := r.find(&p.View)
		if err != nil {
			return err
		}
		verdict, marked := r.verdict()
		if err := p.Verify(r.verificationID, verdict); err != nil {
			return err
		}
		answer = &verificationAnswer{
			Success: true, VerificationTaskID: r.verificationID, VerificationStatus: r.status, OriginalTaskStatus: r.original,
			OriginalTaskMarked: marked, BlockerCleared: verdict == plan.Confirmed,
			Message: fmt.Sprintf("Verification %s: %s is marked %s", r.status, original.ID, marked),
		}
		for len(records) < len(r.failed) { // a second attempt keeps the ids
			rec, err := s.record(c, ledger.Issue, "ISSUE", original.ID, rank(r.severity()), r.failed[len(records)])
			if err != nil {
				return err
			}
			records = append(records, rec)
		}
		if err := r.followUp(p, original, c, records, answer); err != nil {
			return err
		}
		return l.AddRecords(ctx, records...)
	})
	if err != nil {
		return nil, err
	}
	c.Completed(slog.String("original_task_marked", answer.OriginalTaskMarked))
	return answer, nil
}

// find returns the original task of the verification that was reported.
func (r *verificationReport) find(v *plan.View) (*plan.Task, error) {
	task, original := v.Task(r.verificationID), v.Task(r.originalID)
	switch {
	case task == nil || task.Verifies == "":
		return nil, taskNotFound("Verification task not found", r.verificationID)
	case original == nil:
		return nil, taskNotFound("Original task not found", r.originalID)
	case task.Verifies != original.ID:
		return nil, &params.Violation{Field: "originalTaskId", Reason: params.Format, Message: "originalTaskId is not the task that was verified"}
	}
	return original, nil
}

// severity is that of an issue: a verification that failed is worse than one
// that passed in part.
func (r *verificationReport) severity() string {
	if r.status == "failed" {
		return "high"
	}
	return "medium"
}

// followUp makes an issue and a task of each failed item.
func (r *verificationReport) followUp(p *plan.Tx, original *plan.Task, c *call, records []ledger.Record, answer *verificationAnswer) error {
	priority, _ := plan.ParsePriority(r.severity())
	for i, item := range r.failed {
		answer.IssuesFound = append(answer.IssuesFound, issueFound{
			IssueID: records[i].ID, Title: item.Item + ": " + item.Issue, RelatedComponents: components(original), Severity: r.severity(),
		})
		added, err := p.Add(plan.Task{
			Title: "Fix: " + item.Item, Description: item.Issue + " - " + item.Why, Priority: priority,
			Related: []string{original.ID}, Reference: original.Reference,
		}, c.now)
		if err != nil {
			return err
		}
		answer.FollowUpTasksCreated = append(answer.FollowUpTasksCreated, followUpTask{added.ID, added.Title, original.ID, priority})
	}
	n := len(r.failed)
	answer.DashboardUpdate = verificationUpdate{counted(n, "issue") + " found, " + counted(n, "follow-up task") + " created", n, n}
	return nil
}

// counted writes a number of things.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}

// components are the files a task writes, or the task when it names none.
func components(t *plan.Task) []string {
	if t.Prompt != nil && t.Prompt.Files != nil && len(t.Prompt.Files.WriteTo) > 0 {
		return t.Prompt.Files.WriteTo
	}
	return []string{t.Title}
}
