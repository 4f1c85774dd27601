package checks

import (
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/wire"
)

const otherOption = "Other (specify)"

// clarifyTables are about questions, answers and sessions.
func clarifyTables() []table {
	auth := members{"user_intention": "Add authentication", "repo_path": "$repo"}
	later := members{"user_intention": "Add authentication", "session_id": "$session"}
	begin := step{tool: toolClarify, args: auth, want: needsClarification(), keep: map[string]string{"session": "payload.session_id"}}
	questions := func(judge func(q any) bool) func(doc any, _ map[string]any) bool {
		return func(doc any, _ map[string]any) bool {
			all := arrayAt(doc, "payload.questions")
			return len(all) > 0 && !slices.ContainsFunc(all, func(q any) bool { return !judge(q) })
		}
	}
	typo := complete("repo", "Fix typo in login button", nil)
	forced := complete("repo", "Fix typo in login button", members{"force_adr": true})
	return []table{
		preflightsTable("S3-CLAR-01", "a request that needs decisions",
			begin.named("ids", "the questions are auth_strategy and auth_library",
				is("payload.questions.#", 2), is("payload.questions.0.id", "auth_strategy"), is("payload.questions.1.id", "auth_library")),
			step{word: "progress", title: "two were asked and none answered", want: wants(is("payload.progress.asked_so_far", 2), is("payload.progress.answered", 0))},
			step{req: "S3-Q-01", word: "most", title: "no more than five questions are asked", want: wants(between("payload.questions.#", 1, 5))},
			step{req: "S3-Q-02", word: "flat", title: "no question carries depends_on_question_id", want: wants(that("none of them", questions(func(q any) bool {
				_, there := lookup(q, "depends_on_question_id")
				return !there
			})))},
			step{req: "S3-Q-03", word: "members", title: "questions have the members of their type", want: wants(that("id, type, question and what the type asks for", questions(fittingQuestion)))},
			step{req: "S3-Q-04", word: "other", title: `every choice ends with "Other (specify)"`, want: wants(that("that option at the end", questions(func(q any) bool {
				options := arrayAt(q, "options")
				return len(options) == 0 || options[len(options)-1] == otherOption
			})))},
			step{
				req: "S3-CLAR-04", word: "rest", title: "after one of two answers only the other is asked", tool: toolClarify, args: later.with(members{"answers": members{"auth_strategy": "OAuth"}}),
				want: needsClarification(is("payload.session_id", "$session"), is("payload.questions.#", 1), is("payload.questions.0.id", "auth_library")),
			},
			step{req: "S3-CLAR-04", word: "progress", title: "one is answered", want: wants(is("payload.progress.asked_so_far", 2), is("payload.progress.answered", 1))},
			step{
				req: "S3-CLAR-02", word: "completed", title: "after both it is completed: adr, task, projection, in that order", tool: toolClarify, args: later.with(members{"answers": members{"auth_library": "next-auth"}}),
				want: succeeds(is("payload.status", "completed"), is("payload.artifacts_created.#", 3), is("payload.artifacts_created.0.type", "adr"),
					is("payload.artifacts_created.1.type", "task"), is("payload.artifacts_created.2.type", "projection")),
				keep: map[string]string{"uid": "payload.artifacts_created.0.uid", "adr": "payload.artifacts_created.0.path"},
			},
			step{req: "S3-CLAR-02", word: "uid", title: "uid stands on the adr alone", want: wants(like("payload.artifacts_created.0.uid", "^"+uidPattern+"$"),
				lacks("payload.artifacts_created.1.uid"), lacks("payload.artifacts_created.2.uid"))},
			step{req: "S3-CLAR-10", word: "paths", title: "paths are relative, with forward slashes", want: wants(like("payload.artifacts_created.0.path", "^docs/adr/"+uidPattern+`_[a-z0-9-]{1,50}\.md$`),
				is("payload.artifacts_created.1.path", pathTask), is("payload.artifacts_created.2.path", pathProjection))},
			step{req: "S3-CLAR-10", word: "summary", title: "the summary is not empty", want: wants(like("payload.summary", "."))},
			step{req: "S3-CLAR-02", word: "files", title: "the files are there", want: wants(that("three files", func(doc any, kept map[string]any) bool {
				created := arrayAt(doc, "payload.artifacts_created")
				return len(created) == 3 && !slices.ContainsFunc(created, func(a any) bool { return inRepository(kept, textAt(a, "path")) == "" })
			}))},
			step{req: "S3-UID-01", word: "utc", title: "the UID is the time in UTC", want: wants(that("a UID of this minute", func(doc any, _ map[string]any) bool {
				at, err := time.Parse("20060102T150405.000Z", strings.Split(textAt(doc, "payload.artifacts_created.0.uid"), "-")[0])
				return err == nil && time.Since(at).Abs() < time.Minute
			}))},
			step{req: "S3-PROJ-03", word: "prompt", title: "docs/AGENT_PROMPT.md is not made", want: wants(that("no such file", func(doc any, kept map[string]any) bool {
				return textAt(doc, "payload.status") == "completed" && inRepository(kept, "docs/AGENT_PROMPT.md") == ""
			}))},
			step{req: "S3-LLM-03", word: "warning", title: "there is no warning", want: wants(like("payload.summary", "."), lacks("payload.warning"))},
			step{
				req: "S3-READ-02", word: "values", title: "read_architecture has the answers and the uid of the adr", tool: toolRead, args: members{"repo_path": "$repo"},
				want: succeeds(is("payload.status", "success"), is("payload.architecture.uid", "$uid"), is("payload.architecture.categories.Authentication.Strategy", "OAuth"),
					is("payload.architecture.categories.Authentication.Library", "next-auth"), is("payload.source_file", pathProjection)),
			},
			step{req: "S3-CLAR-11", word: "closed", title: "the session is over: SESSION_NOT_FOUND", tool: toolClarify, args: later, want: preflightFault("SESSION_NOT_FOUND")},
		),
		preflightsTable("S3-CLAR-03", "a request that needs none",
			typo[0].named("round", "there is one round of questions"),
			typo[1].named("task", "then docs/CURRENT_TASK.md alone is written", is("payload.artifacts_created.#", 1), is("payload.artifacts_created.0.type", "task"), is("payload.artifacts_created.0.path", pathTask)),
			step{word: "files", title: "there is no ADR and no projection", want: wants(that("the task alone", func(doc any, kept map[string]any) bool {
				return textAt(doc, "payload.status") == "completed" && inRepository(kept, pathTask) != "" && inRepository(kept, pathProjection) == ""
			}))},
		),
		preflightsTable("S3-CLAR-05", "force_adr", forced[0], forced[1].named("adr", "force_adr makes an ADR of anything", hasType("adr", true))),
		preflightsTable("S3-CLAR-06", "arguments",
			step{word: "missing", title: "no user_intention is refused with -32602", tool: toolClarify, args: auth.without("user_intention"), want: rpcCode(wire.CodeInvalidParams)},
			step{word: "type", title: "one that is no string is refused with -32602", tool: toolClarify, args: auth.with(members{"user_intention": 7}), want: rpcCode(wire.CodeInvalidParams)},
			step{word: "empty", title: "an empty one is VALIDATION_FAILED", tool: toolClarify, args: auth.with(members{"user_intention": ""}), want: preflightFault("VALIDATION_FAILED")},
			step{
				word: "null", title: "null is accepted for what is optional", tool: toolClarify,
				args: auth.with(members{"optional_context": nil, "session_id": nil, "answers": nil, "preferences": nil}), want: needsClarification(),
			},
		),
		preflightsTable("S3-CLAR-07", "answers nobody asked for", begin,
			step{
				word: "ignored", title: "they are accepted and ignored", tool: toolClarify, args: later.with(members{"answers": members{"no_such_question": "x", "auth_strategy": "OAuth"}}),
				want: needsClarification(is("payload.questions.#", 1)),
			},
		),
		preflightsTable("S3-CLAR-08", "answers that are wrong", begin,
			step{
				word: "option", title: "one not among the options is VALIDATION_FAILED with question_id and reason", tool: toolClarify, args: later.with(members{"answers": members{"auth_strategy": "Telepathy"}}),
				want: preflightFault("VALIDATION_FAILED", is("payload.error.details.question_id", "auth_strategy"), like("payload.error.details.reason", ".")),
			},
			step{word: "type", title: "one of the wrong type is VALIDATION_FAILED", tool: toolClarify, args: later.with(members{"answers": members{"auth_strategy": 7}}), want: preflightFault("VALIDATION_FAILED")},
			step{word: "list", title: "a list for a single choice is VALIDATION_FAILED", tool: toolClarify, args: later.with(members{"answers": members{"auth_strategy": []any{"OAuth", "Magic Links"}}}), want: preflightFault("VALIDATION_FAILED")},
			step{word: "usable", title: "the session goes on after them", tool: toolClarify, args: later.with(members{"answers": members{"auth_strategy": "OAuth"}}), want: needsClarification(is("payload.questions.#", 1))},
		),
		preflightsTable("S3-CLAR-09", "an answer of one's own", begin,
			step{
				word: "missing", title: "Other (specify) without its text is VALIDATION_FAILED", tool: toolClarify, args: later.with(members{"answers": members{"auth_strategy": otherOption}}),
				want: preflightFault("VALIDATION_FAILED", like("payload.error.details.question_id", "^auth_strategy")),
			},
			step{
				word: "adr", title: "with it the text appears in the ADR", tool: toolClarify,
				args: later.with(members{"answers": members{"auth_strategy": otherOption, "auth_strategy__other": "Passkeys of the suite", "auth_library": "None"}}),
				want: succeeds(is("payload.status", "completed"), that("the text in the ADR", func(doc any, kept map[string]any) bool {
					return strings.Contains(inRepository(kept, textAt(doc, "payload.artifacts_created.0.path")), "Passkeys of the suite")
				})),
			},
		),
		preflightsTable("S3-SESS-02", "sessions nobody knows",
			step{word: "unknown", title: "an unknown session is SESSION_NOT_FOUND", tool: toolClarify, args: later.with(members{"session_id": "sess-$nonce"}), want: preflightFault("SESSION_NOT_FOUND")},
		),
		preflightsTable("S3-SESS-03", "two sessions at a time", begin,
			step{tool: toolClarify, args: members{"user_intention": "Add a database", "repo_path": "$repo2"}, want: needsClarification(isNot("payload.session_id", "$session")), keep: map[string]string{"session2": "payload.session_id"}},
			step{
				word: "apart", title: "an answer in one is none in the other", tool: toolClarify, args: later.with(members{"answers": members{"auth_strategy": "OAuth"}}),
				want: needsClarification(is("payload.session_id", "$session"), is("payload.questions.0.id", "auth_library"), is("payload.progress.answered", 1)),
			},
			step{
				word: "other", title: "the other has its own questions still", tool: toolClarify, args: members{"user_intention": "Add a database", "session_id": "$session2"},
				want: needsClarification(is("payload.session_id", "$session2"), is("payload.progress.answered", 0), like("payload.questions.0.id", "^database")),
			},
		),
		preflightsTable("S3-LLM-01", "the same request twice",
			step{tool: toolClarify, args: auth, want: needsClarification(), keep: map[string]string{"questions": "payload.questions", "session": "payload.session_id"}},
			step{
				word: "same", title: "the answers are the same but for session_id", tool: toolClarify, args: auth.with(members{"repo_path": "$repo2"}),
				want: needsClarification(is("payload.questions", "$questions"), isNot("payload.session_id", "$session")),
			},
		),
	}
}

// fittingQuestion reports whether a question has the members of its type.
func fittingQuestion(q any) bool {
	options := len(arrayAt(q, "options"))
	_, least := lookup(q, "min_selections")
	if textAt(q, "id") == "" || textAt(q, "question") == "" {
		return false
	}
	switch textAt(q, "type") {
	case "single_choice":
		return options > 1 && !least
	case "multi_choice":
		return options > 1
	case "free_text":
		return options == 0 && !least
	}
	return false
}
