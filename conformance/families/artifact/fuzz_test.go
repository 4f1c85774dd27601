package artifact

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// Whatever tasks a caller sends, they are refused by the family's own error or
// are complete.
func FuzzTasks(f *testing.F) {
	f.Add(`[{"artifact_id":"HLS-012","generator":"hls-generator","task_id":"x","inputs":[{"name":"prd","classification":"mandatory",` +
		`"artifact_type":"prd","artifact_id":"PRD-006","resource_path":"artifacts/prds/PRD-006_v1.md","resource_uri":"mcp://resources/x","status":"Approved"}]}]`)
	f.Add(`[{"artifact_id":"HLS-012","parent_id":null}]`)
	f.Add(`[null]`)
	f.Add(`[{"inputs":[[]]}]`)
	f.Fuzz(func(t *testing.T, raw string) {
		tasks, err := parseTasks([]byte(raw))
		if err != nil {
			var failure *family.Error
			require.ErrorAs(t, err, &failure)
			require.Equal(t, int64(codeInvalidParams), failure.Code)
			return
		}
		require.NotEmpty(t, tasks)
		for _, task := range tasks {
			require.Contains(t, taskStatuses, task.Status)
			require.NotEmpty(t, task.TaskID)
			for _, in := range task.Inputs {
				require.NotEmpty(t, in.MCPResourceURI)
				require.NotContains(t, in.ResourcePath, "\x00")
			}
		}
	})
}

// Whatever an intent file says, it is refused or names files of its artifact
// below the base.
func FuzzIntent(f *testing.F) {
	f.Add(`{"stage":"sending","artifact_id":"PRD-006","version":1,"dir":"prds","saved":{"document":"eA=="},"approved":{"document":"eQ=="}}`)
	f.Add(`{"stage":"prepared","artifact_id":"PRD-006","version":1,"dir":"..","saved":{"document":"eA=="},"approved":{"document":"eQ=="}}`)
	f.Fuzz(func(t *testing.T, text string) {
		base := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(base, stateDir), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(base, intentFile("PRD-006")), []byte(text), 0o600))
		root, err := openQuick(base)
		require.NoError(t, err)
		defer func() { require.NoError(t, root.Close()) }()
		it, err := readIntent(root, "PRD-006")
		if err != nil {
			return
		}
		p, err := it.where()
		require.NoError(t, err)
		require.Regexp(t, `^prds?/PRD-006_v[1-9][0-9]{0,2}\.md$`, p.document())
		require.NoError(t, root.MkdirAll(p.Dir, 0o755))
		require.NoError(t, it.restoreSaved(root))
		require.NoError(t, it.writeApproved(root))
	})
}

// A path of a document is one, and leads nowhere else.
func FuzzPlace(f *testing.F) {
	f.Add("prds", "PRD-006_v3.md")
	f.Add("prd", "PRD-006_v3_metadata.json")
	f.Add("../prds", "PRD-006_v3.md/..")
	f.Fuzz(func(t *testing.T, dir, file string) {
		p, ok := parsePlace(dir, file)
		if !ok {
			return
		}
		require.Equal(t, dir+"/"+file, p.document())
		require.False(t, traverses(dir) || traverses(file))
		require.True(t, strings.HasPrefix(p.uri(), resourceRoot+p.Type.Plural+"/"))
		again, ok := parsePlace(p.Type.Plural, strings.TrimPrefix(p.uri(), resourceRoot+p.Type.Plural+"/"))
		require.True(t, ok)
		require.Equal(t, p.ID, again.ID)
		require.Equal(t, p.Version, again.Version)
	})
}

// Headings, fences and keys are what these expressions say, and comments become
// as many blanks.
func FuzzLines(f *testing.F) {
	heading := regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$`)
	fence := regexp.MustCompile("^ {0,3}(```+|~~~+)")
	keys := []*regexp.Regexp{
		regexp.MustCompile(`^[ \t]*(?:[-*+][ \t]+)?\*\*([A-Za-z][A-Za-z -]*?) *(?::\*\*|\*\*[ \t]*:)[ \t]*(.*)$`),
		regexp.MustCompile(`^[ \t]*(?:[-*+][ \t]+)?__([A-Za-z][A-Za-z -]*?) *(?::__|__[ \t]*:)[ \t]*(.*)$`),
		regexp.MustCompile(`^[ \t]*[-*+][ \t]+([A-Za-z][A-Za-z -]*?)[ \t]*:[ \t]*(.*)$`),
	}
	for _, l := range []string{
		"## 3. Risks ##", "#x", "   ### a # b #", "    # no", "####### seven", "# #", "## ", "```go", "~~~~", "``", "- **Key:** v", "**Key**: v",
		"+ **Parent High-Level Story** :  x", "* **a :**b", "- a : b", "__a:__ b", "- __a__ : b", "a: b", "-- **a:** b", "**1:** b", "a <!-- b --> c", "<!-- `<!--` -->", "`<!--` -->",
	} {
		f.Add(l)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, _, _ := strings.Cut(text, "\n")
		level, name := parseHeading(l)
		if m := heading.FindStringSubmatch(l); m != nil && strings.Trim(m[2], " \t") != "" {
			require.Equal(t, len(m[1]), level)
			require.Equal(t, strings.Trim(m[2], " \t#"), strings.Trim(name, " \t#"))
		} else {
			require.Zero(t, level)
		}
		mark := ""
		if m := fence.FindStringSubmatch(l); m != nil {
			mark = m[1]
		}
		require.Equal(t, mark, parseFence(l))
		got, from := parseKey(l)
		var m []int
		for _, key := range keys {
			if m == nil {
				m = key.FindStringSubmatchIndex(l)
			}
		}
		if m != nil {
			require.Equal(t, strings.ToLower(l[m[2]:m[3]]), got)
			require.Equal(t, m[4], from)
		} else {
			require.Empty(t, got)
		}
		body := withoutComments(text)
		require.Len(t, body, len(text))
		for i := range len(text) {
			if body[i] != text[i] {
				require.Equal(t, byte(' '), body[i])
			}
		}
		d := newDocument(text, "PRD-006")
		for _, s := range d.sections {
			require.LessOrEqual(t, s.line, strings.Count(text, "\n")+1)
		}
	})
}
