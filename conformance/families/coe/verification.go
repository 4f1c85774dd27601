package coe

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

func (s *server) verificationTool() tool {
	return tool{
		name: "reportVerificationResult", title: "Report verification result",
		description: "Report what came of a verification task. Passed confirms the original task; failed items become issues with " +
			"follow-up tasks, and needs_rework puts the original task back into the queue.",
		pick: only(version{form: numeric, writes: true, handle: s.verify}),
	}
}

// verificationReport holds the arguments of reportVerificationResult.
type verificationReport struct {
	VerificationTaskID string           `json:"verificationTaskId"`
	OriginalTaskID     string           `json:"originalTaskId"`
	VerificationStatus string           `json:"verificationStatus"`
	Verification       verificationBody `json:"verification"`
	OriginalTaskStatus string           `json:"originalTaskStatus"`
	SuggestedActions   []string         `json:"suggestedActions,omitempty"`
}

type verificationBody struct {
	Checklist   []checkItem  `json:"checklist"`
	FailedItems []failedItem `json:"failedItems,omitempty"`
	Summary     string       `json:"summary"`
}

type checkItem struct {
	Item   string `json:"item"`
	Status string `json:"status"`
	Note   string `json:"note,omitempty"`
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
		VerificationTaskID: o.ID("verificationTaskId"), OriginalTaskID: o.ID("originalTaskId"),
		VerificationStatus: o.Enum("verificationStatus", "passed", "failed", "partial", "needs-manual-review"),
	}
	v := o.Object("verification", "checklist", "failedItems", "summary")
	v.Need("checklist", "summary")
	for _, item := range v.Objects("checklist", "item", "status", "note") {
		item.Need("item", "status")
		r.Verification.Checklist = append(r.Verification.Checklist, checkItem{
			item.Text("item", 0), item.Enum("status", "passed", "failed", "skipped"), item.Text("note", 0),
		})
	}
	v.AtMost("failedItems", maxItems)
	for _, item := range v.Objects("failedItems", "item", "issue", "why") {
		item.Need("item", "issue", "why")
		r.Verification.FailedItems = append(r.Verification.FailedItems, failedItem{item.Text("item", 0), item.Text("issue", 0), item.Text("why", 0)})
	}
	r.Verification.Summary = v.Text("summary", 0)
	r.OriginalTaskStatus = o.Enum("originalTaskStatus", "done", "done_but_incomplete", "needs_rework")
	r.SuggestedActions = o.Texts("suggestedActions")
	return r, o.Err()
}

// verdict is what becomes of the original task and how the answer calls it.
func (r *verificationReport) verdict() (plan.Verdict, string) {
	switch {
	case r.VerificationStatus == "passed":
		return plan.Confirmed, "done"
	case r.VerificationStatus == "needs-manual-review":
		return plan.Undecided, "open"
	case r.OriginalTaskStatus == "needs_rework":
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

// issueOfItem is the body of the issue that a failed item becomes.
type issueOfItem struct {
	failedItem
	Report string `json:"report"` // the verification it is part of
}

func (s *server) verify(ctx context.Context, c *call) (any, error) {
	r, err := readVerification(c)
	if err != nil {
		return nil, err
	}
	c.Started(ctx, slog.String("verification_status", r.VerificationStatus), slog.Int("failed_items", len(r.Verification.FailedItems)))
	var answer *verificationAnswer
	var verified ledger.Record
	var issues []ledger.Record
	err = s.change(ctx, c.Tool, func(p *plan.Tx, l ledger.Tx) error {
		original, err := r.find(&p.View)
		if err != nil {
			return err
		}
		verdict, marked := r.verdict()
		if err := p.Verify(r.VerificationTaskID, verdict); err != nil {
			return err
		}
		answer = &verificationAnswer{
			Success: true, VerificationTaskID: r.VerificationTaskID, VerificationStatus: r.VerificationStatus, OriginalTaskStatus: r.OriginalTaskStatus,
			OriginalTaskMarked: marked, BlockerCleared: verdict == plan.Confirmed,
			Message: fmt.Sprintf("Verification %s: %s is marked %s", r.VerificationStatus, original.ID, marked),
		}
		if verified, err = keep(ctx, l, c, ledger.Verification, original.ID, rank(r.severity()), r); err != nil {
			return err
		}
		issues = nil
		for _, item := range r.Verification.FailedItems {
			issue, err := keep(ctx, l, c, ledger.Issue, original.ID, rank(r.severity()), issueOfItem{item, verified.ID})
			if err != nil {
				return err
			}
			issues = append(issues, issue)
		}
		return r.followUp(p, original, c, issues, answer)
	})
	if err != nil {
		return nil, err
	}
	c.logKept(ctx, append([]ledger.Record{verified}, issues...)...)
	c.Completed(slog.String("original_task_marked", answer.OriginalTaskMarked))
	return answer, nil
}

// find returns the original task of the verification that was reported.
func (r *verificationReport) find(v *plan.View) (*plan.Task, error) {
	task, original := v.Task(r.VerificationTaskID), v.Task(r.OriginalTaskID)
	switch {
	case task == nil || task.Verifies == "":
		return nil, taskNotFound("Verification task not found", r.VerificationTaskID)
	case original == nil:
		return nil, taskNotFound("Original task not found", r.OriginalTaskID)
	case task.Verifies != original.ID:
		return nil, &params.Violation{Field: "originalTaskId", Reason: params.Format, Message: "originalTaskId is not the task that was verified"}
	}
	return original, nil
}

// severity is that of an issue: a verification that failed is worse than one
// that passed in part.
func (r *verificationReport) severity() string {
	if r.VerificationStatus == "failed" {
		return "high"
	}
	return "medium"
}

// followUp makes an issue and a task of each failed item.
func (r *verificationReport) followUp(p *plan.Tx, original *plan.Task, c *call, records []ledger.Record, answer *verificationAnswer) error {
	priority, _ := plan.ParsePriority(r.severity())
	for i, item := range r.Verification.FailedItems {
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
	n := len(r.Verification.FailedItems)
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
