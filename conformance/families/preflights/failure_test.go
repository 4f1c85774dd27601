package preflights

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/adr"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/llm"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/question"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// failsAtTheEnd is a writer's fault that shows only after everything else has
// been written: the last file cannot be replaced.
func failsAtTheEnd(t *testing.T, r *rig) {
	t.Helper()
	r.write(t, "docs/ARCHITECTURE_STATE.md/in-the-way", "x")
}

func TestErrors_S3_ERR_02_RollBack(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(t *testing.T, r *rig){
		"last file":       failsAtTheEnd,
		"task":            func(t *testing.T, r *rig) { r.write(t, "docs/CURRENT_TASK.md/in-the-way", "x") },
		"adr is a file":   func(t *testing.T, r *rig) { r.write(t, "docs/adr", "x") },
		"docs is a file":  func(t *testing.T, r *rig) { r.write(t, "docs", "x") },
		"docs leads out":  func(t *testing.T, r *rig) { require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(r.root, "docs"))) },
		"docs leads here": func(t *testing.T, r *rig) { require.NoError(t, os.Symlink(".git", filepath.Join(r.root, "docs"))) },
		"adr leads out": func(t *testing.T, r *rig) {
			require.NoError(t, os.Mkdir(filepath.Join(r.root, "docs"), 0o755))
			require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(r.root, "docs", "adr")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			fault(t, r)
			before := hash(t, r.root)
			got := r.run(t, "Add authentication", authAnswers)
			require.Equal(t, codeFilesystem, got.Error.Code, got.text)
			require.NotContains(t, got.text, r.root, "no path of the machine")
			require.Equal(t, before, hash(t, r.root), "the tree is as it was")
		})
	}
}

func TestErrors_S3_ERR_02_ReadOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	docs := filepath.Join(r.root, "docs")
	require.NoError(t, os.Mkdir(docs, 0o555))
	t.Cleanup(func() { _ = os.Chmod(docs, 0o755) })
	before := hash(t, r.root)
	var got *answer
	unprivileged(t, r.root, func() { got = r.run(t, "Add authentication", authAnswers) })
	require.Equal(t, codeFilesystem, got.Error.Code, got.text)
	require.Equal(t, "permission", got.Error.Details["reason"])
	require.NotContains(t, got.text, r.root, "no path of the machine")
	require.Equal(t, before, hash(t, r.root), "the tree is as it was")
}

func TestErrors_S3_ERR_02_RollBackOfASecondSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.run(t, "Fix typo", nil)
	failsAtTheEnd(t, r)
	before := hash(t, r.root)
	first := r.clarify(t, args{"user_intention": "Add authentication"})
	in := args{"user_intention": "Add authentication", "session_id": first.SessionID, "answers": authAnswers}
	require.Equal(t, codeFilesystem, r.clarify(t, in).Error.Code)
	require.Equal(t, before, hash(t, r.root))
	require.NoError(t, os.RemoveAll(filepath.Join(r.root, "docs", "ARCHITECTURE_STATE.md")))
	require.Equal(t, "completed", r.clarify(t, in).Status, "the session is kept")
}

func TestErrors_S3_ERR_01_04_Form(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(t, "docs/CURRENT_TASK.md", "no comment with a UID")
	got := r.run(t, "Fix typo", nil)
	require.Equal(t, codeParse, got.Error.Code)
	for _, got := range []*answer{got, r.clarify(t, args{"user_intention": ""}), r.clarify(t, args{"user_intention": "x", "repo_path": "/no/such"})} {
		require.True(t, got.isError)
		require.Equal(t, "error", got.Status)
		require.NotEmpty(t, got.Error.Message)
		require.NotEmpty(t, got.Error.Hint)
		require.NotNil(t, got.Error.Details, "details is always an object")
	}
}

func TestErrors_S3_LLM_04_NothingExtracted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.clarify(t, args{"user_intention": "Which approach?"})
	in := args{"user_intention": "Which approach?", "session_id": first.SessionID, "answers": args{"decision": "???"}}
	for range 2 {
		got := r.clarify(t, in)
		require.Equal(t, codeExtraction, got.Error.Code)
		require.Empty(t, r.names(t, "docs"))
	}
	in["answers"] = args{"decision": "Use Stripe"}
	require.Equal(t, "completed", r.clarify(t, in).Status)
}

// scripted is a language model that does as told.
type scripted struct {
	asked, extracted int
	clarification    llm.Clarification
	decision         llm.Decision
	err              error
}

func (s *scripted) Questions(context.Context, llm.Request) (llm.Clarification, error) {
	s.asked++
	return s.clarification, s.err
}

func (s *scripted) Extract(context.Context, llm.Request) (llm.Decision, error) {
	s.extracted++
	return s.decision, s.err
}

func TestLLM_S3_LLM_02_Fallback(t *testing.T) {
	t.Parallel()
	dir := newRepo(t)
	synctest.Test(t, func(t *testing.T) {
		s, err := newService(Options{WorkDir: dir})
		require.NoError(t, err)
		model := &scripted{err: errors.New("down")}
		r := (&rig{service: s, root: dir, logs: &logs{}}).with(model)
		first := r.clarify(t, args{"user_intention": "Add authentication"})
		require.Equal(t, 3, model.asked)
		require.Equal(t, []string{"auth_strategy", "auth_library"}, first.ids())
		require.Equal(t, "llm_fallback", first.Warning)
		require.Equal(t, "LLM unavailable, using deterministic mode", first.Message)
		done := r.clarify(t, args{"user_intention": "Add authentication", "session_id": first.SessionID, "answers": authAnswers})
		require.Equal(t, "completed", done.Status)
		require.Equal(t, "llm_fallback", done.Warning)
		require.Zero(t, model.extracted, "the session stays in deterministic mode")
		require.Contains(t, r.logs.String(), "llm_fallback")
	})
}

func TestLLM_S3_LLM_03_and_ADR_05(t *testing.T) {
	t.Parallel()
	ask := []question.Question{{ID: "q", Type: question.FreeText, Text: "?"}}
	r := newRig(t).with(&scripted{
		clarification: llm.Clarification{Questions: ask, DecisionHint: "adr"},
		decision:      llm.Decision{Title: "From the model", Patch: adr.Patch{"Database": {"Type": "CouchDB"}}},
	})
	done := r.run(t, "Fix typo", args{"q": "yes"})
	require.Equal(t, []string{"task"}, done.paths(), "a hint decides nothing")
	require.NotContains(t, done.text, "warning")
	done = r.run(t, "Add a database", args{"q": "yes"})
	require.NotContains(t, done.text, "warning")
	require.Contains(t, done.Created[0].Path, "_from-the-model.md")
	require.Equal(t, "CouchDB", r.read(t).Architecture.Categories["Database"]["Type"])
}

func TestClarify_CancelledCallIsNotAnswered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.clarify(t, args{"user_intention": "Fix typo"})
	unlock, err := r.locks.Lock(t.Context(), r.root)
	require.NoError(t, err)
	defer unlock()
	raw, err := json.Marshal(args{"user_intention": "Fix typo", "session_id": first.SessionID, "answers": args{"acceptance_criteria": "x"}})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = r.clarifyTool().Handle(ctx, family.NewCall("require_clarification", raw, slog.New(slog.DiscardHandler)))
	require.ErrorContains(t, err, "cancelled")
	require.Empty(t, r.names(t, "docs"))
}
