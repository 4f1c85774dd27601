package coe

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// coeErrorScenarios are about the forms of errors, and about what the family
// refuses for the sake of safety.
func coeErrorScenarios() []engine.Scenario {
	agent := table.Members{"agentName": "suite agent"}
	badTicket := table.Members{"description": "no title"}
	observed := table.Members{"taskId": "$task", "observation": "seen by the suite", "type": "discovery", "severity": "low"}
	return table.Scenarios(
		coeTable("S1-ERR-01", "numeric codes", coeNeeds(ToolDone),
			table.Step{
				Word: "400", Title: "400 is Bad Request", Tool: ToolNext, Args: table.Members{"filter": "urgent"},
				Want: numeric(400, table.That("Bad Request in message or data.status", says("Bad Request"))),
			},
			table.Step{
				Word: "404", Title: "404 is Not Found", Tool: ToolDone, Args: table.Members{"taskId": "$nosuch", "status": "done"},
				Want: numeric(404, table.That("Not Found in message or data.status", says("Not Found"))),
			},
			table.Step{
				Requirement: "S1-ERR-02", Word: "members", Title: "an error has code, message and data",
				Want: table.Wants(table.Is("error.code", 404), table.Like("error.message", "."), table.Has("error.data")),
			},
			table.Step{Requirement: "S1-ERR-02", Word: "suggestion", Title: "404 comes with a suggestion", Want: table.Wants(table.Like("error.data.suggestion", "."))},
			table.Step{Tool: ToolDone, Args: table.Members{"taskId": "$task", "status": "done"}, Want: table.Succeeds()},
			table.Step{
				Word: "409", Title: "409 is Conflict", Tool: ToolDone, Args: table.Members{"taskId": "$task", "status": "done"},
				Want: numeric(409, table.That("Conflict in message or data.status", says("Conflict"))),
			},
		),
		coeTable("S1-ERR-03", "the global envelope", coeNeeds(ToolTicket),
			table.Step{
				Word: "error", Title: "all nine members of error are there", Tool: ToolTicket, Args: badTicket, Meta: agent,
				Want: envelope("INVALID_PARAM", table.HasNull("payload.error.code"), table.Like("payload.error.message", "."), table.HasNull("payload.error.details"), table.HasNull("payload.error.severity"),
					table.IsBoolean("payload.error.retryable"), table.HasNull("payload.error.retry_after_seconds"), table.IsBoolean("payload.error.fallback_suggested"),
					table.HasNull("payload.error.priority_impact"), table.HasNull("payload.error.log_level")),
			},
			table.Step{
				Word: "context", Title: "all three members of context are there",
				Want: table.Wants(table.HasNull("payload.context.task_id"), table.HasNull("payload.context.agent_name"), table.Timestamp("payload.context.timestamp")),
			},
			table.Step{
				Word: "enums", Title: "severity, impact and log level are of their lists",
				Want: table.Wants(table.OneOf("payload.error.severity", "LOW", "MEDIUM", "HIGH", "CRITICAL"), table.OneOf("payload.error.priority_impact", "NONE", "P3_IGNORABLE", "P2_DELAYED", "P1_BLOCKED"),
					table.OneOf("payload.error.log_level", "DEBUG", "INFO", "WARN", "ERROR")),
			},
			table.Step{
				Requirement: "S1-ERR-04", Word: "invalid", Title: "INVALID_PARAM is MEDIUM, not retryable, P1_BLOCKED and logged as WARN",
				Want: defaults("MEDIUM", false, "P1_BLOCKED", "WARN"),
			},
			table.Step{Requirement: "S1-ERR-05", Word: "agent", Title: "context.agent_name is the caller", Want: table.Wants(table.Is("payload.context.agent_name", "suite agent"))},
			table.Step{Requirement: "S1-ERR-05", Word: "no-task", Title: "context.task_id is null for a call about no task", Want: table.Wants(table.IsNull("payload.context.task_id"))},
			table.Step{
				Requirement: "S1-ERR-06", Word: "no", Title: "fallback_suggested is the same in both places",
				Want: table.Wants(table.Is("payload.error.fallback_suggested", false), table.Is("payload.fallback_suggested", false)),
			},
			table.Step{
				Requirement: "S1-ERR-06", Word: "yes", Title: "also when it is true", Tool: ToolAsk, Args: table.Members{"question": "What now?", "context": Letters(200_000)},
				Want: envelope("TOKEN_LIMIT_EXCEEDED", table.Is("payload.error.fallback_suggested", true), table.Is("payload.fallback_suggested", true)),
			},
		),
		coeTable("S1-SEC-02", "paths that lead away", coeNeeds(ToolDone, toolIssue, toolCompleted, toolTestFailure),
			table.Step{Word: "filesModified", Title: "filesModified of reportTaskDone", Tool: ToolDone, Args: table.Members{"taskId": "$task", "status": "partial", "filesModified": []any{"src/a.go", "../../etc/passwd"}}, Want: numeric(400)},
			table.Step{Word: "attachedFiles", Title: "attachedFiles of reportObservation", Tool: toolObserve, Args: observed.With(table.Members{"attachedFiles": []any{"..\\..\\windows\\system.ini"}}), Want: numeric(400)},
			table.Step{Word: "testFile", Title: "testFile of reportTestFailure", Tool: toolTestFailure, Args: failureOf("$task").With(table.Members{"testFile": "a/../../../b_test.go"}), Want: numeric(400)},
			table.Step{Word: "observation", Title: "file_path of reportObservation", Tool: toolObserve, Args: table.Members{"observation": "x", "category": "other", "file_path": "../secret"}, Want: invalidField("file_path")},
			table.Step{Word: "issue", Title: "file_path of reportIssue", Tool: toolIssue, Args: table.Members{"issue_description": "x", "severity": 3, "file_path": "../../secret"}, Want: invalidField("file_path")},
			table.Step{Word: "files_modified", Title: "files_modified of reportTaskCompleted", Tool: toolCompleted, Args: table.Members{"task_id": "$task", "status": "partial", "files_modified": []any{"a/../../b"}}, Want: envelope("INVALID_PARAM", table.Like("payload.error.details.field", "^files_modified"))},
			table.Step{Word: "current_file", Title: "current_file of askQuestion", Tool: ToolAsk, Args: table.Members{"question": "x", "context_summary": "x", "task_id": "$task", "current_file": "../../secret"}, Want: invalidField("current_file")},
			table.Step{Word: "inside", Title: "a path that stays inside is accepted", Tool: ToolDone, Args: table.Members{"taskId": "$task", "status": "partial", "filesModified": []any{"src/a..b.go"}}, Want: table.Succeeds(table.Is("payload.success", true))},
		),
		coeTable("S1-SEC-03", "control characters", coeNeeds(),
			table.Step{
				Word: "removed", Title: "they are removed from text that is echoed", Tool: toolObserve, Args: observed.With(table.Members{"observation": "a\a b\x1b[31m c\x00"}),
				Want: table.Succeeds(table.Is("payload.observation", "a b[31m c")),
			},
			table.Step{
				Word: "kept", Title: "other text comes back unchanged", Tool: toolObserve, Args: observed.With(table.Members{"observation": "<b>Größe</b>\n\t\"x\" & 🦊"}),
				Want: table.Succeeds(table.Is("payload.observation", "<b>Größe</b>\n\t\"x\" & 🦊")),
			},
		),
	)
}

// says reports whether an error has the words of S1's table, in whatever case.
func says(words string) func(doc any, _ map[string]any) bool {
	return func(doc any, _ map[string]any) bool {
		e, _ := table.Lookup(doc, "error")
		return strings.Contains(strings.ToLower(table.TextAt(e, "message")+"\n"+table.TextAt(e, "data.status")), strings.ToLower(words))
	}
}
