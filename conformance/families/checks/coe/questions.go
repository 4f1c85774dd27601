package coe

import (
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// The question of S1's own example, and one the plan of a project cannot know.
const (
	plannedQuestion = "Should sidebar collapse on mobile?"
	strangeQuestion = "Zwölf Boxkämpfer jagen Viktor quer über welchen Sylter Deich?"
)

// coeQuestionScenarios are about askQuestion and getImmediateAnswer.
func coeQuestionScenarios() []engine.Scenario {
	v12 := table.Members{"question": plannedQuestion, "context_summary": "the sidebar", "task_id": "$task"}
	reading := coeReading()
	writing := coeNeeds(ToolAsk)
	list := []table.Table{
		coeTable("S1-ASK-01", "a question the plan answers", reading,
			table.Step{
				Word: "confidence", Title: "it is answered with a confidence of 0.7 to 1", Tool: ToolAsk, Args: table.Members{"question": plannedQuestion}, House: true,
				Want: table.Succeeds(table.Is("payload.success", true), table.Is("payload.question", plannedQuestion), table.Between("payload.confidence", 0.7, 1), table.Like("payload.answerFromPlan", ".")),
			},
			table.Step{
				Word: "evidence", Title: "the evidence has source, plan version, section and quote", House: true,
				Want: table.Wants(table.Like("payload.evidence.source", "."), table.Like("payload.evidence.planVersion", "."), table.Like("payload.evidence.section", "."), table.Like("payload.evidence.exactQuote", ".")),
			},
			table.Step{Word: "sure", Title: "there is no uncertainty", House: true, Want: table.Wants(table.Lacks("payload.uncertainty"))},
			table.Step{Requirement: "S1-ASK-04", Word: "default", Title: "related decisions are there unless a caller says otherwise", House: true, Want: table.Wants(table.Has("payload.relatedDecisions"))},
			table.Step{
				Requirement: "S1-ASK-04", Word: "false", Title: "includeRelatedDecisions false leaves them out", Tool: ToolAsk,
				Args: table.Members{"question": plannedQuestion, "includeRelatedDecisions": false}, Want: table.Succeeds(table.Has("payload.confidence"), table.Lacks("payload.relatedDecisions")),
			},
		),
		coeTable("S1-ASK-02", "a question the plan says nothing about", reading,
			table.Step{
				Word: "confidence", Title: "its confidence is below 0.7", Tool: ToolAsk, Args: table.Members{"question": strangeQuestion},
				Want: table.Succeeds(table.Is("payload.success", true), table.Between("payload.confidence", 0, 0.6999)),
			},
			table.Step{Word: "uncertainty", Title: "uncertainty says so", Want: table.Wants(table.Like("payload.uncertainty", "."))},
			table.Step{Word: "no-answer", Title: "there is no answerFromPlan", Want: table.Wants(table.Has("payload.confidence"), table.Lacks("payload.answerFromPlan"))},
		),
		coeTable("S1-ASK-03", "questions v1.0 that are refused", reading,
			table.Step{Word: "empty", Title: "an empty question is refused with 400", Tool: ToolAsk, Args: table.Members{"question": ""}, Want: numeric(400)},
			table.Step{Word: "missing", Title: "no question is refused with 400", Tool: ToolAsk, Args: table.Members{"context": "none"}, Want: numeric(400)},
			table.Step{Word: "task", Title: "an unknown currentTaskId is refused with 404", Tool: ToolAsk, Args: table.Members{"question": plannedQuestion, "currentTaskId": "$nosuch"}, Want: numeric(404)},
		),
		coeTable("S1-ASK-05", "the context of a question", reading,
			table.Step{Word: "string", Title: "it may be a string", Tool: ToolAsk, Args: table.Members{"question": plannedQuestion, "context": "working on the sidebar"}, Want: table.Succeeds(table.Is("payload.success", true))},
			table.Step{Word: "object", Title: "it may be an object", Tool: ToolAsk, Args: table.Members{"question": plannedQuestion, "context": table.Members{"file": "sidebar.css"}}, Want: table.Succeeds(table.Is("payload.success", true))},
		),
		coeTable("S1-ASK-06", "askQuestion v1.2", writing,
			table.Step{
				Word: "result", Title: "the answer has answer, source, confidence, follow_up_needed and escalated_to_user", Tool: ToolAsk, Args: v12,
				Want: table.Succeeds(table.Like("payload.answer", "."), table.HasNull("payload.source"), table.IsBoolean("payload.follow_up_needed"), table.IsBoolean("payload.escalated_to_user")),
			},
			table.Step{
				Word: "confidence", Title: "confidence is an integer of 0 to 100",
				Want: table.Wants(table.Between("payload.confidence", 0, 100), table.That("an integer", func(doc any, _ map[string]any) bool {
					n := table.NumberAt(doc, "payload.confidence")
					return n == float64(int(n)) && n > 0
				})),
			},
			table.Step{
				Word: "unknown", Title: "what the plan does not answer needs a follow-up", Tool: ToolAsk, Args: v12.With(table.Members{"question": strangeQuestion}),
				Want: table.Succeeds(table.Between("payload.confidence", 0, 69), table.Is("payload.follow_up_needed", true)),
			},
			table.Step{
				Requirement: "S1-ASK-09", Word: "options", Title: "possible_options and current_file may be null", Tool: ToolAsk,
				Args: v12.With(table.Members{"possible_options": nil, "current_file": nil}), Want: table.Succeeds(table.Like("payload.answer", ".")),
			},
		),
		coeTable("S1-ASK-07", "the length of a question v1.2", writing,
			table.Step{Word: "longest", Title: "300 code points are accepted", Tool: ToolAsk, Args: v12.With(table.Members{"question": Letters(300)}), Want: table.Succeeds(table.Has("payload.confidence"))},
			table.Step{Word: "longer", Title: "301 are refused with INVALID_PARAM for question", Tool: ToolAsk, Args: v12.With(table.Members{"question": Letters(301)}), Want: invalidField("question")},
		),
		coeTable("S1-ASK-08", "what a question v1.2 needs", writing,
			table.Step{Word: "context_summary", Title: "without context_summary it is INVALID_PARAM", Tool: ToolAsk, Args: v12.Without("context_summary"), Want: invalidField("context_summary")},
			table.Step{Word: "task_id", Title: "without task_id it is INVALID_PARAM", Tool: ToolAsk, Args: v12.Without("task_id"), Want: invalidField("task_id")},
		),
		coeTable("S1-ASK-09", "numbers of a question v1.2", writing,
			table.Step{Word: "under", Title: "a confidence_level of -1 is INVALID_PARAM", Tool: ToolAsk, Args: v12.With(table.Members{"confidence_level": -1}), Want: invalidField("confidence_level")},
			table.Step{Word: "over", Title: "a confidence_level of 101 is INVALID_PARAM", Tool: ToolAsk, Args: v12.With(table.Members{"confidence_level": 101}), Want: invalidField("confidence_level")},
			table.Step{Word: "priority", Title: "a priority_level of 4 is INVALID_PARAM", Tool: ToolAsk, Args: v12.With(table.Members{"priority_level": 4}), Want: invalidField("priority_level")},
			table.Step{Word: "bounds", Title: "0 and 100 are accepted", Tool: ToolAsk, Args: v12.With(table.Members{"confidence_level": 100, "priority_level": 3}), Want: table.Succeeds(table.Has("payload.confidence"))},
			table.Step{
				Word: "urgent", Title: "an unanswered question of priority 1 goes to the user", Tool: ToolAsk, Args: v12.With(table.Members{"question": strangeQuestion, "priority_level": 1}),
				Want: table.Succeeds(table.Is("payload.escalated_to_user", true)), House: true,
			},
			table.Step{
				Word: "default", Title: "without a priority_level it does not", Tool: ToolAsk, Args: v12.With(table.Members{"question": strangeQuestion}),
				Want: table.Succeeds(table.Is("payload.escalated_to_user", false)), House: true,
			},
		),
		coeTable("S1-ASK-11", "too many tokens", writing,
			table.Step{
				Word: "over", Title: "far more than the limit is TOKEN_LIMIT_EXCEEDED, not retryable, with a fallback", Tool: ToolAsk,
				Args: table.Members{"question": "What now?", "context": Letters(200_000)},
				Want: envelope("TOKEN_LIMIT_EXCEEDED", table.Is("payload.error.retryable", false), table.Is("payload.error.fallback_suggested", true)),
			},
			table.Step{
				Requirement: "S1-ERR-04", Word: "tokens", Title: "TOKEN_LIMIT_EXCEEDED is HIGH, not retryable, P1_BLOCKED and logged as ERROR",
				Want: defaults("HIGH", false, "P1_BLOCKED", "ERROR"),
			},
			table.Step{Word: "snippets", Title: "snippets of more than 2000 characters together are refused", Tool: ToolAsk, Args: v12.With(table.Members{"relevant_snippets": []any{
				table.Members{"file": "a.go", "content": Letters(1200)}, table.Members{"file": "b.go", "content": Letters(801)},
			}}), Want: invalidField("relevant_snippets")},
			table.Step{Word: "at", Title: "2000 characters are accepted", Tool: ToolAsk, Args: v12.With(table.Members{"relevant_snippets": []any{
				table.Members{"file": "a.go", "content": Letters(1200)}, table.Members{"file": "b.go", "content": Letters(800)},
			}}), Want: table.Succeeds(table.Has("payload.confidence"))},
		),
		coeTable("S1-ASK-12", "questions that make no sense", writing,
			table.Step{Word: "json", Title: "a question that is broken JSON is INVALID_PARAM", Tool: ToolAsk, Args: v12.With(table.Members{"question": `{"question": `}), Want: envelope("INVALID_PARAM", table.Is("payload.error.retryable", false))},
			table.Step{Word: "number", Title: "a question that is no string is INVALID_PARAM", Tool: ToolAsk, Args: v12.With(table.Members{"question": 7}), Want: envelope("INVALID_PARAM")},
			table.Step{Word: "state", Title: "without an active task it is INVALID_STATE", Tool: ToolAsk, Args: v12.With(table.Members{"task_id": "$nosuch"}), Want: envelope("INVALID_STATE", table.Is("payload.error.retryable", false))},
			table.Step{
				Requirement: "S1-ERR-04", Word: "state", Title: "INVALID_STATE is MEDIUM, not retryable, P1_BLOCKED and logged as WARN",
				Want: defaults("MEDIUM", false, "P1_BLOCKED", "WARN"),
			},
		),
		coeTable("S1-ASK-13", "forced versions", writing,
			table.Step{
				Word: "older", Title: "_meta.version 1.0 has arguments of v1.2 judged as v1.0", Tool: ToolAsk, Args: v12, Meta: table.Members{"version": "1.0"},
				Want: numeric(400),
			},
			table.Step{
				Word: "newer", Title: "_meta.version 1.2 has arguments of v1.0 judged as v1.2", Tool: ToolAsk, Args: table.Members{"question": plannedQuestion}, Meta: table.Members{"version": "1.2"},
				Want: envelope("INVALID_PARAM"),
			},
		),
		coeTable("S1-IMM-01", "an immediate answer", coeReading(toolImmediate),
			table.Step{
				Word: "answer", Title: "it comes with answer, source and timeout false", Tool: toolImmediate, Args: table.Members{"query": plannedQuestion, "max_wait_seconds": 5},
				Want: table.Succeeds(table.Like("payload.answer", "."), table.HasNull("payload.source"), table.Is("payload.timeout", false)),
			},
			table.Step{
				Word: "context", Title: "a context_bundle is accepted", Tool: toolImmediate, Args: table.Members{"query": plannedQuestion, "context_bundle": table.Members{"file": "a.css"}},
				Want: table.Succeeds(table.Is("payload.timeout", false)),
			},
		),
		coeTable("S1-IMM-03", "bounds of an immediate answer", coeReading(toolImmediate),
			table.Step{Word: "longest", Title: "a query of 400 code points is accepted", Tool: toolImmediate, Args: table.Members{"query": Letters(400)}, Want: table.Succeeds(table.Is("payload.timeout", false))},
			table.Step{Word: "longer", Title: "one of 401 is INVALID_PARAM", Tool: toolImmediate, Args: table.Members{"query": Letters(401)}, Want: invalidField("query")},
			table.Step{Word: "no-wait", Title: "a max_wait_seconds of 0 is INVALID_PARAM", Tool: toolImmediate, Args: table.Members{"query": plannedQuestion, "max_wait_seconds": 0}, Want: invalidField("max_wait_seconds")},
			table.Step{Word: "long-wait", Title: "one of 121 is INVALID_PARAM", Tool: toolImmediate, Args: table.Members{"query": plannedQuestion, "max_wait_seconds": 121}, Want: invalidField("max_wait_seconds")},
			table.Step{Word: "missing", Title: "no query is INVALID_PARAM", Tool: toolImmediate, Args: table.Members{"max_wait_seconds": 5}, Want: invalidField("query")},
		),
	}
	return table.Scenarios(list...)
}

// defaults expects what S1 says of a code of the envelope.
func defaults(severity string, retryable bool, impact, level string) []table.Expectation {
	return table.Wants(table.Is("payload.error.severity", severity), table.Is("payload.error.retryable", retryable),
		table.Is("payload.error.priority_impact", impact), table.Is("payload.error.log_level", level))
}
