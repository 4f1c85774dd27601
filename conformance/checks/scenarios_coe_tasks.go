package checks

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// coeTaskScenarios are about getNextTask.
func coeTaskScenarios() []conformance.Scenario {
	list := []table{
		coeTable("S1-NEXT-01", "the next ready task of a priority", coeNeeds(),
			step{tool: toolObserve, args: members{
				"taskId": "$task", "observation": "a task of high priority", "type": "dependency", "severity": "low",
				"createNewTask": true, "newTaskDetails": members{"title": "high $nonce", "priority": "high", "estimatedHours": 2},
			}, want: succeeds()},
			step{
				word: "task", title: "filter ready and priority high return a ready task of high priority",
				tool: toolNext, args: members{"filter": "ready", "priority": "high"},
				want: succeeds(is("payload.success", true), is("payload.task.status", "ready"), is("payload.task.priority", "high")),
			},
			step{
				word: "members", title: "a task has its members",
				want: wants(like("payload.task.taskId", `^TASK-\d{3,}$`), like("payload.task.title", "."), has("payload.task.description"),
					has("payload.task.dependencies"), has("payload.task.blockedBy"), has("payload.task.estimatedHours")),
			},
			step{
				word: "queue", title: "queueLength and nextTasksPreview stand beside it",
				want: wants(between("payload.queueLength", 0, 1e6), has("payload.nextTasksPreview")),
			},
		),
		coeTable("S1-NEXT-03", "filters of getNextTask", coeNeeds(toolDone),
			step{
				tool: toolDone, args: members{"taskId": "$task", "status": "blocked", "statusDetails": members{"blockedReason": "no key yet"}},
				want: succeeds(),
			},
			step{tool: toolNext, args: members{"filter": "ready"}, want: succeeds(has("payload.task")), keep: map[string]string{"ready": "payload.task.taskId", "readyQueue": "payload.queueLength"}},
			step{
				word: "default", title: "without a filter it is ready", tool: toolNext,
				want: succeeds(is("payload.task.taskId", "$ready"), is("payload.queueLength", "$readyQueue")),
			},
			step{
				word: "blocked", title: "blocked returns a blocked task", tool: toolNext, args: members{"filter": "blocked"},
				want: succeeds(is("payload.task.status", "blocked")), keep: map[string]string{"blockedQueue": "payload.queueLength"},
			},
			step{
				word: "all", title: "all has at least the ready and the blocked ones", tool: toolNext, args: members{"filter": "all"},
				want: succeeds(has("payload.task"), that("a queue as long as both", func(doc any, kept map[string]any) bool {
					return numberAt(doc, "payload.queueLength") >= numberAt(kept, "readyQueue")+numberAt(kept, "blockedQueue")+1
				})),
			},
		),
		coeTable("S1-NEXT-04", "filters and priorities that do not exist", coeReading(),
			step{word: "filter", title: "an unknown filter is refused with 400", tool: toolNext, args: members{"filter": "urgent"}, want: numeric(400)},
			step{word: "priority", title: "an unknown priority is refused with 400", tool: toolNext, args: members{"priority": "urgent"}, want: numeric(400)},
			step{word: "type", title: "a flag that is no boolean is refused with 400", tool: toolNext, args: members{"includeContext": "yes"}, want: numeric(400)},
		),
		coeTable("S1-NEXT-05", "the order of the queue", coeNeeds(),
			step{tool: toolObserve, args: members{
				"taskId": "$task", "observation": "a critical task", "type": "dependency", "severity": "low",
				"createNewTask": true, "newTaskDetails": members{"title": "critical $nonce", "priority": "critical", "estimatedHours": 2},
			}, want: succeeds()},
			step{
				word: "first", title: "a critical task comes before all others", tool: toolNext,
				want: succeeds(is("payload.task.priority", "critical")),
			},
			step{
				word: "preview", title: "the preview goes on in the order critical, high, medium, low",
				want: wants(that("priorities that do not rise", func(doc any, _ map[string]any) bool {
					last := priorityRank(textAt(doc, "payload.task.priority"))
					for _, p := range arrayAt(doc, "payload.nextTasksPreview") {
						rank := priorityRank(textAt(p, "priority"))
						if rank < last {
							return false
						}
						last = rank
					}
					return last < len(priorities)
				})),
			},
			step{
				word: "entries", title: "the preview has at most two entries with id, title and priority",
				want: wants(between("payload.nextTasksPreview.#", 0, 2), like("payload.nextTasksPreview.0.id", "."),
					like("payload.nextTasksPreview.0.title", "."), oneOf("payload.nextTasksPreview.0.priority", priorities...)),
			},
		),
		coeTable("S1-NEXT-06", "parts of a task that a caller may leave out", coeReading(),
			step{
				word: "default", title: "all parts are there unless a caller says otherwise", tool: toolNext, args: members{"filter": "all"},
				want: succeeds(has("payload.task.planReference"), has("payload.task.relatedTasks")),
			},
			step{
				word: "true", title: "flags that are true keep them", tool: toolNext,
				args: members{"filter": "all", "includeContext": true, "includeDetailedPrompt": true, "includeRelatedFiles": true},
				want: succeeds(has("payload.task.planReference"), has("payload.task.relatedTasks")),
			},
			step{
				word: "prompt", title: "includeDetailedPrompt false leaves out superDetailedPrompt", tool: toolNext,
				args: members{"filter": "all", "includeDetailedPrompt": false}, want: succeeds(has("payload.task"), lacks("payload.task.superDetailedPrompt")),
			},
			step{
				word: "files", title: "includeRelatedFiles false leaves out the files of the prompt", tool: toolNext,
				args: members{"filter": "all", "includeRelatedFiles": false}, want: succeeds(has("payload.task"), lacks("payload.task.superDetailedPrompt.files")),
			},
			step{
				word: "context", title: "includeContext false leaves out context, planReference and relatedTasks", tool: toolNext,
				args: members{"filter": "all", "includeContext": false},
				want: succeeds(has("payload.task"), lacks("payload.task.planReference"), lacks("payload.task.relatedTasks"), lacks("payload.task.superDetailedPrompt.context")),
			},
		),
		coeTable("S1-NEXT-07", "tasks that wait for others", coeNeeds(toolTestFailure, toolDone),
			step{tool: toolTestFailure, args: failureOf("$task"), want: succeeds(), keep: map[string]string{"blocker": "payload.investigationTaskCreated.taskId"}},
			step{
				word: "ready", title: "ready returns no task with open dependencies", tool: toolNext,
				want: succeeds(is("payload.task.blockedBy.#", 0), isNot("payload.task.taskId", "$task")),
			},
			step{tool: toolDone, args: members{"taskId": "$blocker", "status": "done"}, want: succeeds()},
		),
		coeTable("S1-NEXT-08", "reading changes nothing", coeReading(),
			step{tool: toolNext, want: succeeds(has("payload.task")), keep: map[string]string{"id": "payload.task.taskId", "length": "payload.queueLength"}},
			step{
				word: "same", title: "two calls return the same task", tool: toolNext,
				want: succeeds(is("payload.task.taskId", "$id"), is("payload.queueLength", "$length")),
			},
			step{word: "status", title: "the task is still ready", want: wants(is("payload.task.status", "ready"))},
		),
		coeTable("S1-NEXT-12", "the length of the queue", coeNeeds(),
			step{tool: toolNext, want: succeeds(), keep: map[string]string{"ready": "payload.queueLength"}},
			step{tool: toolNext, args: members{"filter": "all"}, want: succeeds(), keep: map[string]string{"all": "payload.queueLength"}},
			step{tool: toolObserve, args: members{
				"taskId": "$task", "observation": "one more", "type": "dependency", "severity": "low",
				"createNewTask": true, "newTaskDetails": members{"title": "one more $nonce", "priority": "medium", "estimatedHours": 2},
			}, want: succeeds()},
			step{
				word: "ready", title: "queueLength counts the ready tasks after the one returned", tool: toolNext,
				want: succeeds(more("payload.queueLength", "ready", 2)),
			},
			step{
				word: "all", title: "with filter all it counts all of them", tool: toolNext, args: members{"filter": "all"},
				want: succeeds(more("payload.queueLength", "all", 2)),
			},
			step{
				word: "priority", title: "the priority chooses the task and not the length", tool: toolNext, args: members{"filter": "all", "priority": "low"},
				want: succeeds(is("payload.task.priority", "low"), more("payload.queueLength", "all", 2)),
			},
		),
	}
	for i := range list {
		list[i].suits = enhancedShape
	}
	implemented := coeTable("S1-NEXT-09", "getNextTask in the implemented shape", coeReading(),
		step{
			word: "status", title: "queueStatus.isEmpty says whether there is a task", tool: toolNext,
			want: succeeds(is("payload.success", true), that("isEmpty as the task is", func(doc any, _ map[string]any) bool {
				task, _ := lookup(doc, "payload.task")
				empty, ok := lookup(doc, "payload.queueStatus.isEmpty")
				return ok && empty == (task == nil)
			})),
		},
		step{
			req: "S1-NEXT-04", word: "implemented", title: "in the implemented shape an unknown filter is INVALID_FILTER", tool: toolNext,
			args: members{"filter": "urgent"}, want: wants(is("payload.success", false), is("payload.error.code", "INVALID_FILTER"), like("payload.error.message", ".")),
		},
	)
	implemented.suits = func(r *tableRun) (string, error) { return taskShape(r, "implemented") }
	legacy := coeTable("S1-NEXT-10", "getNextTask in the legacy shape", coeReading(),
		step{
			word: "task", title: "the result is the bare task", tool: toolNext,
			want: succeeds(like("payload.id", "."), like("payload.ticketId", "."), like("payload.title", "."), is("payload.status", "ready"), timestamp("payload.createdAt")),
		},
	)
	legacy.suits = func(r *tableRun) (string, error) { return taskShape(r, "legacy") }
	return tables(append(list, implemented, legacy)...)
}

// priorities are those of S1, the most urgent first.
var priorities = []string{"critical", "high", "medium", "low"}

// priorityRank is len(priorities) for what is none.
func priorityRank(p string) int {
	if i := slices.Index(priorities, p); i >= 0 {
		return i
	}
	return len(priorities)
}

// failureOf is a failed test that needs an investigation.
func failureOf(task string) members {
	return members{
		"taskId": task, "testName": "suite $nonce", "testFile": "suite/suite_test.go",
		"failureDetails": members{"error": "expected 1, got 2", "expectedValue": 1, "actualValue": 2},
		"previousStatus": "passing_before", "needsInvestigation": true, "actionNeeded": "find out why",
	}
}
