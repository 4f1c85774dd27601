package artifact

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const largeHead = "# PRD-021\n\n## Metadata\n- **PRD ID:** PRD-021\n- **Title:** \"Big one\"\n- **Status:** \"Draft\"\n\n"

// What an approval looks for in a document that no one writes, and a caller may
// send: a regular expression took seconds for it.
func TestApprovalOfLargeDocuments(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("HLS-AA", 10) + "X "
	text := largeHead + strings.Repeat(line, 1<<20/len(line))
	begin := time.Now()
	_, err := findChildren(place{Type: types[1], ID: "PRD-021"}, text)
	require.NoError(t, err)
	require.Equal(t, text, replacePlaceholders(text, map[string]string{"HLS-AAA": "HLS-001"}))
	require.Less(t, time.Since(begin), 2*time.Second)
}

// No check reads what is before a bracket anew for each.
func TestOpenFieldsOfALongLine(t *testing.T) {
	t.Parallel()
	line := strings.Repeat(" ", 1<<19) + strings.Repeat("[a]:", 1<<13)
	begin := time.Now()
	require.Len(t, openFields(line), 1<<13-1)
	require.Less(t, time.Since(begin), 2*time.Second)
}

// A caller who has gone is not worked for.
func TestJudgeIsCancelled(t *testing.T) {
	t.Parallel()
	list, err := parseChecklist([]byte(criteria(hasHeading, byAgent)), "prd")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = judge(ctx, newDocument("# x"), list)
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
	reference := regexp.MustCompile(`\b(?:` + group + `)-(?:[0-9][A-Za-z0-9]*|[A-Z]{3}\b)`)
	placeholder := regexp.MustCompile(`(?:^|[^\pL\p{Nd}_])((?:` + group + `)-[A-Z]{3})(?:[^\pL\p{Nd}_]|$)`)
	bracketed := regexp.MustCompile(`\[[^\[\]]*\]`)
	f.Add("PRD-006 US-1000 US-based EPIC-level UTF-8 PRD-006_v1.md US-12a TASK-AAAB SPEC-AAA_ éHLS-AAA HLS-AAAé")
	f.Add("US-PRD-AAA PRD-US-006 XUS-1 HLS-AAA-BBB HLS-AAAHLS-AAA HLS-AAA,HLS-BBB US-1PRD-006 -HLS-AAA- HLS-AAA\xff")
	f.Add("[a] [[b]] [c [d] e] ] [ [] [é]")
	f.Fuzz(func(t *testing.T, text string) {
		require.Equal(t, reference.FindAllString(text, -1), references(text))
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
		for _, prefix := range prefixes() {
			for _, id := range placeholders(text, prefix) {
				got[id] = true
			}
		}
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
		require.Equal(t, want, requiredText(regexp.MustCompile(pattern)), pattern)
	}
}
