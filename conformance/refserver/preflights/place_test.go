package preflights

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlace_S3_REPO_01_SubdirectoryAndNested(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	deep := filepath.Join(r.root, "a", "b")
	inner := filepath.Join(r.root, "a", "inner", "src")
	require.NoError(t, os.MkdirAll(deep, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(filepath.Dir(inner), ".git"), 0o755))
	require.NoError(t, os.MkdirAll(inner, 0o755))
	for from, want := range map[string]string{deep: r.root, inner: filepath.Dir(inner), r.root: r.root} {
		got, err := place{workDir: from}.root("")
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = place{workDir: r.root}.root(from)
		require.NoError(t, err)
		require.Equal(t, want, got, "the walk starts at repo_path")
	}
	got, err := place{workDir: r.root}.root("a/inner")
	require.NoError(t, err)
	require.Equal(t, filepath.Dir(inner), got, "a relative one is below the working directory")
}

func TestPlace_S3_REPO_02_None(t *testing.T) {
	t.Parallel()
	s, err := newService(Options{})
	require.NoError(t, err)
	r := &rig{service: s, logs: &logs{}}
	want := `{"error":{"code":"REPO_NOT_FOUND","message":"No git repository found","details":{},"recovery_hint":"Run from a git repository or provide repo_path"},"status":"error"}`
	require.Equal(t, want, r.read(t).text, "the process's own directory is never taken")
	r.place.workDir = t.TempDir()
	require.Equal(t, want, r.read(t).text)
	require.Equal(t, want, r.clarify(t, args{"user_intention": "Add authentication"}).text)
}

func TestPlace_S3_REPO_03_Given(t *testing.T) {
	t.Parallel()
	// A repository lies above, so that nothing but the rule stops "../..".
	above := newRepo(t)
	root := filepath.Join(above, "one", "two")
	require.NoError(t, os.MkdirAll(filepath.Join(root, ".git"), 0o755))
	s, err := newService(Options{WorkDir: root})
	require.NoError(t, err)
	r := &rig{service: s, root: root, logs: &logs{}}
	r.write(t, "file", "x")
	outside := t.TempDir()
	for _, path := range []string{
		"/no/such/folder", filepath.Join(r.root, "file"), outside, "missing", "..", "../..", "../../one", "a/../../b", "%2e%2e/%2e%2e", "x\x00y",
		"/etc/passwd", "/x\x00y", "\\\\host\\share", "~",
	} {
		got := r.call(t, "read_architecture", args{"repo_path": path})
		require.Equal(t, codeRepoNotFound, got.Error.Code, path)
		require.Contains(t, got.Error.Hint, "repo_path")
		require.NotContains(t, got.text, outside)
	}
}

func TestPlace_S3_REPO_04_Worktree(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	worktree := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(worktree, ".git"), []byte("gitdir: elsewhere\n"), 0o644))
	require.Equal(t, "success", r.call(t, "read_architecture", args{"repo_path": worktree}).Status)
}

func TestPlace_OwnRepositoryOfTemporaryData(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "preflights")
	s, err := newService(Options{DataDir: data})
	require.NoError(t, err)
	r := &rig{service: s, root: filepath.Join(data, "repository"), logs: &logs{}}
	for _, in := range []args{{}, {"repo_path": "."}, {"repo_path": ""}} {
		done := r.run(t, "Add authentication", authAnswers, in)
		require.Equal(t, "completed", done.Status)
		require.FileExists(t, filepath.Join(r.root, done.Created[0].Path))
	}
	require.Equal(t, codeRepoNotFound, r.call(t, "read_architecture", args{"repo_path": "../../.."}).Error.Code)
}
