// Package coe has the checks of the orchestration tools: tasks, questions, reports,
// tickets, limits and faults.
package coe

import (
	_ "embed" // the tables
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/profile"
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// Tools of the coe family that the suite calls directly.
const (
	ToolNext    = "getNextTask"
	ToolDone    = "reportTaskDone"
	ToolAsk     = "askQuestion"
	toolObserve = "reportObservation"
	ToolTicket  = "createTicket"
)

// Area is the area of the family's checks in a report.
const Area = "coe"

// tables are the checks that are calls, one after the other.
//
//go:generate gzip -9nkf tables.txt
//go:embed tables.txt.gz
var tables string

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
	return engine.Join(read(tables, judgements, map[string]func(r *table.Run) (string, error){
		"enhanced":        shaped("enhanced"),
		"implemented":     shaped("implemented"),
		"legacy":          shaped("legacy"),
		"no orchestrator": noOrchestrator,
	}), coeFaultScenarios(), coeLimitScenarios(), coeTransportScenarios())
}

// read returns the scenarios of a text.
func read(text string, that map[string]func(doc any, kept map[string]any) bool, suits map[string]func(r *table.Run) (string, error)) []engine.Scenario {
	return table.Scenarios(table.MustRead(text, table.Words{Area: Area, Needs: needsOf, Make: makeCOE, Phrases: phrases, That: that, Suits: suits})...)
}

// needsOf is what a table needs: "reading" or "writing", and more tools.
func needsOf(words []string) engine.Needs {
	if len(words) > 0 && words[0] == "reading" {
		return coeReading(words[1:]...)
	}
	return coeNeeds(words[min(1, len(words)):]...)
}

// phrases are expectations of errors of the later tools.
var phrases = map[string]func(text string) ([]table.Expectation, error){
	"envelope": func(code string) ([]table.Expectation, error) { return envelope(code), nil },
	"invalid": func(field string) ([]table.Expectation, error) {
		return append(envelope("INVALID_PARAM"), table.Is("payload.error.details.field", field)), nil
	},
	"graded": func(text string) ([]table.Expectation, error) {
		var severity, impact, level string
		var retryable bool
		_, err := fmt.Sscan(text, &severity, &retryable, &impact, &level)
		return graded(severity, retryable, impact, level), err
	},
}

// envelope expects the global error envelope of the later tools.
func envelope(code string) []table.Expectation {
	return table.Wants(table.Is("isError", true), table.Is("payload.success", false), table.Is("payload.error.code", code))
}

// graded expects the severity, retryable, the impact and the log level that S1 gives to a code
// of the envelope.
func graded(severity string, retryable bool, impact, level string) []table.Expectation {
	return table.Wants(table.Is("payload.error.severity", severity), table.Is("payload.error.retryable", retryable),
		table.Is("payload.error.priority_impact", impact), table.Is("payload.error.log_level", level))
}

// makeCOE makes tasks of the scenario's own, whose names say their priority (task and other
// are low), and texts of a length ("letters-300").
func makeCOE(r *table.Run, name string) (any, error) {
	switch name {
	case "task", "other":
		return plannedTask(r, "low")
	case "high", "critical", "medium":
		return plannedTask(r, name)
	case "nosuch":
		return "TASK-NOSUCH-" + r.Kept["nonce"].(string), nil //nolint:forcetypeassert // set by run
	}
	if length, is := strings.CutPrefix(name, "letters-"); is {
		n, err := strconv.Atoi(length)
		return Letters(n), err
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

// Letters is text of n characters, each of two bytes.
func Letters(n int) string { return strings.Repeat("é", n) }

// shaped keeps a table to servers whose getNextTask answers in a shape, such as that of the
// full specification (C-09).
func shaped(shape string) func(r *table.Run) (string, error) {
	return func(r *table.Run) (string, error) { return taskShape(r, shape) }
}

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
