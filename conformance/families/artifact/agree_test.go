package artifact

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// filler is text that satisfies every checklist, in any section.
const filler = `As a user, I want one place for documents, so that I find them.

- FR-01 (Must, for G-01): store a document. Given a draft, When it is stored, Then it has a place.
- NFR-01: an answer within 200 ms. The baseline is 400 ms, the target 200 ms. Time Box: 2 days.
`

// sampleParents are the lines that name the parents, where a checklist asks.
func sampleParents() map[string]string {
	return map[string]string{
		"EPIC": "**Parent Initiative:** INIT-001", "PRD": "**Parent Epic:** EPIC-006", "HLS": "**Parent PRD:** PRD-006",
		"US": "**Parent High-Level Story:** HLS-012 (Stores documents)", "SPEC": "**Parent Story:** US-040", "TASK": "**Parent Story:** US-040",
	}
}

// sampleOf is a document of a type that its checklist passes, with the given
// lines of metadata.
func sampleOf(t testing.TB, kind artifactType, metadata ...string) string {
	t.Helper()
	list, err := newChecklists(resources("")).get(t.Context(), time.Now(), kind)
	require.NoError(t, err)
	var b strings.Builder
	fmt.Fprintf(&b, "# %s-006: A document\n\n## Metadata\n\n%s\n", kind.Prefix, strings.Join(metadata, "\n"))
	for _, c := range list.Criteria {
		for _, name := range c.RequiredSections {
			if name != "Metadata" {
				fmt.Fprintf(&b, "\n## %s\n\n%s", name, filler)
			}
		}
	}
	b.WriteString("\n## Related Documents\n\nEPIC-006 and ")
	for _, name := range children(kind) {
		if c, ok := typeNamed(name); ok {
			fmt.Fprintf(&b, "%s-AAA ", c.Prefix)
		}
	}
	b.WriteString("\n\n```json\n{}\n```\n")
	return b.String()
}

// metadataOf are good lines of metadata.
func metadataOf(kind artifactType) []string {
	return []string{
		"- **" + kind.Prefix + " ID:** " + kind.Prefix + "-006", "- **Title:** A document", "- **Status:** Draft", "- **Version:** 1",
		"- **Created:** 2025-10-20", "- **Owner:** the team", "- **Priority:** High", "- **Estimate:** 5 SP", "- " + sampleParents()[kind.Prefix],
	}
}

func (r *rig) failures(t *testing.T, id, text string) (out []string) {
	t.Helper()
	res, failure := r.validate(t, id, text)
	require.Nil(t, failure)
	for _, c := range res.Results {
		if c.Passed != nil && !*c.Passed {
			out = append(out, c.ID+": "+c.Details)
		}
	}
	require.Equal(t, len(out) == 0, res.Passed)
	return out
}

// Of every type a good document passes, and one of headings alone, one with
// another id, and an empty one do not.
func TestChecklistsOfAllTypes(t *testing.T) {
	t.Parallel()
	for _, kind := range types {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			id := kind.Prefix + "-006"
			good := sampleOf(t, kind, metadataOf(kind)...)
			require.Empty(t, r.failures(t, id, good))
			_, failure := r.put(t, good)
			require.Nil(t, failure)

			var headings []string
			for l := range strings.Lines(good) {
				if level, _ := parseHeading(strings.TrimSpace(l)); level > 0 || strings.HasPrefix(l, "- **") && strings.Contains(l, ":** ") {
					headings = append(headings, l)
				}
			}
			bare := strings.Join(headings, "\n")
			require.Contains(t, strings.Join(r.failures(t, id, bare), "\n"), "CQ-01: Sections that say nothing: ")
			for _, hollow := range []string{"x", "TBD", "- xxx", "| x | - |", "Lorem ipsum.", "foo", "Coming soon", "待定", "&nbsp;", "![flow](flow.png)"} {
				filled := strings.ReplaceAll(good, filler, hollow+"\n")
				require.Contains(t, strings.Join(r.failures(t, id, filled), "\n"), "CQ-01: Sections that say nothing: ", hollow)
			}

			other := r.failures(t, kind.Prefix+"-007", good)
			require.Len(t, other, 2)
			require.Equal(t, "CQ-02: Line 1: the first heading names "+id+", and "+kind.Prefix+"-007 was asked for", other[0])
			require.Equal(t, "UT-01: Line 5: the Metadata section names "+id+", and "+kind.Prefix+"-007 was asked for", other[1])

			for _, details := range append(r.failures(t, id, "nothing"), r.failures(t, id, bare)...) {
				require.NotRegexp(t, `\\[bdsSw]|\(\?|\{\d`, details, "a sentence, and no pattern")
			}
		})
	}
}

func TestExampleInitiativePasses(t *testing.T) {
	t.Parallel()
	require.Empty(t, newRig(t).failures(t, "INIT-001", example(t, "init-001.json")))
}

// What validate_artifact accepts of the metadata, store_artifact accepts, and the
// other way round: they are read once.
func TestValidateAndStoreAgree(t *testing.T) {
	t.Parallel()
	changes := map[string][]string{
		"Version": {"1", "3", "1.0", "v2", "v2.0", "999", "0", "1000", "1.5", "one", "-1", "", `"4"`, "2 (draft)", "1.0.0", "00"},
		"Title": {
			"Five!", "Four", strings.Repeat("x", 200), strings.Repeat("x", 201), strings.Repeat("é", 300), strings.Repeat("é", 200), `"Quoted title"`, `"ab"`, "", "   ",
		},
		"Status": {"Draft", `"Draft"`, "draft", "Approved", "In Review", "Draft (v3)", "Drafty", "Finalized", "", "`Draft`"},
		"ID":     {"X-1", "lower-006", "KIND-006", "KIND-06", "`KIND-006`", "", "KIND-006 and more"},
	}
	styles := []string{"**%s:** %s", "**%s**: %s", "- **%s:** %s", "* **%s**: %s", "+ **%s** : %s", "  - **%s:**%s", "**%s :** %s", "__%s:__ %s", "%s: %s", "- **%s** %s"}
	for _, kind := range types {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			checked, accepted := 0, 0
			agree := func(lines []string) {
				text := strings.ReplaceAll(sampleOf(t, kind, lines...), "-AAA", "-001") // of any status
				failures := r.failures(t, kind.Prefix+"-006", text)
				_, failure := r.put(t, text)
				if checked++; failure == nil {
					accepted++
					require.Empty(t, failures, "%q", lines)
				} else {
					require.NotEmpty(t, failures, "%s: %q", failure.Message, lines)
				}
			}
			for key, values := range changes {
				for i, l := range metadataOf(kind) {
					if !strings.Contains(l, key+":** ") {
						continue
					}
					name, _, _ := strings.Cut(strings.TrimPrefix(l, "- **"), ":**")
					for _, v := range values {
						v = strings.ReplaceAll(v, "KIND", kind.Prefix)
						if strings.Contains(v, "Approved") {
							continue // nothing is stored over it
						}
						lines := metadataOf(kind)
						lines[i] = "- **" + name + ":** " + v
						agree(lines)
					}
					for _, style := range styles {
						lines := metadataOf(kind)
						lines[i] = fmt.Sprintf(style, name, strings.SplitN(l, ":** ", 2)[1])
						agree(lines)
					}
					lines := metadataOf(kind)
					agree(append(lines[:i:i], lines[i+1:]...))
				}
			}
			require.Positive(t, accepted)
			require.Greater(t, checked, accepted)
		})
	}
}

// A failure says what is missing and where.
func TestFailuresAreSentences(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good := prd(t)
	for _, tc := range []struct{ from, to, want string }{
		{"- **Version:** 1", "- **Version:** 1.5", `CC-02: Line 8: Invalid metadata field: version must be a whole number from 1 to 999, not "1.5"`},
		{"- **Status:** \"Draft\"", "- **Status:** \"Done\"", `CC-01: Line 7: Invalid metadata field: status must be one of Draft, In Review, Approved, Planned, In Progress, Completed, not "Done"`},
		{"- **Parent Epic:** EPIC-006\n", "", `UT-02: The Metadata section (line 3) names no parent: add "**Parent Epic:** EPIC-NNN"`},
		{"- **Parent Epic:** EPIC-006", "- **Parent Epic:** HLS-006", `UT-02: Line 9: the parent is "HLS-006", and must be an epic`},
		{"# PRD-006: ", "# The PRD: ", `CQ-02: Line 1: the first heading must read "# PRD-006: title"`},
		{"G-0", "Goal ", `CQ-04: No goal is numbered as G-01, G-02 and so on (section "Goals", line `},
		{"## Metadata", "## Meta", `UT-01: There is no section "## Metadata"`},
	} {
		require.Contains(t, good, tc.from)
		require.Contains(t, strings.Join(r.failures(t, "PRD-006", strings.ReplaceAll(good, tc.from, tc.to)), "\n"), tc.want)
	}
	// A draft says what its approval would.
	require.Contains(t, strings.Join(r.failures(t, "PRD-006", good+"\nSee HLS-API.\n"), "\n"), "HLS-API (line ")
	require.Empty(t, r.failures(t, "PRD-006", good+"\nSee `HLS-API` and US-EPA.\n"))
}
