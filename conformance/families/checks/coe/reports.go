package coe

import (
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// coeReportScenarios are about observations, issues, completions, tickets and
// agents.
func coeReportScenarios() []engine.Scenario {
	observed := table.Members{"taskId": "$task", "observation": "seen by the suite", "type": "discovery", "severity": "low"}
	creating := observed.With(table.Members{"createNewTask": true, "newTaskDetails": table.Members{"title": "look at $nonce", "priority": "medium", "estimatedHours": 2.5}})
	issue := table.Members{"issue_description": "something is wrong", "severity": 3, "task_id": "$task"}
	completed := table.Members{"task_id": "$task", "status": "partial"}
	list := []table.Table{
		coeTable("S1-OBS-01", "an observation that makes a task", coeNeeds(),
			table.Step{Tool: toolObserve, Args: observed, Want: table.Succeeds()},
			table.Step{Tool: ToolNext, Args: table.Members{"filter": "all"}, Want: table.Succeeds(), Keep: map[string]string{"queue": "payload.queueLength"}},
			table.Step{
				Word: "status", Title: "its status is task-created", Tool: toolObserve, Args: creating,
				Want: table.Succeeds(table.Is("payload.success", true), table.Like("payload.observationId", `^OBS-\d{3,}$`), table.Is("payload.status", "task-created")),
			},
			table.Step{
				Word: "task", Title: "newTaskCreated names the task, its priority and place",
				Want: table.Wants(table.Like("payload.newTaskCreated.taskId", `^TASK-\d{3,}$`), table.Is("payload.newTaskCreated.title", "look at $nonce"),
					table.Is("payload.newTaskCreated.priority", "medium"), table.Is("payload.newTaskCreated.addedToQueue", true),
					table.Is("payload.newTaskCreated.position", "after current task dependencies")),
			},
			table.Step{
				Word: "queued", Title: "the task is in the queue", Tool: ToolNext, Args: table.Members{"filter": "all"},
				Want: table.Succeeds(table.More("payload.queueLength", "queue", 1)),
			},
		),
		coeTable("S1-OBS-02", "an observation alone", coeNeeds(),
			table.Step{
				Word: "logged", Title: "its status is logged", Tool: toolObserve, Args: observed,
				Want: table.Succeeds(table.Is("payload.status", "logged"), table.Is("payload.type", "discovery"), table.Is("payload.severity", "low"), table.Is("payload.observation", "seen by the suite")),
			},
			table.Step{Word: "no-task", Title: "there is no newTaskCreated", Want: table.Wants(table.Is("payload.success", true), table.Lacks("payload.newTaskCreated"))},
		),
		coeTable("S1-OBS-03", "observations v1.0 that are refused", coeNeeds(),
			table.Step{Word: "type", Title: "an unknown type is refused with 400", Tool: toolObserve, Args: observed.With(table.Members{"type": "rumour"}), Want: numeric(400)},
			table.Step{Word: "severity", Title: "an unknown severity is refused with 400", Tool: toolObserve, Args: observed.With(table.Members{"severity": "huge"}), Want: numeric(400)},
			table.Step{Word: "details", Title: "createNewTask without newTaskDetails is refused with 400", Tool: toolObserve, Args: observed.With(table.Members{"createNewTask": true}), Want: numeric(400)},
			table.Step{Word: "task", Title: "an unknown task is refused with 404", Tool: toolObserve, Args: observed.With(table.Members{"taskId": "$nosuch"}), Want: numeric(404)},
		),
		coeTable("S1-OBS-04", "an observation v1.1", coeNeeds(),
			table.Step{
				Word: "logged", Title: "the answer has logged true and observation_id", Tool: toolObserve,
				Args: table.Members{"observation": "seen by the suite", "category": "style_note", "task_id": "$task", "file_path": "src/a.go"},
				Want: table.Succeeds(table.Is("payload.logged", true), table.Like("payload.observation_id", ".")),
			},
			table.Step{Word: "priority", Title: "a priority of 4 is INVALID_PARAM", Tool: toolObserve, Args: table.Members{"observation": "x", "priority": 4}, Want: invalidField("priority")},
			table.Step{Word: "category", Title: "an unknown category is INVALID_PARAM", Tool: toolObserve, Args: table.Members{"observation": "x", "category": "rumour"}, Want: invalidField("category")},
			table.Step{Word: "null", Title: "file_path may be null", Tool: toolObserve, Args: table.Members{"observation": "x", "category": "other", "file_path": nil}, Want: table.Succeeds(table.Is("payload.logged", true))},
		),
		coeTable("S1-OBS-05", "the length of an observation v1.1", coeNeeds(),
			table.Step{Word: "longest", Title: "1000 code points are accepted", Tool: toolObserve, Args: table.Members{"observation": Letters(1000), "priority": 3}, Want: table.Succeeds(table.Is("payload.logged", true))},
			table.Step{Word: "longer", Title: "1001 are INVALID_PARAM", Tool: toolObserve, Args: table.Members{"observation": Letters(1001), "priority": 3}, Want: invalidField("observation")},
		),
		coeTable("S1-OBS-07", "which version an observation is of", coeNeeds(),
			table.Step{Word: "newer", Title: "one with category and no taskId is v1.1", Tool: toolObserve, Args: table.Members{"observation": "x", "category": "other"}, Want: table.Succeeds(table.Is("payload.logged", true))},
			table.Step{Word: "older", Title: "one with taskId is v1.0", Tool: toolObserve, Args: observed, Want: table.Succeeds(table.Is("payload.status", "logged"))},
			table.Step{Word: "neither", Title: "one with type and no taskId is v1.0, and lacks it", Tool: toolObserve, Args: table.Members{"observation": "x", "type": "discovery"}, Want: numeric(400)},
			table.Step{Word: "forced", Title: "_meta.version 1.0 has one of v1.1 judged as v1.0", Tool: toolObserve, Args: table.Members{"observation": "x", "category": "other"}, Meta: table.Members{"version": "1.0"}, Want: numeric(400)},
		),
		coeTable("S1-ISSUE-01", "issues", coeNeeds(toolIssue),
			table.Step{Word: "critical", Title: "severity 1 is escalated", Tool: toolIssue, Args: issue.With(table.Members{"severity": 1}), Want: table.Succeeds(table.Is("payload.logged", true), table.Is("payload.escalated", true))},
			table.Step{Word: "minor", Title: "severity 3 is not", Tool: toolIssue, Args: issue, Want: table.Succeeds(table.Is("payload.logged", true), table.Is("payload.escalated", false))},
			table.Step{Word: "immediate", Title: "immediate is, whatever its severity", Tool: toolIssue, Args: issue.With(table.Members{"immediate": true, "repro_steps": "look"}), Want: table.Succeeds(table.Is("payload.escalated", true))},
		),
		coeTable("S1-ISSUE-02", "issues that are refused", coeNeeds(toolIssue),
			table.Step{Word: "zero", Title: "severity 0 is INVALID_PARAM", Tool: toolIssue, Args: issue.With(table.Members{"severity": 0}), Want: invalidField("severity")},
			table.Step{Word: "four", Title: "severity 4 is INVALID_PARAM", Tool: toolIssue, Args: issue.With(table.Members{"severity": 4}), Want: invalidField("severity")},
			table.Step{Word: "missing", Title: "no severity is INVALID_PARAM", Tool: toolIssue, Args: issue.Without("severity"), Want: invalidField("severity")},
			table.Step{Word: "longer", Title: "a description of 801 code points is INVALID_PARAM", Tool: toolIssue, Args: issue.With(table.Members{"issue_description": Letters(801)}), Want: invalidField("issue_description")},
			table.Step{Word: "longest", Title: "one of 800 is accepted", Tool: toolIssue, Args: issue.With(table.Members{"issue_description": Letters(800)}), Want: table.Succeeds(table.Is("payload.logged", true))},
		),
		coeTable("S1-COMPL-01", "a task that is completed", coeNeeds(toolCompleted),
			table.Step{
				Word: "success", Title: "it is acknowledged, with the next task or null", Tool: toolCompleted,
				Args: completed.With(table.Members{"status": "success", "files_modified": []any{"a.go"}, "test_results": table.Members{"passed": 3, "failed": 0}, "priority_completed": 2}),
				Want: table.Succeeds(table.Is("payload.acknowledged", true), table.HasNull("payload.next_task_suggested")),
				Keep: map[string]string{"next": "payload.next_task_suggested"},
			},
			table.Step{Word: "next", Title: "the task suggested is what getNextTask returns", Tool: ToolNext, Want: table.Succeeds(table.Is("payload.task.taskId", "$next"))},
		),
		coeTable("S1-COMPL-02", "completions that are refused", coeNeeds(toolCompleted),
			table.Step{Word: "longest", Title: "an output_summary of 500 code points is accepted", Tool: toolCompleted, Args: completed.With(table.Members{"output_summary": Letters(500)}), Want: table.Succeeds(table.Is("payload.acknowledged", true))},
			table.Step{Word: "longer", Title: "one of 501 is INVALID_PARAM", Tool: toolCompleted, Args: completed.With(table.Members{"output_summary": Letters(501)}), Want: invalidField("output_summary")},
			table.Step{Word: "status", Title: "an unknown status is INVALID_PARAM", Tool: toolCompleted, Args: completed.With(table.Members{"status": "done"}), Want: invalidField("status")},
			table.Step{Requirement: "S1-COMPL-03", Word: "null", Title: "a coverage_percent of null is accepted", Tool: toolCompleted, Args: completed.With(table.Members{"coverage_percent": nil}), Want: table.Succeeds(table.Is("payload.acknowledged", true))},
		),
		coeTable("S1-TICKET-01", "a ticket", coeNeeds(ToolTicket),
			table.Step{
				Word: "created", Title: "it is created with an id TK-NNN", Tool: ToolTicket, Args: table.Members{"title": "suite $nonce", "description": "nothing to do", "priority": 3, "type": "question"},
				Want: table.Succeeds(table.Is("payload.success", true), table.Like("payload.ticket.id", `^TK-\d{3,}$`), table.Is("payload.ticket.title", "suite $nonce")),
			},
			table.Step{Word: "open", Title: "it is open and says when it was created", Want: table.Wants(table.Is("payload.ticket.status", "open"), table.Timestamp("payload.ticket.created_at"))},
			table.Step{
				Requirement: "S1-TICKET-02", Word: "title", Title: "without a title it is INVALID_PARAM with field title and reason required", Tool: ToolTicket, Args: table.Members{"description": "no title"},
				Want: envelope("INVALID_PARAM", table.Is("payload.error.retryable", false), table.Is("payload.error.details.field", "title"), table.Is("payload.error.details.reason", "required")),
			},
			table.Step{Requirement: "S1-TICKET-02", Word: "longer", Title: "a title of 201 code points is INVALID_PARAM", Tool: ToolTicket, Args: table.Members{"title": Letters(201)}, Want: invalidField("title")},
			table.Step{Requirement: "S1-TICKET-02", Word: "type", Title: "an unknown type is INVALID_PARAM", Tool: ToolTicket, Args: table.Members{"title": "suite", "type": "rumour"}, Want: invalidField("type")},
		),
		coeTable("S1-AGENT-01", "agents", coeNeeds(toolAgent),
			table.Step{Word: "plan", Title: "plan returns a text", Tool: toolAgent, Args: table.Members{"command": "plan", "args": table.Members{"task": "Let the sidebar collapse"}}, Want: table.Succeeds(table.Like("text", "."))},
			table.Step{Word: "verify", Title: "verify returns a text that begins with PASS or FAIL", Tool: toolAgent, Args: table.Members{"command": "verify", "args": table.Members{"code": "func f() {}"}}, Want: table.Succeeds(table.Like("text", `^"?(PASS|FAIL) - `))},
			table.Step{Word: "ask", Title: "ask returns a text", Tool: toolAgent, Args: table.Members{"command": "ask", "args": table.Members{"question": plannedQuestion}}, Want: table.Succeeds(table.Like("text", "."))},
		),
		coeTable("S1-AGENT-02", "agents that are called wrongly", coeNeeds(toolAgent),
			table.Step{
				Word: "command", Title: "an unknown command is refused with -32602 and the valid list", Tool: toolAgent, Args: table.Members{"command": "dance", "args": table.Members{}},
				Want: table.RPCCode(wire.CodeInvalidParams, table.That("plan, verify and ask in the message", namesCommands)),
			},
			table.Step{Word: "args", Title: "no args are refused with -32602 and the valid list", Tool: toolAgent, Args: table.Members{"command": "plan"}, Want: table.RPCCode(wire.CodeInvalidParams, table.That("plan, verify and ask in the message", namesCommands))},
			table.Step{
				Word: "required", Title: "args that lack what the command needs are refused with -32602", Tool: toolAgent, Args: table.Members{"command": "verify", "args": table.Members{"task": "x"}},
				Want: table.RPCCode(wire.CodeInvalidParams),
			},
		),
	}
	return table.Scenarios(list...)
}

// namesCommands reports whether an error lists the commands of callCOEAgent.
func namesCommands(doc any, _ map[string]any) bool {
	text := table.TextAt(doc, "error.message")
	if data, there := table.Lookup(doc, "error.data"); there {
		text += string(rawjson.Encode(data))
	}
	for _, command := range []string{"plan", "verify", "ask"} {
		if !containsWord(text, command) {
			return false
		}
	}
	return true
}
