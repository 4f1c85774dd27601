package task

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/adr"
)

const uid adr.UID = "20250108T143512.237Z-T001"

func sample() *Task {
	return &Task{
		UID: uid, Created: time.Date(2025, 1, 8, 14, 35, 12, 0, time.UTC), Title: "Fix typo", Objective: "Fix typo\n# in a heading",
		Allowlist: []string{"src/login.ts"}, Forbidden: []string{"docs/adr/**"}, Acceptance: []string{"It reads\nLog in"},
	}
}

func TestFormat_Layout(t *testing.T) {
	t.Parallel()
	require.Equal(t, `<!--
UID: 20250108T143512.237Z-T001
Created: 2025-01-08T14:35:12Z
Related ADR: None
-->

# Fix typo

## Objective

Fix typo
\# in a heading

## Context

None

## Allowlist

- src/login.ts

## Forbidden

- docs/adr/**

## Technical Constraints

None

## Acceptance Criteria

- [ ] It reads Log in
`, sample().Format())
	id, err := ParseIdentity(sample().Format())
	require.NoError(t, err)
	require.Equal(t, Identity{uid, "Fix typo"}, id)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	require.NoError(t, sample().Check())
	for name, spoil := range map[string]func(*Task){
		"uid":        func(t *Task) { t.UID = "x" },
		"title":      func(t *Task) { t.Title = "\n" },
		"allowlist":  func(t *Task) { t.Allowlist = nil },
		"acceptance": func(t *Task) { t.Acceptance = nil },
		"overlap":    func(t *Task) { t.Allowlist = []string{"docs/**"} },
		"inside":     func(t *Task) { t.Allowlist = []string{"docs/adr/x.md"} },
		"everything": func(t *Task) { t.Allowlist = []string{"."} },
	} {
		broken := sample()
		spoil(broken)
		require.Error(t, broken.Check(), name)
	}
	some := sample()
	some.Allow("docs/adr/x.md", "docs/adrenalin.md", "src/**")
	require.Equal(t, []string{"src/login.ts", "docs/adrenalin.md", "src/**"}, some.Allowlist)
}

func TestParseIdentity_Malformed(t *testing.T) {
	t.Parallel()
	text := sample().Format()
	for name, broken := range map[string]string{
		"empty": "", "no comment": text[5:], "no end": text[:20], "no UID": strings.Replace(text, "UID: ", "", 1),
		"bad UID": strings.Replace(text, "UID: 2", "UID: x", 1), "no title": strings.Replace(text, "# Fix typo\n", "", 1)[:200],
	} {
		_, err := ParseIdentity(broken)
		require.Error(t, err, name)
	}
	for _, fine := range []string{"\uFEFF" + text, "\n\n" + strings.ReplaceAll(text, "\n", "\r\n"), text + "anything <!-- UID: x -->"} {
		id, err := ParseIdentity(fine)
		require.NoError(t, err)
		require.Equal(t, uid, id.UID)
	}
}

// FuzzParseIdentity: nothing panics, and what is read makes a file name.
func FuzzParseIdentity(f *testing.F) {
	f.Add(sample().Format())
	f.Add("<!-- UID: " + string(uid) + " -->\n# x")
	f.Add("<!--\nUID:" + string(uid) + "\n-->#")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseIdentity(text)
		if err != nil {
			return
		}
		require.True(t, id.UID.Valid())
		back, ok := adr.FileUID(adr.FileName(id.UID, id.Title))
		require.True(t, ok)
		require.Equal(t, id.UID, back)
		require.NotContains(t, adr.FileName(id.UID, id.Title), "/")
	})
}
