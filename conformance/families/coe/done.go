package coe

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

func (s *server) taskDoneTool() tool {
	return tool{
		name: "reportTaskDone", title: "Report task done",
		description: "Report that a task is done, failed, blocked or partly done, with test results, observations and follow-up tasks. " +
			"Done creates a verification task and unblocks what waited for the task. The answer names the next task.",
		pick: only(version{form: numeric, writes: true, handle: s.taskDone}),
	}
}

// doneReport holds the arguments of reportTaskDone.
type doneReport struct {
	TaskID              string               `json:"taskId"`
	Status              string               `json:"status"`
	StatusDetails       *statusDetails       `json:"statusDetails,omitempty"`
	ImplementationNotes string               `json:"implementationNotes,omitempty"`
	FilesModified       []string             `json:"filesModified,omitempty"`
	Testing             *testsRun            `json:"testing,omitempty"`
	Criteria            map[string]criterion `json:"acceptanceCriteriaVerification,omitempty"`
	FollowUpTasks       []followUpWork       `json:"followUpTasks,omitempty"`
	Observations        []string             `json:"observations,omitempty"`
}

type statusDetails struct {
	ProgressPercent *float64 `json:"progressPercent,omitempty"`
	BlockedReason   string   `json:"blockedReason,omitempty"`
	FailureReason   string   `json:"failureReason,omitempty"`
	PartiallyDone   string   `json:"partiallyDone,omitempty"`
}

type testsRun struct {
	TestsAdded               bool     `json:"testsAdded"`
	TestFileCreated          string   `json:"testFileCreated,omitempty"`
	TestsPassed              bool     `json:"testsPassed"`
	TestsFailed              int      `json:"testsFailed"`
	TestCoveragePercent      *float64 `json:"testCoveragePercent,omitempty"`
	FailedTestNames          []string `json:"failedTestNames,omitempty"`
	AccessibilityTestsPassed *bool    `json:"accessibilityTestsPassed,omitempty"`
}

type criterion struct {
	Text   string `json:"text"`
	Status string `json:"status"`
}

type followUpWork struct {
	Title          string   `json:"title"`
	Why            string   `json:"why"`
	EstimatedHours *float64 `json:"estimatedHours,omitempty"`
}

// unmet counts the criteria that failed.
func (r *doneReport) unmet() (n int) {
	for _, c := range r.Criteria {
		if c.Status == "failed" {
			n++
		}
	}
	return n
}

// task is the task that a follow-up asks for.
func (f followUpWork) task(after *plan.Task) plan.Task {
	t := plan.Task{Title: f.Title, Description: f.Why, Priority: plan.Medium, Related: []string{after.ID}, Reference: after.Reference}
	if f.EstimatedHours != nil {
		t.EstimatedHours = *f.EstimatedHours
	}
	return t
}

// maxItems bounds the arrays of which each element becomes a task or a record.
const maxItems = 100

// maxCriterion bounds the digits of a criterion's number, which errors repeat.
const maxCriterion = 6

func readDone(c *call) (*doneReport, error) {
	o := params.Read(c.Arguments, "taskId", "status", "statusDetails", "implementationNotes", "filesModified", "testing",
		"acceptanceCriteriaVerification", "followUpTasks", "observations")
	o.Need("taskId", "status")
	r := &doneReport{
		TaskID: o.ID("taskId"), Status: o.Enum("status", "done", "failed", "blocked", "partial"), StatusDetails: readDetails(o),
		ImplementationNotes: o.Text("implementationNotes", 0), FilesModified: o.Paths("filesModified"), Testing: readTesting(o),
		Criteria: readCriteria(o),
	}
	o.AtMost("followUpTasks", maxItems)
	for _, f := range o.Objects("followUpTasks", "title", "why", "estimatedHours") {
		f.Need("title", "why")
		r.FollowUpTasks = append(r.FollowUpTasks, followUpWork{
			Title: f.Filled("title", 0), Why: f.Text("why", 0), EstimatedHours: given(f, "estimatedHours", f.Number("estimatedHours", 0, math.Inf(1))),
		})
	}
	o.AtMost("observations", maxItems)
	r.Observations = o.Texts("observations")
	return r, o.Err()
}

func readDetails(o *params.Object) *statusDetails {
	if !o.Has("statusDetails") {
		return nil
	}
	d := o.Object("statusDetails", "progressPercent", "blockedReason", "failureReason", "partiallyDone")
	return &statusDetails{
		ProgressPercent: given(d, "progressPercent", d.Number("progressPercent", 0, 100)),
		BlockedReason:   d.Text("blockedReason", 0), FailureReason: d.Text("failureReason", 0), PartiallyDone: d.Text("partiallyDone", 0),
	}
}

func readTesting(o *params.Object) *testsRun {
	if !o.Has("testing") {
		return nil
	}
	t := o.Object("testing", "testsAdded", "testFileCreated", "testsPassed", "testsFailed", "testCoveragePercent", "failedTestNames",
		"accessibilityTestsPassed")
	t.Need("testsAdded", "testsPassed", "testsFailed")
	return &testsRun{
		TestsAdded: t.Bool("testsAdded", false), TestFileCreated: t.Path("testFileCreated"), TestsPassed: t.Bool("testsPassed", false),
		TestsFailed:              t.Int("testsFailed", 0, math.MaxInt32, 0),
		TestCoveragePercent:      given(t, "testCoveragePercent", t.Number("testCoveragePercent", 0, 100)),
		FailedTestNames:          t.Texts("failedTestNames"),
		AccessibilityTestsPassed: given(t, "accessibilityTestsPassed", t.Bool("accessibilityTestsPassed", false)),
	}
}

func readCriteria(o *params.Object) map[string]criterion {
	if !o.Has("acceptanceCriteriaVerification") {
		return nil
	}
	criteria := o.Any("acceptanceCriteriaVerification")
	out := map[string]criterion{}
	for _, name := range criteria.Members() {
		if strings.Trim(name, "0123456789") != "" || name == "" || len(name) > maxCriterion {
			criteria.Fail("", params.Unknown, "acceptanceCriteriaVerification has members by number alone")
			break
		}
		c := criteria.Object(name, "text", "status")
		c.Need("text", "status")
		out[name] = criterion{c.Text("text", 0), c.Enum("status", "passed", "failed", "not-applicable")}
	}
	return out
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
	c.Started(ctx, slog.String("status", r.Status))
	var answer *doneAnswer
	var kept []ledger.Record
	err = s.change(ctx, c.Tool, func(p *plan.Tx, l ledger.Tx) error {
		t := p.Task(r.TaskID)
		if t == nil {
			return taskNotFound("Task not found", r.TaskID)
		}
		answer = &doneAnswer{Success: true, TaskID: r.TaskID, Status: r.Status}
		if err := s.applyDone(ctx, c, p, l, r, answer); err != nil {
			return err
		}
		for _, f := range r.FollowUpTasks {
			if _, err := p.Add(f.task(t), c.now); err != nil {
				return err
			}
		}
		answer.describe(&p.View, s.holder(c))
		var err error
		kept, err = r.keep(ctx, l, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, rec := range kept[1:] {
		answer.ObservationsProcessed = append(answer.ObservationsProcessed, noted{
			ObservationID: rec.ID, Observation: r.Observations[i], Status: "noted", SuggestedFollowUp: followUp(r.Observations[i]),
		})
	}
	c.logKept(ctx, kept...)
	c.Completed(slog.Int("observations", len(r.Observations)), slog.Int("follow_ups", len(r.FollowUpTasks)))
	return answer, nil
}

// keep writes the report, and each observation for itself: it has an id of its
// own in the answer.
func (r *doneReport) keep(ctx context.Context, l ledger.Tx, c *call) ([]ledger.Record, error) {
	report, err := keep(ctx, l, c, ledger.Report, r.TaskID, 3, r)
	if err != nil {
		return nil, err
	}
	kept := []ledger.Record{report}
	for _, text := range r.Observations {
		rec, err := keep(ctx, l, c, ledger.Observation, r.TaskID, 3, map[string]string{"observation": text, "report": report.ID})
		if err != nil {
			return nil, err
		}
		kept = append(kept, rec)
	}
	return kept, nil
}

// applyDone makes the transition that was reported.
func (s *server) applyDone(ctx context.Context, c *call, p *plan.Tx, l ledger.Tx, r *doneReport, answer *doneAnswer) error {
	if err := s.mayReport(c, p, r.TaskID); err != nil && r.Status != "partial" {
		return err
	}
	if r.Status == "done" {
		t := p.Task(r.TaskID)
		end, err := s.finish(ctx, c, p, l, r.TaskID)
		if err != nil {
			return err
		}
		answer.VerificationTaskCreated = &verification{
			TaskID: end.Verification.ID, Title: end.Verification.Title, Why: why(t, r), AutomationLevel: automation(t),
		}
		return nil
	}
	details := r.StatusDetails
	if details == nil {
		details = &statusDetails{}
	}
	if err := p.Progress(r.TaskID, details.ProgressPercent, 0); err != nil {
		return err
	}
	switch r.Status {
	case "failed":
		return p.Fail(r.TaskID)
	case "blocked":
		return p.Hold(r.TaskID, cmp.Or(details.BlockedReason, "reported as blocked"))
	}
	return s.startPart(c, p, r.TaskID)
}

// why says what the verification is for.
func why(t *plan.Task, r *doneReport) string {
	criteria := 0
	if t.Prompt != nil {
		criteria = len(t.Prompt.AcceptanceCriteria)
	}
	switch {
	case r.unmet() > 0:
		return fmt.Sprintf("%d of %d reported acceptance criteria failed", r.unmet(), len(r.Criteria))
	case len(r.Criteria) < criteria:
		return fmt.Sprintf("Only %d of %d acceptance criteria were reported on", len(r.Criteria), criteria)
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
func (a *doneAnswer) describe(v *plan.View, agent plan.Holder) {
	n := v.Counts()
	word, created := a.Status, 0
	if a.Status == "done" {
		word, created = "complete", 1
	}
	a.Message = fmt.Sprintf("Task marked %s. %d ready tasks, %d blocked, %d verification task created", word, n.Ready, n.Blocked, created)
	a.DashboardUpdate = newDashboard(n)
	if next := v.Next(agent); next != nil {
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
