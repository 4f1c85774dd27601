package artifact

import (
	"context"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

const largeHead = "# PRD-021\n\n## Metadata\n- **PRD ID:** PRD-021\n- **Title:** \"Big one\"\n- **Status:** \"Draft\"\n\n"

// What an approval looks for in a document that no one writes, and a caller may
// send: a regular expression took seconds for it.
func TestApprovalOfLargeDocuments(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("HLS-AA", 10) + "X "
	text := largeHead + strings.Repeat(line, 1<<20/len(line))
	require.Less(t, testmain.Busy(func() {
		_, err := findChildren(place{Type: types[1], ID: "PRD-021"}, text)
		require.NoError(t, err)
		require.Equal(t, text, replacePlaceholders(text, map[string]string{"HLS-AAA": "HLS-001"}))
	}), 2*time.Second)
}

// No check reads what is before a bracket again for each.
func TestOpenFieldsOfALongLine(t *testing.T) {
	t.Parallel()
	line := strings.Repeat(" ", 1<<19) + strings.Repeat("[a]:", 1<<13)
	require.Less(t, testmain.Busy(func() { require.Len(t, openFields(line), 1<<13-1) }), 2*time.Second)
}

// A caller who has gone is not worked for.
func TestJudgeIsCancelled(t *testing.T) {
	t.Parallel()
	list, err := parseChecklist([]byte(criteria(hasHeading, byAgent)), "prd")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = judge(ctx, newDocument("# x", ""), list)
	require.ErrorIs(t, err, context.Canceled)
	f := newFlow(t)
	_, failure := f.callRaw(ctx, t, "validate_artifact", map[string]any{"artifact_content": "# x", "artifact_id": "PRD-001", "task_id": "t"})
	require.NotNil(t, failure)
}

// An approval that finds its caller gone has written nothing that is to be
// taken back.
func TestApproveIsCancelledBeforeItWrites(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	text := strings.Replace(epic("1", "Draft", ""), "- **Parent Initiative:** INIT-001", "", 1)
	f.put(t, text)
	ctx, cancel := context.WithCancel(t.Context())
	f.approver.reached = func(step string) {
		require.Equal(t, stepReserve, step, "no step comes after the end")
		cancel()
	}
	_, failure := f.callRaw(ctx, t, "approve_artifact", map[string]any{"artifact_id": "EPIC-006", "task_id": "t"})
	require.NotNil(t, failure)
	require.Empty(t, f.records(t, "approval_rolled_back"))
	f.untouched(t, "epic/EPIC-006_v1", text)
}

// What the scanners find is what these expressions say.
func FuzzTokens(f *testing.F) {
	group := strings.Join(prefixes(), "|")
	var thrice []string
	for _, letter := range "ABCDEFGHIJKLMNOPQRSTUVWYZ" {
		thrice = append(thrice, strings.Repeat(string(letter), 3))
	}
	reference := regexp.MustCompile(`\b(?:` + group + `)-(?:[0-9][A-Za-z0-9]*|(?:` + strings.Join(thrice, "|") + `)\b)`)
	placeholder := regexp.MustCompile(`(?:^|[^\pL\p{Nd}_])_*((?:` + group + `)-[A-Z]{3})_*(?:[^\pL\p{Nd}_]|$)`)
	bracketed := regexp.MustCompile(`\[[^\[\]]*\]`)
	f.Add("PRD-006 US-1000 US-based EPIC-level UTF-8 PRD-006_v1.md US-12a TASK-AAAB SPEC-AAA_ éHLS-AAA HLS-AAAé")
	f.Add("US-PRD-AAA PRD-US-006 XUS-1 HLS-AAA-BBB HLS-AAAHLS-AAA HLS-AAA,HLS-BBB US-1PRD-006 -HLS-AAA- HLS-AAA\xff")
	f.Add("[a] [[b]] [c [d] e] ] [ [] [é]")
	f.Fuzz(func(t *testing.T, text string) {
		require.Equal(t, reference.FindAllString(text, -1), idsIn(text))
		want := map[string]bool{}
		for at := 0; ; {
			m := placeholder.FindStringSubmatchIndex(text[at:])
			if m == nil {
				break
			}
			want[text[at+m[2]:at+m[3]]] = true
			at += m[3] // what ends one may begin the next
		}
		got := map[string]bool{}
		eachPlaceholder(text, func(start, end int) { got[text[start:end]] = true })
		require.Equal(t, want, got)
		var found []string
		for start, end := range brackets(text) {
			found = append(found, text[start:end])
		}
		require.Equal(t, bracketed.FindAllString(text, -1), found)
	})
}

// The text a pattern cannot do without.
func TestRequiredText(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		`(?m)^[-*\s]*\*\*Status:\*\*\s*"?(?:Draft|Planned)\b`: "**Status:**",
		`\bUS-(?:\d{3,}|[A-Z]{3})\b`:                          "US-",
		`(?m)^.*\bFR-\d{2,}\b.*\bGOAL-\d{2,}\b`:               "GOAL-",
		`(?i)lorem ipsum`:                                     "",
		`\bT(?:BD|BC)\b`:                                      "T",
		`(abc)+(?:de){2,}`:                                    "abc",
		`(?:abc)?(?:abc)*(?:abc){0,2}a|b`:                     "",
		`[a-z]+`:                                              "",
	} {
		require.Equal(t, want, requiredOf(parsed(t, pattern), false), pattern)
	}
}

func parsed(t *testing.T, expr string) *syntax.Regexp {
	t.Helper()
	tree, err := syntax.Parse(expr, syntax.Perl)
	require.NoError(t, err)
	return tree
}

func idsIn(text string) (out []string) {
	for _, id := range references(text) {
		out = append(out, id)
	}
	return out
}

const largeSize = 5 << 20

// largeDocuments are documents of 5 MB, each by the kind of text that fills it. Each
// begins as the PRD shipped as an example, so that every check has something to
// do.
func largeDocuments(t testing.TB, size int) map[string]string {
	t.Helper()
	begin := prd(t)
	fill := func(piece string) string {
		n := max(size-len(begin), 0)/len(piece) + 1
		return begin + "\n" + strings.Repeat(piece, n)
	}
	head := "# PRD-006: Big\n\n## Metadata\n\n- **PRD ID:** PRD-006\n- **Status:** Draft\n\n"
	return map[string]string{
		"itself, again and again": fill(begin + "\n"),
		"prose":                   fill("The reader finds what the writer meant, mostly; and that is all one may ask of prose.\n"),
		"one line":                fill("words without an end "),
		"half requirements":       head + strings.Repeat("- FR-01 and NFR-01 do it for G-01, baseline **Status:** **Created:** HLS-\n", size/74),
		"ids":                     fill("HLS-001 US-EPA PRD-AAA TASK-1 "),
		"headings":                fill("### Risks\n"),
		"brackets":                fill("[a][b] (c) [d]: [e\n"),
		"open fields":             fill("[Fill in] TBD TODO lorem ipsum\n"),
		"markers":                 fill("[REQUIRES SPIKE]\n- Time Box: 1 day\n"),
		"metadata":                head + strings.Repeat("- **Owner:** somebody\n", size/22),
		"comments":                fill("<!-- a --> b <!-- c\n--> d `<!--`\n"),
		"fences":                  fill("```\ncode\n```\n"),
		"stars":                   fill("* * * ** - - **\n"),
		"tables":                  fill("| a | HLS-AAB | `US-001` | **x** |\n"),
		"spaces":                  fill(strings.Repeat(" ", 79) + "\n"),
		"one line of spaces":      fill("          "),
		"given when then":         fill("Given a\n"),
	}
}

// What a document costs grows with its length and no faster, whatever it is full
// of: regular expressions read each line a few times at most.
func TestLargeDocumentsCostTheirLength(t *testing.T) {
	t.Parallel()
	const small = 1 << 17
	cost := func(id, text string) int {
		kind, err := parseID("artifact_id", id)
		require.NoError(t, err)
		list, err := newChecklists(resources("")).get(t.Context(), time.Now(), kind)
		require.NoError(t, err)
		d := newDocument(text, id)
		_, err = judge(t.Context(), d, list)
		require.NoError(t, err)
		return d.work
	}
	twice := largeDocuments(t, 2*small)
	for name, text := range largeDocuments(t, small) {
		for _, kind := range types {
			id := kind.Prefix + "-006"
			n := cost(id, text)
			require.LessOrEqual(t, n, 8*len(text), "%s as %s", name, id)
			require.LessOrEqual(t, cost(id, twice[name]), 2*n+small/8, "%s as %s: twice the length", name, id)
		}
	}
}

// What is found is bounded, so that naming it costs nothing.
func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&many, "[field %d] PRD-%d US-%c%c%c\n", i, i%100, 'A'+i%26, 'A'+i/26%26, 'A'+i/676%26)
	}
	d := newDocument(many.String(), "")
	_, details := evaluate(d, &criterion{CheckType: "no_placeholders"})
	require.Equal(t, "Found 1000 or more placeholders: [field 0] (line 1), US-AAA (line 1), [field 1] (line 2), [field 2] (line 3), [field 3] (line 4) and 995 more", details)
	_, details = evaluate(d, &criterion{CheckType: "references_valid"})
	require.Equal(t, "Invalid references: PRD-0 (line 1), US-AAA (line 1), PRD-1 (line 2), PRD-2 (line 3), PRD-3 (line 4) and 97 more", details)
	_, alike := placeholders(many.String(), "US")
	require.Len(t, alike, maxUndefined)
}
