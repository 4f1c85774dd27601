package coe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/envelope"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

func (s *server) testFailureTool() tool {
	return tool{
		name: "reportTestFailure", title: "Report test failure",
		description: "Report a test that fails. With needsInvestigation an investigation task becomes the next one in the queue; " +
			"the task of a test that passed before waits for it.",
		pick: only(version{form: numeric, writes: true, handle: s.testFailure}),
	}
}

// failureReport holds the arguments of reportTestFailure.
type failureReport struct {
	TaskID             string         `json:"taskId"`
	TestName           string         `json:"testName"`
	TestFile           string         `json:"testFile"`
	FailureDetails     failureDetails `json:"failureDetails"`
	PreviousStatus     string         `json:"previousStatus"`
	Context            string         `json:"context,omitempty"`
	CausePossibility   []string       `json:"causePossibility,omitempty"`
	NeedsInvestigation bool           `json:"needsInvestigation"`
	ActionNeeded       string         `json:"actionNeeded"`
}

// failureDetails are what the test said; its values may be anything.
type failureDetails struct {
	Error           string          `json:"error"`
	FailingColor    json.RawMessage `json:"failingColor,omitempty"`
	ExpectedValue   json.RawMessage `json:"expectedValue,omitempty"`
	ActualValue     json.RawMessage `json:"actualValue,omitempty"`
	FailedAssertion string          `json:"failedAssertion,omitempty"`
}

func readFailure(c *call) (*failureReport, error) {
	o := params.Read(c.Arguments, "taskId", "testName", "testFile", "failureDetails", "previousStatus", "context", "causePossibility",
		"needsInvestigation", "actionNeeded")
	o.Need("taskId", "testName", "testFile", "failureDetails", "previousStatus", "needsInvestigation", "actionNeeded")
	r := &failureReport{TaskID: o.ID("taskId"), TestName: o.Text("testName", 0), TestFile: o.Path("testFile")}
	d := o.Object("failureDetails", "error", "failingColor", "expectedValue", "actualValue", "failedAssertion")
	d.Need("error")
	r.FailureDetails = failureDetails{
		Error: d.Text("error", 0), FailingColor: d.Raw("failingColor"), ExpectedValue: d.Raw("expectedValue"),
		ActualValue: d.Raw("actualValue"), FailedAssertion: d.Text("failedAssertion", 0),
	}
	r.PreviousStatus = o.Enum("previousStatus", "passing_before", "never_passed", "flaky")
	r.Context = o.Text("context", 0)
	r.CausePossibility = o.Texts("causePossibility")
	r.NeedsInvestigation = o.Bool("needsInvestigation", false)
	r.ActionNeeded = o.Text("actionNeeded", 0)
	return r, o.Err()
}

type failureAnswer struct {
	Success       bool           `json:"success"`
	TestFailureID string         `json:"testFailureId"`
	TestName      string         `json:"testName"`
	Status        string         `json:"status"`
	BlockingTask  *blockingTask  `json:"blockingTask,omitempty"`
	Investigation *investigation `json:"investigationTaskCreated,omitempty"`
	RootCause     *rootCause     `json:"suspectedRootCauseAnalysis"`
	Alert         *criticalAlert `json:"dashboardAlert"`
}

type blockingTask struct {
	BlockingTaskID string `json:"blockingTaskId"`
	Message        string `json:"message"`
}

type investigation struct {
	TaskID       string        `json:"taskId"`
	Title        string        `json:"title"`
	Priority     plan.Priority `json:"priority"`
	Blocker      bool          `json:"blocker"`
	Details      string        `json:"details"`
	AddedToQueue bool          `json:"addedToQueue"`
	Position     string        `json:"position"`
}

type rootCause struct {
	LikeliestCause         string   `json:"likeliestCause"`
	SuggestedInvestigation []string `json:"suggestedInvestigation"`
}

type criticalAlert struct {
	Type                   string `json:"type"`
	Message                string `json:"message"`
	Timestamp              string `json:"timestamp"`
	RequiresHumanAttention bool   `json:"requiresHumanAttention"`
}

func (s *server) testFailure(ctx context.Context, c *call) (any, error) {
	r, err := readFailure(c)
	if err != nil {
		return nil, err
	}
	c.Started(ctx, slog.String("previous_status", r.PreviousStatus), slog.Bool("needs_investigation", r.NeedsInvestigation))
	var answer *failureAnswer
	var rec ledger.Record
	err = s.change(ctx, c.Tool, func(p *plan.Tx, l ledger.Tx) error {
		t := p.Task(r.TaskID)
		if t == nil {
			return taskNotFound("Task not found", r.TaskID)
		}
		answer = &failureAnswer{
			Success: true, TestName: r.TestName, Status: "failure_logged", RootCause: r.analyse(),
			Alert: &criticalAlert{
				"critical", "Test failed: " + excerpt(r.TestName), envelope.Timestamp(c.now),
				// A test that never passed, or not always, is the agents' business.
				r.PreviousStatus == "passing_before",
			},
		}
		if r.NeedsInvestigation {
			if err := r.startInvestigation(p, t, c, answer); err != nil {
				return err
			}
		}
		rec, err = keep(ctx, l, c, ledger.TestFailure, r.TaskID, 1, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	answer.TestFailureID = rec.ID
	c.logKept(ctx, rec)
	c.Completed(slog.String("test_failure_id", rec.ID))
	return answer, nil
}

// startInvestigation puts the investigation before everything else. What it is
// about waits for it when the failure is a step back.
func (r *failureReport) startInvestigation(p *plan.Tx, t *plan.Task, c *call, answer *failureAnswer) error {
	details := fmt.Sprintf("%s in %s: %s. %s", r.TestName, r.TestFile, r.FailureDetails.Error, r.ActionNeeded)
	added, err := p.Add(plan.Task{
		Title: "Investigate: " + r.TestName, Description: details, Priority: plan.Critical, Urgent: true,
		Related: []string{t.ID}, Reference: t.Reference,
	}, c.now)
	if err != nil {
		return err
	}
	blocker := r.PreviousStatus == "passing_before" && p.BlockOn(t.ID, added.ID)
	if blocker {
		answer.BlockingTask = &blockingTask{added.ID, fmt.Sprintf("%s waits for %s", t.ID, added.ID)}
	}
	answer.Investigation = &investigation{
		TaskID: added.ID, Title: added.Title, Priority: plan.Critical, Blocker: blocker, Details: details,
		AddedToQueue: true, Position: "immediate (highest priority)",
	}
	return nil
}

// analyse makes the most of what was reported: the first cause the reporter
// thinks possible, else what the kind of failure speaks for.
func (r *failureReport) analyse() *rootCause {
	cause := &rootCause{SuggestedInvestigation: []string{"Run " + r.TestFile + " alone"}}
	switch {
	case len(r.CausePossibility) > 0:
		cause.LikeliestCause = r.CausePossibility[0]
		for _, other := range r.CausePossibility[1:] {
			cause.SuggestedInvestigation = append(cause.SuggestedInvestigation, "Rule out: "+other)
		}
	case r.PreviousStatus == "flaky":
		cause.LikeliestCause = "The test depends on time, order or shared state"
		cause.SuggestedInvestigation = append(cause.SuggestedInvestigation, "Run it many times, alone and in another order")
	case r.PreviousStatus == "never_passed":
		cause.LikeliestCause = "What is tested is not implemented yet, or the test expects too much"
	case len(r.FailureDetails.ExpectedValue) > 0 && !bytes.Equal(r.FailureDetails.ExpectedValue, r.FailureDetails.ActualValue):
		cause.LikeliestCause = "A change since the test last passed has changed the value"
	default:
		cause.LikeliestCause = "A change since the test last passed"
	}
	if r.PreviousStatus == "passing_before" {
		cause.SuggestedInvestigation = append(cause.SuggestedInvestigation, "Compare with the last change that passed")
	}
	return cause
}
