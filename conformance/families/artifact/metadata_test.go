package artifact

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

func quiet() *family.Call {
	return family.NewCall("store_artifact", nil, slog.New(slog.DiscardHandler))
}

func TestMetadataFields(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       map[string]string
	}{
		{
			"S0's example", "## Metadata\n**Story ID:** EPIC-006\n**Title:** \"MCP Server Integration\"\n**Status:** \"Draft\"\n**Parent PRD:** PRD-006\n",
			map[string]string{"artifact_id": "EPIC-006", "title": "MCP Server Integration", "status": "Draft", "parent": "PRD-006"},
		},
		{
			"list, colon outside, CRLF", "## Metadata\r\n- **HLS ID**: HLS-012\r\n* **Version** : 3\r\n",
			map[string]string{"artifact_id": "HLS-012", "version": "3"},
		},
		{
			"parenthesis", "## Metadata\n**Status:** Draft (v3)\n**Title:** \"A (b)\" (working title)\n**Version:** 2 (draft)",
			map[string]string{"status": "Draft", "title": "A (b)", "version": "2"},
		},
		{"title without quotes keeps its own", "## Metadata\n**Title:** Billing (Phase 2)", map[string]string{"title": "Billing (Phase 2)"}},
		{"the first counts", "## Metadata\n**Epic ID:** EPIC-001\n**Story ID:** EPIC-002", map[string]string{"artifact_id": "EPIC-001"}},
		{"parent is no id", "## Metadata\n**Parent PRD ID:** PRD-001\n**US ID:** US-002", map[string]string{"parent": "PRD-001", "artifact_id": "US-002"}},
		{"subsections belong", "## 1. Metadata\n### Ids\n**Epic ID:** EPIC-001\n## Next\n**Status:** Draft", map[string]string{"artifact_id": "EPIC-001"}},
		{"other sections do not count", "**Epic ID:** EPIC-001\n## Other\n**Status:** Draft\n# Metadata\n**Version:** 1", map[string]string{}},
		{"fenced code does not count", "## Metadata\n```\n**Epic ID:** EPIC-001\n```\n**Status:** Draft", map[string]string{"status": "Draft"}},
		{
			"not bold in a list, and bold by underscores", "## Metadata\n- Epic ID: EPIC-006\n* __Title:__ The title\n__Status__: Draft\nVersion: 3\n- a sentence, then: more\n",
			map[string]string{"artifact_id": "EPIC-006", "title": "The title", "status": "Draft"},
		},
		{"empty is absent", "## Metadata\n**Title:**\n**Status:** \"\"\n**Version:**   ", map[string]string{}},
		{"typographic quotes and code", "## Metadata\n**Title:** “Quoted”\n**Epic ID:** `EPIC-001`", map[string]string{"title": "Quoted", "artifact_id": "EPIC-001"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, metadataFields(tc.text))
		})
	}
}

func TestBadMetadata(t *testing.T) {
	t.Parallel()
	id, title, status := "**Epic ID:** EPIC-006", "**Title:** Some title", "**Status:** Draft"
	for _, tc := range []struct {
		name    string
		lines   []string
		field   string
		message string
	}{
		{"id form", []string{"**Epic ID:** epic-6", title, status}, "artifact_id", `Invalid params: artifact_id must be a prefix in capitals, a hyphen and at least three digits, such as EPIC-006, and have at most 64 characters (line 5)`},
		{"id placeholder", []string{"**HLS ID:** HLS-AAA", title, status}, "artifact_id", `Invalid params: artifact_id must be a prefix in capitals, a hyphen and at least three digits, such as EPIC-006, and have at most 64 characters (line 5)`},
		{"id length", []string{"**Epic ID:** EPIC-" + strings.Repeat("0", 60), title, status}, "artifact_id", `Invalid params: artifact_id must be a prefix in capitals, a hyphen and at least three digits, such as EPIC-006, and have at most 64 characters (line 5)`},
		{"prefix", []string{"**Epic ID:** FOO-001", title, status}, "artifact_id", "Invalid params: Unknown artifact ID prefix: FOO. Valid prefixes: EPIC, PRD, HLS, US, SPEC, ADR, SPIKE, TASK, VIS, INIT (line 5)"},
		{"status", []string{id, title, "**Status:** Finalized"}, "status", "Invalid params: Invalid metadata field: status must be one of Draft, In Review, Approved, Planned, In Progress, Completed (line 7)"},
		{"title short", []string{id, "**Title:** Four", status}, "title", `Invalid params: Invalid metadata field: title must be 5 to 200 characters (line 6)`},
		{"title long", []string{id, "**Title:** " + strings.Repeat("é", 201), status}, "title", `Invalid params: Invalid metadata field: title must be 5 to 200 characters (line 6)`},
		{"parent form", []string{id, title, status, "**Parent PRD:** the first"}, "parent_id", `Invalid params: Invalid metadata field: parent_id must be a prefix in capitals, a hyphen and at least three digits, such as EPIC-006 (line 8)`},
		{"parent prefix", []string{id, title, status, "**Parent PRD:** FOO-001"}, "parent_id", "Invalid params: Invalid metadata field: parent_id has an unknown prefix (line 8)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			_, failure := r.put(t, doc(tc.lines...))
			require.NotNil(t, failure)
			require.Equal(t, int64(-32602), failure.Code)
			require.Equal(t, tc.message, failure.Message)
			require.Equal(t, tc.field, failure.Data["field"])
			line := strings.Split(doc(tc.lines...), "\n")[failure.Data["line"].(int)-1]
			require.Contains(t, line, strings.TrimSuffix(failure.Data["value"].(string), "…"))
			require.Empty(t, r.tree(t))
		})
	}
	_, failure := newRig(t).put(t, doc(id, "**Title:** "+strings.Repeat("é", 200), status))
	require.Nil(t, failure, "the boundary is accepted")
}

func TestStoreArguments(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, failure := r.put(t, strings.Repeat("é", 99))
	require.Equal(t, "Invalid params: artifact_content must be at least 100 characters", failure.Message)
	_, failure = r.put(t, strings.Repeat("é", 100))
	require.Equal(t, "Invalid params: Missing required metadata field: artifact_id", failure.Message)
	_, failure = r.call(t, "store_artifact", map[string]any{"artifact_content": epic("1", "Draft", "")})
	require.Equal(t, "Invalid params: Missing required argument: task_id", failure.Message)
	require.Empty(t, r.tree(t))
}

// A form that is not read is not called missing without a word on the right one.
func TestStoreSaysHowMetadataAreWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := doc("| Field | Value |", "|---|---|", "| **Epic ID** | EPIC-006 |")
	_, failure := r.put(t, text)
	require.Equal(t, `Invalid params: Missing required metadata field: artifact_id. Write a line such as "- **Epic ID:** EPIC-006"`, failure.Message)
	require.Contains(t, strings.Join(r.failures(t, "EPIC-006", text), "\n"), `Missing required metadata field: artifact_id. Write a line such as "- **Epic ID:** EPIC-006"`)
}

// Some editors put a byte order mark before a document.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := prd(t)
	require.Empty(t, r.failures(t, "PRD-006", "\ufeff"+text))
	stored, failure := r.put(t, "\ufeff"+text)
	require.Nil(t, failure)
	data, err := os.ReadFile(stored.StoragePath)
	require.NoError(t, err)
	require.Equal(t, text, string(data))
}

// Whatever the document says, accepted metadata name a file of their own folder.
func FuzzMetadata(f *testing.F) {
	f.Add(epic("1", "Draft", ""))
	f.Add("## Metadata\n**Epic ID:** ../../x\n**Title:** \"t\n**Status:** Draft (\n")
	f.Add("## Metadata\n```\n**X ID:**")
	f.Add("##  **1. Metadata** ##\n- **Parent**: —\n**Version:** v0007")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseMetadata(t.Context(), quiet(), text)
		if err != nil {
			_, ok := err.(*family.Error)
			require.True(t, ok, "%T: %v", err, err)
			return
		}
		p := place{Type: m.Type, ID: m.ID, Version: m.Version, Dir: m.Type.Name}
		document, meta := p.document(), p.metadata()
		require.Regexp(t, `^[a-z_]+/[A-Z]+-[0-9]{3,}_v[1-9][0-9]{0,2}\.md$`, document)
		require.Regexp(t, `^[a-z_]+/[A-Z]+-[0-9]{3,}_v[1-9][0-9]{0,2}_metadata\.json$`, meta)
		require.NotEmpty(t, m.Title)
		require.Contains(t, statuses, m.Status)
	})
}
