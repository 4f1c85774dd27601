package checks

import "github.com/mainstay-mcp/mainstay/conformance"

// The question of S1's own example, and one the plan of a project cannot know.
const (
	plannedQuestion = "Should sidebar collapse on mobile?"
	strangeQuestion = "Zwölf Boxkämpfer jagen Viktor quer über welchen Sylter Deich?"
)

// coeQuestionScenarios are about askQuestion and getImmediateAnswer.
func coeQuestionScenarios() []conformance.Scenario {
	v12 := members{"question": plannedQuestion, "context_summary": "the sidebar", "task_id": "$task"}
	reading := coeReading()
	writing := coeNeeds(toolAsk)
	list := []table{
		coeTable("S1-ASK-01", "a question the plan answers", reading,
			step{
				word: "confidence", title: "it is answered with a confidence of 0.7 to 1", tool: toolAsk, args: members{"question": plannedQuestion}, house: true,
				want: succeeds(is("payload.success", true), is("payload.question", plannedQuestion), between("payload.confidence", 0.7, 1), like("payload.answerFromPlan", ".")),
			},
			step{
				word: "evidence", title: "the evidence has source, plan version, section and quote", house: true,
				want: wants(like("payload.evidence.source", "."), like("payload.evidence.planVersion", "."), like("payload.evidence.section", "."), like("payload.evidence.exactQuote", ".")),
			},
			step{word: "sure", title: "there is no uncertainty", house: true, want: wants(lacks("payload.uncertainty"))},
			step{req: "S1-ASK-04", word: "default", title: "related decisions are there unless a caller says otherwise", house: true, want: wants(has("payload.relatedDecisions"))},
			step{
				req: "S1-ASK-04", word: "false", title: "includeRelatedDecisions false leaves them out", tool: toolAsk,
				args: members{"question": plannedQuestion, "includeRelatedDecisions": false}, want: succeeds(has("payload.confidence"), lacks("payload.relatedDecisions")),
			},
		),
		coeTable("S1-ASK-02", "a question the plan says nothing about", reading,
			step{
				word: "confidence", title: "its confidence is below 0.7", tool: toolAsk, args: members{"question": strangeQuestion},
				want: succeeds(is("payload.success", true), between("payload.confidence", 0, 0.6999)),
			},
			step{word: "uncertainty", title: "uncertainty says so", want: wants(like("payload.uncertainty", "."))},
			step{word: "no-answer", title: "there is no answerFromPlan", want: wants(has("payload.confidence"), lacks("payload.answerFromPlan"))},
		),
		coeTable("S1-ASK-03", "questions v1.0 that are refused", reading,
			step{word: "empty", title: "an empty question is refused with 400", tool: toolAsk, args: members{"question": ""}, want: numeric(400)},
			step{word: "missing", title: "no question is refused with 400", tool: toolAsk, args: members{"context": "none"}, want: numeric(400)},
			step{word: "task", title: "an unknown currentTaskId is refused with 404", tool: toolAsk, args: members{"question": plannedQuestion, "currentTaskId": "$nosuch"}, want: numeric(404)},
		),
		coeTable("S1-ASK-05", "the context of a question", reading,
			step{word: "string", title: "it may be a string", tool: toolAsk, args: members{"question": plannedQuestion, "context": "working on the sidebar"}, want: succeeds(is("payload.success", true))},
			step{word: "object", title: "it may be an object", tool: toolAsk, args: members{"question": plannedQuestion, "context": members{"file": "sidebar.css"}}, want: succeeds(is("payload.success", true))},
		),
		coeTable("S1-ASK-06", "askQuestion v1.2", writing,
			step{
				word: "result", title: "the answer has answer, source, confidence, follow_up_needed and escalated_to_user", tool: toolAsk, args: v12,
				want: succeeds(like("payload.answer", "."), hasNull("payload.source"), isBoolean("payload.follow_up_needed"), isBoolean("payload.escalated_to_user")),
			},
			step{
				word: "confidence", title: "confidence is an integer of 0 to 100",
				want: wants(between("payload.confidence", 0, 100), that("an integer", func(doc any, _ map[string]any) bool {
					n := numberAt(doc, "payload.confidence")
					return n == float64(int(n)) && n > 0
				})),
			},
			step{
				word: "unknown", title: "what the plan does not answer needs a follow-up", tool: toolAsk, args: v12.with(members{"question": strangeQuestion}),
				want: succeeds(between("payload.confidence", 0, 69), is("payload.follow_up_needed", true)),
			},
			step{
				req: "S1-ASK-09", word: "options", title: "possible_options and current_file may be null", tool: toolAsk,
				args: v12.with(members{"possible_options": nil, "current_file": nil}), want: succeeds(like("payload.answer", ".")),
			},
		),
		coeTable("S1-ASK-07", "the length of a question v1.2", writing,
			step{word: "longest", title: "300 code points are accepted", tool: toolAsk, args: v12.with(members{"question": letters(300)}), want: succeeds(has("payload.confidence"))},
			step{word: "longer", title: "301 are refused with INVALID_PARAM for question", tool: toolAsk, args: v12.with(members{"question": letters(301)}), want: invalidField("question")},
		),
		coeTable("S1-ASK-08", "what a question v1.2 needs", writing,
			step{word: "context_summary", title: "without context_summary it is INVALID_PARAM", tool: toolAsk, args: v12.without("context_summary"), want: invalidField("context_summary")},
			step{word: "task_id", title: "without task_id it is INVALID_PARAM", tool: toolAsk, args: v12.without("task_id"), want: invalidField("task_id")},
		),
		coeTable("S1-ASK-09", "numbers of a question v1.2", writing,
			step{word: "under", title: "a confidence_level of -1 is INVALID_PARAM", tool: toolAsk, args: v12.with(members{"confidence_level": -1}), want: invalidField("confidence_level")},
			step{word: "over", title: "a confidence_level of 101 is INVALID_PARAM", tool: toolAsk, args: v12.with(members{"confidence_level": 101}), want: invalidField("confidence_level")},
			step{word: "priority", title: "a priority_level of 4 is INVALID_PARAM", tool: toolAsk, args: v12.with(members{"priority_level": 4}), want: invalidField("priority_level")},
			step{word: "bounds", title: "0 and 100 are accepted", tool: toolAsk, args: v12.with(members{"confidence_level": 100, "priority_level": 3}), want: succeeds(has("payload.confidence"))},
			step{
				word: "urgent", title: "an unanswered question of priority 1 goes to the user", tool: toolAsk, args: v12.with(members{"question": strangeQuestion, "priority_level": 1}),
				want: succeeds(is("payload.escalated_to_user", true)), house: true,
			},
			step{
				word: "default", title: "without a priority_level it does not", tool: toolAsk, args: v12.with(members{"question": strangeQuestion}),
				want: succeeds(is("payload.escalated_to_user", false)), house: true,
			},
		),
		coeTable("S1-ASK-11", "too many tokens", writing,
			step{
				word: "over", title: "far more than the limit is TOKEN_LIMIT_EXCEEDED, not retryable, with a fallback", tool: toolAsk,
				args: members{"question": "What now?", "context": letters(200_000)},
				want: envelope("TOKEN_LIMIT_EXCEEDED", is("payload.error.retryable", false), is("payload.error.fallback_suggested", true)),
			},
			step{
				req: "S1-ERR-04", word: "tokens", title: "TOKEN_LIMIT_EXCEEDED is HIGH, not retryable, P1_BLOCKED and logged as ERROR",
				want: defaults("HIGH", false, "P1_BLOCKED", "ERROR"),
			},
			step{word: "snippets", title: "snippets of more than 2000 characters together are refused", tool: toolAsk, args: v12.with(members{"relevant_snippets": []any{
				members{"file": "a.go", "content": letters(1200)}, members{"file": "b.go", "content": letters(801)},
			}}), want: invalidField("relevant_snippets")},
			step{word: "at", title: "2000 characters are accepted", tool: toolAsk, args: v12.with(members{"relevant_snippets": []any{
				members{"file": "a.go", "content": letters(1200)}, members{"file": "b.go", "content": letters(800)},
			}}), want: succeeds(has("payload.confidence"))},
		),
		coeTable("S1-ASK-12", "questions that make no sense", writing,
			step{word: "json", title: "a question that is broken JSON is INVALID_PARAM", tool: toolAsk, args: v12.with(members{"question": `{"question": `}), want: envelope("INVALID_PARAM", is("payload.error.retryable", false))},
			step{word: "number", title: "a question that is no string is INVALID_PARAM", tool: toolAsk, args: v12.with(members{"question": 7}), want: envelope("INVALID_PARAM")},
			step{word: "state", title: "without an active task it is INVALID_STATE", tool: toolAsk, args: v12.with(members{"task_id": "$nosuch"}), want: envelope("INVALID_STATE", is("payload.error.retryable", false))},
			step{
				req: "S1-ERR-04", word: "state", title: "INVALID_STATE is MEDIUM, not retryable, P1_BLOCKED and logged as WARN",
				want: defaults("MEDIUM", false, "P1_BLOCKED", "WARN"),
			},
		),
		coeTable("S1-ASK-13", "forced versions", writing,
			step{
				word: "older", title: "_meta.version 1.0 has arguments of v1.2 judged as v1.0", tool: toolAsk, args: v12, meta: members{"version": "1.0"},
				want: numeric(400),
			},
			step{
				word: "newer", title: "_meta.version 1.2 has arguments of v1.0 judged as v1.2", tool: toolAsk, args: members{"question": plannedQuestion}, meta: members{"version": "1.2"},
				want: envelope("INVALID_PARAM"),
			},
		),
		coeTable("S1-IMM-01", "an immediate answer", coeReading(toolImmediate),
			step{
				word: "answer", title: "it comes with answer, source and timeout false", tool: toolImmediate, args: members{"query": plannedQuestion, "max_wait_seconds": 5},
				want: succeeds(like("payload.answer", "."), hasNull("payload.source"), is("payload.timeout", false)),
			},
			step{
				word: "context", title: "a context_bundle is accepted", tool: toolImmediate, args: members{"query": plannedQuestion, "context_bundle": members{"file": "a.css"}},
				want: succeeds(is("payload.timeout", false)),
			},
		),
		coeTable("S1-IMM-03", "bounds of an immediate answer", coeReading(toolImmediate),
			step{word: "longest", title: "a query of 400 code points is accepted", tool: toolImmediate, args: members{"query": letters(400)}, want: succeeds(is("payload.timeout", false))},
			step{word: "longer", title: "one of 401 is INVALID_PARAM", tool: toolImmediate, args: members{"query": letters(401)}, want: invalidField("query")},
			step{word: "no-wait", title: "a max_wait_seconds of 0 is INVALID_PARAM", tool: toolImmediate, args: members{"query": plannedQuestion, "max_wait_seconds": 0}, want: invalidField("max_wait_seconds")},
			step{word: "long-wait", title: "one of 121 is INVALID_PARAM", tool: toolImmediate, args: members{"query": plannedQuestion, "max_wait_seconds": 121}, want: invalidField("max_wait_seconds")},
			step{word: "missing", title: "no query is INVALID_PARAM", tool: toolImmediate, args: members{"max_wait_seconds": 5}, want: invalidField("query")},
		),
	}
	return tables(list...)
}

// defaults expects what S1 says of a code of the envelope (tools.md §3.3).
func defaults(severity string, retryable bool, impact, level string) []expectation {
	return wants(is("payload.error.severity", severity), is("payload.error.retryable", retryable),
		is("payload.error.priority_impact", impact), is("payload.error.log_level", level))
}
