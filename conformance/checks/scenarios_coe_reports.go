package checks

import (
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
)

// coeReportScenarios are about observations, issues, completions, tickets and
// agents.
func coeReportScenarios() []conformance.Scenario {
	observed := members{"taskId": "$task", "observation": "seen by the suite", "type": "discovery", "severity": "low"}
	creating := observed.with(members{"createNewTask": true, "newTaskDetails": members{"title": "look at $nonce", "priority": "medium", "estimatedHours": 2.5}})
	issue := members{"issue_description": "something is wrong", "severity": 3, "task_id": "$task"}
	completed := members{"task_id": "$task", "status": "partial"}
	list := []table{
		coeTable("S1-OBS-01", "an observation that makes a task", coeNeeds(),
			step{tool: toolObserve, args: observed, want: succeeds()},
			step{tool: toolNext, args: members{"filter": "all"}, want: succeeds(), keep: map[string]string{"queue": "payload.queueLength"}},
			step{
				word: "status", title: "its status is task-created", tool: toolObserve, args: creating,
				want: succeeds(is("payload.success", true), like("payload.observationId", `^OBS-\d{3,}$`), is("payload.status", "task-created")),
			},
			step{
				word: "task", title: "newTaskCreated names the task, its priority and place",
				want: wants(like("payload.newTaskCreated.taskId", `^TASK-\d{3,}$`), is("payload.newTaskCreated.title", "look at $nonce"),
					is("payload.newTaskCreated.priority", "medium"), is("payload.newTaskCreated.addedToQueue", true),
					is("payload.newTaskCreated.position", "after current task dependencies")),
			},
			step{
				word: "queued", title: "the task is in the queue", tool: toolNext, args: members{"filter": "all"},
				want: succeeds(more("payload.queueLength", "queue", 1)),
			},
		),
		coeTable("S1-OBS-02", "an observation alone", coeNeeds(),
			step{
				word: "logged", title: "its status is logged", tool: toolObserve, args: observed,
				want: succeeds(is("payload.status", "logged"), is("payload.type", "discovery"), is("payload.severity", "low"), is("payload.observation", "seen by the suite")),
			},
			step{word: "no-task", title: "there is no newTaskCreated", want: wants(is("payload.success", true), lacks("payload.newTaskCreated"))},
		),
		coeTable("S1-OBS-03", "observations v1.0 that are refused", coeNeeds(),
			step{word: "type", title: "an unknown type is refused with 400", tool: toolObserve, args: observed.with(members{"type": "rumour"}), want: numeric(400)},
			step{word: "severity", title: "an unknown severity is refused with 400", tool: toolObserve, args: observed.with(members{"severity": "huge"}), want: numeric(400)},
			step{word: "details", title: "createNewTask without newTaskDetails is refused with 400", tool: toolObserve, args: observed.with(members{"createNewTask": true}), want: numeric(400)},
			step{word: "task", title: "an unknown task is refused with 404", tool: toolObserve, args: observed.with(members{"taskId": "$nosuch"}), want: numeric(404)},
		),
		coeTable("S1-OBS-04", "an observation v1.1", coeNeeds(),
			step{
				word: "logged", title: "the answer has logged true and observation_id", tool: toolObserve,
				args: members{"observation": "seen by the suite", "category": "style_note", "task_id": "$task", "file_path": "src/a.go"},
				want: succeeds(is("payload.logged", true), like("payload.observation_id", ".")),
			},
			step{word: "priority", title: "a priority of 4 is INVALID_PARAM", tool: toolObserve, args: members{"observation": "x", "priority": 4}, want: invalidField("priority")},
			step{word: "category", title: "an unknown category is INVALID_PARAM", tool: toolObserve, args: members{"observation": "x", "category": "rumour"}, want: invalidField("category")},
			step{word: "null", title: "file_path may be null", tool: toolObserve, args: members{"observation": "x", "category": "other", "file_path": nil}, want: succeeds(is("payload.logged", true))},
		),
		coeTable("S1-OBS-05", "the length of an observation v1.1", coeNeeds(),
			step{word: "longest", title: "1000 code points are accepted", tool: toolObserve, args: members{"observation": letters(1000), "priority": 3}, want: succeeds(is("payload.logged", true))},
			step{word: "longer", title: "1001 are INVALID_PARAM", tool: toolObserve, args: members{"observation": letters(1001), "priority": 3}, want: invalidField("observation")},
		),
		coeTable("S1-OBS-07", "which version an observation is of", coeNeeds(),
			step{word: "newer", title: "one with category and no taskId is v1.1", tool: toolObserve, args: members{"observation": "x", "category": "other"}, want: succeeds(is("payload.logged", true))},
			step{word: "older", title: "one with taskId is v1.0", tool: toolObserve, args: observed, want: succeeds(is("payload.status", "logged"))},
			step{word: "neither", title: "one with type and no taskId is v1.0, and lacks it", tool: toolObserve, args: members{"observation": "x", "type": "discovery"}, want: numeric(400)},
			step{word: "forced", title: "_meta.version 1.0 has one of v1.1 judged as v1.0", tool: toolObserve, args: members{"observation": "x", "category": "other"}, meta: members{"version": "1.0"}, want: numeric(400)},
		),
		coeTable("S1-ISSUE-01", "issues", coeNeeds(toolIssue),
			step{word: "critical", title: "severity 1 is escalated", tool: toolIssue, args: issue.with(members{"severity": 1}), want: succeeds(is("payload.logged", true), is("payload.escalated", true))},
			step{word: "minor", title: "severity 3 is not", tool: toolIssue, args: issue, want: succeeds(is("payload.logged", true), is("payload.escalated", false))},
			step{word: "immediate", title: "immediate is, whatever its severity", tool: toolIssue, args: issue.with(members{"immediate": true, "repro_steps": "look"}), want: succeeds(is("payload.escalated", true))},
		),
		coeTable("S1-ISSUE-02", "issues that are refused", coeNeeds(toolIssue),
			step{word: "zero", title: "severity 0 is INVALID_PARAM", tool: toolIssue, args: issue.with(members{"severity": 0}), want: invalidField("severity")},
			step{word: "four", title: "severity 4 is INVALID_PARAM", tool: toolIssue, args: issue.with(members{"severity": 4}), want: invalidField("severity")},
			step{word: "missing", title: "no severity is INVALID_PARAM", tool: toolIssue, args: issue.without("severity"), want: invalidField("severity")},
			step{word: "longer", title: "a description of 801 code points is INVALID_PARAM", tool: toolIssue, args: issue.with(members{"issue_description": letters(801)}), want: invalidField("issue_description")},
			step{word: "longest", title: "one of 800 is accepted", tool: toolIssue, args: issue.with(members{"issue_description": letters(800)}), want: succeeds(is("payload.logged", true))},
		),
		coeTable("S1-COMPL-01", "a task that is completed", coeNeeds(toolCompleted),
			step{
				word: "success", title: "it is acknowledged, with the next task or null", tool: toolCompleted,
				args: completed.with(members{"status": "success", "files_modified": []any{"a.go"}, "test_results": members{"passed": 3, "failed": 0}, "priority_completed": 2}),
				want: succeeds(is("payload.acknowledged", true), hasNull("payload.next_task_suggested")),
				keep: map[string]string{"next": "payload.next_task_suggested"},
			},
			step{word: "next", title: "the task suggested is what getNextTask returns", tool: toolNext, want: succeeds(is("payload.task.taskId", "$next"))},
		),
		coeTable("S1-COMPL-02", "completions that are refused", coeNeeds(toolCompleted),
			step{word: "longest", title: "an output_summary of 500 code points is accepted", tool: toolCompleted, args: completed.with(members{"output_summary": letters(500)}), want: succeeds(is("payload.acknowledged", true))},
			step{word: "longer", title: "one of 501 is INVALID_PARAM", tool: toolCompleted, args: completed.with(members{"output_summary": letters(501)}), want: invalidField("output_summary")},
			step{word: "status", title: "an unknown status is INVALID_PARAM", tool: toolCompleted, args: completed.with(members{"status": "done"}), want: invalidField("status")},
			step{req: "S1-COMPL-03", word: "null", title: "a coverage_percent of null is accepted", tool: toolCompleted, args: completed.with(members{"coverage_percent": nil}), want: succeeds(is("payload.acknowledged", true))},
		),
		coeTable("S1-TICKET-01", "a ticket", coeNeeds(toolTicket),
			step{
				word: "created", title: "it is created with an id TK-NNN", tool: toolTicket, args: members{"title": "suite $nonce", "description": "nothing to do", "priority": 3, "type": "question"},
				want: succeeds(is("payload.success", true), like("payload.ticket.id", `^TK-\d{3,}$`), is("payload.ticket.title", "suite $nonce")),
			},
			step{word: "open", title: "it is open and says when it was created", want: wants(is("payload.ticket.status", "open"), timestamp("payload.ticket.created_at"))},
			step{
				req: "S1-TICKET-02", word: "title", title: "without a title it is INVALID_PARAM with field title and reason required", tool: toolTicket, args: members{"description": "no title"},
				want: envelope("INVALID_PARAM", is("payload.error.retryable", false), is("payload.error.details.field", "title"), is("payload.error.details.reason", "required")),
			},
			step{req: "S1-TICKET-02", word: "longer", title: "a title of 201 code points is INVALID_PARAM", tool: toolTicket, args: members{"title": letters(201)}, want: invalidField("title")},
			step{req: "S1-TICKET-02", word: "type", title: "an unknown type is INVALID_PARAM", tool: toolTicket, args: members{"title": "suite", "type": "rumour"}, want: invalidField("type")},
		),
		coeTable("S1-AGENT-01", "agents", coeNeeds(toolAgent),
			step{word: "plan", title: "plan returns a text", tool: toolAgent, args: members{"command": "plan", "args": members{"task": "Let the sidebar collapse"}}, want: succeeds(like("text", "."))},
			step{word: "verify", title: "verify returns a text that begins with PASS or FAIL", tool: toolAgent, args: members{"command": "verify", "args": members{"code": "func f() {}"}}, want: succeeds(like("text", `^"?(PASS|FAIL) - `))},
			step{word: "ask", title: "ask returns a text", tool: toolAgent, args: members{"command": "ask", "args": members{"question": plannedQuestion}}, want: succeeds(like("text", "."))},
		),
		coeTable("S1-AGENT-02", "agents that are called wrongly", coeNeeds(toolAgent),
			step{
				word: "command", title: "an unknown command is refused with -32602 and the valid list", tool: toolAgent, args: members{"command": "dance", "args": members{}},
				want: rpcCode(wire.CodeInvalidParams, that("plan, verify and ask in the message", namesCommands)),
			},
			step{word: "args", title: "no args are refused with -32602 and the valid list", tool: toolAgent, args: members{"command": "plan"}, want: rpcCode(wire.CodeInvalidParams, that("plan, verify and ask in the message", namesCommands))},
			step{
				word: "required", title: "args that lack what the command needs are refused with -32602", tool: toolAgent, args: members{"command": "verify", "args": members{"task": "x"}},
				want: rpcCode(wire.CodeInvalidParams),
			},
		),
	}
	return tables(list...)
}

// namesCommands reports whether an error lists the commands of callCOEAgent.
func namesCommands(doc any, _ map[string]any) bool {
	text := textAt(doc, "error.message")
	if data, there := lookup(doc, "error.data"); there {
		text += string(rawjson.Encode(data))
	}
	for _, command := range []string{"plan", "verify", "ask"} {
		if !containsWord(text, command) {
			return false
		}
	}
	return true
}
