package report

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Limits of one screen.
const (
	screenFindings = 8   // the worst; -v shows all
	screenWidth    = 150 // of what is said of one of them
)

// areas writes a line per area with the counts of each revision, and a line per reason for
// the areas in which nothing ran.
func (p *textReport) areas() {
	columns := revisions(p.r)
	rows := areaRows(p.r)
	width, cells := 0, make([]int, len(columns))
	for _, row := range rows {
		width = max(width, len(row.area))
		for i, v := range columns {
			cells[i] = max(cells[i], len(string(v)), utf8.RuneCountInString(p.counts(row.counts[v], false)))
		}
	}
	if len(columns) > 1 {
		line := fmt.Sprintf("  %-*s", width, "")
		for i, v := range columns {
			line += fmt.Sprintf("   %-*s", cells[i], visible(string(v)))
		}
		p.printf("%s\n", strings.TrimRight(line, " "))
	}
	var reasons []conformance.SkipReason
	idle := map[conformance.SkipReason][]string{}
	for _, row := range rows {
		if row.reason != "" {
			if !slices.Contains(reasons, row.reason) {
				reasons = append(reasons, row.reason)
			}
			idle[row.reason] = append(idle[row.reason], row.area)
			continue
		}
		line := fmt.Sprintf("  %-*s", width, row.area)
		gap := ""
		for i, v := range columns {
			line += "   " + gap + p.counts(row.counts[v], p.o.Color)
			gap = strings.Repeat(" ", cells[i]-utf8.RuneCountInString(p.counts(row.counts[v], false)))
		}
		p.printf("%s\n", strings.TrimRight(line, " "))
	}
	for _, reason := range reasons {
		p.printf("  %s %s (%s)\n", p.statusSign(conformance.Skip), strings.Join(idle[reason], ", "), skipWords[reason])
	}
	p.printf("\n")
}

// counts writes the number of checks by outcome; nothing for an area without checks.
func (p *textReport) counts(counts map[conformance.Status]int, color bool) string {
	var parts []string
	plain := *p
	plain.o.Color = color
	for _, status := range statusOrder {
		if n := counts[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %-4d", plain.statusSign(status), n))
		}
	}
	return strings.TrimRight(strings.Join(parts, ""), " ")
}

// skipWords are the reasons of skips in words.
var skipWords = map[conformance.SkipReason]string{
	conformance.SkipNotDeclared:   "not declared",
	conformance.SkipNotInRevision: "not in this revision",
	conformance.SkipNoFixture:     "the tools they need are not there",
	conformance.SkipSideEffects:   "no permission to call tools: --side-effects",
	conformance.SkipTransport:     "of another transport",
	conformance.SkipControl:       "needs a switch that the server does not offer",
	conformance.SkipPrerequisite:  "what they build on does not work",
}

// areaRow is an area in all revisions. reason is why nothing of it ran: the most frequent
// reason of its checks.
type areaRow struct {
	area   string
	counts map[mcp.Version]map[conformance.Status]int
	reason conformance.SkipReason
}

func areaRows(r *conformance.Report) []areaRow {
	var rows []areaRow
	reasons := map[string]map[conformance.SkipReason]int{}
	ran := map[string]bool{}
	for _, part := range parts(r) {
		at := slices.IndexFunc(rows, func(row areaRow) bool { return row.area == part.area })
		if at < 0 {
			at = len(rows)
			rows = append(rows, areaRow{area: part.area, counts: map[mcp.Version]map[conformance.Status]int{}})
			reasons[part.area] = map[conformance.SkipReason]int{}
		}
		counts := map[conformance.Status]int{}
		for _, res := range part.results {
			counts[res.Status]++
			if res.Status == conformance.Skip {
				reasons[part.area][res.Reason]++
			} else {
				ran[part.area] = true
			}
		}
		rows[at].counts[versionOr(part.revision, r.Target.Revision)] = counts
	}
	for i := range rows {
		if ran[rows[i].area] {
			continue
		}
		most := 0
		for reason, n := range reasons[rows[i].area] {
			// A rule of another revision is the least specific reason.
			if reason == conformance.SkipNotInRevision {
				n = 1
			}
			if n > most || n == most && reason < rows[i].reason {
				most, rows[i].reason = n, reason
			}
		}
	}
	return rows
}

// finding is a check that did not pass, with all revisions in which it did not.
type finding struct {
	rank    int
	results []*conformance.Result
}

// findings returns the findings, worst first: failures, inconclusive requirements,
// recommendations, and known failures.
func findings(r *conformance.Report) []finding {
	var out []finding
	for i := range r.Results {
		res := &r.Results[i]
		blocks := res.Reason == conformance.SkipPrerequisite && res.Level == conformance.Must && !res.Unscored && !res.Excused()
		if !reported(res) && !blocks {
			continue
		}
		rank := rankOf(r, res)
		at := slices.IndexFunc(out, func(f finding) bool { return f.rank == rank && f.results[0].ID == res.ID })
		if at < 0 {
			at = len(out)
			out = append(out, finding{rank: rank})
		}
		out[at].results = append(out[at].results, res)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].rank < out[j].rank })
	return out
}

// The ranks of findings.
const (
	rankFails = iota
	rankError
	rankOpen
	rankBlocked
	rankAdvice
	rankKnown
)

func rankOf(r *conformance.Report, res *conformance.Result) int {
	switch {
	case res.Excused(), res.Unscored:
		return rankKnown
	case r.Fails(res):
		return rankFails
	case res.Status == conformance.Error:
		return rankError
	case res.Status == conformance.Skip:
		return rankBlocked
	case res.Status == conformance.Inconclusive && res.Level == conformance.Must:
		return rankOpen
	}
	return rankAdvice
}

// worst writes the first findings, two lines each.
func (p *textReport) worst(found []finding) {
	for i, f := range found {
		if i == screenFindings {
			p.printf("  and %d more: -v shows them all\n", len(found)-i)
			break
		}
		res := f.results[0]
		line := fmt.Sprintf("%s %-6s %s  %s", p.sign(res), res.Level, res.ID, res.Title)
		if len(p.r.Revisions) > 1 {
			var in []string
			for _, res := range f.results {
				in = append(in, string(res.Revision))
			}
			line += " (" + strings.Join(in, ", ") + ")"
		}
		said := append(remarks(res), message(res))
		if res.Excused() {
			said = remarks(res) // its reader knows the rest
		}
		p.printf("%s\n         %s\n", line, clip(strings.Join(said, "; "), screenWidth))
	}
	if len(found) > 0 {
		p.printf("\n")
	}
}

// next is the command that shows a finding with its traffic.
func next(r *conformance.Report, res *conformance.Result) string {
	return shellLine(command(r, res, "-v"))
}
