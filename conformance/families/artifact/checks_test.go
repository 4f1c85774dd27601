package artifact

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChecks(t *testing.T) {
	t.Parallel()
	const draft = "## Metadata\n**Status:** Draft\n**Version:** 2\n"
	sections := criterion{CheckType: "template_sections", RequiredSections: []string{"Risks", "Goals and Scope"}}
	placeholders := criterion{CheckType: "no_placeholders", ProhibitedPatterns: []string{`\bTBD\b`}}
	references := criterion{CheckType: "references_valid"}
	markers := criterion{
		CheckType: "marker_validation", AllowedMarkers: []string{"[REQUIRES SPIKE]", "BLOCKED BY"},
		MarkerSubFields:    map[string][]string{"[REQUIRES SPIKE]": {"Time Box"}},
		SpecialValidations: []specialValidation{{Marker: "[REQUIRES SPIKE]", Field: "Size", ValidValues: []string{"S", "L"}}},
		ProhibitedPatterns: []string{`\[DECIDE\]`},
	}
	with := func(c criterion, change func(*criterion)) criterion { change(&c); return c }
	for _, tc := range []struct {
		name    string
		c       criterion
		text    string
		passed  bool
		details string
	}{
		{"sections in any case and numbering", sections, "### 2.1 RISKS ##\nmany\n# **Goals  and scope**\nfew\n", true, "Found 2/2 required sections"},
		{"section in code", sections, "# Goals and scope\n```\n## Risks\n```\n", false, "Missing sections: Risks"},
		{"section in words", sections, "Risks\nGoals and scope\n", false, "Missing sections: Risks, Goals and Scope"},
		{"own message", with(sections, func(c *criterion) { c.ErrorMessages = map[string]string{"missing_sections": "add {names}"} }), "# Risks\nmany", false, "add Goals and Scope"},
		{"hollow sections", sections, "# Risks\n1. x\n# Goals and scope\nTODO, tbd\n", false, "Sections that say nothing: Risks (line 1), Goals and Scope (line 3)"},
		{"short sections", sections, "# Risks\nn/a\n# Goals and scope\n8\n", true, "Found 2/2 required sections"},
		{"short sections in Chinese", sections, "# Risks\n无\n# Goals and scope\n- 一\n", true, "Found 2/2 required sections"},
		{"links and boxes", placeholders, "[a](b) [c][d] [ ] [x] [1] [^2] `[code]` [REQUIRES SPIKE] [BLOCKED BY US-001]\n[d]: http://x\n", true, "No placeholders found"},
		{"fields", placeholders, "a [Fill in] and [Fill in] and [Date]", false, "Found 3 placeholders: [Fill in] (line 1), [Date] (line 1)"},
		{"prohibited", placeholders, "cost: TBD", false, "Found 1 placeholders: TBD (line 1)"},
		{"ids of a draft", placeholders, draft + "HLS-AAA", true, "No placeholders found"},
		{"ids of no draft", placeholders, "HLS-AAA", false, "Found 1 placeholders: HLS-AAA (line 1)"},
		{"an id of prose in no draft", placeholders, "ids such as US-AAA\n## User Stories\n- US-001: Refund\n", true, "No placeholders found"},
		{"ids of prose and of a list in no draft", placeholders, "US-AAA\n## User Stories\n- US-001: Refund\n- US-BBB Exchange\n", false, "Found 1 placeholders: US-BBB (line 4)"},
		{"many", placeholders, "[a] [b] [c] [d] [e] [f] [g]", false, "Found 7 placeholders: [a] (line 1), [b] (line 1), [c] (line 1), [d] (line 1), [e] (line 1) and 2 more"},
		{"references", references, "PRD-006 US-1000 US-based EPIC-level UTF-8 PRD-006_v1.md", true, "All 3 references valid"},
		{"bad references", references, "PRD-6 US-12a PRD-6", false, "Invalid references: PRD-6 (line 1), US-12a (line 1)"},
		{"placeholder references of a draft", references, draft + "HLS-AAA", true, "All 1 references valid"},
		{"half a placeholder", references, draft + "US-1ABC", false, "Invalid references: US-1ABC (line 4)"},
		{"placeholder references", references, "HLS-AAA", false, "Invalid references: HLS-AAA (line 1)"},
		{"placeholder references of prose", references, "ids such as US-AAA\n## User Stories\n- US-001: Refund\n", true, "All 2 references valid"},
		{"no markers", markers, "nothing", true, "All 0 markers valid"},
		{"markers", markers, "1. x [REQUIRES SPIKE]\n   - **Time Box:** 2 days\n   - Size: s\n\n[BLOCKED BY US-001]", true, "All 2 markers valid"},
		{"unknown marker", markers, "[REQUIRES MAGIC]", false, "Unknown marker: [REQUIRES MAGIC] (line 1)"},
		{"no field", markers, "[REQUIRES SPIKE]\nSize: S\n\nTime Box: 1 day", false, "Marker [REQUIRES SPIKE] (line 1) lacks Time Box"},
		{"bad value", markers, "[REQUIRES SPIKE]\nTime Box: 1 day\nSize: XXL", false, "Marker [REQUIRES SPIKE] (line 1): Size must be one of S, L"},
		{"prohibited marker", markers, "[DECIDE]", false, "Prohibited text: [DECIDE] (line 1)"},
		{"v1 only", with(sections, func(c *criterion) { c.AppliesTo = "v1" }), draft, true, "Not applicable: applies to v1 only"},
		{"v2+ only", with(sections, func(c *criterion) { c.AppliesTo = "v2+" }), "", true, "Not applicable: applies to v2+ only"},
		{"v2+ applies", with(sections, func(c *criterion) { c.AppliesTo = "v2+" }), draft, false, "Missing sections: Risks, Goals and Scope"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.c.ID, tc.c.Category, tc.c.Description, tc.c.ValidationType = "CQ-01", "consistency", "a test of a check", automated
			require.NoError(t, tc.c.compile())
			passed, details := evaluate(newDocument(tc.text, ""), &tc.c)
			require.Equal(t, tc.details, details)
			require.Equal(t, tc.passed, passed)
		})
	}
}

func TestTraverses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"PRD-006": false, "PRD-006_v1.md": false, "": false, "a%41": false, "50%": false,
		"..": true, "a/b": true, `a\b`: true, "a\x00": true, "%2E": true, "%2f": true, "%5C": true, "%00": true, "%252e": true,
	} {
		require.Equal(t, want, traverses(in), "%q", in)
	}
}

// Headings that people write satisfy the section they mean, and citations and
// indexes are no open fields.
func TestHeadingsAndBracketsOfPeople(t *testing.T) {
	t.Parallel()
	cr := &criterion{CheckType: "template_sections", RequiredSections: []string{"Risks"}}
	for heading, want := range map[string]bool{
		"## Risks:": true, "## ⚠️ Risks": true, "## Risks and Mitigations": true, "## Risks & Mitigations": true, "## **3. Risks**:": true,
		"## Riskz": false, "## No risks": false, "## Risks of all": false,
	} {
		passed, details := evaluate(newDocument(heading+"\n\nMany\n", ""), cr)
		require.Equal(t, want, passed, "%s: %s", heading, details)
	}
	require.Empty(t, openFields("[Smith 2020] [Smith and Jones, 2020a] [Smith et al. 1999] [0, 1] [1-3] arr[i] x1[n_1]"))
	require.Equal(t, []string{"[Name]", "[fill in 2020]", "[two words]", "[Field]"}, openFields("[Name] [fill in 2020] is[two words] _[Field]_"))
}
