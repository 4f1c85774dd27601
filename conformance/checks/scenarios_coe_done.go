package checks

import (
	"fmt"
	"math"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// coeDoneScenarios are about reportTaskDone, reportTestFailure and
// reportVerificationResult.
func coeDoneScenarios() []conformance.Scenario {
	done := func(task string, more members) members { return members{"taskId": task, "status": "done"}.with(more) }
	return tables(
		coeTable("S1-DONE-01", "a task that is done", coeNeeds(toolDone),
			step{tool: toolNext, args: members{"filter": "all"}, want: succeeds()},
			step{
				word: "result", title: "the answer has success, taskId and status done", tool: toolDone, args: done("$task", members{
					"observations": []any{"the suite saw one", "and another one"}, "implementationNotes": "none", "filesModified": []any{"suite/a.go"},
					"testing": members{"testsAdded": true, "testsPassed": true, "testsFailed": 0},
				}),
				want: succeeds(is("payload.success", true), is("payload.taskId", "$task"), is("payload.status", "done")),
				keep: map[string]string{"verification": "payload.verificationTaskCreated.taskId"},
			},
			step{
				word: "message", title: "the message counts ready, blocked and verification tasks",
				want: wants(like("payload.message", `^Task marked complete\. \d+ ready tasks?, \d+ blocked, 1 verification tasks? created`)),
			},
			step{
				word: "counts", title: "the blocked tasks of the message are those of the dashboard",
				want: wants(that("the number in dashboardUpdate.blockedCount", func(doc any, _ map[string]any) bool {
					return strings.Contains(textAt(doc, "payload.message"), fmt.Sprintf(" %v blocked,", numberAt(doc, "payload.dashboardUpdate.blockedCount")))
				})),
			},
			step{
				req: "S1-DONE-05", word: "task", title: "a verification task is created, with an id and how automatic it is",
				want: wants(like("payload.verificationTaskCreated.taskId", `^TASK-VERIFY-\d{3,}$`), like("payload.verificationTaskCreated.title", "."),
					like("payload.verificationTaskCreated.why", "."), like("payload.verificationTaskCreated.automationLevel", ".")),
			},
			step{
				req: "S1-DONE-06", word: "each", title: "each observation is processed",
				want: wants(is("payload.observationsProcessed.#", 2), is("payload.observationsProcessed.0.observation", "the suite saw one"),
					is("payload.observationsProcessed.1.observation", "and another one"), like("payload.observationsProcessed.1.status", ".")),
			},
			step{
				req: "S1-DONE-06", word: "ids", title: "each of them has an id of its own",
				want: wants(like("payload.observationsProcessed.0.observationId", `^OBS-\d{3,}$`), like("payload.observationsProcessed.1.observationId", `^OBS-\d{3,}$`),
					that("two different ids", func(doc any, _ map[string]any) bool {
						return textAt(doc, "payload.observationsProcessed.0.observationId") != textAt(doc, "payload.observationsProcessed.1.observationId")
					})),
			},
			step{
				req: "S1-DONE-08", word: "percent", title: "percentComplete is completed of total, to one decimal",
				want: wants(that("percentComplete as the counts have it", func(doc any, _ map[string]any) bool {
					d, _ := lookup(doc, "payload.dashboardUpdate")
					total := numberAt(d, "totalCount")
					return total > 0 && numberAt(d, "percentComplete") == math.Round(1000*numberAt(d, "completedCount")/total)/10
				})),
			},
			step{
				req: "S1-DONE-08", word: "members", title: "the dashboard has its five numbers",
				want: wants(between("payload.dashboardUpdate.completedCount", 1, 1e6), between("payload.dashboardUpdate.totalCount", 1, 1e6),
					between("payload.dashboardUpdate.percentComplete", 0, 100), between("payload.dashboardUpdate.blockedCount", 0, 1e6),
					between("payload.dashboardUpdate.verificationPendingCount", 1, 1e6)),
				keep: map[string]string{"completed": "payload.dashboardUpdate.completedCount", "next": "payload.nextTaskId"},
			},
			step{
				req: "S1-DONE-07", word: "next", title: "nextTaskId is what getNextTask then returns", tool: toolNext,
				want: succeeds(is("payload.task.taskId", "$next")),
			},
			step{
				req: "S1-DONE-04", word: "twice", title: "a second report that it is done is refused with 409", tool: toolDone, args: done("$task", nil),
				want: numeric(409),
			},
			step{
				req: "S1-DONE-08", word: "counted", title: "one more task that is done is one more in completedCount", tool: toolDone, args: done("$other", nil),
				want: succeeds(more("payload.dashboardUpdate.completedCount", "completed", 1)),
			},
		),
		coeTable("S1-DONE-02", "a task nobody knows", coeNeeds(toolDone),
			step{
				word: "code", title: "it is refused with 404 Task not found", tool: toolDone, args: done("$nosuch", nil),
				want: numeric(404, is("error.message", "Task not found")),
			},
			step{word: "data", title: "data has taskId and a suggestion", want: wants(is("error.data.taskId", "$nosuch"), like("error.data.suggestion", "."))},
		),
		coeTable("S1-DONE-03", "a status that does not exist", coeNeeds(toolDone),
			step{word: "status", title: "it is refused with 400", tool: toolDone, args: members{"taskId": "$task", "status": "finished"}, want: numeric(400)},
			step{word: "open", title: "the task is still open", tool: toolDone, args: done("$task", nil), want: succeeds(is("payload.status", "done"))},
		),
		coeTable("S1-DONE-07", "tasks that waited", coeNeeds(toolDone, toolTestFailure),
			step{tool: toolTestFailure, args: failureOf("$task"), want: succeeds(), keep: map[string]string{"blocker": "payload.investigationTaskCreated.taskId"}},
			step{tool: toolNext, args: members{"filter": "blocked"}, want: succeeds(), keep: map[string]string{"blocked": "payload.queueLength"}},
			step{tool: toolDone, args: done("$blocker", nil), want: succeeds()},
			step{
				word: "ready", title: "the end of a task makes ready what waited for it", tool: toolNext, args: members{"filter": "blocked"},
				want: succeeds(that("one blocked task less", func(doc any, kept map[string]any) bool {
					task, _ := lookup(doc, "payload.task")
					return task == nil && numberAt(kept, "blocked") == 0 || numberAt(doc, "payload.queueLength") == numberAt(kept, "blocked")-1
				})),
			},
		),
		coeTable("S1-DONE-09", "a task that is blocked", coeNeeds(toolDone),
			step{tool: toolDone, args: members{"taskId": "$other", "status": "partial", "statusDetails": members{"progressPercent": 50}}, want: succeeds(), keep: map[string]string{"blocked": "payload.dashboardUpdate.blockedCount"}},
			step{
				word: "counted", title: "blocked with a reason makes it one of the blocked tasks", tool: toolDone,
				args: members{"taskId": "$task", "status": "blocked", "statusDetails": members{"blockedReason": "no key yet"}},
				want: succeeds(is("payload.status", "blocked"), more("payload.dashboardUpdate.blockedCount", "blocked", 1)),
			},
			step{word: "unverified", title: "it creates no verification task", want: wants(lacks("payload.verificationTaskCreated"))},
		),
		coeTable("S1-DONE-10", "progress in percent", coeNeeds(toolDone),
			step{word: "over", title: "101 is refused with 400", tool: toolDone, args: partial(101), want: numeric(400)},
			step{word: "under", title: "-1 is refused with 400", tool: toolDone, args: partial(-1), want: numeric(400)},
			step{word: "none", title: "0 is accepted", tool: toolDone, args: partial(0), want: succeeds(is("payload.status", "partial"))},
			step{word: "all", title: "100 is accepted", tool: toolDone, args: partial(100), want: succeeds(is("payload.status", "partial"))},
		),
		coeTable("S1-DONE-11", "follow-up tasks", coeNeeds(toolDone),
			step{tool: toolNext, args: members{"filter": "all"}, want: succeeds(), keep: map[string]string{"queue": "payload.queueLength"}},
			step{tool: toolDone, args: done("$task", members{"followUpTasks": []any{
				members{"title": "first $nonce", "why": "something is left"}, members{"title": "second $nonce", "why": "more is left", "estimatedHours": 1},
			}}), want: succeeds()},
			step{
				word: "queued", title: "they appear in the queue", tool: toolNext, args: members{"filter": "all"},
				want: succeeds(more("payload.queueLength", "queue", 2)),
			},
		),
		coeTable("S1-TFAIL-01", "a test failure that needs an investigation", coeNeeds(toolTestFailure, toolDone),
			step{
				word: "result", title: "the answer has an id, the test and the status failure_logged", tool: toolTestFailure, args: failureOf("$task"),
				want: succeeds(is("payload.success", true), like("payload.testFailureId", "."), is("payload.testName", "suite $nonce"), is("payload.status", "failure_logged")),
				keep: map[string]string{"blocker": "payload.investigationTaskCreated.taskId"},
			},
			step{
				word: "task", title: "a critical investigation task is created",
				want: wants(like("payload.investigationTaskCreated.taskId", "."), is("payload.investigationTaskCreated.priority", "critical"), is("payload.investigationTaskCreated.addedToQueue", true)),
			},
			step{
				word: "position", title: `its position is "immediate (highest priority)"`,
				want: wants(is("payload.investigationTaskCreated.position", "immediate (highest priority)")),
			},
			step{
				req: "S1-TFAIL-04", word: "alert", title: "the alert of the dashboard is critical, with a time and whether a person is needed",
				want: wants(is("payload.dashboardAlert.type", "critical"), isBoolean("payload.dashboardAlert.requiresHumanAttention"), timestamp("payload.dashboardAlert.timestamp")),
			},
			step{word: "next", title: "it is what getNextTask then returns", tool: toolNext, want: succeeds(is("payload.task.taskId", "$blocker"))},
			step{tool: toolDone, args: done("$blocker", nil), want: succeeds()},
		),
		coeTable("S1-TFAIL-02", "a test failure that needs none", coeNeeds(toolTestFailure),
			step{
				word: "logged", title: "it is logged and no task is created", tool: toolTestFailure, args: failureOf("$task").with(members{"needsInvestigation": false}),
				want: succeeds(is("payload.status", "failure_logged"), lacks("payload.investigationTaskCreated")),
			},
		),
		coeTable("S1-TFAIL-03", "test failures that are refused", coeNeeds(toolTestFailure),
			step{word: "status", title: "an unknown previousStatus is refused with 400", tool: toolTestFailure, args: failureOf("$task").with(members{"previousStatus": "green"}), want: numeric(400)},
			step{word: "task", title: "an unknown task is refused with 404", tool: toolTestFailure, args: failureOf("$nosuch"), want: numeric(404)},
			step{word: "details", title: "failureDetails without error is refused with 400", tool: toolTestFailure, args: failureOf("$task").with(members{"failureDetails": members{}}), want: numeric(400)},
		),
		coeTable("S1-VERIF-01", "a verification that passed", coeNeeds(toolDone, toolVerification),
			finishTask(),
			step{
				word: "cleared", title: "passed clears the blocker and marks the task done", tool: toolVerification, args: verificationOf("passed", "done"),
				want: succeeds(is("payload.success", true), is("payload.verificationTaskId", "$verification"), is("payload.verificationStatus", "passed"),
					is("payload.blockerCleared", true), is("payload.originalTaskMarked", "done")),
			},
		),
		coeTable("S1-VERIF-02", "a verification that failed", coeNeeds(toolDone, toolVerification),
			finishTask(),
			step{
				word: "issues", title: "two failed items are two issues", tool: toolVerification,
				args: verificationOf("failed", "needs_rework").with(members{"verification": members{
					"checklist": []any{members{"item": "colours", "status": "failed"}, members{"item": "contrast", "status": "failed", "note": "3:1"}},
					"failedItems": []any{
						members{"item": "colours", "issue": "one is missing", "why": "forgotten"}, members{"item": "contrast", "issue": "too low", "why": "not measured"},
					}, "summary": "two of two failed",
				}}),
				want: succeeds(is("payload.issuesFound.#", 2), like("payload.issuesFound.0.issueId", "."), like("payload.issuesFound.1.title", "."), is("payload.blockerCleared", false)),
			},
			step{
				word: "tasks", title: "follow-up tasks are created",
				want: wants(between("payload.followUpTasksCreated.#", 1, 2), like("payload.followUpTasksCreated.0.taskId", "."), is("payload.followUpTasksCreated.0.relatedTo", "$task")),
			},
			step{
				word: "counts", title: "the dashboard counts both",
				want: wants(is("payload.dashboardUpdate.issuesCount", 2), that("followUpTasksCount is their number", func(doc any, _ map[string]any) bool {
					return numberAt(doc, "payload.dashboardUpdate.followUpTasksCount") == numberAt(doc, "payload.followUpTasksCreated.#") && numberAt(doc, "payload.followUpTasksCreated.#") > 0
				})),
			},
		),
		coeTable("S1-VERIF-03", "a verification that a person has to make", coeNeeds(toolDone, toolVerification),
			finishTask(),
			step{tool: toolVerification, args: verificationOf("needs-manual-review", "done_but_incomplete"), want: succeeds()},
			step{word: "kept", title: "the blocker is not cleared", want: wants(is("payload.blockerCleared", false))},
			step{word: "open", title: "the original task is open again", tool: toolDone, args: done("$task", nil), want: succeeds(is("payload.status", "done"))},
		),
		coeTable("S1-VERIF-04", "verifications that are refused", coeNeeds(toolDone, toolVerification),
			finishTask(),
			step{
				word: "verification", title: "an unknown verification task is refused with 404", tool: toolVerification,
				args: verificationOf("passed", "done").with(members{"verificationTaskId": "$nosuch"}), want: numeric(404),
			},
			step{
				word: "original", title: "an unknown original task is refused with 404", tool: toolVerification,
				args: verificationOf("passed", "done").with(members{"originalTaskId": "$nosuch"}), want: numeric(404),
			},
			step{word: "status", title: "an unknown verificationStatus is refused with 400", tool: toolVerification, args: verificationOf("green", "done"), want: numeric(400)},
			step{word: "task-status", title: "an unknown originalTaskStatus is refused with 400", tool: toolVerification, args: verificationOf("passed", "green"), want: numeric(400)},
		),
	)
}

// partial reports part of a task.
func partial(percent int) members {
	return members{"taskId": "$task", "status": "partial", "statusDetails": members{"progressPercent": percent}}
}

// finishTask ends the scenario's task and keeps the id of its verification.
func finishTask() step {
	return step{
		tool: toolDone, args: members{"taskId": "$task", "status": "done"},
		want: succeeds(), keep: map[string]string{"verification": "payload.verificationTaskCreated.taskId"},
	}
}

// verificationOf reports on the verification of the scenario's task.
func verificationOf(status, original string) members {
	return members{
		"verificationTaskId": "$verification", "originalTaskId": "$task", "verificationStatus": status, "originalTaskStatus": original,
		"verification": members{"checklist": []any{members{"item": "it builds", "status": "passed"}}, "summary": "looked at it"},
	}
}
