package skills_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/skills"
)

func cursorOf(t *testing.T, call *clienttest.Call) string {
	t.Helper()
	var params struct {
		Cursor string `json:"cursor"`
	}
	require.NoError(t, json.Unmarshal(call.Params, &params))
	return params.Cursor
}

// Content that differs from the entry is never returned.
func TestContentThatDiffers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, content string
		fault         skills.Fault
		says          string
	}{
		{"other text of the same size", strings.Replace(refundsMD, "Use", "Eat", 1), skills.FaultDigest, "another digest"},
		{"longer", refundsMD + "more", skills.FaultSize, "the entry says"},
		{"shorter", refundsMD[:len(refundsMD)-1], skills.FaultSize, "the entry says"},
		{"other line ends", strings.ReplaceAll(refundsMD, "\n", "\r\n"), skills.FaultSize, "the entry says"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, refunds())
			h.content[refundsURI] = tt.content
			d, err := h.listed(t).Load(t.Context())
			requireFault(t, err, tt.fault, tt.says)
			require.Nil(t, d)
		})
	}
}

// SKILL.md with the digest of the entry, and front matter that differs from it.
func TestFrontMatterThatDiffers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, says string }{
		{"another description", strings.Replace(refundsMD, "Process", "Steal", 1), `"description" of the front matter differs`},
		{"a field more", strings.Replace(refundsMD, "metadata", "allowed-tools: Bash\nmetadata", 1), `lacks the field "allowed-tools"`},
		{"a field less", strings.Replace(refundsMD, "metadata:\n  version: \"2.1\"\n", "", 1), `lacks the field "metadata" of the entry`},
		{"a nested field", strings.Replace(refundsMD, "2.1", "2.2", 1), `"metadata.version"`},
		{"no front matter", "# Refunds\n", "does not begin"},
		{"no end", "---\nname: refunds\n", "does not end"},
		{"no YAML", "---\n\tname: [\n---\n", "not valid YAML"},
		{"nothing", "---\n---\n", "is empty"},
		{"not a mapping", "---\n- a\n---\n", "not a mapping"},
		{"bytes", "---\nname: \xff\n---\n", "not UTF-8"},
		{"too much", "---\nname: " + strings.Repeat("x", 65<<10) + "\n---\n", "more than 64 KiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			entry := refunds()
			entry["resources"] = []any{file(refundsURI, tt.text)}
			h := newHost(t, entry)
			h.content[refundsURI] = tt.text
			if strings.Contains(tt.text, "\xff") {
				h.On("resources/read", blob(refundsURI, "LS0tCm5hbWU6IP8KLS0tCg=="))
			}
			s := h.listed(t)
			_, err := s.Load(t.Context())
			requireFault(t, err, skills.FaultFrontMatter, tt.says)
			_, err = s.ReadFile(t.Context(), refundsURI)
			requireFault(t, err, skills.FaultFrontMatter, tt.says)
		})
	}
}

func blob(uri, base64 string) clienttest.Handler {
	return func(*clienttest.Call) (any, error) {
		return object{"contents": []any{object{"uri": uri, "blob": base64}}}, nil
	}
}

// A file that the entry does not list is not requested.
func TestUnlistedFiles(t *testing.T) {
	t.Parallel()
	h := newHost(t, refunds())
	s := h.listed(t)
	for _, name := range []string{
		"", ".", "/", "forms", "new.md", "skill.md", "../refunds/SKILL.md", "skill://acme/refunds/new.md", "skill://acme/payouts/SKILL.md",
		"file:///etc/passwd", "forms/a%20b.md", "a\x00",
	} {
		_, err := s.ReadFile(t.Context(), name)
		requireFault(t, err, skills.FaultUnlisted, "does not list")
	}
	require.Zero(t, h.Count("resources/read"))
}

func TestAnswersWithoutTheFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		contents []any
		says     string
	}{
		{"nothing", []any{}, "does not contain"},
		{"another file", []any{object{"uri": "skill://acme/refunds/a", "text": refundsMD}}, "does not contain"},
		{"neither text nor blob", []any{object{"uri": refundsURI}}, "does not contain"},
		{"no base64", []any{object{"uri": refundsURI, "blob": "?"}}, "base64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, refunds())
			h.On("resources/read", func(*clienttest.Call) (any, error) { return object{"contents": tt.contents}, nil })
			_, err := h.listed(t).Load(t.Context())
			requireFault(t, err, skills.FaultContent, tt.says)
		})
	}
}

func TestDynamic(t *testing.T) {
	t.Parallel()
	entry := refunds()
	entry["resources"] = "dynamic"
	h := newHost(t, entry)
	s := h.listed(t, skills.WithDynamic(), skills.WithLimits(skills.Limits{Bytes: int64(len(refundsMD) + len(formMD))}))
	require.True(t, s.Dynamic)
	_, ok := s.Fingerprint()
	require.False(t, ok, "an approval cannot cover what changes")
	_, err := s.Load(t.Context())
	require.NoError(t, err)
	content, err := s.ReadFile(t.Context(), "forms/a b.md")
	require.NoError(t, err)
	require.Equal(t, formMD, string(content))

	reads := h.Count("resources/read")
	for _, name := range []string{"../payouts/SKILL.md", "..", "", "/etc/passwd", "a\x00"} {
		_, err = s.ReadFile(t.Context(), name)
		requireFault(t, err, skills.FaultURI, "not a path below")
	}
	require.Equal(t, reads, h.Count("resources/read"))

	_, err = s.ReadFile(t.Context(), "logo.png")
	requireFault(t, err, skills.FaultLimit, "have been read")
	reads = h.Count("resources/read")
	_, err = s.Load(t.Context())
	requireFault(t, err, skills.FaultLimit, "have been read")
	require.Equal(t, reads, h.Count("resources/read"), "beyond the limit nothing is asked for")

	h.content[refundsURI] = strings.Replace(refundsMD, "Process", "Steal", 1)
	_, err = h.listed(t, skills.WithDynamic()).Load(t.Context())
	requireFault(t, err, skills.FaultFrontMatter, "description")
}

func TestReadDir(t *testing.T) {
	t.Parallel()
	h := newHost(t, refunds())
	asked := []string{}
	h.On("resources/directory/read", func(call *clienttest.Call) (any, error) {
		asked = append(asked, uriOf(call))
		if cursorOf(t, call) == "" {
			return object{"resources": []any{object{"uri": uriOf(call) + "/a", "name": "a"}}, "nextCursor": "2"}, nil
		}
		return object{"resources": []any{object{"uri": uriOf(call) + "/b", "name": "b", "mimeType": "inode/directory"}}}, nil
	})
	s := h.listed(t)
	for name, uri := range map[string]string{
		"": "skill://acme/refunds", ".": "skill://acme/refunds", "skill://acme/refunds": "skill://acme/refunds",
		"forms": "skill://acme/refunds/forms", "a b/": "skill://acme/refunds/a%20b",
	} {
		asked = nil
		children, err := s.ReadDir(t.Context(), name)
		require.NoError(t, err)
		require.Len(t, children, 2)
		require.Equal(t, []string{uri, uri}, asked)
		require.Equal(t, "inode/directory", children[1].MIMEType)
	}
	_, err := s.ReadFile(t.Context(), "a")
	requireFault(t, err, skills.FaultUnlisted, "does not list")

	asked = nil
	_, err = s.ReadDir(t.Context(), "../payouts")
	requireFault(t, err, skills.FaultURI, "not a path below")
	require.Empty(t, asked)

	for _, child := range []any{object{"uri": "skill://acme/payouts/a", "name": "a"}, object{"uri": "skill://acme/refunds/a/b", "name": "b"}, object{"uri": "skill://acme/refunds/..", "name": "b"}} {
		h.On("resources/directory/read", func(*clienttest.Call) (any, error) { return object{"resources": []any{child}}, nil })
		_, err = s.ReadDir(t.Context(), "")
		requireFault(t, err, skills.FaultURI, "where it is not")
	}
	h.On("resources/directory/read", func(*clienttest.Call) (any, error) { return object{"resources": []any{7}}, nil })
	_, err = s.ReadDir(t.Context(), "")
	requireFault(t, err, skills.FaultList, "not a resource")

	many := make([]any, 513)
	for i := range many {
		many[i] = object{"uri": "skill://acme/refunds/" + string(rune(0x4e00+i)), "name": "x"}
	}
	h.On("resources/directory/read", func(*clienttest.Call) (any, error) { return object{"resources": many}, nil })
	_, err = s.ReadDir(t.Context(), "")
	requireFault(t, err, skills.FaultLimit, "more than 512")
}

// Folders are read only where the server declares it.
func TestReadDirUndeclared(t *testing.T) {
	t.Parallel()
	for _, settings := range []string{`{}`, `{"directoryRead":false}`, `{"directoryRead":"true"}`} {
		h := newHost(t, refunds())
		h.settings = settings
		_, err := h.listed(t).ReadDir(t.Context(), "forms")
		requireFault(t, err, skills.FaultUnsupported, "folders")
		require.Zero(t, h.Count("resources/directory/read"))
	}
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	of := func(change func(entry object)) string {
		entry := refunds()
		change(entry)
		f, ok := newHost(t, entry).listed(t).Fingerprint()
		require.True(t, ok)
		return f
	}
	files := func(e object) []any { return e["resources"].([]any) }
	same := of(func(object) {})
	require.Equal(t, same, of(func(e object) { f := files(e); f[1], f[2] = f[2], f[1] }), "the order says nothing")
	for _, change := range []func(object){
		func(e object) { e["resources"] = files(e)[:2] },
		func(e object) { e["resources"] = append(files(e), file("skill://acme/refunds/new", "x")) },
		func(e object) { files(e)[1].(object)["digest"] = digest("other") },
		func(e object) { files(e)[1].(object)["uri"] = "skill://acme/refunds/renamed" },
	} {
		require.NotEqual(t, same, of(change))
	}
}

// Folders of skills are different, and stay below their root.
func TestFolders(t *testing.T) {
	t.Parallel()
	seen := map[string]skills.ID{}
	for _, id := range []skills.ID{
		{"docs", "skill://acme/refunds/SKILL.md"},
		{"docs", "skill:acme/refunds/SKILL.md"},
		{"docs", "github://acme/refunds/SKILL.md"},
		{"docs/skill", "skill://acme/refunds/SKILL.md"},
		{"other", "skill://acme/refunds/SKILL.md"},
		{"", "skill://acme/refunds/SKILL.md"},
		{"..", "skill://acme/refunds/SKILL.md"},
		{".", "skill://acme/refunds/SKILL.md"},
		{"%", "skill://acme/refunds/SKILL.md"},
		{"%2E", "skill://acme/refunds/SKILL.md"},
		{"https://host/mcp", "skill://acme/refunds/SKILL.md"},
		{"docs", "skill://../SKILL.md"},
		{"docs", "/etc/passwd"},
	} {
		folder := id.Folder()
		require.NotContains(t, seen, folder, "%v and %v", id, seen[folder])
		seen[folder] = id
		require.Regexp(t, `^([A-Za-z0-9._~%-]+/){1,}[A-Za-z0-9._~%-]+$`, folder)
		for segment := range strings.SplitSeq(folder, "/") {
			require.NotEqual(t, ".", segment)
			require.NotEqual(t, "..", segment)
		}
	}
	require.Equal(t, "docs/skill/acme/refunds", skills.ID{Server: "docs", URI: "skill://acme/refunds/SKILL.md"}.Folder())
}
