package coe

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/coe/plan"
)

func (s *server) taskDoneTool() tool {
	return tool{
		name: "reportTaskDone", title: "Report task done",
		description: "Report that a task is done, failed, blocked or partly done, with test results, observations and follow-up tasks. " +
			"Done creates a verification task and unblocks what waited for the task. The answer names the next task.",
		pick: only(version{form: numeric, writes: true, handle: s.taskDone}),
	}
}

// doneReport is what reportTaskDone was told.
type doneReport struct {
	taskID, status string
	percent        *float64
	reason         string // why it is blocked
	criteria       int
	unmet          int // criteria that failed
	followUps      []plan.Task
	observations   []string
}

// maxItems bounds the arrays of which each element becomes a task or a record.
const maxItems = 100

// maxCriterion bounds the digits of a criterion's number, which errors repeat.
const maxCriterion = 6

func readDone(c *call) (*doneReport, error) {
	o := params.Read(c.Arguments, "taskId", "status", "statusDetails", "implementationNotes", "filesModified", "testing",
		"acceptanceCriteriaVerification", "followUpTasks", "observations")
	o.Need("taskId", "status")
	r := &doneReport{taskID: o.ID("taskId"), status: o.Enum("status", "done", "failed", "blocked", "partial")}
	details := o.Object("statusDetails", "progressPercent", "blockedReason", "failureReason", "partiallyDone")
	if percent := details.Number("progressPercent", 0, 100); details.Has("progressPercent") {
		r.percent = &percent
	}
	r.reason = details.Text("blockedReason", 0)
	details.Text("failureReason", 0)
	details.Text("partiallyDone", 0)
	o.Text("implementationNotes", 0)
	o.Paths("filesModified")
	readTesting(o)
	criteria := o.Any("acceptanceCriteriaVerification")
	for _, name := range criteria.Members() {
		if strings.Trim(name, "0123456789") != "" || name == "" || len(name) > maxCriterion {
			criteria.Fail("", params.Unknown, "acceptanceCriteriaVerification has members by number alone")
			break
		}
		criterion := criteria.Object(name, "text", "status")
		criterion.Need("text", "status")
		criterion.Text("text", 0)
		if criterion.Enum("status", "passed", "failed", "not-applicable") == "failed" {
			r.unmet++
		}
		r.criteria++
	}
	o.AtMost("followUpTasks", maxItems)
	for _, f := range o.Objects("followUpTasks", "title", "why", "estimatedHours") {
		f.Need("title", "why")
		r.followUps = append(r.followUps, plan.Task{
			Title: f.Filled("title", 0), Description: f.Text("why", 0), Priority: plan.Medium,
			EstimatedHours: f.Number("estimatedHours", 0, math.Inf(1)),
		})
	}
	o.AtMost("observations", maxItems)
	r.observations = o.Texts("observations")
	return r, o.Err()
}

func readTesting(o *params.Object) {
	if !o.Has("testing") {
		return
	}
	t := o.Object("testing", "testsAdded", "testFileCreated", "testsPassed", "testsFailed", "testCoveragePercent", "failedTestNames",
		"accessibilityTestsPassed")
	t.Need("testsAdded", "testsPassed", "testsFailed")
	t.Bool("testsAdded", false)
	t.Path("testFileCreated")
	t.Bool("testsPassed", false)
	t.Int("testsFailed", 0, math.MaxInt32, 0)
	t.Number("testCoveragePercent", 0, 100)
	t.Texts("failedTestNames")
	t.Bool("accessibilityTestsPassed", false)
}

type doneAnswer struct {
	Success                 bool             `json:"success"`
	TaskID                  string           `json:"taskId"`
	Status                  string           `json:"status"`
	Message                 string           `json:"message"`
	VerificationTaskCreated *verification    `json:"verificationTaskCreated,omitempty"`
	ObservationsProcessed   []noted          `json:"observationsProcessed,omitempty"`
	NextTaskID              *string          `json:"nextTaskId,omitempty"`
	NextTaskPreview         *nextTaskPreview `json:"nextTaskPreview,omitempty"`
	DashboardUpdate         *dashboard       `json:"dashboardUpdate"`
}

type verification struct {
	TaskID          string `json:"taskId"`
	Title           string `json:"title"`
	Why             string `json:"why"`
	AutomationLevel string `json:"automationLevel"`
}

type noted struct {
	ObservationID     string `json:"observationId"`
	Observation       string `json:"observation"`
	Status            string `json:"status"`
	SuggestedFollowUp string `json:"suggestedFollowUp,omitempty"`
}

type nextTaskPreview struct {
	Title    string        `json:"title"`
	Priority plan.Priority `json:"priority"`
}

func (s *server) taskDone(ctx context.Context, c *call) (any, error) {
	r, err := readDone(c)
	if err != nil {
		return nil, err
	}
	c.Started(ctx, slog.String("status", r.status))
	var answer *doneAnswer
	var records []ledger.Record
	err = s.change(ctx, c.Tool, func(p *plan.Tx, l ledger.Tx) error {
		t := p.Task(r.taskID)
		if t == nil {
			return taskNotFound("Task not found", r.taskID)
		}
		answer = &doneAnswer{Success: true, TaskID: r.taskID, Status: r.status}
		if err := s.applyDone(ctx, c, p, l, r, answer); err != nil {
			return err
		}
		for _, f := range r.followUps {
			f.Related, f.Reference = []string{t.ID}, t.Reference
			if _, err := p.Add(f, c.now); err != nil {
				return err
			}
		}
		for len(records) < len(r.observations) { // a second attempt keeps the ids
			rec, err := s.record(c, ledger.Observation, "OBS", r.taskID, 3, map[string]string{"observation": r.observations[len(records)]})
			if err != nil {
				return err
			}
			records = append(records, rec)
		}
		answer.describe(&p.View)
		return l.AddRecords(ctx, records...)
	})
	if err != nil {
		return nil, err
	}
	for i, rec := range records {
		answer.ObservationsProcessed = append(answer.ObservationsProcessed, noted{
			ObservationID: rec.ID, Observation: r.observations[i], Status: "noted", SuggestedFollowUp: followUp(r.observations[i]),
		})
	}
	c.Completed(slog.Int("observations", len(records)), slog.Int("follow_ups", len(r.followUps)))
	return answer, nil
}

// applyDone makes the transition that was reported.
func (s *server) applyDone(ctx context.Context, c *call, p *plan.Tx, l ledger.Tx, r *doneReport, answer *doneAnswer) error {
	if r.status == "done" {
		t := p.Task(r.taskID)
		end, err := s.finish(ctx, c, p, l, r.taskID)
		if err != nil {
			return err
		}
		answer.VerificationTaskCreated = &verification{
			TaskID: end.Verification.ID, Title: end.Verification.Title, Why: why(t, r), AutomationLevel: automation(t),
		}
		return nil
	}
	if err := p.Progress(r.taskID, r.percent, 0); err != nil {
		return err
	}
	switch r.status {
	case "failed":
		return p.Fail(r.taskID)
	case "blocked":
		if r.reason == "" {
			r.reason = "reported as blocked"
		}
		return p.Hold(r.taskID, r.reason)
	}
	return p.Start(r.taskID)
}

// why says what the verification is for.
func why(t *plan.Task, r *doneReport) string {
	criteria := 0
	if t.Prompt != nil {
		criteria = len(t.Prompt.AcceptanceCriteria)
	}
	switch {
	case r.unmet > 0:
		return fmt.Sprintf("%d of %d reported acceptance criteria failed", r.unmet, r.criteria)
	case r.criteria < criteria:
		return fmt.Sprintf("Only %d of %d acceptance criteria were reported on", r.criteria, criteria)
	}
	return "Ensure that another agent comes to the same result"
}

// automation says how much of a verification an agent can do, by how hard the
// task was.
func automation(t *plan.Task) string {
	level := ""
	if t.Prompt != nil {
		level = t.Prompt.ComplexityLevel
	}
	switch level {
	case "easy":
		return "automated - agent will check"
	case "expert":
		return "manual - human will check"
	}
	return "semi-automated - agent will check, human reviews if needed"
}

// describe says how the plan stands after the report.
func (a *doneAnswer) describe(v *plan.View) {
	n := v.Counts()
	word, created := a.Status, 0
	if a.Status == "done" {
		word, created = "complete", 1
	}
	a.Message = fmt.Sprintf("Task marked %s. %d ready tasks, %d blocked, %d verification task created", word, n.Ready, n.Blocked, created)
	a.DashboardUpdate = newDashboard(n)
	if next := v.Next(); next != nil {
		a.NextTaskID = &next.ID
		a.NextTaskPreview = &nextTaskPreview{next.Title, next.Priority}
	}
}

// followUp suggests what to do about an observation that asks for something.
func followUp(observation string) string {
	lower := strings.ToLower(observation)
	for _, word := range []string{"need", "should", "must", "missing", "todo"} {
		if strings.Contains(lower, word) {
			return "Create a task for it with reportObservation"
		}
	}
	return ""
}
