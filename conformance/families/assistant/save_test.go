package assistant

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/marker"
	"github.com/mainstay-mcp/mainstay/conformance/families/assistant/registry"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/sqlite"
)

const token = "11111111-2222-4333-8444-555555555555"

var discard = slog.New(slog.DiscardHandler)

func TestSave_S4_SAVE_01_02_05(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.tokens.Register(token, "thread-1", time.Now()))
	for _, title := range []string{"Report", "a|b|c", `"quoted" \ | \u007c`, "two\nlines", "🎉 <&>", strings.Repeat("ü", 255)} {
		res, fail := r.save(t, map[string]any{"session_token": token, "title": title, "content_markdown": "# Hello | *world*\n"})
		require.Nil(t, fail)
		require.False(t, res.IsError)
		require.True(t, strings.HasPrefix(res.Text, `ARTIFACT_CREATED:{"id":"`), res.Text)
		require.True(t, strings.HasSuffix(res.Text, "}|File generated successfully."))
		// As scanners in use read it: up to the first "|".
		body, _, _ := strings.Cut(strings.TrimPrefix(res.Text, "ARTIFACT_CREATED:"), "|")
		var cut marker.Created
		require.NoError(t, json.Unmarshal([]byte(body), &cut))
		require.Equal(t, title, cut.Title)
		require.Equal(t, "generated_file", cut.ArtifactType)
		found, ok, err := marker.Find(res.Text)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, cut, found)
		row, err := r.store.Artifact(t.Context(), uuid.MustParse(cut.ID))
		require.NoError(t, err)
		require.Equal(t, "thread-1", row.ThreadID)
		require.Equal(t, store.GeneratedFile, row.Type)
		require.Equal(t, title, row.Title)
		require.Equal(t, "# Hello | *world*\n", row.Content)
	}
	require.Contains(t, r.logs.String(), "save_artifact_repeated", "a second call is allowed and logged (C-45)")
}

func TestSave_S4_SAVE_03_CommittedBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fam, err := New(Options{DataDir: dir, SessionToken: token})
	require.NoError(t, err)
	raw, err := json.Marshal(map[string]any{"session_token": token, "title": "Report", "content_markdown": "x"})
	require.NoError(t, err)
	r := &rig{logs: &logs{}}
	res, fail := handle(t.Context(), fam.Tools[0], raw, discard)
	require.Nil(t, fail)
	found, ok, err := marker.Find(res.Text)
	require.NoError(t, err)
	require.True(t, ok)
	other, err := sqlite.Open(t.Context(), filepath.Join(dir, "mainstay.db"), sqlite.Options{})
	require.NoError(t, err)
	row, err := other.Artifact(t.Context(), uuid.MustParse(found.ID))
	require.NoError(t, err)
	require.Equal(t, "conformance", row.ThreadID, "the token of the options belongs to a thread of its own")
	require.NoError(t, other.Close())
	require.NoError(t, fam.Close(t.Context()))
	require.NotContains(t, r.logs.String(), token)
}

func TestSave_S4_SAVE_04_UnknownToken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	res, fail := r.save(t, map[string]any{"session_token": token, "title": "x", "content_markdown": "y"})
	require.Nil(t, fail)
	require.True(t, res.IsError)
	require.Equal(t, "Error: session context not found", res.Text)
	require.Empty(t, r.store.all())
	require.NotContains(t, r.logs.String(), token)
	require.Contains(t, r.logs.String(), token[:8])
}

func TestSave_S4_SAVE_06_Limits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.Equal(t, 5*1024*1024, r.maxContent)
	if os.Getenv("MAINSTAY_SOAK") == "" {
		r.maxContent = 1000 // megabytes of JSON are slow under the race detector
	}
	require.NoError(t, r.tokens.Register(token, "t", time.Now()))
	ok := map[string]any{"session_token": token, "title": "x", "content_markdown": strings.Repeat("a", r.maxContent)}
	res, fail := r.save(t, ok)
	require.Nil(t, fail)
	require.False(t, res.IsError)
	for name, change := range map[string]map[string]any{
		"content too long":  {"content_markdown": strings.Repeat("a", r.maxContent+1)},
		"content by bytes":  {"content_markdown": strings.Repeat("ü", r.maxContent/2+1)},
		"empty title":       {"title": ""},
		"title too long":    {"title": strings.Repeat("ü", 256)},
		"empty token":       {"session_token": ""},
		"token no string":   {"session_token": 1},
		"title null":        {"title": nil},
		"content array":     {"content_markdown": []string{}},
		"NUL":               {"title": "a\x00b"},
		"unknown argument":  {"more": 1},
		"content type null": {"content_markdown": nil},
	} {
		args := map[string]any{"session_token": token, "title": "x", "content_markdown": "y"}
		for k, v := range change {
			args[k] = v
		}
		_, fail := r.save(t, args)
		require.NotNil(t, fail, name)
		require.Equal(t, int64(-32602), fail.Code, name)
	}
	for _, missing := range []string{"session_token", "title", "content_markdown"} {
		args := map[string]any{"session_token": token, "title": "x", "content_markdown": "y"}
		delete(args, missing)
		_, fail := r.save(t, args)
		require.NotNil(t, fail)
	}
	res, fail = r.save(t, map[string]any{"session_token": token, "title": "x", "content_markdown": ""})
	require.Nil(t, fail)
	require.False(t, res.IsError)
	require.Len(t, r.store.all(), 2)
}

func TestSave_S4_SAVE_07_DatabaseFault(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.tokens.Register(token, "t", time.Now()))
	r.store.fault = errFault
	res, fail := r.save(t, map[string]any{"session_token": token, "title": "x", "content_markdown": "SECRET BODY"})
	require.Nil(t, fail)
	require.True(t, res.IsError)
	require.Equal(t, "Error: failed to save artifact", res.Text)
	require.Empty(t, r.tokens.Saved(token))
	require.NotContains(t, r.logs.String(), "SECRET BODY")
	require.Contains(t, r.logs.String(), errFault.Error())
}

func TestSave_S4_REG_01_04(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	args := map[string]any{"session_token": token, "title": "x", "content_markdown": "y"}
	require.NoError(t, r.tokens.Register(token, "one", time.Now()))
	require.NoError(t, r.tokens.Register("second-token", "two", time.Now()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 50 {
			raw, _ := json.Marshal(map[string]any{"session_token": "second-token", "title": "two", "content_markdown": "y"})
			_, _ = handle(t.Context(), r.saveTool(), raw, discard)
		}
	}()
	for range 50 {
		_, fail := r.save(t, map[string]any{"session_token": token, "title": "one", "content_markdown": "y"})
		require.Nil(t, fail)
	}
	<-done
	rows := r.store.all()
	require.Len(t, rows, 100)
	for _, row := range rows {
		require.Equal(t, row.Title, row.ThreadID)
	}
	require.Len(t, r.tokens.Unregister(token), 50)
	res, _ := r.save(t, args)
	require.True(t, res.IsError)
}

func TestSave_S4_REG_03_TTL(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.tokens.Register(token, "t", time.Now().Add(-registry.TTL)))
	res, _ := r.save(t, map[string]any{"session_token": token, "title": "x", "content_markdown": "y"})
	require.True(t, res.IsError)
}

func TestSave_S4_PIT_03_Types(t *testing.T) {
	t.Parallel()
	for _, known := range []string{"user_stories", "acceptance_criteria", "requirements_doc", "brd", "generated_file"} {
		require.True(t, store.ArtifactType(known).Known())
		require.LessOrEqual(t, len(known), 30)
	}
	for _, unknown := range []string{"", "GENERATED_FILE", "generated", strings.Repeat("x", 31)} {
		require.False(t, store.ArtifactType(unknown).Known())
	}
}

func TestNew_NeedsAPlace(t *testing.T) {
	t.Parallel()
	_, err := New(Options{})
	require.ErrorContains(t, err, "neither a store nor a data folder")
	_, err = New(Options{Store: &memory{}, SessionToken: "x", Registry: pinned(t, "x")})
	require.ErrorIs(t, err, registry.ErrTaken)
	fam, err := New(Options{Store: &memory{}})
	require.NoError(t, err)
	require.Len(t, fam.Tools, 1) // S4-SAVE-08
	require.Equal(t, "save_artifact", fam.Tools[0].Name)
	require.NoError(t, fam.Close(context.WithoutCancel(t.Context())))
}

func pinned(t *testing.T, token string) *registry.Registry {
	t.Helper()
	reg := registry.New()
	require.NoError(t, reg.Pin(token, "t"))
	return reg
}
