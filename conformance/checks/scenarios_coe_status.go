package checks

import (
	"regexp"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// containsWord reports whether a word stands alone in text.
func containsWord(text, word string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).MatchString(text)
}

// coeStatusScenarios are about reportTaskStatus.
func coeStatusScenarios() []conformance.Scenario {
	status := func(task, status string) members { return members{"task_id": task, "status": status} }
	return tables(
		coeTable("S1-STAT-01", "a task in progress", coeNeeds(toolStatus),
			step{
				word: "acknowledged", title: "it is acknowledged, and nothing follows from it", tool: toolStatus,
				args: status("$task", "in_progress").with(members{
					"progress_percent": 40, "details": "well on the way", "priority": 2,
					"metrics": members{"tokens_used": 10, "time_seconds": 1.5, "coverage_added": 0.1},
				}),
				want: succeeds(is("payload.acknowledged", true), is("payload.cascaded.ticketsResolved", 0), is("payload.cascaded.tasksUnblocked", 0)),
			},
			step{word: "next", title: "next_action is a text or null", want: wants(hasNull("payload.next_action"))},
			step{word: "bounds", title: "100 percent and details of 600 code points are accepted", tool: toolStatus, args: status("$task", "in_progress").with(members{
				"progress_percent": 100, "details": letters(600),
			}), want: succeeds(is("payload.acknowledged", true))},
		),
		coeTable("S1-STAT-02", "a task that is done, with a ticket and a dependant", coeNeeds(toolStatus, toolTicket, toolTestFailure),
			step{tool: toolTestFailure, args: failureOf("$task"), want: succeeds(), keep: map[string]string{"blocker": "payload.investigationTaskCreated.taskId"}},
			step{tool: toolTicket, args: members{"title": "investigate $nonce", "type": "investigation", "task_id": "$blocker"}, want: succeeds()},
			step{tool: toolNext, args: members{"filter": "blocked"}, want: succeeds(), keep: map[string]string{"blocked": "payload.queueLength"}},
			step{
				word: "tickets", title: "its investigation ticket is resolved", tool: toolStatus, args: status("$blocker", "done"),
				want: succeeds(is("payload.acknowledged", true), is("payload.cascaded.ticketsResolved", 1)),
			},
			step{word: "unblocked", title: "the task that waited is unblocked", want: wants(is("payload.cascaded.tasksUnblocked", 1))},
			step{
				word: "ready", title: "that task is no longer among the blocked ones", tool: toolNext, args: members{"filter": "blocked"},
				want: succeeds(that("one blocked task less", func(doc any, kept map[string]any) bool {
					task, _ := lookup(doc, "payload.task")
					_, read := lookup(doc, "payload.queueLength")
					return read && (task == nil && numberAt(kept, "blocked") == 0 || numberAt(doc, "payload.queueLength") == numberAt(kept, "blocked")-1)
				})),
			},
			step{word: "twice", title: "a task that is done cannot be done again: INVALID_STATE", tool: toolStatus, args: status("$blocker", "done"), want: envelope("INVALID_STATE")},
		),
		coeTable("S1-STAT-03", "a status report that is refused", coeNeeds(toolStatus),
			step{word: "percent", title: "a progress_percent of 101 is INVALID_PARAM", tool: toolStatus, args: status("$task", "in_progress").with(members{"progress_percent": 101}), want: invalidField("progress_percent")},
			step{word: "details", title: "details of 601 code points are INVALID_PARAM", tool: toolStatus, args: status("$task", "in_progress").with(members{"details": letters(601)}), want: invalidField("details")},
			step{word: "status", title: "an unknown status is INVALID_PARAM with field status", tool: toolStatus, args: status("$task", "invalid_value"), want: invalidField("status")},
			step{word: "missing", title: "no task_id is INVALID_PARAM with field task_id", tool: toolStatus, args: members{"status": "done"}, want: invalidField("task_id")},
			step{word: "cascade", title: "a refused report has moved nothing", tool: toolStatus, args: status("$task", "paused"), want: succeeds(is("payload.cascaded.tasksUnblocked", 0), is("payload.cascaded.ticketsResolved", 0))},
		),
		coeTable("S1-STAT-04", "a status of a task nobody knows", coeNeeds(toolStatus),
			step{
				word: "code", title: "it is RESOURCE_NOT_FOUND and not retryable", tool: toolStatus, args: status("$nosuch", "in_progress"),
				want: envelope("RESOURCE_NOT_FOUND", is("payload.error.retryable", false)),
			},
			step{
				req: "S1-ERR-04", word: "missing", title: "RESOURCE_NOT_FOUND is LOW, not retryable, P3_IGNORABLE and logged as INFO",
				want: defaults("LOW", false, "P3_IGNORABLE", "INFO"),
			},
			step{req: "S1-ERR-05", word: "task", title: "context.task_id is the task of the call", want: wants(is("payload.context.task_id", "$nosuch"))},
		),
	)
}
