package artifact

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hlsDraft is a high-level story with the given text before its decomposition.
func hlsDraft(body, decomposition string) string {
	return doc("- **HLS ID:** HLS-012", `- **Title:** "A story"`, "- **Status:** Draft") + "\n" + body + "\n\n## Decomposition\n\n" + decomposition + "\n"
}

// Which words an approval takes for placeholder ids, and which it asks about.
func TestPlaceholdersOfADocument(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		ids        []string
		alike      []string
	}{
		{"the documented shape", "US-AAA needs US-BBB, see US-CCC.", []string{"US-AAA", "US-BBB", "US-CCC"}, nil},
		{"agencies", "- US-AAA: reports\n\nUS-EPA rules and\nthe US-DOT handbook.", []string{"US-AAA"}, []string{"US-EPA (line 3)", "US-DOT (line 4)"}},
		{"unfinished", "US-TBD and US-TBC.", nil, []string{"US-TBD (line 1)", "US-TBC (line 1)"}},
		{"any number", "Separate stories (US-XXX artifacts) are not needed.", nil, nil},
		{"any number, defined", "## Stories\n- **US-WWW:** one\n- **US-XXX:** two\n", []string{"US-WWW", "US-XXX"}, nil},
		{"any number, for several", "## Stories\n- **US-XXX:** one\n- **US-XXX:** two\n", nil, []string{"US-XXX (line 2)", "US-XXX (line 3)"}},
		{"words of another length", "US-East US-EAST US-EU US-DOTS US-1 US-based USAAA US-aaa", nil, nil},
		{"other types stay", "HLS-API, SPIKE-ABC, PRD-TBD, API-KEY and TASK-FORCE.", nil, nil},
		{"parts of longer words", "US-EPA-approved, NON-US-EPA, US-EPAs, XUS-EPA, US-EPA_v1.md, éUS-EPA", nil, nil},
		{"code", "`US-EPA` and ``US-DOT`` and `a US-FDA b`.\n```\nUS-SEC\n```\n~~~\nUS-AAA\n~~~", nil, nil},
		{"addresses", "[rules](https://x.example/US-EPA) https://x.example/a/US-DOT/b <https://x.example/US-FDA>", nil, nil},
		{"comments", "<!-- ids are US-AAA, US-BBB or US-ABC -->\n<!-- more\nUS-EPA\n--> US-CCC", []string{"US-CCC"}, nil},
		{"a comment without end", "<!-- US-AAA", []string{"US-AAA"}, nil},
		{"an arrow ends no comment in code", "`<!--` US-AAA --> US-BBB", []string{"US-AAA", "US-BBB"}, nil},
		{"defined by headings", "## Decomposition\n### US-AAB: First\n### Story 2: US-ABC – Second\n### 3.1 **US-ACD**\n## Notes\nUS-ABC needs US-AAB and US-ACD.", []string{"US-AAB", "US-ABC", "US-ACD"}, nil},
		{"defined by lists", "## Backlog Stories\n- US-AAB: one\n* [ ] **US-ABC** – two\n1. `US-ACD`\n2) US-ADE (four)\n+ **Story ID:** US-AEF\n", []string{"US-AAB", "US-ABC", "US-ACD", "US-ADE", "US-AEF"}, nil},
		{"defined by a table", "## 4. Decomposition into Backlog Stories\n| # | ID | Title |\n|---|----|---|\n| 1 | **US-AAB** | the US-EPA rules |\n", []string{"US-AAB"}, []string{"US-EPA (line 4)"}},
		{"not by a paragraph", "## Stories\nUS-AAB: one\n\nUS-ABC\n\n**US-EPA**: the agency, and US-DOT: too.\n", nil, []string{"US-AAB (line 2)", "US-ABC (line 4)", "US-EPA (line 6)", "US-DOT (line 6)"}},
		{"only the column of the ids of a table", "## Tasks\n| Story | Source |\n|---|---|\n| US-AAB | US-EPA |\n| US-AAA | US-BBC |\n", []string{"US-AAB", "US-AAA"}, []string{"US-EPA (line 4)", "US-BBC (line 5)"}},
		{"a table that is not of ids", "## Tasks\n| Source | Meaning |\n|---|---|\n| US-EPA | rules |\n", nil, []string{"US-EPA (line 4)"}},
		{"the id column wherever it is", "## Tasks\n| Story | Priority | Kennung |\n|:--|---|---|\n| Log in | 1 | US-LOG |\n", []string{"US-LOG"}, nil},
		{"two tables", "## Tasks\n| A | B |\n|---|---|\n| 1 | 2 |\n\n| # | User Story |\n|---|---|\n| | |\n| 1 | `US-LOG` |\n", []string{"US-LOG"}, nil},
		{"rows without a head", "## Tasks\n| US-LOG | log in |\n", nil, []string{"US-LOG (line 2)"}},
		{"subsections about something else", "## Decomposition\n- US-LOG: in\n### Constraints\n- US-EPA: rules\n#### US-DOT: more\n### Stories of phase 2\n- US-OUT: out\n", []string{"US-LOG", "US-OUT"}, []string{"US-EPA (line 4)", "US-DOT (line 5)"}},
		{"below a heading that is an item", "## Decomposition\n### US-LOG: in\n- US-EPA: rules\n### US-OUT: out\n", []string{"US-LOG", "US-OUT"}, []string{"US-EPA (line 3)"}},
		{"a blank after the id", "## User Stories\n- US-XYZ Refund\n* [ ] US-ABC exchange an order\n1. [US-ABD] Cancel\n### US-ABE Ship\n### Story 2: US-ABF Pack\n### User Story US-ABG Pay\n", []string{"US-XYZ", "US-ABC", "US-ABD", "US-ABE", "US-ABF", "US-ABG"}, nil},
		{"nested lists", "## User Stories\n- Payments\n  - US-XYZ Refund\n    1. US-ABC: in rates\n- US-TIP: tip\n  - US-LOG log in\n", []string{"US-XYZ", "US-ABC", "US-TIP", "US-LOG"}, nil},
		{"nested headings", "## User Stories\n### Payments\n- US-XYZ Refund\n#### At the till\n- US-ABC: Exchange\n#### US-ABD Coupons\n### Deliveries\n| ID | Title |\n|---|---|\n| US-ABE | Ship |\n", []string{"US-XYZ", "US-ABC", "US-ABD", "US-ABE"}, nil},
		{"remarks about an item", "## User Stories\n- US-XYZ: Refund\n  - US-ABC first\n- US-ABC: Exchange\n  - US-XYZ is no reason to wait\n\nOrder:\n\n- US-ABC before US-XYZ\n- US-ABC after all\n", []string{"US-XYZ", "US-ABC"}, nil},
		{"remarks in another list", "## User Stories\n- US-AAA Refund\n- US-BBB Exchange\n\nOrder:\n\n- US-AAA before US-BBB\n", []string{"US-AAA", "US-BBB"}, nil},
		{"two items of one id, with blanks", "## User Stories\n- US-XYZ Refund\n- US-XYZ Exchange\n", nil, []string{"US-XYZ (line 2)", "US-XYZ (line 3)"}},
		{"two nested items of one id", "## User Stories\n- Till\n  - US-XYZ Refund\n- Web\n  - US-XYZ Exchange\n", nil, []string{"US-XYZ (line 3)", "US-XYZ (line 5)"}},
		{"prose about ids beside a breakdown", "Ids such as US-AAA become final.\n## User Stories\n- US-XYZ Refund, after US-BBB\n## Notes\nUS-CCC is nothing.\n", []string{"US-XYZ", "US-BBB"}, nil},
		{"prose about ids beside final ones", "Ids such as US-AAA become final.\n## User Stories\n- US-071 Refund\n", nil, nil},
		{"items outside the breakdown", "## User Stories\n- US-XYZ Refund\n## Backlog\n- US-AAA: Exchange\n### US-BBB Ship\n| Id |\n|---|\n| US-CCC |\n", []string{"US-XYZ", "US-AAA", "US-BBB", "US-CCC"}, nil},
		{"a section named by the title", "# HLS-012: Stories for all\n## Glossary\n- US-EPA: agency\n", nil, []string{"US-EPA (line 3)"}},
		{"emphasised, without a colon", "## Tasks\n- **US-LOG** Log in\n- [x] __US-OUT__ out\n- *US-TIP* tip\n- **US-PAY pay** in rates\n", []string{"US-LOG", "US-OUT", "US-TIP", "US-PAY"}, nil},
		{"emphasised by underscores", "_US-AAA_ and __US-BBB__, _see US-CCC_.", []string{"US-AAA", "US-BBB", "US-CCC"}, nil},
		{"parts of names", "## Tasks\n- _US-LOG_: in\n- __US-OUT__: out\n\nsnake_US-EPA US-EPA_x __init_US-EPA__", []string{"US-LOG", "US-OUT"}, nil},
		{"code defines nothing", "Write `US-AAA` or `US-LOG`.\n## Tasks\n- `US-LOG` log\n- see `US-BBB`\n", nil, nil},
		{"headings in other languages", "## Zerlegung\n- US-LOG: ein\n## Découpage\n- US-OUT: sortir\n## 3. 任务分解\n- US-TIP: 提示\n", []string{"US-LOG", "US-OUT", "US-TIP"}, nil},
		{"names of hosts and files", "US-EPA.gov, US-DOT.pdf and US-SEC. US-FDA.\n", nil, []string{"US-SEC (line 1)", "US-FDA (line 1)"}},
		{"attributes", `<img alt="US-EPA" src="x"> <a href="US-AAA.md">US-BBB</a> <US-CCC>`, []string{"US-BBB", "US-CCC"}, nil},
		{"indented code", "Text\n\n    US-EPA and US-AAA\n\tUS-DOT\n\n- item\n\n    US-BBB\n\nText\n    US-CCC", []string{"US-BBB", "US-CCC"}, nil},
		{"addresses define nothing", "[a](US-AAA) [US-BBB]: text <https://x.example/US-CCC>\n[rules]: x/US-DDD \"US-EEE\"\n[b](c),US-FFF [g](h(US-GGG)i)US-HHH", []string{"US-BBB", "US-EEE", "US-FFF", "US-HHH"}, nil},
		{"two items of one id", "## Decomposition\n- US-AAA: Show\n- US-AAA: Warn\n- US-BBB: x", []string{"US-BBB"}, []string{"US-AAA (line 2)", "US-AAA (line 3)"}},
		{"two headings of one id", "## Decomposition\n### US-ABC: Show\n### US-ABC: Warn\n", nil, []string{"US-ABC (line 2)", "US-ABC (line 3)"}},
		{"two rows of one id", "## Decomposition\n| ID | T |\n|---|---|\n| US-AAA | a |\n| US-AAA | b |\n", nil, []string{"US-AAA (line 4)", "US-AAA (line 5)"}},
		{"one item in several views", "## Decomposition\n| ID | T |\n|---|---|\n| US-AAA | Show |\n\n| ID | Needs |\n|---|---|\n| US-AAA | US-BBB |\n\n1. US-AAA\n2. US-BBB\n\n- US-AAA: Show it\n- US-AAA: Show it\n### US-AAA: Show it all\n- US-AAA: first", []string{"US-AAA", "US-BBB"}, nil},
		{"not by a sentence", "## Decomposition\n- `US-EPA` rules apply\n- see US-DOT\n- Depends on story US-SEC first\n### Rules of US-FDA\n", nil, []string{"US-DOT (line 3)", "US-SEC (line 4)", "US-FDA (line 5)"}},
		{"not elsewhere", "## Decomposition\n- US-AAA\n\n## Glossary\n- US-EPA: the agency\n", []string{"US-AAA"}, []string{"US-EPA (line 5)"}},
		{"not in code", "## Decomposition\n```\n- US-AAB: one\n```\nUS-AAB", nil, []string{"US-AAB (line 5)"}},
		{"nothing", "", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ids, found := placeholders(tc.text, "US")
			var alike []string
			for _, l := range found {
				alike = append(alike, l.String())
			}
			require.Equal(t, tc.ids, ids)
			require.Equal(t, tc.alike, alike)
		})
	}
}

func TestApproveRefusesWhatOnlyLooksLikeAPlaceholder(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	text := hlsDraft("US-EPA rules and the US-DOT handbook apply. US-EPA first.", "- US-AAA: reports")
	f.put(t, text)
	_, failure := f.approve(t, "HLS-012")
	require.NotNil(t, failure)
	require.Equal(t, int64(-32602), failure.Code)
	require.Equal(t, `Invalid params: Artifact HLS-012 cannot be approved: US-EPA (line 13), US-DOT (line 13) look like placeholder ids `+
		`but are not defined: begin a list item, a heading or the id cell of a table with "US-EPA:", directly below a heading such as `+
		`Decomposition, Breakdown, User Stories, Tasks, Specifications, Zerlegung, Décomposition or 分解, or write US-AAA. `+
		"If no id is meant, write \"US EPA\" or, but for the title, put it in code (`US-EPA`)", failure.Message)
	require.Equal(t, []lookAlike{{"US-EPA", 13, false}, {"US-DOT", 13, false}, {"US-EPA", 13, false}}, failure.Data["undefined"])
	require.Equal(t, "US-EPA", strings.Fields(strings.Split(text, "\n")[12])[0], "the line it names")
	require.Empty(t, f.wire.sent, "no reservation")
	f.untouched(t, "hls/HLS-012_v1", text)
	f.settled(t)

	// Both ways out: in code, and in other words. Only the story gets a task.
	text = hlsDraft("`US-EPA` rules and the U.S. DOT handbook apply, as for US-East and HLS-API.", "- US-AAA: reports\n- US-AAB: figures")
	f.put(t, text)
	res, failure := f.approve(t, "HLS-012")
	require.Nil(t, failure)
	require.Equal(t, anys("US-001", "US-002"), res["sub_artifacts_detected"])
	require.Contains(t, f.file(t, "hls/HLS-012_v1.md"), "`US-EPA` rules and the U.S. DOT handbook apply, as for US-East and HLS-API.")
	require.Contains(t, f.file(t, "hls/HLS-012_v1.md"), "- US-001: reports\n- US-002: figures")
}

// A story of an epic, a PRD and both kinds of a backlog story are refused alike.
func TestApproveRefusesLookAlikesOfEachType(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	for id, tc := range map[string]struct{ key, word string }{
		"EPIC-020": {"Epic ID", "PRD-TBD"}, "PRD-020": {"PRD ID", "HLS-API"}, "US-020": {"Story ID", "SPEC-ABC"}, "US-021": {"Story ID", "TASK-TBD"},
	} {
		f.put(t, doc("**"+tc.key+":** "+id, "**Title:** A title", "**Status:** Draft")+"It is about "+tc.word+".\n")
		_, failure := f.approve(t, id)
		require.NotNil(t, failure, id)
		require.Contains(t, failure.Message, "Artifact "+id+" cannot be approved: "+tc.word+" (line 12) looks like a placeholder id but is not defined")
	}
	require.Empty(t, f.wire.sent)
}

// However long a line, a word on it is looked at a constant number of times.
func TestPlaceholdersOfALongLine(t *testing.T) {
	t.Parallel()
	const n = 1 << 16
	for _, piece := range []string{"US-EPA ", "`<!--", "`US-EPA` ", "US-EPA/", "|US-EPA", "<!-- --> "} {
		_, alike := placeholders("## Tasks\n"+strings.Repeat(piece, n), "US")
		if piece == "US-EPA " {
			require.Len(t, alike, maxUndefined)
		}
	}
}
