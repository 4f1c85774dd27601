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

// TestPlace_Confined: a client that is confined names repositories below Repos,
// or those of the server, and nothing else, by whatever path.
func TestPlace_Confined(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(parts ...string) string { return filepath.Join(append([]string{base}, parts...)...) }
	for _, dir := range []string{"repos/one/.git", "repos/one/src", "repos/plain", "repos-other/two/.git", "outside/.git", "outside/src", "work/.git", "work/sub", "data"} {
		require.NoError(t, os.MkdirAll(at(dir), 0o755))
	}
	require.NoError(t, os.Mkdir(at(".git"), 0o755), "the walk up must not lead out to it")
	require.NoError(t, os.Symlink(at("outside"), at("repos", "out")))
	require.NoError(t, os.Symlink(at("repos", "one"), at("in")))
	require.NoError(t, os.Symlink(at("repos"), at("alias")))
	for name, tt := range map[string]struct {
		opts Options
		path string
		want string // empty is a refusal
	}{
		"a repository":             {Options{Repos: []string{at("repos")}}, at("repos/one"), at("repos/one")},
		"below one":                {Options{Repos: []string{at("repos")}}, at("repos/one/src"), at("repos/one")},
		"the folder itself":        {Options{Repos: []string{at("outside")}}, at("outside"), at("outside")},
		"a folder that is a link":  {Options{Repos: []string{at("alias")}}, at("alias/one"), at("repos/one")},
		"a link that leads in":     {Options{Repos: []string{at("repos")}}, at("in"), at("repos/one")},
		"the second folder":        {Options{Repos: []string{at("data"), at("repos")}}, at("repos/one"), at("repos/one")},
		"another one":              {Options{Repos: []string{at("repos")}}, at("outside"), ""},
		"a name that begins alike": {Options{Repos: []string{at("repos")}}, at("repos-other/two"), ""},
		"a link that leads out":    {Options{Repos: []string{at("repos")}}, at("repos/out"), ""},
		"dots":                     {Options{Repos: []string{at("repos")}}, at("repos/one") + "/../../outside", ""},
		"the repository around":    {Options{Repos: []string{at("repos")}}, at("repos/plain"), ""},
		"nothing there":            {Options{Repos: []string{at("repos")}}, at("outside/none"), ""},
		"nothing allowed":          {Options{}, at("repos/one"), ""},
		"the working directory":    {Options{WorkDir: at("work/sub")}, at("work"), at("work")},
		"relative to it":           {Options{WorkDir: at("work")}, "sub", at("work")},
		"not beside it":            {Options{WorkDir: at("work")}, at("repos/one"), ""},
		"the data folder":          {Options{DataDir: at("data")}, ".", at("data/repository")},
		"by its path":              {Options{DataDir: at("data")}, at("data/repository"), at("data/repository")},
		"not the data beside it":   {Options{DataDir: at("data")}, at("data"), ""},
		"none named":               {Options{DataDir: at("data")}, "", at("data/repository")},
	} {
		t.Run(name, func(t *testing.T) {
			tt.opts.Confined = true
			s, err := newService(tt.opts)
			require.NoError(t, err)
			if tt.opts.DataDir != "" {
				_, err := s.place.root("") // makes it
				require.NoError(t, err)
			}
			got, err := s.place.root(tt.path)
			if tt.want != "" {
				require.NoError(t, err)
				require.Equal(t, tt.want, got)
				return
			}
			var f *fault
			require.ErrorAs(t, err, &f)
			require.Equal(t, codeRepoNotFound, f.Code)
			require.Contains(t, f.Message+f.Hint, "--repos")
			require.NotContains(t, f.Error(), base, "it says nothing about the machine")
		})
	}
	// What exists outside cannot be found out by what the refusal says.
	s, err := newService(Options{Repos: []string{at("repos")}, Confined: true})
	require.NoError(t, err)
	_, there := s.place.root(at("outside"))
	for _, other := range []string{at("outside/none"), at("outside/src"), "/etc/passwd", "/", "/no/such/folder"} {
		_, err := s.place.root(other)
		require.Equal(t, there, err, other)
	}
	_, err = newService(Options{Repos: []string{at("none")}, Confined: true})
	require.ErrorContains(t, err, "none")
}

// TestPlace_CallersLearnTheRepository: what is completed is where the caller
// can find it: where it named no repository, the answer does.
func TestPlace_CallersLearnTheRepository(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "preflights")
	s, err := newService(Options{DataDir: data, Temporary: true})
	require.NoError(t, err)
	done := (&rig{service: s, logs: &logs{}}).run(t, "Fix typo", nil)
	own, err := filepath.EvalSymlinks(filepath.Join(data, "repository"))
	require.NoError(t, err)
	require.Equal(t, own, done.Repository)
	require.FileExists(t, filepath.Join(done.Repository, done.Created[0].Path))
	require.Contains(t, done.Summary, "--work-dir")
	require.Contains(t, done.Summary, "removed")
	done = (&rig{service: s, logs: &logs{}}).run(t, "Fix typo", nil, args{"repo_path": "."})
	require.Equal(t, own, done.Repository)

	r := newRig(t)
	done = r.run(t, "Fix typo", nil)
	require.Equal(t, r.root, done.Repository, "the one of --work-dir")
	require.NotContains(t, done.Summary, "--work-dir")
	done = r.run(t, "Fix typo", nil, args{"repo_path": r.root})
	require.Empty(t, done.Repository, "the caller knows it")
}
