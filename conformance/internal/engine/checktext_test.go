package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const whole = `# a comment
area lifecycle

scenario PING, until 2025-11-25: ping: in any phase

PING/early, SHOULD, house MUST, since 2025-03-26: a ping: it is answered
  basic/utilities/ping#behavior: The receiver: MUST respond

PING/late, advice: a late ping is answered
  seed: PING-1

area base

scenario A: one more

A, MAY: it holds
  basic: a sentence
`

func TestComplete(t *testing.T) {
	t.Parallel()
	own := []Check{{Check: conformance.Check{ID: "B", Title: "of a table"}}}
	got, err := Complete([]Scenario{{ID: "A", Last: true}, {ID: "PING", Needs: Needs{Capability: "x"}}, {ID: "B", Area: "base", Checks: own}}, whole)
	require.NoError(t, err)
	require.Equal(t, []Scenario{
		{
			ID: "PING", Area: "lifecycle", Title: "ping: in any phase", Until: mcp.Version2025_11_25, Needs: Needs{Capability: "x"},
			Checks: []Check{
				{
					Check: conformance.Check{
						ID: "PING/early", Title: "a ping: it is answered", Level: conformance.Should,
						Spec: conformance.Spec{Section: "basic/utilities/ping#behavior", Quote: "The receiver: MUST respond"},
					},
					ProfileLevel: conformance.Must, Since: mcp.Version2025_03_26,
				},
				{Check: conformance.Check{ID: "PING/late", Title: "a late ping is answered", Level: conformance.Advice, Spec: conformance.Spec{Requirement: "PING-1"}}},
			},
		},
		{
			ID: "A", Area: "base", Title: "one more", Last: true,
			Checks: []Check{{Check: conformance.Check{ID: "A", Title: "it holds", Level: conformance.May, Spec: conformance.Spec{Section: "basic", Quote: "a sentence"}}}},
		},
		{ID: "B", Area: "base", Checks: own},
	}, got)
}

func TestCompleteRefuses(t *testing.T) {
	t.Parallel()
	const scenario, source = "area a\nscenario S: title\n", "\n  basic: a sentence\n"
	for name, tt := range map[string]struct{ file, want string }{
		"code without an entry":     {"area a\n", "scenario S has no entry"},
		"an entry without code":     {scenario + "S, MUST: t" + source + "scenario T: title\nT, MUST: t" + source, "the entry T has no scenario"},
		"no check":                  {scenario, "scenario S has no check"},
		"no area":                   {"scenario S: title\n", "line 1: scenario S is declared twice, or before the first area"},
		"a scenario twice":          {scenario + "scenario S: title\n", "scenario S is declared twice"},
		"a check twice":             {scenario + "S, MUST: t" + source + "S, MUST: t" + source, "line 5: check S is declared twice"},
		"a check before scenarios":  {"area a\nS, MUST: t" + source, "check S is declared twice, or before the first scenario"},
		"an unknown level":          {scenario + "S, must: t" + source, `check S: "must" is no level`},
		"an unknown house level":    {scenario + "S, MUST, house must: t" + source, `"house must" is neither`},
		"an unknown revision":       {scenario + "S, MUST, since 2025-11-26: t" + source, `"since 2025-11-26" is neither`},
		"a revision of a scenario":  {"area a\nscenario S, until never: title\n", `"until never" is neither`},
		"an unknown word":           {scenario + "S, MUST, often: t" + source, `"often" is neither`},
		"no title":                  {scenario + "S, MUST" + source, "want an id, a level and a title"},
		"no level":                  {scenario + "S: t" + source, "want an id, a level and a title"},
		"no source":                 {scenario + "S, MUST: t\n", "check S has no source"},
		"a source without a text":   {scenario + "S, MUST: t\n  basic\n", `"basic" is no source`},
		"a source that is not due":  {scenario + "  basic: a sentence\n", "a check is a line with its id and title"},
		"a second source":           {scenario + "S, MUST: t" + source + "  since 2026-07-28, basic: another\n", "check S has more than one source"},
		"an unknown second source":  {scenario + "S, MUST: t" + source + "  basic: another\n", `"basic: another" is no other source`},
		"a source of a transport":   {scenario + "S, MUST: t" + source + "  http must, basic: another\n", "is no other source"},
		"a check where a source is": {scenario + "S, MUST: t\nT, MUST: t" + source, "a check is a line with its id and title"},
	} {
		_, err := Complete([]Scenario{{ID: "S"}}, tt.file)
		require.ErrorContains(t, err, tt.want, name)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	got, sources, err := ReadTexts(`area stdio

scenario B, stdio: second by id

B/one, MUST, official first, official second: it holds
  basic: a sentence
  since 2026-07-28, basic/other: another
  http SHOULD, basic/http: advice

scenario A: first by id

A, advice: it holds
  seed: A-1
`)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, "B", got[0].ID)
	require.Equal(t, conformance.TransportStdio, got[0].Needs.Transport)
	require.Equal(t, []string{"first", "second"}, got[0].Checks[0].Official)
	require.Equal(t, map[string][]Source{"B/one": {
		{Since: mcp.Version2026_07_28, Spec: conformance.Spec{Section: "basic/other", Quote: "another"}},
		{Transport: conformance.TransportHTTP, Level: conformance.Should, Spec: conformance.Spec{Section: "basic/http", Quote: "advice"}},
	}}, sources)
}
