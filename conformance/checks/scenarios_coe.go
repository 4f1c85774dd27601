package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// Tools of the coe family.
const (
	toolNext         = "getNextTask"
	toolDone         = "reportTaskDone"
	toolAsk          = "askQuestion"
	toolObserve      = "reportObservation"
	toolTestFailure  = "reportTestFailure"
	toolVerification = "reportVerificationResult"
	toolCompleted    = "reportTaskCompleted"
	toolIssue        = "reportIssue"
	toolImmediate    = "getImmediateAnswer"
	toolStatus       = "reportTaskStatus"
	toolTicket       = "createTicket"
	toolAgent        = "callCOEAgent"
)

const areaCOE = "coe"

// coeNeeds is what a scenario of the family needs to call the tools. The two
// first tools of the family tell it from servers that have one tool of such a
// name by chance.
func coeNeeds(tools ...string) conformance.Needs {
	return conformance.Needs{
		Capability: "tools", Family: familyCOE, SideEffects: conformance.SideEffectsAll,
		Tools: slices.Compact(append([]string{toolNext, toolObserve}, tools...)),
	}
}

// coeReading is coeNeeds for tools that only read.
func coeReading(tools ...string) conformance.Needs {
	n := coeNeeds()
	n.SideEffects, n.Tools = conformance.SideEffectsReadOnly, append([]string{toolNext, toolAsk}, tools...)
	return n
}

func coeScenarios() []conformance.Scenario {
	return slices.Concat(
		coeTaskScenarios(), coeDoneScenarios(), coeQuestionScenarios(), coeReportScenarios(), coeStatusScenarios(),
		coeErrorScenarios(), coeFaultScenarios(), coeLimitScenarios(), coeTransportScenarios(),
	)
}

// coeTable is a table of the family.
func coeTable(id, title string, needs conformance.Needs, steps ...step) table {
	return table{id: id, area: areaCOE, title: title, needs: needs, steps: steps, make: makeCOE}
}

// makeCOE makes tasks of the scenario's own. The name says which priority:
// task and other are low, the others are what they are called.
func makeCOE(r *tableRun, name string) (any, error) {
	switch name {
	case "task", "other":
		return r.newTask("low")
	case "high", "critical", "medium":
		return r.newTask(name)
	case "nosuch":
		return "TASK-NOSUCH-" + r.kept["nonce"].(string), nil //nolint:forcetypeassert // set by run
	}
	return nil, fmt.Errorf("%w: no answer before had %s", errPrerequisite, name)
}

// newTask puts a task into the queue: an observation may create one
// (S1-OBS-01).
func (r *tableRun) newTask(priority string) (string, error) {
	doc, err := r.prepare(toolNext, members{"filter": "all", "includeDetailedPrompt": false, "includeContext": false})
	if err != nil {
		return "", err
	}
	base := textAt(doc, "payload.task.taskId")
	if base == "" {
		return "", fmt.Errorf("%w: the queue has no task to begin with", errPrerequisite)
	}
	doc, err = r.prepare(toolObserve, members{
		"taskId": base, "observation": "the conformance suite needs a task of its own", "type": "dependency", "severity": "low",
		"createNewTask": true, "newTaskDetails": members{"title": "suite $nonce", "priority": priority, "estimatedHours": 1},
	})
	if err != nil {
		return "", err
	}
	id := textAt(doc, "payload.newTaskCreated.taskId")
	if id == "" {
		return "", fmt.Errorf("%w: no task was created: %s", errPrerequisite, rawjson.Clip(string(rawjson.Encode(doc)), 200))
	}
	return id, nil
}

// numeric expects an error of a tool of v1.0.
func numeric(code int, more ...expectation) []expectation { return rpcCode(code, more...) }

// envelope expects the global error envelope of the later tools.
func envelope(code string, more ...expectation) []expectation {
	return append([]expectation{is("isError", true), is("payload.success", false), is("payload.error.code", code)}, more...)
}

// invalidField expects INVALID_PARAM for an argument.
func invalidField(name string) []expectation {
	return envelope("INVALID_PARAM", is("payload.error.details.field", name))
}

// letters is text of n characters, each of two bytes.
func letters(n int) string { return strings.Repeat("é", n) }

// enhancedShape keeps a table to servers whose getNextTask answers in the shape
// of the full specification (C-09).
func enhancedShape(r *tableRun) (string, error) { return taskShape(r, "enhanced") }

// taskShape says why the server does not answer in a shape.
func taskShape(r *tableRun, shape string) (string, error) {
	doc, err := r.prepare(toolNext, members{"includeContext": false, "filter": "ready"})
	if err != nil {
		return "", err
	}
	got := "enhanced"
	if _, there := lookup(doc, "payload.queueStatus"); there {
		got = "implemented"
	} else if _, there := lookup(doc, "payload.ticketId"); there || doc["payload"] == nil && doc["error"] == nil {
		got = "legacy"
	}
	if got == shape {
		return "", nil
	}
	return "needs a server set to the " + shape + " shape of getNextTask", nil
}
