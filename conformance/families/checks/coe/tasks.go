package coe

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// coeTaskScenarios are about getNextTask.
func coeTaskScenarios() []engine.Scenario {
	list := []table.Table{
		coeTable("S1-NEXT-01", "the next ready task of a priority", coeNeeds(),
			table.Step{Tool: toolObserve, Args: table.Members{
				"taskId": "$task", "observation": "a task of high priority", "type": "dependency", "severity": "low",
				"createNewTask": true, "newTaskDetails": table.Members{"title": "high $nonce", "priority": "high", "estimatedHours": 2},
			}, Want: table.Succeeds()},
			table.Step{
				Word: "task", Title: "filter ready and priority high return a ready task of high priority",
				Tool: ToolNext, Args: table.Members{"filter": "ready", "priority": "high"},
				Want: table.Succeeds(table.Is("payload.success", true), table.Is("payload.task.status", "ready"), table.Is("payload.task.priority", "high")),
			},
			table.Step{
				Word: "members", Title: "a task has its members",
				Want: table.Wants(table.Like("payload.task.taskId", `^TASK-\d{3,}$`), table.Like("payload.task.title", "."), table.Has("payload.task.description"),
					table.Has("payload.task.dependencies"), table.Has("payload.task.blockedBy"), table.Has("payload.task.estimatedHours")),
			},
			table.Step{
				Word: "queue", Title: "queueLength and nextTasksPreview stand beside it",
				Want: table.Wants(table.Between("payload.queueLength", 0, 1e6), table.Has("payload.nextTasksPreview")),
			},
		),
		coeTable("S1-NEXT-03", "filters of getNextTask", coeNeeds(ToolDone),
			table.Step{
				Tool: ToolDone, Args: table.Members{"taskId": "$task", "status": "blocked", "statusDetails": table.Members{"blockedReason": "no key yet"}},
				Want: table.Succeeds(),
			},
			table.Step{Tool: ToolNext, Args: table.Members{"filter": "ready"}, Want: table.Succeeds(table.Has("payload.task")), Keep: map[string]string{"ready": "payload.task.taskId", "readyPriority": "payload.task.priority", "readyQueue": "payload.queueLength"}},
			table.Step{
				Word: "default", Title: "without a filter it is ready", Tool: ToolNext,
				Want: table.Succeeds(table.Is("payload.task.taskId", "$ready"), table.Is("payload.queueLength", "$readyQueue")),
			},
			table.Step{
				Word: "blocked", Title: "blocked returns a blocked task", Tool: ToolNext, Args: table.Members{"filter": "blocked"},
				Want: table.Succeeds(table.Is("payload.task.status", "blocked")), Keep: map[string]string{"blockedPriority": "payload.task.priority"},
			},
			table.Step{
				Word: "all", Title: "all returns the most urgent of the ready and the blocked ones", Tool: ToolNext, Args: table.Members{"filter": "all"},
				Want: table.Succeeds(table.Has("payload.task"), table.That("a task no less urgent than with ready and with blocked", func(doc any, kept map[string]any) bool {
					got := priorityRank(table.TextAt(doc, "payload.task.priority"))
					return got <= priorityRank(table.TextAt(kept, "readyPriority")) && got <= priorityRank(table.TextAt(kept, "blockedPriority"))
				})),
			},
		),
		coeTable("S1-NEXT-04", "filters and priorities that do not exist", coeReading(),
			table.Step{Word: "filter", Title: "an unknown filter is refused with 400", Tool: ToolNext, Args: table.Members{"filter": "urgent"}, Want: numeric(400)},
			table.Step{Word: "priority", Title: "an unknown priority is refused with 400", Tool: ToolNext, Args: table.Members{"priority": "urgent"}, Want: numeric(400)},
			table.Step{Word: "type", Title: "a flag that is no boolean is refused with 400", Tool: ToolNext, Args: table.Members{"includeContext": "yes"}, Want: numeric(400)},
		),
		coeTable("S1-NEXT-05", "the order of the queue", coeNeeds(),
			table.Step{Tool: toolObserve, Args: table.Members{
				"taskId": "$task", "observation": "a critical task", "type": "dependency", "severity": "low",
				"createNewTask": true, "newTaskDetails": table.Members{"title": "critical $nonce", "priority": "critical", "estimatedHours": 2},
			}, Want: table.Succeeds()},
			table.Step{
				Word: "first", Title: "a critical task comes before all others", Tool: ToolNext,
				Want: table.Succeeds(table.Is("payload.task.priority", "critical")),
			},
			table.Step{
				Word: "preview", Title: "the preview goes on in the order critical, high, medium, low",
				Want: table.Wants(table.That("priorities that do not rise", func(doc any, _ map[string]any) bool {
					last := priorityRank(table.TextAt(doc, "payload.task.priority"))
					for _, p := range table.ArrayAt(doc, "payload.nextTasksPreview") {
						rank := priorityRank(table.TextAt(p, "priority"))
						if rank < last {
							return false
						}
						last = rank
					}
					return last < len(Priorities)
				})),
			},
			table.Step{
				Word: "entries", Title: "the preview has at most two entries with id, title and priority",
				Want: table.Wants(table.Between("payload.nextTasksPreview.#", 0, 2), table.Like("payload.nextTasksPreview.0.id", "."),
					table.Like("payload.nextTasksPreview.0.title", "."), table.OneOf("payload.nextTasksPreview.0.priority", Priorities...)),
			},
		),
		coeTable("S1-NEXT-06", "parts of a task that a caller may leave out", coeReading(),
			table.Step{
				Word: "default", Title: "all parts are there unless a caller says otherwise", Tool: ToolNext, Args: table.Members{"filter": "all"},
				Want: table.Succeeds(table.Has("payload.task.planReference"), table.Has("payload.task.relatedTasks")),
			},
			table.Step{
				Word: "true", Title: "flags that are true keep them", Tool: ToolNext,
				Args: table.Members{"filter": "all", "includeContext": true, "includeDetailedPrompt": true, "includeRelatedFiles": true},
				Want: table.Succeeds(table.Has("payload.task.planReference"), table.Has("payload.task.relatedTasks")),
			},
			table.Step{
				Word: "prompt", Title: "includeDetailedPrompt false leaves out superDetailedPrompt", Tool: ToolNext,
				Args: table.Members{"filter": "all", "includeDetailedPrompt": false}, Want: table.Succeeds(table.Has("payload.task"), table.Lacks("payload.task.superDetailedPrompt")),
			},
			table.Step{
				Word: "files", Title: "includeRelatedFiles false leaves out the files of the prompt", Tool: ToolNext,
				Args: table.Members{"filter": "all", "includeRelatedFiles": false}, Want: table.Succeeds(table.Has("payload.task"), table.Lacks("payload.task.superDetailedPrompt.files")),
			},
			table.Step{
				Word: "context", Title: "includeContext false leaves out context, planReference and relatedTasks", Tool: ToolNext,
				Args: table.Members{"filter": "all", "includeContext": false},
				Want: table.Succeeds(table.Has("payload.task"), table.Lacks("payload.task.planReference"), table.Lacks("payload.task.relatedTasks"), table.Lacks("payload.task.superDetailedPrompt.context")),
			},
		),
		coeTable("S1-NEXT-07", "tasks that wait for others", coeNeeds(toolTestFailure, ToolDone),
			table.Step{Tool: toolTestFailure, Args: failureOf("$task"), Want: table.Succeeds(), Keep: map[string]string{"blocker": "payload.investigationTaskCreated.taskId"}},
			table.Step{
				Word: "ready", Title: "ready returns no task with open dependencies", Tool: ToolNext,
				Want: table.Succeeds(table.Is("payload.task.blockedBy.#", 0), table.IsNot("payload.task.taskId", "$task")),
			},
			table.Step{Tool: ToolDone, Args: table.Members{"taskId": "$blocker", "status": "done"}, Want: table.Succeeds()},
		),
		coeTable("S1-NEXT-08", "reading changes nothing", coeReading(),
			table.Step{Tool: ToolNext, Want: table.Succeeds(table.Has("payload.task")), Keep: map[string]string{"id": "payload.task.taskId", "length": "payload.queueLength"}},
			table.Step{
				Word: "same", Title: "two calls return the same task", Tool: ToolNext,
				Want: table.Succeeds(table.Is("payload.task.taskId", "$id"), table.Is("payload.queueLength", "$length")),
			},
			table.Step{Word: "status", Title: "the task is still ready", Want: table.Wants(table.Is("payload.task.status", "ready"))},
		),
		coeTable("S1-NEXT-12", "the length of the queue", coeNeeds(),
			table.Step{Tool: ToolNext, Want: table.Succeeds(), Keep: map[string]string{"ready": "payload.queueLength"}},
			table.Step{Tool: ToolNext, Args: table.Members{"filter": "all"}, Want: table.Succeeds(), Keep: map[string]string{"all": "payload.queueLength"}},
			table.Step{Tool: toolObserve, Args: table.Members{
				"taskId": "$task", "observation": "one more", "type": "dependency", "severity": "low",
				"createNewTask": true, "newTaskDetails": table.Members{"title": "one more $nonce", "priority": "medium", "estimatedHours": 2},
			}, Want: table.Succeeds()},
			table.Step{
				Word: "ready", Title: "queueLength counts the tasks of the queue after the one returned", Tool: ToolNext,
				Want: table.Succeeds(table.More("payload.queueLength", "ready", 2)),
			},
			table.Step{
				Word: "all", Title: "the filter chooses the task and not the length", Tool: ToolNext, Args: table.Members{"filter": "all"},
				Want: table.Succeeds(table.More("payload.queueLength", "all", 2), table.More("payload.queueLength", "ready", 2)),
			},
			table.Step{
				Word: "priority", Title: "the priority chooses the task and not the length", Tool: ToolNext, Args: table.Members{"filter": "all", "priority": "low"},
				Want: table.Succeeds(table.Is("payload.task.priority", "low"), table.More("payload.queueLength", "all", 2)),
			},
		),
	}
	for i := range list {
		list[i].Suits = enhancedShape
	}
	implemented := coeTable("S1-NEXT-09", "getNextTask in the implemented shape", coeReading(),
		table.Step{
			Word: "status", Title: "queueStatus.isEmpty says whether there is a task", Tool: ToolNext,
			Want: table.Succeeds(table.Is("payload.success", true), table.That("isEmpty as the task is", func(doc any, _ map[string]any) bool {
				task, _ := table.Lookup(doc, "payload.task")
				empty, ok := table.Lookup(doc, "payload.queueStatus.isEmpty")
				return ok && empty == (task == nil)
			})),
		},
		table.Step{
			Requirement: "S1-NEXT-04", Word: "implemented", Title: "in the implemented shape an unknown filter is INVALID_FILTER", Tool: ToolNext,
			Args: table.Members{"filter": "urgent"}, Want: table.Wants(table.Is("payload.success", false), table.Is("payload.error.code", "INVALID_FILTER"), table.Like("payload.error.message", ".")),
		},
	)
	implemented.Suits = func(r *table.Run) (string, error) { return taskShape(r, "implemented") }
	legacy := coeTable("S1-NEXT-10", "getNextTask in the legacy shape", coeReading(),
		table.Step{
			Word: "task", Title: "the result is the bare task", Tool: ToolNext,
			Want: table.Succeeds(table.Like("payload.id", "."), table.Like("payload.ticketId", "."), table.Like("payload.title", "."), table.Is("payload.status", "ready"), table.Timestamp("payload.createdAt")),
		},
	)
	legacy.Suits = func(r *table.Run) (string, error) { return taskShape(r, "legacy") }
	return table.Scenarios(append(list, implemented, legacy)...)
}

// Priorities are the priorities of the plan, the most urgent first.
var Priorities = []string{"critical", "high", "medium", "low"}

// priorityRank is len(priorities) for what is none.
func priorityRank(p string) int {
	if i := slices.Index(Priorities, p); i >= 0 {
		return i
	}
	return len(Priorities)
}

// failureOf is a failed test that needs an investigation.
func failureOf(task string) table.Members {
	return table.Members{
		"taskId": task, "testName": "suite $nonce", "testFile": "suite/suite_test.go",
		"failureDetails": table.Members{"error": "expected 1, got 2", "expectedValue": 1, "actualValue": 2},
		"previousStatus": "passing_before", "needsInvestigation": true, "actionNeeded": "find out why",
	}
}
