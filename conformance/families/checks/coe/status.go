package coe

import (
	"regexp"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// containsWord reports whether a word stands alone in text.
func containsWord(text, word string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).MatchString(text)
}

// coeStatusScenarios are about reportTaskStatus.
func coeStatusScenarios() []engine.Scenario {
	status := func(task, status string) table.Members { return table.Members{"task_id": task, "status": status} }
	return table.Scenarios(
		coeTable("S1-STAT-01", "a task in progress", coeNeeds(toolStatus),
			table.Step{
				Word: "acknowledged", Title: "it is acknowledged, and nothing follows from it", Tool: toolStatus,
				Args: status("$task", "in_progress").With(table.Members{
					"progress_percent": 40, "details": "well on the way", "priority": 2,
					"metrics": table.Members{"tokens_used": 10, "time_seconds": 1.5, "coverage_added": 0.1},
				}),
				Want: table.Succeeds(table.Is("payload.acknowledged", true), table.Is("payload.cascaded.ticketsResolved", 0), table.Is("payload.cascaded.tasksUnblocked", 0)),
			},
			table.Step{Word: "next", Title: "next_action is a text or null", Want: table.Wants(table.HasNull("payload.next_action"))},
			table.Step{Word: "bounds", Title: "100 percent and details of 600 code points are accepted", Tool: toolStatus, Args: status("$task", "in_progress").With(table.Members{
				"progress_percent": 100, "details": Letters(600),
			}), Want: table.Succeeds(table.Is("payload.acknowledged", true))},
		),
		coeTable("S1-STAT-02", "a task that is done, with a ticket and a dependant", coeNeeds(toolStatus, ToolTicket, toolTestFailure, ToolDone),
			table.Step{Tool: toolTestFailure, Args: failureOf("$task"), Want: table.Succeeds(), Keep: map[string]string{"blocker": "payload.investigationTaskCreated.taskId"}},
			table.Step{Tool: ToolTicket, Args: table.Members{"title": "investigate $nonce", "type": "investigation", "task_id": "$blocker"}, Want: table.Succeeds()},
			table.Step{Tool: ToolDone, Args: halfDone(), Want: table.Succeeds(), Keep: map[string]string{"blocked": "payload.dashboardUpdate.blockedCount"}},
			table.Step{
				Word: "tickets", Title: "its investigation ticket is resolved", Tool: toolStatus, Args: status("$blocker", "done"),
				Want: table.Succeeds(table.Is("payload.acknowledged", true), table.Is("payload.cascaded.ticketsResolved", 1)),
			},
			table.Step{Word: "unblocked", Title: "the task that waited is unblocked", Want: table.Wants(table.Is("payload.cascaded.tasksUnblocked", 1))},
			table.Step{
				Word: "ready", Title: "that task is no longer among the blocked ones", Tool: ToolDone, Args: halfDone(),
				Want: table.Succeeds(table.More("payload.dashboardUpdate.blockedCount", "blocked", -1)),
			},
			table.Step{Word: "twice", Title: "a task that is done cannot be done again: INVALID_STATE", Tool: toolStatus, Args: status("$blocker", "done"), Want: envelope("INVALID_STATE")},
		),
		coeTable("S1-STAT-03", "a status report that is refused", coeNeeds(toolStatus),
			table.Step{Word: "percent", Title: "a progress_percent of 101 is INVALID_PARAM", Tool: toolStatus, Args: status("$task", "in_progress").With(table.Members{"progress_percent": 101}), Want: invalidField("progress_percent")},
			table.Step{Word: "details", Title: "details of 601 code points are INVALID_PARAM", Tool: toolStatus, Args: status("$task", "in_progress").With(table.Members{"details": Letters(601)}), Want: invalidField("details")},
			table.Step{Word: "status", Title: "an unknown status is INVALID_PARAM with field status", Tool: toolStatus, Args: status("$task", "invalid_value"), Want: invalidField("status")},
			table.Step{Word: "missing", Title: "no task_id is INVALID_PARAM with field task_id", Tool: toolStatus, Args: table.Members{"status": "done"}, Want: invalidField("task_id")},
			table.Step{Word: "cascade", Title: "a refused report has moved nothing", Tool: toolStatus, Args: status("$task", "paused"), Want: table.Succeeds(table.Is("payload.cascaded.tasksUnblocked", 0), table.Is("payload.cascaded.ticketsResolved", 0))},
		),
		coeTable("S1-STAT-04", "a status of a task nobody knows", coeNeeds(toolStatus),
			table.Step{
				Word: "code", Title: "it is RESOURCE_NOT_FOUND and not retryable", Tool: toolStatus, Args: status("$nosuch", "in_progress"),
				Want: envelope("RESOURCE_NOT_FOUND", table.Is("payload.error.retryable", false)),
			},
			table.Step{
				Requirement: "S1-ERR-04", Word: "missing", Title: "RESOURCE_NOT_FOUND is LOW, not retryable, P3_IGNORABLE and logged as INFO",
				Want: defaults("LOW", false, "P3_IGNORABLE", "INFO"),
			},
			table.Step{Requirement: "S1-ERR-05", Word: "task", Title: "context.task_id is the task of the call", Want: table.Wants(table.Is("payload.context.task_id", "$nosuch"))},
		),
	)
}
