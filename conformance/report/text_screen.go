package report

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Limits of one screen, which is 80 columns wide. A run without findings leaves a line of
// 24 for the prompt, one with ten findings has at most 60 lines, and the last 24 lines name
// what fails the run.
const (
	screenWidth   = 80
	screenHeight  = 23
	screenFailing = 10 // findings that fail the run; -v shows all
	screenOthers  = 4  // others, a line each
	screenFull    = 3  // findings that fail the run and are shown in full when there are no more
)

// screen writes a report without -v. The areas take the lines that the rest leaves them,
// and if that is too few, fewer findings are named that fail nothing.
func (p *textReport) screen(found []finding) {
	const exit = 1 // the line of the exit code
	failing, _, _ := ranked(found)
	head := p.text((*textReport).head)
	for others := screenOthers; ; others-- {
		end := p.text(func(p *textReport) {
			p.worst(found, others)
			p.foot()
			p.next(found)
		})
		room := screenHeight - exit - screenLines(head) - screenLines(end)
		areas := p.fitted(room)
		if screenLines(areas) <= room || len(failing) > 0 || others == 1 {
			p.printf("%s%s%s", head, areas, end)
			return
		}
	}
}

// fitted returns the areas, in lines of their own unless that is more than there is room for.
func (p *textReport) fitted(room int) string {
	areas := p.text(func(p *textReport) { p.areas(nil) })
	for _, shares := range []func(*areaRow) bool{(*areaRow).allPassed, (*areaRow).noneFailed} {
		tighter := p.text(func(p *textReport) { p.areas(shares) })
		if screenLines(areas) > room && screenLines(tighter) < screenLines(areas) {
			areas = tighter
		}
	}
	return areas
}

// text returns what write writes.
func (p *textReport) text(write func(*textReport)) string {
	var b strings.Builder
	part := *p
	part.w = bufio.NewWriter(&b)
	write(&part)
	_ = part.w.Flush() // a builder takes all
	return b.String()
}

// screenLines counts the lines that text takes on a screen.
func screenLines(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		n += max(1, (shownWidth(strings.TrimSuffix(line, "\n"))+screenWidth-1)/screenWidth)
	}
	return n
}

// areas writes a line per area with the counts of each revision, and the areas in which
// nothing ran by reason. Areas for which shares is true have lines in common, and so have
// the reasons then.
func (p *textReport) areas(shares func(*areaRow) bool) {
	columns := revisions(p.r)
	var rows, idle, calm []areaRow
	for _, row := range areaRows(p.r) {
		switch {
		case row.reason != "":
			idle = append(idle, row)
		case shares != nil && shares(&row):
			calm = append(calm, row)
		default:
			rows = append(rows, row)
		}
	}
	width, cells := 0, make([]int, len(columns))
	for _, row := range rows {
		width = max(width, len(row.area))
		for i, v := range columns {
			cells[i] = max(cells[i], len(string(v)), utf8.RuneCountInString(p.counts(row.counts[v], false)))
		}
	}
	if len(columns) > 1 && len(rows) > 0 {
		line := fmt.Sprintf("  %-*s", width, "")
		for i, v := range columns {
			line += fmt.Sprintf("   %-*s", cells[i], visible(string(v)))
		}
		p.printf("%s\n", strings.TrimRight(line, " "))
	}
	for _, row := range rows {
		line := fmt.Sprintf("  %-*s", width, row.area)
		gap := ""
		for i, v := range columns {
			line += "   " + gap + p.counts(row.counts[v], p.o.Color)
			gap = strings.Repeat(" ", cells[i]-utf8.RuneCountInString(p.counts(row.counts[v], false)))
		}
		p.printf("%s\n", strings.TrimRight(line, " "))
	}
	for _, status := range []conformance.Status{conformance.Pass, conformance.Warn} {
		var names []string
		for i := range calm {
			if n := calm[i].count(status); n > 0 {
				names = append(names, fmt.Sprintf("%s %d", calm[i].area, n))
			}
		}
		p.wrapped(status, names)
	}
	p.idle(idle, shares != nil)
	p.printf("\n")
}

// idle writes the areas in which nothing ran, with a line per reason, or all in one list.
func (p *textReport) idle(rows []areaRow, oneList bool) {
	var reasons []conformance.SkipReason
	areas := map[conformance.SkipReason][]string{}
	for _, row := range rows {
		if !slices.Contains(reasons, row.reason) {
			reasons = append(reasons, row.reason)
		}
		areas[row.reason] = append(areas[row.reason], row.area)
	}
	var items []string
	for i, reason := range reasons {
		named := areas[reason]
		named[len(named)-1] += " (" + skipWords[reason] + ")"
		items = append(items, named...)
		switch {
		case !oneList:
			p.wrapped(conformance.Skip, items)
			items = nil
		case i < len(reasons)-1:
			items[len(items)-1] += ";"
		}
	}
	p.wrapped(conformance.Skip, items)
}

// wrapped writes a list after the sign of a status, in lines of one screen.
func (p *textReport) wrapped(status conformance.Status, items []string) {
	if len(items) == 0 {
		return
	}
	line := "  " + p.statusSign(status)
	for i, item := range items {
		if i < len(items)-1 && !strings.HasSuffix(item, ";") {
			item += ","
		}
		if i > 0 && shownWidth(line)+utf8.RuneCountInString(item)+1 > screenWidth {
			p.printf("%s\n", line)
			line = "   "
		}
		line += " " + item
	}
	p.printf("%s\n", line)
}

// sequences are the colors of a line. What a server sends has none: visible replaces them.
var sequences = lazyregexp.New("\x1b\\[[0-9;]*m")

// shownWidth counts the characters of a line, without its colors.
func shownWidth(line string) int {
	return utf8.RuneCountInString(sequences.ReplaceAllString(line, ""))
}

// count is the number of checks with an outcome, in all revisions.
func (row *areaRow) count(status conformance.Status) int {
	n := 0
	for _, counts := range row.counts {
		n += counts[status]
	}
	return n
}

// noneFailed reports whether everything that ran passed, or is a recommendation.
func (row *areaRow) noneFailed() bool {
	return row.count(conformance.Fail)+row.count(conformance.Inconclusive)+row.count(conformance.Error) == 0
}

func (row *areaRow) allPassed() bool {
	return row.noneFailed() && row.count(conformance.Warn) == 0
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
// do, worst first. So the last lines of a terminal show what fails the run. most is how
// many of the others are named.
func (p *textReport) worst(found []finding, most int) {
	failing, others, advice := ranked(found)
	for i := range min(len(others), most) {
		p.one(&others[i])
	}
	advised := 0
	for i := range advice {
		advised += len(advice[i].ids())
	}
	switch more := len(others) - most; {
	case more > 0 && advised > 0:
		p.printf("  and %d more, and %s of advice: -v shows them all\n", more, plural(advised, "check"))
	case more > 0:
		p.printf("  and %d more: -v shows them all\n", more)
	case advised > 0:
		p.printf("%s advice: %s, -v shows it\n", p.statusSign(conformance.Warn), plural(advised, "check"))
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
