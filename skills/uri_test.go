package skills

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/doc"
)

func TestRoots(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"skill://git/SKILL.md":                    "git",
		"skill://acme/billing/refunds/SKILL.md":   "acme/billing/refunds",
		"skill:git/SKILL.md":                      "git",
		"github://owner/repo/skills/git/SKILL.md": "owner/repo/skills/git",
		"skill://acme/100%25/SKILL.md":            "acme/100%25",
		"skill://SKILL.md/SKILL.md":               "SKILL.md",
	} {
		root, path, ok := rootOf(uri)
		require.True(t, ok, uri)
		require.Equal(t, want, path)
		require.Equal(t, strings.TrimSuffix(uri, "/SKILL.md"), root)
	}
	for _, uri := range []string{
		"", "SKILL.md", "/SKILL.md", "git/SKILL.md", "skill:", "skill://", "skill://SKILL.md", "skill:///SKILL.md", "skill:////git/SKILL.md", "skill://git/",
		"skill://git//SKILL.md", "skill://./SKILL.md", "skill://%2e%2e/SKILL.md", "skill://a%zz/SKILL.md", "skill://a%2fb/SKILL.md", "skill://a%5cb/SKILL.md",
		"skill://git/SKILL.md#x", "skill://git/SKILL.md?x", "skill://git/skill.md", "1skill://git/SKILL.md", "skill://a\nb/SKILL.md", "skill://\xff/SKILL.md",
	} {
		_, _, ok := rootOf(uri)
		require.False(t, ok, uri)
	}
}

// Any accepted path stays below its folder, on any file system.
func FuzzEntry(f *testing.F) {
	for _, entry := range []string{
		`{"uri":"skill://a/b/SKILL.md","frontmatter":{"name":"b","description":"d"},"resources":[{"uri":"skill://a/b/SKILL.md","digest":"sha256:` +
			strings.Repeat("0", 64) + `","size":1},{"uri":"skill://a/b/c/%41.md","digest":"sha256:` + strings.Repeat("f", 64) + `","size":0}]}`,
		`{"uri":"skill:b/SKILL.md","frontmatter":{"name":"b","description":"d"},"resources":"dynamic"}`,
		`{"uri":"x://../SKILL.md","frontmatter":[],"resources":{"uri":7}}`, `[]`, `null`, `{"resources":[null,{"size":-1.5e99}]}`,
	} {
		f.Add([]byte(entry))
	}
	f.Fuzz(func(t *testing.T, entry []byte) {
		v, err := doc.Parse(entry)
		if err != nil {
			return
		}
		s := &Skill{set: &config{limits: Limits{}.withDefaults(), label: "server", dynamic: true}}
		s.readEntry(v)
		require.True(t, fs.ValidPath(s.ID().Folder()), s.ID().Folder())
		fingerprint, ok := s.Fingerprint()
		require.Equal(t, ok, fingerprint != "")
		if s.Problem() != nil {
			require.NotRegexp(t, `[\x00-\x1f\x7f]`, s.Problem().Error())
			require.Empty(t, s.Files)
			return
		}
		require.True(t, validName(s.Name))
		require.LessOrEqual(t, s.Size(), int64(16<<20))
		seen := false
		for _, file := range s.Files {
			require.True(t, filepath.IsLocal(file.Path) && path.Clean(file.Path) == file.Path, file.Path)
			require.True(t, strings.HasPrefix(file.URI, strings.TrimSuffix(s.URI, "SKILL.md")), file.URI)
			seen = seen || file.URI == s.URI
		}
		require.Equal(t, !s.Dynamic, seen)
	})
}
