package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// badge is the content of a badge. It has no percentage, because none is a verdict.
type badge struct {
	Schema  int    `json:"schemaVersion"`
	Label   string `json:"label"`
	Message string `json:"message"`
	Color   string `json:"color"`
}

// badgeFill are the colours of a badge by name; white text has a contrast of 4.5 or more on
// each.
var badgeFill = map[string]string{
	"brightgreen": "#1a7f37", "blue": "#0969da", "yellow": "#8a6100", "red": "#c42b2b", "lightgrey": "#656d76",
}

// badgeOf returns green if every area ran, blue if some did not, yellow with known
// failures, red with broken rules, grey if the verdict is inconclusive.
func badgeOf(r *conformance.Report) badge {
	var names []string
	for _, v := range revisions(r) {
		if mcp.Version.Known(v) {
			names = append(names, string(v))
		}
	}
	b := badge{Schema: 1, Label: strings.TrimSpace("MCP " + strings.Join(names, ", ")), Message: "inconclusive", Color: "lightgrey"}
	s := r.Summary()
	ran := s.Must[conformance.Pass] + s.Must[conformance.Fail] + s.Must[conformance.Inconclusive] + s.Must[conformance.Error]
	switch {
	case r.Verdict() == conformance.Failed:
		broken := 0
		for i := range r.Results {
			if r.Fails(&r.Results[i]) {
				broken++
			}
		}
		b.Message, b.Color = fmt.Sprintf("%d broken", broken), "red"
	case r.Verdict() == conformance.VerdictInconclusive:
	case s.Known > 0:
		b.Message, b.Color = fmt.Sprintf("known failures %d", s.Known), "yellow"
	case requiredSkipped(r, s.SkippedAreas) || len(r.Policy.Only) > 0 || len(r.Policy.Skip) > 0 || r.Policy.Gentle:
		b.Message, b.Color = "passed · "+strings.Join(areasRun(r), ", ")+" only", "blue"
	default:
		b.Message, b.Color = fmt.Sprintf("passed · %d/%d MUST", s.Must[conformance.Pass], ran), "brightgreen"
	}
	return b
}

// requiredSkipped reports whether an area in which nothing ran has requirements of the
// specification.
func requiredSkipped(r *conformance.Report, skipped []string) bool {
	return slices.ContainsFunc(r.Results, func(res conformance.Result) bool {
		return res.Level == conformance.Must && res.Spec.Section != "" && slices.Contains(skipped, res.Area)
	})
}

// areasRun describes the areas that ran, a few of them by name.
func areasRun(r *conformance.Report) []string {
	var out []string
	seen := map[string]bool{}
	for i := range r.Results {
		res := &r.Results[i]
		if res.Status != conformance.Skip && !seen[res.Area] {
			seen[res.Area] = true
			out = append(out, res.Area)
		}
	}
	const few = 3
	if len(out) > few {
		return []string{fmt.Sprintf("%d areas", len(out))}
	}
	return out
}

// BadgeJSON writes the badge as an endpoint document of shields.io.
func BadgeJSON(w io.Writer, r *conformance.Report) error { return encode(w, badgeOf(r)) }

// BadgeSVG writes the badge as a self-contained picture.
func BadgeSVG(w io.Writer, r *conformance.Report) error {
	b, tool := badgeOf(r), toolOf(r)
	// Widths are estimates; textLength makes the text fit them.
	const perRune, pad = 7, 12
	label, message := utf8.RuneCountInString(b.Label)*perRune, utf8.RuneCountInString(b.Message)*perRune
	left, right := label+pad, message+pad
	title := fmt.Sprintf("%s: %s. %s, judged %s by %s %s", b.Label, b.Message, named(r.Target), r.StartedAt.UTC().Format("2006-01-02"), tool.Name, tool.Version)
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="20" role="img" aria-label="%[2]s">
  <title>%[2]s</title>
  <clipPath id="r"><rect width="%[1]d" height="20" rx="3"/></clipPath>
  <g clip-path="url(#r)"><rect width="%[3]d" height="20" fill="#444c56"/><rect x="%[3]d" width="%[4]d" height="20" fill="%[5]s"/></g>
  <g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
    <text x="6" y="14" textLength="%[6]d">%[7]s</text>
    <text x="%[8]d" y="14" textLength="%[9]d">%[10]s</text>
  </g>
</svg>
`, left+right, escaped(title), left, right, badgeFill[b.Color], label, escaped(b.Label), left+pad/2, message, escaped(b.Message))
	return err
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(printable(text))) // a builder takes all
	return b.String()
}
