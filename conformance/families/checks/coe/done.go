package coe

import (
	"fmt"
	"math"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// coeDoneScenarios are about reportTaskDone, reportTestFailure and
// reportVerificationResult.
func coeDoneScenarios() []engine.Scenario {
	done := func(task string, more table.Members) table.Members {
		return table.Members{"taskId": task, "status": "done"}.With(more)
	}
	return table.Scenarios(
		coeTable("S1-DONE-01", "a task that is done", coeNeeds(ToolDone),
			table.Step{Tool: ToolNext, Args: table.Members{"filter": "all"}, Want: table.Succeeds()},
			table.Step{
				Word: "result", Title: "the answer has success, taskId and status done", Tool: ToolDone, Args: done("$task", table.Members{
					"observations": []any{"the suite saw one", "and another one"}, "implementationNotes": "none", "filesModified": []any{"suite/a.go"},
					"testing": table.Members{"testsAdded": true, "testsPassed": true, "testsFailed": 0},
				}),
				Want: table.Succeeds(table.Is("payload.success", true), table.Is("payload.taskId", "$task"), table.Is("payload.status", "done")),
				Keep: map[string]string{"verification": "payload.verificationTaskCreated.taskId"},
			},
			table.Step{
				Word: "message", Title: "the message counts ready, blocked and verification tasks",
				Want: table.Wants(table.Like("payload.message", `^Task marked complete\. \d+ ready tasks?, \d+ blocked, 1 verification tasks? created`)),
			},
			table.Step{
				Word: "counts", Title: "the blocked tasks of the message are those of the dashboard",
				Want: table.Wants(table.That("the number in dashboardUpdate.blockedCount", func(doc any, _ map[string]any) bool {
					return strings.Contains(table.TextAt(doc, "payload.message"), fmt.Sprintf(" %v blocked,", table.NumberAt(doc, "payload.dashboardUpdate.blockedCount")))
				})),
			},
			table.Step{
				Requirement: "S1-DONE-05", Word: "task", Title: "a verification task is created, with an id and how automatic it is",
				Want: table.Wants(table.Like("payload.verificationTaskCreated.taskId", `^TASK-VERIFY-\d{3,}$`), table.Like("payload.verificationTaskCreated.title", "."),
					table.Like("payload.verificationTaskCreated.why", "."), table.Like("payload.verificationTaskCreated.automationLevel", ".")),
			},
			table.Step{
				Requirement: "S1-DONE-06", Word: "each", Title: "each observation is processed",
				Want: table.Wants(table.Is("payload.observationsProcessed.#", 2), table.Is("payload.observationsProcessed.0.observation", "the suite saw one"),
					table.Is("payload.observationsProcessed.1.observation", "and another one"), table.Like("payload.observationsProcessed.1.status", ".")),
			},
			table.Step{
				Requirement: "S1-DONE-06", Word: "ids", Title: "each of them has an id of its own",
				Want: table.Wants(table.Like("payload.observationsProcessed.0.observationId", `^OBS-\d{3,}$`), table.Like("payload.observationsProcessed.1.observationId", `^OBS-\d{3,}$`),
					table.That("two different ids", func(doc any, _ map[string]any) bool {
						return table.TextAt(doc, "payload.observationsProcessed.0.observationId") != table.TextAt(doc, "payload.observationsProcessed.1.observationId")
					})),
			},
			table.Step{
				Requirement: "S1-DONE-08", Word: "percent", Title: "percentComplete is completed of total, to one decimal",
				Want: table.Wants(table.That("percentComplete as the counts have it", func(doc any, _ map[string]any) bool {
					d, _ := table.Lookup(doc, "payload.dashboardUpdate")
					total := table.NumberAt(d, "totalCount")
					return total > 0 && table.NumberAt(d, "percentComplete") == math.Round(1000*table.NumberAt(d, "completedCount")/total)/10
				})),
			},
			table.Step{
				Requirement: "S1-DONE-08", Word: "members", Title: "the dashboard has its five numbers",
				Want: table.Wants(table.Between("payload.dashboardUpdate.completedCount", 1, 1e6), table.Between("payload.dashboardUpdate.totalCount", 1, 1e6),
					table.Between("payload.dashboardUpdate.percentComplete", 0, 100), table.Between("payload.dashboardUpdate.blockedCount", 0, 1e6),
					table.Between("payload.dashboardUpdate.verificationPendingCount", 1, 1e6)),
				Keep: map[string]string{"completed": "payload.dashboardUpdate.completedCount", "next": "payload.nextTaskId"},
			},
			table.Step{
				Requirement: "S1-DONE-07", Word: "next", Title: "nextTaskId is what getNextTask then returns", Tool: ToolNext,
				Want: table.Succeeds(table.Is("payload.task.taskId", "$next")),
			},
			table.Step{
				Requirement: "S1-DONE-04", Word: "twice", Title: "a second report that it is done is refused with 409", Tool: ToolDone, Args: done("$task", nil),
				Want: numeric(409),
			},
			table.Step{
				Requirement: "S1-DONE-08", Word: "counted", Title: "one more task that is done is one more in completedCount", Tool: ToolDone, Args: done("$other", nil),
				Want: table.Succeeds(table.More("payload.dashboardUpdate.completedCount", "completed", 1)),
			},
		),
		coeTable("S1-DONE-02", "a task nobody knows", coeNeeds(ToolDone),
			table.Step{
				Word: "code", Title: "it is refused with 404 Task not found", Tool: ToolDone, Args: done("$nosuch", nil),
				Want: numeric(404, table.Is("error.message", "Task not found")),
			},
			table.Step{Word: "data", Title: "data has taskId and a suggestion", Want: table.Wants(table.Is("error.data.taskId", "$nosuch"), table.Like("error.data.suggestion", "."))},
		),
		coeTable("S1-DONE-03", "a status that does not exist", coeNeeds(ToolDone),
			table.Step{Word: "status", Title: "it is refused with 400", Tool: ToolDone, Args: table.Members{"taskId": "$task", "status": "finished"}, Want: numeric(400)},
			table.Step{Word: "open", Title: "the task is still open", Tool: ToolDone, Args: done("$task", nil), Want: table.Succeeds(table.Is("payload.status", "done"))},
		),
		coeTable("S1-DONE-07", "tasks that waited", coeNeeds(ToolDone, toolTestFailure),
			table.Step{Tool: toolTestFailure, Args: failureOf("$task"), Want: table.Succeeds(), Keep: map[string]string{"blocker": "payload.investigationTaskCreated.taskId"}},
			table.Step{Tool: ToolDone, Args: halfDone(), Want: table.Succeeds(), Keep: map[string]string{"blocked": "payload.dashboardUpdate.blockedCount"}},
			table.Step{Tool: ToolDone, Args: done("$blocker", nil), Want: table.Succeeds()},
			table.Step{
				Word: "ready", Title: "the end of a task makes ready what waited for it", Tool: ToolDone, Args: halfDone(),
				Want: table.Succeeds(table.More("payload.dashboardUpdate.blockedCount", "blocked", -1)),
			},
		),
		coeTable("S1-DONE-09", "a task that is blocked", coeNeeds(ToolDone),
			table.Step{Tool: ToolDone, Args: halfDone(), Want: table.Succeeds(), Keep: map[string]string{"blocked": "payload.dashboardUpdate.blockedCount"}},
			table.Step{
				Word: "counted", Title: "blocked with a reason makes it one of the blocked tasks", Tool: ToolDone,
				Args: table.Members{"taskId": "$task", "status": "blocked", "statusDetails": table.Members{"blockedReason": "no key yet"}},
				Want: table.Succeeds(table.Is("payload.status", "blocked"), table.More("payload.dashboardUpdate.blockedCount", "blocked", 1)),
			},
			table.Step{Word: "unverified", Title: "it creates no verification task", Want: table.Wants(table.Lacks("payload.verificationTaskCreated"))},
		),
		coeTable("S1-DONE-10", "progress in percent", coeNeeds(ToolDone),
			table.Step{Word: "over", Title: "101 is refused with 400", Tool: ToolDone, Args: partial(101), Want: numeric(400)},
			table.Step{Word: "under", Title: "-1 is refused with 400", Tool: ToolDone, Args: partial(-1), Want: numeric(400)},
			table.Step{Word: "none", Title: "0 is accepted", Tool: ToolDone, Args: partial(0), Want: table.Succeeds(table.Is("payload.status", "partial"))},
			table.Step{Word: "all", Title: "100 is accepted", Tool: ToolDone, Args: partial(100), Want: table.Succeeds(table.Is("payload.status", "partial"))},
		),
		coeTable("S1-DONE-11", "follow-up tasks", coeNeeds(ToolDone),
			table.Step{Tool: ToolNext, Args: table.Members{"filter": "all"}, Want: table.Succeeds(), Keep: map[string]string{"queue": "payload.queueLength"}},
			table.Step{Tool: ToolDone, Args: done("$task", table.Members{"followUpTasks": []any{
				table.Members{"title": "first $nonce", "why": "something is left"}, table.Members{"title": "second $nonce", "why": "more is left", "estimatedHours": 1},
			}}), Want: table.Succeeds()},
			table.Step{
				Word: "queued", Title: "they appear in the queue", Tool: ToolNext, Args: table.Members{"filter": "all"},
				Want: table.Succeeds(table.More("payload.queueLength", "queue", 2)),
			},
		),
		coeTable("S1-TFAIL-01", "a test failure that needs an investigation", coeNeeds(toolTestFailure, ToolDone),
			table.Step{
				Word: "result", Title: "the answer has an id, the test and the status failure_logged", Tool: toolTestFailure, Args: failureOf("$task"),
				Want: table.Succeeds(table.Is("payload.success", true), table.Like("payload.testFailureId", "."), table.Is("payload.testName", "suite $nonce"), table.Is("payload.status", "failure_logged")),
				Keep: map[string]string{"blocker": "payload.investigationTaskCreated.taskId"},
			},
			table.Step{
				Word: "task", Title: "a critical investigation task is created",
				Want: table.Wants(table.Like("payload.investigationTaskCreated.taskId", "."), table.Is("payload.investigationTaskCreated.priority", "critical"), table.Is("payload.investigationTaskCreated.addedToQueue", true)),
			},
			table.Step{
				Word: "position", Title: `its position is "immediate (highest priority)"`,
				Want: table.Wants(table.Is("payload.investigationTaskCreated.position", "immediate (highest priority)")),
			},
			table.Step{
				Requirement: "S1-TFAIL-04", Word: "alert", Title: "the alert of the dashboard is critical, with a time and whether a person is needed",
				Want: table.Wants(table.Is("payload.dashboardAlert.type", "critical"), table.IsBoolean("payload.dashboardAlert.requiresHumanAttention"), table.Timestamp("payload.dashboardAlert.timestamp")),
			},
			table.Step{Word: "next", Title: "it is what getNextTask then returns", Tool: ToolNext, Want: table.Succeeds(table.Is("payload.task.taskId", "$blocker"))},
			table.Step{Tool: ToolDone, Args: done("$blocker", nil), Want: table.Succeeds()},
		),
		coeTable("S1-TFAIL-02", "a test failure that needs none", coeNeeds(toolTestFailure),
			table.Step{
				Word: "logged", Title: "it is logged and no task is created", Tool: toolTestFailure, Args: failureOf("$task").With(table.Members{"needsInvestigation": false}),
				Want: table.Succeeds(table.Is("payload.status", "failure_logged"), table.Lacks("payload.investigationTaskCreated")),
			},
		),
		coeTable("S1-TFAIL-03", "test failures that are refused", coeNeeds(toolTestFailure),
			table.Step{Word: "status", Title: "an unknown previousStatus is refused with 400", Tool: toolTestFailure, Args: failureOf("$task").With(table.Members{"previousStatus": "green"}), Want: numeric(400)},
			table.Step{Word: "task", Title: "an unknown task is refused with 404", Tool: toolTestFailure, Args: failureOf("$nosuch"), Want: numeric(404)},
			table.Step{Word: "details", Title: "failureDetails without error is refused with 400", Tool: toolTestFailure, Args: failureOf("$task").With(table.Members{"failureDetails": table.Members{}}), Want: numeric(400)},
		),
		coeTable("S1-VERIF-01", "a verification that passed", coeNeeds(ToolDone, toolVerification),
			finishTask(),
			table.Step{
				Word: "cleared", Title: "passed clears the blocker and marks the task done", Tool: toolVerification, Args: verificationOf("passed", "done"),
				Want: table.Succeeds(table.Is("payload.success", true), table.Is("payload.verificationTaskId", "$verification"), table.Is("payload.verificationStatus", "passed"),
					table.Is("payload.blockerCleared", true), table.Is("payload.originalTaskMarked", "done")),
			},
		),
		coeTable("S1-VERIF-02", "a verification that failed", coeNeeds(ToolDone, toolVerification),
			finishTask(),
			table.Step{
				Word: "issues", Title: "two failed items are two issues", Tool: toolVerification,
				Args: verificationOf("failed", "needs_rework").With(table.Members{"verification": table.Members{
					"checklist": []any{table.Members{"item": "colours", "status": "failed"}, table.Members{"item": "contrast", "status": "failed", "note": "3:1"}},
					"failedItems": []any{
						table.Members{"item": "colours", "issue": "one is missing", "why": "forgotten"}, table.Members{"item": "contrast", "issue": "too low", "why": "not measured"},
					}, "summary": "two of two failed",
				}}),
				Want: table.Succeeds(table.Is("payload.issuesFound.#", 2), table.Like("payload.issuesFound.0.issueId", "."), table.Like("payload.issuesFound.1.title", "."), table.Is("payload.blockerCleared", false)),
			},
			table.Step{
				Word: "tasks", Title: "follow-up tasks are created",
				Want: table.Wants(table.Between("payload.followUpTasksCreated.#", 1, 2), table.Like("payload.followUpTasksCreated.0.taskId", "."), table.Is("payload.followUpTasksCreated.0.relatedTo", "$task")),
			},
			table.Step{
				Word: "counts", Title: "the dashboard counts both",
				Want: table.Wants(table.Is("payload.dashboardUpdate.issuesCount", 2), table.That("followUpTasksCount is their number", func(doc any, _ map[string]any) bool {
					return table.NumberAt(doc, "payload.dashboardUpdate.followUpTasksCount") == table.NumberAt(doc, "payload.followUpTasksCreated.#") && table.NumberAt(doc, "payload.followUpTasksCreated.#") > 0
				})),
			},
		),
		coeTable("S1-VERIF-03", "a verification that a person has to make", coeNeeds(ToolDone, toolVerification),
			finishTask(),
			table.Step{Tool: toolVerification, Args: verificationOf("needs-manual-review", "done_but_incomplete"), Want: table.Succeeds()},
			table.Step{Word: "kept", Title: "the blocker is not cleared", Want: table.Wants(table.Is("payload.blockerCleared", false))},
			table.Step{Word: "open", Title: "the original task is open again", Tool: ToolDone, Args: done("$task", nil), Want: table.Succeeds(table.Is("payload.status", "done"))},
		),
		coeTable("S1-VERIF-04", "verifications that are refused", coeNeeds(ToolDone, toolVerification),
			finishTask(),
			table.Step{
				Word: "verification", Title: "an unknown verification task is refused with 404", Tool: toolVerification,
				Args: verificationOf("passed", "done").With(table.Members{"verificationTaskId": "$nosuch"}), Want: numeric(404),
			},
			table.Step{
				Word: "original", Title: "an unknown original task is refused with 404", Tool: toolVerification,
				Args: verificationOf("passed", "done").With(table.Members{"originalTaskId": "$nosuch"}), Want: numeric(404),
			},
			table.Step{Word: "status", Title: "an unknown verificationStatus is refused with 400", Tool: toolVerification, Args: verificationOf("green", "done"), Want: numeric(400)},
			table.Step{Word: "task-status", Title: "an unknown originalTaskStatus is refused with 400", Tool: toolVerification, Args: verificationOf("passed", "green"), Want: numeric(400)},
		),
	)
}

// partial reports part of a task.
func partial(percent int) table.Members {
	return table.Members{"taskId": "$task", "status": "partial", "statusDetails": table.Members{"progressPercent": percent}}
}

// halfDone reports half of the other task: the answer says how many tasks are blocked.
func halfDone() table.Members { return partial(50).With(table.Members{"taskId": "$other"}) }

// finishTask ends the scenario's task and keeps the id of its verification.
func finishTask() table.Step {
	return table.Step{
		Tool: ToolDone, Args: table.Members{"taskId": "$task", "status": "done"},
		Want: table.Succeeds(), Keep: map[string]string{"verification": "payload.verificationTaskCreated.taskId"},
	}
}

// verificationOf reports on the verification of the scenario's task.
func verificationOf(status, original string) table.Members {
	return table.Members{
		"verificationTaskId": "$verification", "originalTaskId": "$task", "verificationStatus": status, "originalTaskStatus": original,
		"verification": table.Members{"checklist": []any{table.Members{"item": "it builds", "status": "passed"}}, "summary": "looked at it"},
	}
}
