package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Limits of one screen, which is 80 columns wide. A run without findings has at most 24
// lines, one with ten findings 60, and the last 24 lines name what fails the run.
const (
	screenWidth   = 80
	screenFailing = 10 // findings that fail the run; -v shows all
	screenOthers  = 4  // others, a line each
	screenFull    = 3  // findings that fail the run and are shown in full when there are no more
	screenAreas   = 12 // lines of areas; those without findings share lines if there are more
)

// areas writes a line per area with the counts of each revision, and a line per reason for
// the areas in which nothing ran.
func (p *textReport) areas() {
	columns := revisions(p.r)
	rows, calm := areaRows(p.r), []areaRow{}
	if len(rows) > screenAreas {
		rows, calm = splitRows(rows)
	}
	width, cells := 0, make([]int, len(columns))
	for _, row := range rows {
		width = max(width, len(row.area))
		for i, v := range columns {
			cells[i] = max(cells[i], len(string(v)), utf8.RuneCountInString(p.counts(row.counts[v], false)))
		}
	}
	if len(columns) > 1 && slices.ContainsFunc(rows, func(row areaRow) bool { return row.reason == "" }) {
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
	if len(calm) > 0 {
		var names []string
		for _, row := range calm {
			names = append(names, fmt.Sprintf("%s %d", row.area, row.passed()))
		}
		p.wrapped("  "+p.statusSign(conformance.Pass)+" ", names, "")
	}
	for _, reason := range reasons {
		p.wrapped("  "+p.statusSign(conformance.Skip)+" ", idle[reason], " ("+skipWords[reason]+")")
	}
	p.printf("\n")
}

// wrapped writes a list in lines of one screen.
func (p *textReport) wrapped(begin string, items []string, end string) {
	line, empty := begin, true
	for i, item := range items {
		if i < len(items)-1 {
			item += ","
		} else {
			item += end
		}
		if !empty && shownWidth(line)+utf8.RuneCountInString(item)+1 > screenWidth {
			p.printf("%s\n", line)
			line, empty = "   ", true
		}
		if !empty || line == "   " {
			line += " "
		}
		line, empty = line+item, false
	}
	p.printf("%s\n", line)
}

// shownWidth counts the characters of a line, without its colors.
func shownWidth(line string) int {
	n := utf8.RuneCountInString(line)
	if at := strings.IndexByte(line, '\x1b'); at >= 0 {
		const colors = 9 // a mark has two digits of color, and a reset
		n -= colors
	}
	return n
}

// splitRows takes the areas apart in which everything that ran passed.
func splitRows(rows []areaRow) (open, calm []areaRow) {
	for _, row := range rows {
		if row.reason == "" && row.allPassed() {
			calm = append(calm, row)
		} else {
			open = append(open, row)
		}
	}
	return open, calm
}

func (row *areaRow) passed() int {
	n := 0
	for _, counts := range row.counts {
		n += counts[conformance.Pass]
	}
	return n
}

func (row *areaRow) allPassed() bool {
	for _, counts := range row.counts {
		for status, n := range counts {
			if n > 0 && status != conformance.Pass && status != conformance.Skip {
				return false
			}
		}
	}
	return true
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
	conformance.SkipGentle:        "not in a run with --gentle",
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

// worst writes the findings: a line for each that does not fail the run, then those that
// do, worst first. So the last lines of a terminal show what fails the run.
func (p *textReport) worst(found []finding) {
	failing, others, advice := ranked(found)
	for i := range others {
		if i == screenOthers {
			p.printf("  and %d more: -v shows them all\n", len(others)-i)
			break
		}
		p.one(&others[i])
	}
	if len(advice) > 0 {
		n := 0
		for i := range advice {
			n += len(advice[i].ids())
		}
		p.printf("%s advice: %s, -v shows it\n", p.statusSign(conformance.Warn), plural(n, "check"))
	}
	if len(others)+len(advice) > 0 {
		p.printf("\n")
	}
	for i := range failing {
		if i == screenFailing {
			p.printf("  and %d more: -v shows them all\n", len(failing)-i)
			break
		}
		if i == 0 || len(failing) <= screenFull {
			p.full(&failing[i])
		} else {
			p.two(&failing[i])
		}
	}
	if len(failing) > 0 {
		p.printf("\n")
	}
}

// ranked splits findings into those that fail the run, advice, and the others. With advice
// the rest is not crowded out.
func ranked(found []finding) (failing, others, advice []finding) {
	for i := range found {
		switch found[i].rank {
		case rankFails:
			failing = append(failing, found[i])
		case rankAdvice:
			advice = append(advice, found[i])
		case rankError, rankOpen, rankBlocked, rankShould, rankKnown:
			others = append(others, found[i])
		}
	}
	return failing, others, advice
}

// tag names the level, the checks and the revisions of a finding.
func (p *textReport) tag(f *finding) string {
	text := fmt.Sprintf("%s %s", f.lead().Level, f.name())
	if f.rank == rankFails && f.harm < harmMust {
		text = f.harm.String() + ": " + text
	}
	if len(p.r.Revisions) > 1 {
		var in []string
		for _, v := range f.versions() {
			in = append(in, string(v))
		}
		text += " (" + strings.Join(in, ", ") + ")"
	}
	return text
}

// one writes a finding in a line.
func (p *textReport) one(f *finding) {
	res := f.lead()
	text := f.title()
	switch {
	case f.rank == rankKnown:
		text = strings.Join(remarks(res), "; ")
	case f.title() == res.Title && res.Expected == "" && f.got() != "":
		text += ": " + f.got()
	}
	p.printf("%s %s\n", p.sign(res), clip(p.tag(f)+"  "+text, screenWidth-signWidth))
}

// signWidth is the width of a sign and the space after it, of letters at most.
const signWidth = 6

// two writes a finding in two lines.
func (p *textReport) two(f *finding) {
	p.printf("%s %s\n", p.sign(f.lead()), clip(f.title(), screenWidth-signWidth))
	text := p.tag(f)
	if said := strings.Join(append(remarks(f.lead()), f.compared()), "; "); said != "" {
		text += ": " + said
	}
	p.printf("    %s\n", clip(text, screenWidth-signWidth))
}

// compared describes what was expected and what came.
func (f *finding) compared() string {
	switch {
	case f.kind == causeStale:
		return f.got()
	case f.wanted() == "" && f.lead().Expected != "":
		return "got " + f.got()
	case f.wanted() == "":
		return f.got()
	}
	return "expected " + f.wanted() + ", got " + f.got()
}

// full writes a finding with the message, what came, the rule and the command that repeats
// it.
func (p *textReport) full(f *finding) {
	res := f.lead()
	p.printf("%s %s\n", p.sign(res), clip(f.title(), 2*screenWidth-signWidth))
	p.printf("    %s\n", clip(p.tag(f), screenWidth-signWidth))
	about := func(name, text string, lines int) {
		if text == "" {
			return
		}
		const width = screenWidth - 14
		for i, line := range fold(clip(visible(text), lines*width), width) {
			if i > 0 {
				name = ""
			}
			p.printf("    %s\n", strings.TrimRight(fmt.Sprintf("%-8s  %s", name, line), " "))
		}
	}
	about("", strings.Join(remarks(res), "; "), 2)
	about("sent", f.sent(2*screenWidth), 2)
	about("expected", f.wanted(), 2)
	about("got", f.got(), 2)
	if quote := res.Spec.Quote; quote != "" {
		about("rule", strconv.Quote(quote), 4)
	}
	if url := specURL(res); url != "" {
		p.printf("    %s\n", url)
	}
	p.printf("    again: %s\n", f.again(p.r))
}

// fold splits text into lines of a width, at spaces where there are some.
func fold(text string, width int) []string {
	var out []string
	rest := []rune(text)
	for len(rest) > width {
		at := width
		for i := width; i > width/2; i-- {
			if rest[i] == ' ' {
				at = i
				break
			}
		}
		out = append(out, string(rest[:at]))
		rest = []rune(strings.TrimLeft(string(rest[at:]), " "))
	}
	return append(out, string(rest))
}
