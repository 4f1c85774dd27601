// Package coe has the checks of the orchestration tools: tasks, questions, reports,
// tickets, limits and faults.
package coe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/profile"
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// Tools of the coe family.
const (
	ToolNext         = "getNextTask"
	ToolDone         = "reportTaskDone"
	ToolAsk          = "askQuestion"
	toolObserve      = "reportObservation"
	toolTestFailure  = "reportTestFailure"
	toolVerification = "reportVerificationResult"
	toolCompleted    = "reportTaskCompleted"
	toolIssue        = "reportIssue"
	toolImmediate    = "getImmediateAnswer"
	toolStatus       = "reportTaskStatus"
	ToolTicket       = "createTicket"
	toolAgent        = "callCOEAgent"
)

const Area = "coe"

// coeNeeds is what a scenario of the family needs to call the tools. The two
// first tools of the family tell it from servers that have one tool of such a
// name by chance.
func coeNeeds(tools ...string) engine.Needs {
	return engine.Needs{
		Capability: "tools", Profile: profile.COE, SideEffects: conformance.SideEffectsAll,
		Tools: slices.Compact(append([]string{ToolNext, toolObserve}, tools...)),
	}
}

// coeReading is coeNeeds for tools that only read.
func coeReading(tools ...string) engine.Needs {
	n := coeNeeds()
	n.SideEffects, n.Tools = conformance.SideEffectsReadOnly, append([]string{ToolNext, ToolAsk}, tools...)
	return n
}

// Scenarios returns the scenarios of the family.
func Scenarios() []engine.Scenario {
	return slices.Concat(
		coeTaskScenarios(), coeDoneScenarios(), coeQuestionScenarios(), coeReportScenarios(), coeStatusScenarios(),
		coeErrorScenarios(), coeFaultScenarios(), coeLimitScenarios(), coeTransportScenarios(),
	)
}

// coeTable is a table of the family.
func coeTable(id, title string, needs engine.Needs, steps ...table.Step) table.Table {
	return table.Table{ID: id, Area: Area, Title: title, Needs: needs, Steps: steps, Make: makeCOE}
}

// makeCOE makes tasks of the scenario's own. The name says which priority:
// task and other are low, the others are what they are called.
func makeCOE(r *table.Run, name string) (any, error) {
	switch name {
	case "task", "other":
		return plannedTask(r, "low")
	case "high", "critical", "medium":
		return plannedTask(r, name)
	case "nosuch":
		return "TASK-NOSUCH-" + r.Kept["nonce"].(string), nil //nolint:forcetypeassert // set by run
	}
	return nil, fmt.Errorf("%w: no answer before had %s", table.ErrPrerequisite, name)
}

// plannedTask puts a task into the queue: an observation may create one
// (S1-OBS-01).
func plannedTask(r *table.Run, priority string) (string, error) {
	doc, err := r.Prepare(ToolNext, table.Members{"filter": "all", "includeDetailedPrompt": false, "includeContext": false})
	if err != nil {
		return "", err
	}
	base := table.TextAt(doc, "payload.task.taskId")
	if base == "" {
		return "", fmt.Errorf("%w: the queue has no task to begin with", table.ErrPrerequisite)
	}
	doc, err = r.Prepare(toolObserve, table.Members{
		"taskId": base, "observation": "the conformance suite needs a task of its own", "type": "dependency", "severity": "low",
		"createNewTask": true, "newTaskDetails": table.Members{"title": "suite $nonce", "priority": priority, "estimatedHours": 1},
	})
	if err != nil {
		return "", err
	}
	id := table.TextAt(doc, "payload.newTaskCreated.taskId")
	if id == "" {
		return "", fmt.Errorf("%w: no task was created: %s", table.ErrPrerequisite, rawjson.Clip(string(rawjson.Encode(doc)), 200))
	}
	return id, nil
}

// numeric expects an error of a tool of v1.0.
func numeric(code int, more ...table.Expectation) []table.Expectation {
	return table.RPCCode(code, more...)
}

// envelope expects the global error envelope of the later tools.
func envelope(code string, more ...table.Expectation) []table.Expectation {
	return append([]table.Expectation{table.Is("isError", true), table.Is("payload.success", false), table.Is("payload.error.code", code)}, more...)
}

// invalidField expects INVALID_PARAM for an argument.
func invalidField(name string) []table.Expectation {
	return envelope("INVALID_PARAM", table.Is("payload.error.details.field", name))
}

// Letters is text of n characters, each of two bytes.
func Letters(n int) string { return strings.Repeat("é", n) }

// enhancedShape keeps a table to servers whose getNextTask answers in the shape
// of the full specification (C-09).
func enhancedShape(r *table.Run) (string, error) { return taskShape(r, "enhanced") }

// taskShape says why the server does not answer in a shape.
func taskShape(r *table.Run, shape string) (string, error) {
	doc, err := r.Prepare(ToolNext, table.Members{"includeContext": false, "filter": "ready"})
	if err != nil {
		return "", err
	}
	got := "enhanced"
	if _, there := table.Lookup(doc, "payload.queueStatus"); there {
		got = "implemented"
	} else if _, there := table.Lookup(doc, "payload.ticketId"); there || doc["payload"] == nil && doc["error"] == nil {
		got = "legacy"
	}
	if got == shape {
		return "", nil
	}
	return "needs a server set to the " + shape + " shape of getNextTask", nil
}
