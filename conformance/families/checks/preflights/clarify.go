package preflights

import (
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

const otherOption = "Other (specify)"

// clarifyTables are about questions, answers and sessions.
func clarifyTables() []table.Table {
	auth := table.Members{"user_intention": "Add authentication", "repo_path": "$repo"}
	later := table.Members{"user_intention": "Add authentication", "session_id": "$session"}
	begin := table.Step{Tool: toolClarify, Args: auth, Want: needsClarification(), Keep: map[string]string{"session": "payload.session_id"}}
	questions := func(judge func(q any) bool) func(doc any, _ map[string]any) bool {
		return func(doc any, _ map[string]any) bool {
			all := table.ArrayAt(doc, "payload.questions")
			return len(all) > 0 && !slices.ContainsFunc(all, func(q any) bool { return !judge(q) })
		}
	}
	typo := complete("repo", "Fix typo in login button", nil)
	forced := complete("repo", "Fix typo in login button", table.Members{"force_adr": true})
	return []table.Table{
		preflightsTable("S3-CLAR-01", "a request that needs decisions",
			named(begin, "ids", "the questions are auth_strategy and auth_library",
				table.Is("payload.questions.#", 2), table.Is("payload.questions.0.id", "auth_strategy"), table.Is("payload.questions.1.id", "auth_library")),
			table.Step{Word: "progress", Title: "two were asked and none answered", Want: table.Wants(table.Is("payload.progress.asked_so_far", 2), table.Is("payload.progress.answered", 0))},
			table.Step{Requirement: "S3-Q-01", Word: "most", Title: "no more than five questions are asked", Want: table.Wants(table.Between("payload.questions.#", 1, 5))},
			table.Step{Requirement: "S3-Q-02", Word: "flat", Title: "no question carries depends_on_question_id", Want: table.Wants(table.That("none of them", questions(func(q any) bool {
				_, there := table.Lookup(q, "depends_on_question_id")
				return !there
			})))},
			table.Step{Requirement: "S3-Q-03", Word: "members", Title: "questions have the members of their type", Want: table.Wants(table.That("id, type, question and what the type asks for", questions(fittingQuestion)))},
			table.Step{Requirement: "S3-Q-04", Word: "other", Title: `every choice ends with "Other (specify)"`, Want: table.Wants(table.That("that option at the end", questions(func(q any) bool {
				options := table.ArrayAt(q, "options")
				return len(options) == 0 || options[len(options)-1] == otherOption
			})))},
			table.Step{
				Requirement: "S3-CLAR-04", Word: "rest", Title: "after one of two answers only the other is asked", Tool: toolClarify, Args: later.With(table.Members{"answers": table.Members{"auth_strategy": "OAuth"}}),
				Want: needsClarification(table.Is("payload.session_id", "$session"), table.Is("payload.questions.#", 1), table.Is("payload.questions.0.id", "auth_library")),
			},
			table.Step{Requirement: "S3-CLAR-04", Word: "progress", Title: "one is answered", Want: table.Wants(table.Is("payload.progress.asked_so_far", 2), table.Is("payload.progress.answered", 1))},
			table.Step{
				Requirement: "S3-CLAR-02", Word: "completed", Title: "after both it is completed: adr, task, projection, in that order", Tool: toolClarify, Args: later.With(table.Members{"answers": table.Members{"auth_library": "next-auth"}}),
				Want: table.Succeeds(table.Is("payload.status", "completed"), table.Is("payload.artifacts_created.#", 3), table.Is("payload.artifacts_created.0.type", "adr"),
					table.Is("payload.artifacts_created.1.type", "task"), table.Is("payload.artifacts_created.2.type", "projection")),
				Keep: map[string]string{"uid": "payload.artifacts_created.0.uid", "adr": "payload.artifacts_created.0.path"},
			},
			table.Step{Requirement: "S3-CLAR-02", Word: "uid", Title: "uid stands on the adr alone", Want: table.Wants(table.Like("payload.artifacts_created.0.uid", "^"+uidPattern+"$"),
				table.Lacks("payload.artifacts_created.1.uid"), table.Lacks("payload.artifacts_created.2.uid"))},
			table.Step{Requirement: "S3-CLAR-10", Word: "paths", Title: "paths are relative, with forward slashes", Want: table.Wants(table.Like("payload.artifacts_created.0.path", "^docs/adr/"+uidPattern+`_[a-z0-9-]{1,50}\.md$`),
				table.Is("payload.artifacts_created.1.path", pathTask), table.Is("payload.artifacts_created.2.path", pathProjection))},
			table.Step{Requirement: "S3-CLAR-10", Word: "summary", Title: "the summary is not empty", Want: table.Wants(table.Like("payload.summary", "."))},
			table.Step{Requirement: "S3-CLAR-02", Word: "files", Title: "the files are there", Want: table.Wants(table.That("three files", func(doc any, kept map[string]any) bool {
				created := table.ArrayAt(doc, "payload.artifacts_created")
				return len(created) == 3 && !slices.ContainsFunc(created, func(a any) bool { return inRepository(kept, table.TextAt(a, "path")) == "" })
			}))},
			table.Step{Requirement: "S3-UID-01", Word: "utc", Title: "the UID is the time in UTC", Want: table.Wants(table.That("a UID of this minute", func(doc any, _ map[string]any) bool {
				at, err := time.Parse("20060102T150405.000Z", strings.Split(table.TextAt(doc, "payload.artifacts_created.0.uid"), "-")[0])
				return err == nil && time.Since(at).Abs() < time.Minute
			}))},
			table.Step{Requirement: "S3-PROJ-03", Word: "prompt", Title: "docs/AGENT_PROMPT.md is not made", Want: table.Wants(table.That("no such file", func(doc any, kept map[string]any) bool {
				return table.TextAt(doc, "payload.status") == "completed" && inRepository(kept, "docs/AGENT_PROMPT.md") == ""
			}))},
			table.Step{Requirement: "S3-LLM-03", Word: "warning", Title: "there is no warning", Want: table.Wants(table.Like("payload.summary", "."), table.Lacks("payload.warning"))},
			table.Step{
				Requirement: "S3-READ-02", Word: "values", Title: "read_architecture has the answers and the uid of the adr", Tool: ToolRead, Args: table.Members{"repo_path": "$repo"},
				Want: table.Succeeds(table.Is("payload.status", "success"), table.Is("payload.architecture.uid", "$uid"), table.Is("payload.architecture.categories.Authentication.Strategy", "OAuth"),
					table.Is("payload.architecture.categories.Authentication.Library", "next-auth"), table.Is("payload.source_file", pathProjection)),
			},
			table.Step{Requirement: "S3-CLAR-11", Word: "closed", Title: "the session is over: SESSION_NOT_FOUND", Tool: toolClarify, Args: later, Want: preflightFault("SESSION_NOT_FOUND")},
		),
		preflightsTable("S3-CLAR-03", "a request that needs none",
			named(typo[0], "round", "there is one round of questions"),
			named(typo[1], "task", "then docs/CURRENT_TASK.md alone is written", table.Is("payload.artifacts_created.#", 1), table.Is("payload.artifacts_created.0.type", "task"), table.Is("payload.artifacts_created.0.path", pathTask)),
			table.Step{Word: "files", Title: "there is no ADR and no projection", Want: table.Wants(table.That("the task alone", func(doc any, kept map[string]any) bool {
				return table.TextAt(doc, "payload.status") == "completed" && inRepository(kept, pathTask) != "" && inRepository(kept, pathProjection) == ""
			}))},
		),
		preflightsTable("S3-CLAR-05", "force_adr", forced[0], named(forced[1], "adr", "force_adr makes an ADR of anything", hasType("adr", true))),
		preflightsTable("S3-CLAR-06", "arguments",
			table.Step{Word: "missing", Title: "no user_intention is refused with -32602", Tool: toolClarify, Args: auth.Without("user_intention"), Want: table.RPCCode(wire.CodeInvalidParams)},
			table.Step{Word: "type", Title: "one that is no string is refused with -32602", Tool: toolClarify, Args: auth.With(table.Members{"user_intention": 7}), Want: table.RPCCode(wire.CodeInvalidParams)},
			table.Step{Word: "empty", Title: "an empty one is VALIDATION_FAILED", Tool: toolClarify, Args: auth.With(table.Members{"user_intention": ""}), Want: preflightFault("VALIDATION_FAILED")},
			table.Step{
				Word: "null", Title: "null is accepted for what is optional", Tool: toolClarify,
				Args: auth.With(table.Members{"optional_context": nil, "session_id": nil, "answers": nil, "preferences": nil}), Want: needsClarification(),
			},
		),
		preflightsTable("S3-CLAR-07", "answers nobody asked for", begin,
			table.Step{
				Word: "ignored", Title: "they are accepted and ignored", Tool: toolClarify, Args: later.With(table.Members{"answers": table.Members{"no_such_question": "x", "auth_strategy": "OAuth"}}),
				Want: needsClarification(table.Is("payload.questions.#", 1)),
			},
		),
		preflightsTable("S3-CLAR-08", "answers that are wrong", begin,
			table.Step{
				Word: "option", Title: "one not among the options is VALIDATION_FAILED with question_id and reason", Tool: toolClarify, Args: later.With(table.Members{"answers": table.Members{"auth_strategy": "Telepathy"}}),
				Want: preflightFault("VALIDATION_FAILED", table.Is("payload.error.details.question_id", "auth_strategy"), table.Like("payload.error.details.reason", ".")),
			},
			table.Step{Word: "type", Title: "one of the wrong type is VALIDATION_FAILED", Tool: toolClarify, Args: later.With(table.Members{"answers": table.Members{"auth_strategy": 7}}), Want: preflightFault("VALIDATION_FAILED")},
			table.Step{Word: "list", Title: "a list for a single choice is VALIDATION_FAILED", Tool: toolClarify, Args: later.With(table.Members{"answers": table.Members{"auth_strategy": []any{"OAuth", "Magic Links"}}}), Want: preflightFault("VALIDATION_FAILED")},
			table.Step{Word: "usable", Title: "the session goes on after them", Tool: toolClarify, Args: later.With(table.Members{"answers": table.Members{"auth_strategy": "OAuth"}}), Want: needsClarification(table.Is("payload.questions.#", 1))},
		),
		preflightsTable("S3-CLAR-09", "an answer of one's own", begin,
			table.Step{
				Word: "missing", Title: "Other (specify) without its text is VALIDATION_FAILED", Tool: toolClarify, Args: later.With(table.Members{"answers": table.Members{"auth_strategy": otherOption}}),
				Want: preflightFault("VALIDATION_FAILED", table.Like("payload.error.details.question_id", "^auth_strategy")),
			},
			table.Step{
				Word: "adr", Title: "with it the text appears in the ADR", Tool: toolClarify,
				Args: later.With(table.Members{"answers": table.Members{"auth_strategy": otherOption, "auth_strategy__other": "Passkeys of the suite", "auth_library": "None"}}),
				Want: table.Succeeds(table.Is("payload.status", "completed"), table.That("the text in the ADR", func(doc any, kept map[string]any) bool {
					return strings.Contains(inRepository(kept, table.TextAt(doc, "payload.artifacts_created.0.path")), "Passkeys of the suite")
				})),
			},
		),
		preflightsTable("S3-SESS-02", "sessions nobody knows",
			table.Step{Word: "unknown", Title: "an unknown session is SESSION_NOT_FOUND", Tool: toolClarify, Args: later.With(table.Members{"session_id": "sess-$nonce"}), Want: preflightFault("SESSION_NOT_FOUND")},
		),
		preflightsTable("S3-SESS-03", "two sessions at a time", begin,
			table.Step{Tool: toolClarify, Args: table.Members{"user_intention": "Add a database", "repo_path": "$repo2"}, Want: needsClarification(table.IsNot("payload.session_id", "$session")), Keep: map[string]string{"session2": "payload.session_id"}},
			table.Step{
				Word: "apart", Title: "an answer in one is none in the other", Tool: toolClarify, Args: later.With(table.Members{"answers": table.Members{"auth_strategy": "OAuth"}}),
				Want: needsClarification(table.Is("payload.session_id", "$session"), table.Is("payload.questions.0.id", "auth_library"), table.Is("payload.progress.answered", 1)),
			},
			table.Step{
				Word: "other", Title: "the other has its own questions still", Tool: toolClarify, Args: table.Members{"user_intention": "Add a database", "session_id": "$session2"},
				Want: needsClarification(table.Is("payload.session_id", "$session2"), table.Is("payload.progress.answered", 0), table.Like("payload.questions.0.id", "^database")),
			},
		),
		preflightsTable("S3-LLM-01", "the same request twice",
			table.Step{Tool: toolClarify, Args: auth, Want: needsClarification(), Keep: map[string]string{"questions": "payload.questions", "session": "payload.session_id"}},
			table.Step{
				Word: "same", Title: "the answers are the same but for session_id", Tool: toolClarify, Args: auth.With(table.Members{"repo_path": "$repo2"}),
				Want: needsClarification(table.Is("payload.questions", "$questions"), table.IsNot("payload.session_id", "$session")),
			},
		),
	}
}

// fittingQuestion reports whether a question has the members of its type.
func fittingQuestion(q any) bool {
	options := len(table.ArrayAt(q, "options"))
	_, least := table.Lookup(q, "min_selections")
	if table.TextAt(q, "id") == "" || table.TextAt(q, "question") == "" {
		return false
	}
	switch table.TextAt(q, "type") {
	case "single_choice":
		return options > 1 && !least
	case "multi_choice":
		return options > 1
	case "free_text":
		return options == 0 && !least
	}
	return false
}
