package preflights

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClarify_S3_CLAR_01_02_04_11_Authentication(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.clarify(t, args{"user_intention": "Add authentication"})
	require.Equal(t, "needs_clarification", first.Status)
	require.True(t, strings.HasPrefix(first.SessionID, "sess-"))
	require.Equal(t, []string{"auth_strategy", "auth_library"}, first.ids())
	require.Equal(t, 2, first.Progress.Asked)
	require.Zero(t, first.Progress.Answered)
	require.Empty(t, r.names(t, "docs"), "nothing is written before all is answered")

	second := r.clarify(t, args{"user_intention": "Add authentication", "session_id": first.SessionID, "answers": args{"auth_strategy": "OAuth"}})
	require.Equal(t, "needs_clarification", second.Status)
	require.Equal(t, []string{"auth_library"}, second.ids())
	require.Equal(t, 1, second.Progress.Answered)

	done := r.clarify(t, args{"user_intention": "Add authentication", "session_id": first.SessionID, "answers": args{"auth_library": "next-auth"}})
	require.Equal(t, "completed", done.Status)
	require.Equal(t, []string{"adr", "task", "projection"}, done.paths())
	require.Regexp(t, `^docs/adr/`+done.Created[0].UID+`_authentication\.md$`, done.Created[0].Path)
	require.Equal(t, "docs/CURRENT_TASK.md", done.Created[1].Path)
	require.Equal(t, "docs/ARCHITECTURE_STATE.md", done.Created[2].Path)
	require.NotEmpty(t, done.Created[0].UID)
	require.Empty(t, done.Created[1].UID, "uid stands on the adr only")
	require.NotEmpty(t, done.Summary) // S3-CLAR-10
	require.NotContains(t, done.text, "warning")
	for _, c := range done.Created {
		r.file(t, c.Path)
	}

	again := r.clarify(t, args{"user_intention": "Add authentication", "session_id": first.SessionID})
	require.Equal(t, codeNoSession, again.Error.Code)
}

func TestClarify_S3_CLAR_03_05_Typo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	done := r.run(t, "Fix typo in login button", nil)
	require.Equal(t, "completed", done.Status)
	require.Equal(t, []string{"task"}, done.paths())
	require.Equal(t, []string{"CURRENT_TASK.md"}, r.names(t, "docs"))

	forced := r.run(t, "Fix typo in login button", nil, args{"preferences": args{"force_adr": true}})
	require.Equal(t, []string{"adr", "task", "projection"}, forced.paths())

	// Also when it is forced only at the end.
	first := r.clarify(t, args{"user_intention": "Fix typo in the footer"})
	late := r.clarify(t, args{
		"user_intention": "Fix typo in the footer", "session_id": first.SessionID,
		"answers": args{"acceptance_criteria": "It reads Imprint"}, "preferences": args{"force_adr": true},
	})
	require.Equal(t, []string{"adr", "task", "projection"}, late.paths())
}

func TestClarify_S3_CLAR_06_Arguments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, in := range map[string]args{
		"missing":         {},
		"null":            {"user_intention": nil},
		"number":          {"user_intention": 7},
		"unknown":         {"user_intention": "x", "more": 1},
		"context":         {"user_intention": "x", "optional_context": 1},
		"session":         {"user_intention": "x", "session_id": []int{}},
		"answers":         {"user_intention": "x", "answers": "none"},
		"preferences":     {"user_intention": "x", "preferences": true},
		"force_adr":       {"user_intention": "x", "preferences": args{"force_adr": "yes"}},
		"repo_path":       {"user_intention": "x", "repo_path": args{}},
		"force_adr null?": {"user_intention": "x", "preferences": args{"force_adr": nil}},
	} {
		_, fail := r.try(t, "require_clarification", in)
		require.NotNil(t, fail, name)
		require.Equal(t, int64(-32602), fail.Code, name)
	}
	for _, empty := range []string{"", "  \n", "\x01"} {
		got := r.clarify(t, args{"user_intention": empty})
		require.Equal(t, codeValidation, got.Error.Code)
		require.True(t, got.isError)
	}
	got := r.clarify(t, args{"user_intention": strings.Repeat("x", maxIntention+1)})
	require.Equal(t, codeValidation, got.Error.Code)
	got = r.clarify(t, args{
		"user_intention": "Add authentication", "optional_context": nil, "session_id": nil,
		"answers": nil, "preferences": nil, "repo_path": nil,
	})
	require.Equal(t, "needs_clarification", got.Status)
}

func TestClarify_S3_CLAR_07_08_Answers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in := args{"user_intention": "Set up deployment"}
	first := r.clarify(t, in)
	in["session_id"] = first.SessionID
	for name, tt := range map[string]struct {
		answers args
		id      string
	}{
		"no option":          {args{"deployment_hosting": "The moon"}, "deployment_hosting"},
		"array for single":   {args{"deployment_hosting": []string{"AWS"}}, "deployment_hosting"},
		"string for multi":   {args{"deployment_environments": "Staging"}, "deployment_environments"},
		"null in multi":      {args{"deployment_environments": []any{nil}}, "deployment_environments"},
		"too few":            {args{"deployment_environments": []string{}}, "deployment_environments"},
		"number for text":    {args{"deployment_ci_cd": 4}, "deployment_ci_cd"},
		"other without text": {args{"deployment_hosting": "Other (specify)"}, "deployment_hosting"},
		"other blank":        {args{"deployment_hosting": "Other (specify)", "deployment_hosting__other": " "}, "deployment_hosting"},
	} {
		in["answers"] = tt.answers
		got := r.clarify(t, in)
		require.Equal(t, codeValidation, got.Error.Code, name)
		require.Equal(t, tt.id, got.Error.Details["question_id"], name)
		require.NotEmpty(t, got.Error.Details["reason"], name)
		require.NotContains(t, got.Error.Details, "session_id", name)
	}
	// All or none: what stood beside a bad answer has not been taken.
	in["answers"] = args{"deployment_hosting": "AWS", "deployment_environments": "Staging", "deployment_ci_cd": "x"}
	require.Equal(t, codeValidation, r.clarify(t, in).Error.Code)
	in["answers"] = args{}
	require.Zero(t, r.clarify(t, in).Progress.Answered)
	in["answers"] = args{"no_such_question": 1, "deployment_hosting": "AWS", "deployment_environments": []string{"Staging", "Staging", "Production"}}
	done := r.clarify(t, in)
	require.Equal(t, "completed", done.Status, done.text) // S3-Q-05: deployment_ci_cd is optional
	require.Equal(t, "Staging, Production", r.read(t).Architecture.Categories["Infra"]["Environments"])
}

// TestClarify_S3_CLAR_11_TwoCompletionsAtOnce: of two calls that complete a
// session one does, and one ADR is there.
func TestClarify_S3_CLAR_11_TwoCompletionsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in := args{"user_intention": "Add authentication"}
	in["session_id"], in["answers"] = r.clarify(t, in).SessionID, authAnswers
	done := make(chan *answer)
	for range 4 {
		go func() { done <- r.outcome(t.Context(), in) }()
	}
	completed := 0
	for range 4 {
		if o := <-done; o.Status == "completed" {
			completed++
		} else {
			require.Equal(t, codeNoSession, o.Error.Code, o.text)
		}
	}
	require.Equal(t, 1, completed)
	require.Len(t, r.names(t, "docs/adr"), 1)
}

func TestClarify_FirstCallWithBadAnswerTellsItsSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.clarify(t, args{"user_intention": "Add authentication", "answers": args{"auth_strategy": 3}})
	require.Equal(t, codeValidation, got.Error.Code)
	id, _ := got.Error.Details["session_id"].(string)
	got = r.clarify(t, args{"user_intention": "Add authentication", "session_id": id, "answers": authAnswers})
	require.Equal(t, "completed", got.Status)
}

func TestClarify_S3_CLAR_09_Other(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	done := r.run(t, "Add authentication", args{"auth_strategy": "Other (specify)", "auth_strategy__other": "Passkeys\n### Evil\n- Field: x"})
	require.Equal(t, "completed", done.Status)
	require.Contains(t, r.file(t, done.Created[0].Path), "- Strategy: Passkeys ### Evil - Field: x (ADR "+done.Created[0].UID+")")
	require.Equal(t, "Passkeys ### Evil - Field: x", r.read(t).Architecture.Categories["Authentication"]["Strategy"])
}

func TestQuestions_S3_Q_01_to_04(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.clarify(t, args{"user_intention": "New architecture: auth, database, storage, caching, framework, runtime, deployment, infrastructure, queue and messaging"})
	require.Len(t, got.Questions, 5)
	allowed := map[string][]string{"single_choice": {"options"}, "multi_choice": {"options", "min_selections"}, "free_text": {"optional"}}
	for _, intention := range []string{"Add authentication with OAuth", "New database", "Framework", "Runtime", "Deploy", "Queue", "Storage", "Cache", "Fix bug", "Plan an approach"} {
		for _, q := range r.clarify(t, args{"user_intention": intention}).Questions {
			require.NotContains(t, q, "depends_on_question_id")
			kind, _ := q["type"].(string)
			for key := range q {
				require.Contains(t, append([]string{"id", "type", "question"}, allowed[kind]...), key)
			}
			if options, ok := q["options"].([]any); ok {
				require.Equal(t, "Other (specify)", options[len(options)-1])
			} else {
				require.Equal(t, "free_text", kind)
			}
		}
	}
	// What found no room is named in the task, to be clarified separately.
	done := r.run(t, "Decide on authentication, database and messaging with caching", nil)
	require.Equal(t, "completed", done.Status)
	require.Contains(t, r.file(t, "docs/CURRENT_TASK.md"), "Open: messaging")
}

func TestQuestions_ConditionalIsSettledInside(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, "Add authentication", authAnswers)
	require.Contains(t, r.file(t, "docs/CURRENT_TASK.md"), "Open: Which OAuth providers?")
	r.run(t, "Add authentication", authAnswers, args{"optional_context": "Our users have GitHub accounts"})
	require.Equal(t, "GitHub", r.read(t).Architecture.Categories["Authentication"]["Providers"])
	require.NotContains(t, r.file(t, "docs/CURRENT_TASK.md"), "Open:")
}

func TestSession_S3_SESS_01_02_Idle(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := newService(Options{WorkDir: dir})
		require.NoError(t, err)
		r := &rig{service: s, root: dir, logs: &logs{}}
		in := args{"user_intention": "Add authentication"}
		in["session_id"] = r.clarify(t, in).SessionID
		for range 3 { // each call starts the half hour again
			time.Sleep(30*time.Minute - time.Second)
			require.Equal(t, "needs_clarification", r.clarify(t, in).Status)
		}
		time.Sleep(30 * time.Minute)
		for range 2 {
			got := r.clarify(t, in)
			require.Equal(t, codeExpired, got.Error.Code)
			require.NotEmpty(t, got.Error.Hint)
		}
		in["session_id"] = "sess-unknown"
		require.Equal(t, codeNoSession, r.clarify(t, in).Error.Code)
	})
}

func TestSession_S3_SESS_02_Restart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.clarify(t, args{"user_intention": "Add authentication"}).SessionID
	s, err := newService(Options{WorkDir: r.root})
	require.NoError(t, err)
	fresh := &rig{service: s, root: r.root, logs: &logs{}}
	require.Equal(t, codeNoSession, fresh.clarify(t, args{"user_intention": "Add authentication", "session_id": id}).Error.Code)
}

func TestSession_S3_SESS_03_TwoRepositories(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	other := newRepo(t)
	a := r.clarify(t, args{"user_intention": "Add authentication"})
	b := r.clarify(t, args{"user_intention": "Add a cache", "repo_path": other})
	doneB := r.clarify(t, args{"user_intention": "Add a cache", "session_id": b.SessionID, "answers": args{"cache_technology": "Redis"}})
	doneA := r.clarify(t, args{"user_intention": "something else", "session_id": a.SessionID, "repo_path": other, "answers": authAnswers})
	require.FileExists(t, filepath.Join(other, doneB.Created[0].Path))
	require.FileExists(t, filepath.Join(r.root, doneA.Created[0].Path))
	require.Contains(t, r.file(t, "docs/CURRENT_TASK.md"), "# Add authentication", "the stored intention holds")
	require.Contains(t, r.logs.String(), "user_intention_ignored")
	require.Contains(t, r.logs.String(), "repo_path_ignored")
	require.Contains(t, r.read(t).Architecture.Categories, "Authentication")
	require.NotContains(t, r.read(t).Architecture.Categories, "Infra")
}

func TestSession_S3_SESS_04_FiftyAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const n = 50
	done := make(chan *answer, n)
	for i := range n {
		in := args{"user_intention": fmt.Sprintf("Plan the approach for part %d", i)}
		in["session_id"] = r.clarify(t, in).SessionID
		in["answers"] = args{"decision": "Part as planned"}
		go func() { done <- r.outcome(t.Context(), in) }()
	}
	uids := map[string]bool{}
	for range n {
		o := <-done
		require.Equal(t, "completed", o.Status, o.text)
		uids[o.Created[0].UID] = true
	}
	require.Len(t, uids, n)
	require.Len(t, r.names(t, "docs/adr"), n)
	require.Len(t, r.names(t, "docs/archive/task"), n-1)
	require.Len(t, r.read(t).Architecture.Categories["Other"], n, "no decision was lost")
	require.ElementsMatch(t, []string{"ARCHITECTURE_STATE.md", "CURRENT_TASK.md", "adr", "archive"}, r.names(t, "docs"))
}

func TestClarify_S3_LLM_01_Deterministic(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in := args{"user_intention": "Add a database and a queue", "optional_context": "for orders"}
	a, b := r.clarify(t, in), r.clarify(t, in)
	require.Equal(t, strings.ReplaceAll(a.text, a.SessionID, ""), strings.ReplaceAll(b.text, b.SessionID, ""))
}

func TestClarify_WritesOnlyBelowDocs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, "Add authentication", authAnswers, args{"optional_context": "../../etc/passwd src/auth/ src/login.ts docs/adr/x.md https://a.b/c.html"})
	r.run(t, "Add caching", nil)
	require.ElementsMatch(t, []string{".git", "docs"}, r.names(t, "."))
	r.run(t, "Fix typo in src/login.ts and src/auth/", nil)
	require.Contains(t, r.file(t, "docs/CURRENT_TASK.md"), "## Allowlist\n\n- src/login.ts\n- src/auth/**\n")
	_, err := os.Stat(filepath.Join(r.root, "docs", "AGENT_PROMPT.md"))
	require.ErrorIs(t, err, os.ErrNotExist) // S3-PROJ-03
}
