package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
)

func TestBadge(t *testing.T) {
	t.Parallel()
	known := sampleReport()
	known.Results = known.Results[:2]
	known.Results[1].Baseline = conformance.BaselineKnown
	apart := sampleReport()
	apart.Results = []conformance.Result{apart.Results[0], apart.Results[4]}
	apart.Results[1].Reason = conformance.SkipNotDeclared
	house := passedReport()
	seed := conformance.Result{Check: conformance.Check{ID: "S0-STORE-01", Spec: conformance.Spec{Requirement: "S0-STORE-01"}}, Area: "store_artifact", Level: conformance.Must}
	seed.Status, seed.Reason = conformance.Skip, conformance.SkipNoFixture
	house.Results = append(house.Results, seed)
	chosen := passedReport()
	chosen.Policy.Only = []string{"base"}
	for name, c := range map[string]struct {
		r                   *conformance.Report
		label, word, colour string
	}{
		"passed":                      {passedReport(), "MCP 2025-11-25", "passed · 1/1 MUST", "brightgreen"},
		"a family nobody has to have": {house, "MCP 2025-11-25", "passed · 1/1 MUST", "brightgreen"},
		"broken":                      {wideReport(), "MCP 2026-07-28, 2025-11-25", "2 broken", "red"},
		"known failures":              {known, "MCP 2025-11-25", "known failures 1", "yellow"},
		"an area that does not apply": {apart, "MCP 2025-11-25", "passed · base only", "blue"},
		"a part that was asked for":   {chosen, "MCP 2025-11-25", "passed · base only", "blue"},
		"open":                        {&conformance.Report{}, "MCP", "inconclusive", "lightgrey"},
	} {
		var b bytes.Buffer
		require.NoError(t, BadgeJSON(&b, c.r))
		var got map[string]any
		require.NoError(t, json.Unmarshal(b.Bytes(), &got))
		require.Equal(t, map[string]any{"schemaVersion": 1.0, "label": c.label, "message": c.word, "color": c.colour}, got, name)
		require.NotContains(t, c.word, "%")

		b.Reset()
		require.NoError(t, BadgeSVG(&b, c.r))
		var picture element
		require.NoError(t, xml.Unmarshal(b.Bytes(), &picture), name)
		require.Equal(t, "svg", picture.XMLName.Local)
		require.Equal(t, "title", picture.Children[0].XMLName.Local)
		require.Equal(t, picture.attr("aria-label"), picture.Children[0].Text)
		require.NotContains(t, b.String(), "href")
	}
	for name, fill := range badgeFill {
		require.GreaterOrEqual(t, contrast(t, "#ffffff", fill), 4.5, name)
	}
	require.Error(t, BadgeSVG(fullDisk{}, passedReport()))
}
