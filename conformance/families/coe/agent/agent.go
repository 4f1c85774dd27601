// Package agent plans and verifies tasks for callCOEAgent: by rules that are built in,
// or by a program or a web address of the user's that answers instead.
package agent

import (
	"context"
	"fmt"
	"strings"
)

// A Request is what an agent is asked. It is sent to providers as JSON.
type Request struct {
	// Command is plan, verify or ask.
	Command string `json:"command"`
	// Text is the task in the words of the caller, or the question.
	Text string `json:"text,omitempty"`
	// Code is what is to be verified.
	Code string `json:"code,omitempty"`
	// Task is the task of the plan that Text names; nil is none.
	Task *Task `json:"task,omitempty"`
	// Advice is what the documents say about it.
	Advice []string `json:"advice,omitempty"`
}

// A Task is a task of the plan.
type Task struct {
	ID           string   `json:"id"`
	Title        string   `json:"title"`
	Description  string   `json:"description,omitempty"`
	Requirements []string `json:"requirements,omitempty"`
	Criteria     []string `json:"acceptance_criteria,omitempty"`
	Read         []string `json:"read,omitempty"`
	Change       []string `json:"change,omitempty"`
	// Open are the tasks that must be done first.
	Open []string `json:"open_dependencies,omitempty"`
}

// A Provider answers instead of the rules. It is safe for concurrent use.
type Provider interface {
	Answer(ctx context.Context, r Request) (string, error)
}

// Plan returns numbered steps: what must be there first, what to read and keep to, a
// test for each criterion, what to change, and the report.
func Plan(r Request) string {
	var b strings.Builder
	step := 0
	add := func(format string, args ...any) {
		step++
		fmt.Fprintf(&b, "%d. %s\n", step, fmt.Sprintf(format, args...))
	}
	about := fmt.Sprintf("%q", strings.TrimSpace(r.Text))
	t := r.Task
	if t == nil {
		t = &Task{}
	} else {
		about = t.ID + ": " + t.Title
	}
	fmt.Fprintf(&b, "Plan for %s:\n", about)
	for _, open := range t.Open {
		add("Finish first: %s", open)
	}
	if len(t.Read) > 0 {
		add("Read %s", strings.Join(t.Read, ", "))
	}
	for _, advice := range r.Advice {
		add("%s", advice)
	}
	for _, requirement := range t.Requirements {
		add("Keep to: %s", requirement)
	}
	for _, criterion := range t.Criteria {
		add("Write a failing test for: %s", criterion)
	}
	switch {
	case len(t.Criteria) == 0:
		add("Write down what must hold in the end, and a failing test for each of it: no criteria are known")
	case len(t.Change) == 0:
		add("Write code until the tests pass")
	}
	if len(t.Change) > 0 {
		add("Change %s until the tests pass", strings.Join(t.Change, ", "))
	}
	if len(t.Criteria) > 0 {
		add("Report with reportTaskDone taskId=%s, with the result of each criterion in acceptanceCriteriaVerification", t.ID)
	} else {
		add("Report with reportTaskDone, with the test results")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
