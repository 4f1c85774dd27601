package checks

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// coeErrorScenarios are about the forms of errors, and about what the family
// refuses for the sake of safety.
func coeErrorScenarios() []conformance.Scenario {
	agent := members{"agentName": "suite agent"}
	badTicket := members{"description": "no title"}
	observed := members{"taskId": "$task", "observation": "seen by the suite", "type": "discovery", "severity": "low"}
	return tables(
		coeTable("S1-ERR-01", "numeric codes", coeNeeds(toolDone),
			step{
				word: "400", title: "400 is Bad Request", tool: toolNext, args: members{"filter": "urgent"},
				want: numeric(400, that("Bad Request in message or data.status", says("Bad Request"))),
			},
			step{
				word: "404", title: "404 is Not Found", tool: toolDone, args: members{"taskId": "$nosuch", "status": "done"},
				want: numeric(404, that("Not Found in message or data.status", says("Not Found"))),
			},
			step{
				req: "S1-ERR-02", word: "members", title: "an error has code, message and data",
				want: wants(is("error.code", 404), like("error.message", "."), has("error.data")),
			},
			step{req: "S1-ERR-02", word: "suggestion", title: "404 comes with a suggestion", want: wants(like("error.data.suggestion", "."))},
			step{tool: toolDone, args: members{"taskId": "$task", "status": "done"}, want: succeeds()},
			step{
				word: "409", title: "409 is Conflict", tool: toolDone, args: members{"taskId": "$task", "status": "done"},
				want: numeric(409, that("Conflict in message or data.status", says("Conflict"))),
			},
		),
		coeTable("S1-ERR-03", "the global envelope", coeNeeds(toolTicket),
			step{
				word: "error", title: "all nine members of error are there", tool: toolTicket, args: badTicket, meta: agent,
				want: envelope("INVALID_PARAM", hasNull("payload.error.code"), like("payload.error.message", "."), hasNull("payload.error.details"), hasNull("payload.error.severity"),
					isBoolean("payload.error.retryable"), hasNull("payload.error.retry_after_seconds"), isBoolean("payload.error.fallback_suggested"),
					hasNull("payload.error.priority_impact"), hasNull("payload.error.log_level")),
			},
			step{
				word: "context", title: "all three members of context are there",
				want: wants(hasNull("payload.context.task_id"), hasNull("payload.context.agent_name"), timestamp("payload.context.timestamp")),
			},
			step{
				word: "enums", title: "severity, impact and log level are of their lists",
				want: wants(oneOf("payload.error.severity", "LOW", "MEDIUM", "HIGH", "CRITICAL"), oneOf("payload.error.priority_impact", "NONE", "P3_IGNORABLE", "P2_DELAYED", "P1_BLOCKED"),
					oneOf("payload.error.log_level", "DEBUG", "INFO", "WARN", "ERROR")),
			},
			step{
				req: "S1-ERR-04", word: "invalid", title: "INVALID_PARAM is MEDIUM, not retryable, P1_BLOCKED and logged as WARN",
				want: defaults("MEDIUM", false, "P1_BLOCKED", "WARN"),
			},
			step{req: "S1-ERR-05", word: "agent", title: "context.agent_name is the caller", want: wants(is("payload.context.agent_name", "suite agent"))},
			step{req: "S1-ERR-05", word: "no-task", title: "context.task_id is null for a call about no task", want: wants(isNull("payload.context.task_id"))},
			step{
				req: "S1-ERR-06", word: "no", title: "fallback_suggested is the same in both places",
				want: wants(is("payload.error.fallback_suggested", false), is("payload.fallback_suggested", false)),
			},
			step{
				req: "S1-ERR-06", word: "yes", title: "also when it is true", tool: toolAsk, args: members{"question": "What now?", "context": letters(200_000)},
				want: envelope("TOKEN_LIMIT_EXCEEDED", is("payload.error.fallback_suggested", true), is("payload.fallback_suggested", true)),
			},
		),
		coeTable("S1-SEC-02", "paths that lead away", coeNeeds(toolDone, toolIssue, toolCompleted, toolTestFailure),
			step{word: "filesModified", title: "filesModified of reportTaskDone", tool: toolDone, args: members{"taskId": "$task", "status": "partial", "filesModified": []any{"src/a.go", "../../etc/passwd"}}, want: numeric(400)},
			step{word: "attachedFiles", title: "attachedFiles of reportObservation", tool: toolObserve, args: observed.with(members{"attachedFiles": []any{"..\\..\\windows\\system.ini"}}), want: numeric(400)},
			step{word: "testFile", title: "testFile of reportTestFailure", tool: toolTestFailure, args: failureOf("$task").with(members{"testFile": "a/../../../b_test.go"}), want: numeric(400)},
			step{word: "observation", title: "file_path of reportObservation", tool: toolObserve, args: members{"observation": "x", "category": "other", "file_path": "../secret"}, want: invalidField("file_path")},
			step{word: "issue", title: "file_path of reportIssue", tool: toolIssue, args: members{"issue_description": "x", "severity": 3, "file_path": "../../secret"}, want: invalidField("file_path")},
			step{word: "files_modified", title: "files_modified of reportTaskCompleted", tool: toolCompleted, args: members{"task_id": "$task", "status": "partial", "files_modified": []any{"a/../../b"}}, want: envelope("INVALID_PARAM", like("payload.error.details.field", "^files_modified"))},
			step{word: "current_file", title: "current_file of askQuestion", tool: toolAsk, args: members{"question": "x", "context_summary": "x", "task_id": "$task", "current_file": "../../secret"}, want: invalidField("current_file")},
			step{word: "inside", title: "a path that stays inside is accepted", tool: toolDone, args: members{"taskId": "$task", "status": "partial", "filesModified": []any{"src/a..b.go"}}, want: succeeds(is("payload.success", true))},
		),
		coeTable("S1-SEC-03", "control characters", coeNeeds(),
			step{
				word: "removed", title: "they are removed from text that is echoed", tool: toolObserve, args: observed.with(members{"observation": "a\a b\x1b[31m c\x00"}),
				want: succeeds(is("payload.observation", "a b[31m c")),
			},
			step{
				word: "kept", title: "other text comes back unchanged", tool: toolObserve, args: observed.with(members{"observation": "<b>Größe</b>\n\t\"x\" & 🦊"}),
				want: succeeds(is("payload.observation", "<b>Größe</b>\n\t\"x\" & 🦊")),
			},
		),
	)
}

// says reports whether an error has the words of S1's table, in whatever case.
func says(words string) func(doc any, _ map[string]any) bool {
	return func(doc any, _ map[string]any) bool {
		e, _ := lookup(doc, "error")
		return strings.Contains(strings.ToLower(textAt(e, "message")+"\n"+textAt(e, "data.status")), strings.ToLower(words))
	}
}
