package skills

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const refunds = "---\nname: refunds\ndescription: Process refunds\n---\n# Refunds\n"

// folder makes a folder of files, by their paths.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		put(t, dir, name, content)
	}
	return dir
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
}

// open returns the library of a folder, and its log.
func open(t *testing.T, dir string) (*library, *bytes.Buffer) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	log := &bytes.Buffer{}
	return &library{fsys: root.FS(), log: slog.New(slog.NewTextHandler(log, nil))}, log
}

// uris are those of the skills that are served.
func uris(c *catalog) (all []string) {
	for _, k := range c.skills {
		all = append(all, k.uri)
	}
	return all
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"acme/refunds/SKILL.md": refunds, "acme/refunds/forms/a b.md": "A form.\n", "acme/refunds/forms/deep/x.json": "{}",
		"acme/refunds/logo.png": "\x89PNG", "acme/refunds/.git/config": "secret", "acme/refunds/forms/.env": "secret",
		"acme/refunds/inner/SKILL.md": "not a skill of its own", "acme/README.md": "not of a skill", ".hidden/refunds/SKILL.md": refunds,
	})
	l, log := open(t, dir)
	c := l.current()
	require.Empty(t, log.String())
	require.Equal(t, []string{"skill://acme/refunds/SKILL.md"}, uris(c))
	e := c.byURI["skill://acme/refunds/SKILL.md"].entry()
	require.JSONEq(t, `{"name":"refunds","description":"Process refunds"}`, string(e.Frontmatter))
	found := map[string]bool{}
	for _, r := range e.Resources {
		found[r.URI] = true
		content, err := l.read(c.files[r.URI].path)
		require.NoError(t, err)
		sum := sha256.Sum256(content)
		require.Equal(t, "sha256:"+hex.EncodeToString(sum[:]), r.Digest)
		require.Equal(t, int64(len(content)), r.Size)
	}
	require.Equal(t, map[string]bool{
		"skill://acme/refunds/SKILL.md": true, "skill://acme/refunds/forms/a%20b.md": true, "skill://acme/refunds/forms/deep/x.json": true,
		"skill://acme/refunds/logo.png": true, "skill://acme/refunds/inner/SKILL.md": true,
	}, found)

	listing := func(uri string) (all []string) {
		for _, r := range c.folders[uri] {
			all = append(all, r.URI+" "+r.Name+" "+r.MIMEType)
		}
		return all
	}
	require.Equal(t, []string{
		"skill://acme/refunds/SKILL.md refunds text/markdown", "skill://acme/refunds/forms forms inode/directory",
		"skill://acme/refunds/inner inner inode/directory", "skill://acme/refunds/logo.png logo.png image/png",
	}, listing("skill://acme/refunds"))
	require.Equal(t, []string{"skill://acme/refunds/forms/a%20b.md a b.md text/markdown", "skill://acme/refunds/forms/deep deep inode/directory"}, listing("skill://acme/refunds/forms"))
	require.Empty(t, listing("skill://acme"), "it is above the skill")
}

// Nothing outside of the folder is served, whatever a link says.
func TestConfinement(t *testing.T) {
	t.Parallel()
	outside := folder(t, map[string]string{"secret.txt": "secret", "evil/SKILL.md": strings.ReplaceAll(refunds, "refunds", "evil")})
	dir := folder(t, map[string]string{"refunds/SKILL.md": refunds, "refunds/own.md": "mine"})
	for link, to := range map[string]string{
		"refunds/secret.txt": filepath.Join(outside, "secret.txt"), "refunds/up": "../..", "refunds/loop": ".", "refunds/alias.md": "own.md",
		"evil": filepath.Join(outside, "evil"), "refunds/fifo": os.DevNull,
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	l, _ := open(t, dir)
	c := l.current()
	require.Equal(t, []string{"skill://refunds/SKILL.md"}, uris(c))
	require.Len(t, c.files, 2)
	for _, uri := range []string{
		"skill://refunds/../refunds/own.md", "skill://refunds/%2e%2e/secret.txt", "skill://refunds/secret.txt", "skill://refunds//own.md",
		"skill://refunds/own.md?x", "SKILL://refunds/own.md", "skill:///etc/passwd", "skill://",
	} {
		require.Nil(t, c.files[uri], uri)
	}

	// A file that becomes a link after it was listed is not read.
	require.NoError(t, os.Remove(filepath.Join(dir, "refunds", "own.md")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(dir, "refunds", "own.md")))
	_, err := l.read(c.files["skill://refunds/own.md"].path)
	require.Error(t, err)
}

// What is wrong with one skill keeps no other from being served.
func TestFaults(t *testing.T) {
	t.Parallel()
	front := func(yaml string) map[string]string {
		return map[string]string{"refunds/SKILL.md": "---\n" + yaml + "\n---\n"}
	}
	many := map[string]string{"refunds/SKILL.md": refunds}
	for i := range maxFiles {
		many[fmt.Sprintf("refunds/%d.md", i)] = ""
	}
	const ok = "name: refunds\ndescription: d\n"
	for name, tt := range map[string]struct {
		files map[string]string
		fault string
	}{
		"no front matter":          {map[string]string{"refunds/SKILL.md": "# Refunds\n"}, "does not begin with front matter"},
		"empty":                    {map[string]string{"refunds/SKILL.md": ""}, "does not begin with front matter"},
		"front matter with no end": {map[string]string{"refunds/SKILL.md": "---\nname: refunds\n"}, "does not end"},
		"not UTF-8":                {map[string]string{"refunds/SKILL.md": "---\nname: \xff\n---\n"}, "not UTF-8"},
		"huge front matter":        {front(ok + "x: " + strings.Repeat("x", maxFrontMatter)), "more than 65536 bytes"},
		"not YAML":                 {front("a: [b"), "not valid YAML"},
		"no mapping":               {front("- a"), "not a mapping"},
		"null":                     {front("~"), "not a mapping"},
		"two documents":            {front(ok + "...\nb: 1"), "SKILL.md"},
		"another name":             {front("name: other\ndescription: d"), "that of its folder"},
		"no name":                  {front("description: d"), "that of its folder"},
		"a name that is a number":  {map[string]string{"7/SKILL.md": "---\nname: 7\ndescription: d\n---\n"}, "that of its folder"},
		"a name with capitals":     {map[string]string{"Refunds/SKILL.md": strings.ReplaceAll(refunds, "refunds", "Refunds")}, "lowercase letters"},
		"a name with two hyphens":  {map[string]string{"a--b/SKILL.md": strings.ReplaceAll(refunds, "refunds", "a--b")}, "single hyphens"},
		"no description":           {front("name: refunds"), "no description"},
		"an empty description":     {front("name: refunds\ndescription: ''"), "no description"},
		"a field twice":            {front(ok + "a: 1\na: 2"), "SKILL.md"},
		"a field without a name":   {front(ok + "1: 2"), "must have a name"},
		"an alias":                 {front(ok + "a: &x [1]\nb: *x"), "anchors and aliases"},
		"a merge":                  {front(ok + "a: {<<: {b: 1}}"), "must have a name"},
		"infinity":                 {front(ok + "a: .inf"), "as JSON"},
		"a huge number":            {front(ok + "a: 9007199254740993"), "as JSON"},
		"a tag":                    {front(ok + "a: !!binary aGk="), "as JSON"},
		"too deep":                 {front(ok + "a: " + strings.Repeat("[", 40) + strings.Repeat("]", 40)), "nested deeper"},
		"too many files":           {many, "more than 512 files"},
		"too large":                {map[string]string{"refunds/SKILL.md": refunds, "refunds/a": strings.Repeat("x", maxBytes)}, "more than 16777216 bytes"},
		"one huge file":            {map[string]string{"refunds/SKILL.md": refunds, "refunds/a": strings.Repeat("x", maxBytes+1)}, "more than 16777216 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, tt.files)
			put(t, dir, "good/SKILL.md", strings.ReplaceAll(refunds, "refunds", "good"))
			l, log := open(t, dir)
			require.Equal(t, []string{"skill://good/SKILL.md"}, uris(l.current()))
			require.Contains(t, log.String(), tt.fault)
		})
	}
	l, log := open(t, folder(t, map[string]string{"SKILL.md": refunds}))
	require.Empty(t, l.current().skills)
	require.Contains(t, log.String(), "is a skill itself")
}

// A name that only some systems can have.
func TestStrangeNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a\nb", "a\\b", "a\xffb"} {
		dir := folder(t, map[string]string{"refunds/SKILL.md": refunds})
		if err := os.WriteFile(filepath.Join(dir, "refunds", name), nil, 0o600); err != nil {
			continue // this system cannot
		}
		l, log := open(t, dir)
		require.Empty(t, l.current().skills, "%q", name)
		require.Contains(t, log.String(), "every system")
	}
}

// The folder is looked at again, and what is wrong is said once.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := folder(t, map[string]string{"refunds/SKILL.md": refunds, "bad/SKILL.md": "x"})
		l, log := open(t, dir)
		first := l.current()
		require.Same(t, first, l.current(), "not at once")
		put(t, dir, "refunds/new.md", "new")
		put(t, dir, "refunds/SKILL.md", refunds+"\nMore.\n")
		time.Sleep(refresh)
		second := l.current()
		require.Len(t, second.files, 2)
		require.NotEqual(t, first.files["skill://refunds/SKILL.md"].digest, second.files["skill://refunds/SKILL.md"].digest)
		require.Equal(t, 1, strings.Count(log.String(), "skill_not_served"))

		require.NoError(t, os.RemoveAll(filepath.Join(dir, "refunds")))
		put(t, dir, "bad/SKILL.md", "---\n")
		time.Sleep(refresh)
		require.Empty(t, l.current().skills)
		require.Equal(t, 2, strings.Count(log.String(), "skill_not_served"))
		require.NoError(t, os.RemoveAll(dir))
		time.Sleep(refresh)
		require.Empty(t, l.current().skills)
	})
}

// Front matter means the same as JSON.
func TestFrontMatter(t *testing.T) {
	t.Parallel()
	raw, err := toJSON([]byte("name: a\nt: 2026-01-01\nn: 010\nx: 0x1F\nf: 1.50\nyes: yes\nb: true\nz: ~\nl: [1, [], {}]\nm:\n  k: \"1\"\n  \"x y\": |\n    two\n    lines\n"))
	require.NoError(t, err)
	require.Contains(t, string(raw), `{"name":"a","t":"2026-01-01"`, "in the order of the file")
	require.JSONEq(t, `{"name":"a","t":"2026-01-01","n":8,"x":31,"f":1.5,"yes":"yes","b":true,"z":null,"l":[1,[],{}],"m":{"k":"1","x y":"two\nlines\n"}}`, string(raw))
}

func FuzzFrontMatter(f *testing.F) {
	for _, seed := range []string{refunds, "---\n---\n", "---\na: *b\n---\n", "---\n- [x, {y: 1.0}]\n---\n", "\uFEFF---\r\nname: a\r\n---\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		front, err := frontMatter(text)
		if err != nil {
			return
		}
		raw, err := toJSON(front)
		if err == nil && !json.Valid(raw) {
			t.Fatalf("%q became %q", front, raw)
		}
	})
}

// The samples are good, and the first has a folder: somebody may look for one.
func TestSamples(t *testing.T) {
	t.Parallel()
	f, err := New(Options{})
	require.NoError(t, err)
	require.NoError(t, f.Close(t.Context()))
	sub, err := fs.Sub(sample, "sample")
	require.NoError(t, err)
	log := &bytes.Buffer{}
	l := &library{fsys: sub, fixed: true, log: slog.New(slog.NewTextHandler(log, nil))}
	c := l.current()
	require.Empty(t, log.String())
	require.Len(t, c.skills, 2)
	require.NotEmpty(t, c.folders["skill://"+path.Join(c.skills[0].dir, "templates")])

	_, err = New(Options{Dir: filepath.Join(t.TempDir(), "not-there")})
	require.ErrorContains(t, err, "the folder of skills")
}

// connect serves a folder in memory to a go-sdk client.
func connect(t *testing.T, dir, version string) *mcp.ClientSession {
	t.Helper()
	f, err := New(Options{Dir: dir, Private: true})
	require.NoError(t, err)
	opts := &mcp.ServerOptions{}
	f.Configure(opts)
	srv := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, opts)
	f.Register(srv)
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	for _, method := range f.Extends {
		require.NoError(t, mcp.AddSendingCustomMethod[*params, *answer](client, method))
	}
	near, far := mcp.NewInMemoryTransports()
	ss, err := srv.Connect(t.Context(), far, nil)
	require.NoError(t, err)
	session, err := client.Connect(t.Context(), near, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, session.Close())
		_ = ss.Wait() // the client has gone: whatever the reason, it ends
		require.NoError(t, f.Close(t.Context()))
	})
	return session
}

// answer is what the tests read of any of the results.
type answer struct {
	mcp.ResultBase
	ResultType string          `json:"resultType"`
	Skills     []entry         `json:"skills"`
	NextCursor string          `json:"nextCursor"`
	TTLMs      *int            `json:"ttlMs"`
	CacheScope string          `json:"cacheScope"`
	Skill      *entry          `json:"skill"`
	Resources  []*mcp.Resource `json:"resources"`
}

func ask(t *testing.T, s *mcp.ClientSession, method string, p *params) (*answer, error) {
	t.Helper()
	return mcp.CallCustomMethod[*params, *answer](t.Context(), s, method, p)
}

// Pages, in both eras.
func TestMethods(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range pageSize + 50 {
		name := fmt.Sprintf("s%03d", i)
		files[name+"/SKILL.md"] = strings.ReplaceAll(refunds, "refunds", name)
	}
	dir := folder(t, files)
	for version, kind := range map[string]string{"2025-11-25": "", "2026-07-28": "complete"} {
		s := connect(t, dir, version)
		first, err := ask(t, s, methodList, &params{})
		require.NoError(t, err)
		require.Len(t, first.Skills, pageSize)
		require.Equal(t, kind, first.ResultType)
		require.Equal(t, "private", first.CacheScope)
		require.NotNil(t, first.TTLMs)
		second, err := ask(t, s, methodList, &params{Cursor: first.NextCursor})
		require.NoError(t, err)
		require.Len(t, second.Skills, 50)
		require.Empty(t, second.NextCursor)
		require.NotEqual(t, first.Skills[pageSize-1].URI, second.Skills[0].URI)
		for _, cursor := range []string{"!", "YQ", strings.Repeat("x", 1<<20)} {
			_, err = ask(t, s, methodList, &params{Cursor: cursor})
			require.ErrorContains(t, err, "not one of this server")
		}

		uri := second.Skills[0].URI
		got, err := ask(t, s, methodGet, &params{URI: uri})
		require.NoError(t, err)
		require.Equal(t, second.Skills[0], *got.Skill)
		_, err = ask(t, s, methodGet, &params{URI: "skill://s001"})
		require.ErrorContains(t, err, "no skill is served there")
		for _, at := range []string{"skill://s001", "skill://s001/"} {
			in, err := ask(t, s, methodDirectory, &params{URI: at})
			require.NoError(t, err)
			require.Len(t, in.Resources, 1)
		}
		for _, at := range []string{"", uri, "skill://", "skill://nope", "skill://s001/.."} {
			_, err = ask(t, s, methodDirectory, &params{URI: at})
			require.ErrorContains(t, err, "not the folder of a skill", at)
		}
		_, err = ask(t, s, methodDirectory, &params{URI: "skill://s001", Cursor: "x"})
		require.ErrorContains(t, err, "not one of this server")

		list, err := s.ListResources(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, list.Resources, pageSize+50)
		require.Equal(t, "text/markdown", list.Resources[0].MIMEType)
		read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		require.NoError(t, err)
		require.Contains(t, read.Contents[0].Text, "# ")
		_, err = s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://s001/../../etc/passwd"})
		require.ErrorContains(t, err, "not found")
	}
}
