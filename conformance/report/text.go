package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// TextOptions configure the text report.
type TextOptions struct {
	// Verbose writes a line per check and the traffic of each failure, instead of one screen.
	Verbose bool
	// Quiet shows only the last two lines.
	Quiet bool
	// ASCII replaces the marks by letters.
	ASCII bool
	// Color marks outcomes with ANSI colors.
	Color bool
}

// mark is how a status is shown.
type mark struct{ sign, letter, color string }

func markOf(s conformance.Status) mark {
	switch s {
	case conformance.Pass:
		return mark{"✓", "ok", "32"}
	case conformance.Fail:
		return mark{"✗", "FAIL", "31"}
	case conformance.Warn:
		return mark{"!", "warn", "33"}
	case conformance.Skip:
		return mark{"–", "skip", "2"}
	case conformance.Inconclusive:
		return mark{"?", "?", "35"}
	default:
		return mark{"E", "ERROR", "31"}
	}
}

// Text writes the report for people, on one screen: a headline, a line per area with
// counts, the findings, the verdict, and the command that shows the worst finding. A finding
// is one cause with the checks that it fails; security comes first, then data, what breaks
// every client, and the other requirements. With [TextOptions].Verbose it lists every check,
// then each finding with its checks and their traffic. The order is fixed and only the
// headline has times, so that two reports can be compared line by line.
func Text(w io.Writer, r *conformance.Report, o TextOptions) error {
	p := &textReport{w: bufio.NewWriter(w), r: r, o: o}
	found := findings(r)
	switch {
	case o.Quiet:
		p.foot()
	case o.Verbose:
		p.head()
		p.checks()
		for i := range found {
			p.details(&found[i])
		}
		p.foot()
	default:
		p.screen(found)
	}
	p.printf("exit %d\n", r.ExitCode())
	return p.w.Flush()
}

// textReport writes one report. Errors surface in the final Flush.
type textReport struct {
	w *bufio.Writer
	r *conformance.Report
	o TextOptions
}

func (p *textReport) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

// sign returns the mark of a result; every result that fails the run has that of a failure.
func (p *textReport) sign(res *conformance.Result) string {
	if res.Baseline == conformance.BaselineStale {
		return p.statusSign(conformance.Fail)
	}
	return p.statusSign(res.Status)
}

func (p *textReport) statusSign(s conformance.Status) string {
	m := markOf(s)
	sign := m.sign
	if p.o.ASCII {
		sign = m.letter
	}
	if p.o.Color {
		return "\x1b[" + m.color + "m" + sign + "\x1b[0m"
	}
	return sign
}

// line writes parts with the separator between them.
func (p *textReport) line(parts ...string) {
	sep := " · "
	if p.o.ASCII {
		sep = " | "
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if p.o.Verbose || p.o.Quiet {
		p.printf("%s\n", strings.Join(parts, sep))
		return
	}
	// The part that is too long for a screen begins a line.
	line := ""
	for i, part := range parts {
		switch {
		case i == 0:
			line = part
		case utf8.RuneCountInString(line+sep+part) > screenWidth:
			p.printf("%s\n", line)
			line = "  " + part
		default:
			line += sep + part
		}
	}
	p.printf("%s\n", line)
}

func (p *textReport) head() {
	// The subject, which may be long, takes a line of its own.
	p.line("MCP conformance", named(p.r.Target), revisionsText(p.r), fmt.Sprintf("%.1f s", took(p.r).Seconds()), subject(p.r.Target))
	words := policyWords(p.r)
	if called := calledText(p.r); called != "" {
		words = append(words, called)
	}
	if whole := skippedWhole(p.r); whole != "" && p.o.Verbose { // on one screen the areas show it
		words = append(words, whole)
	}
	if len(words) > 0 {
		p.line(words...)
	}
	p.printf("\n")
}

// calledText describes how many tools were called with arguments that their schemas allow, and if
// none was, which flag permits it.
func calledText(r *conformance.Report) string {
	for _, l := range r.Revisions {
		switch {
		case l.Tools <= 0:
			continue
		case l.Called > 0 && l.WithExamples > 0:
			return fmt.Sprintf("%d of %d tools called, %d with examples", l.Called, l.Tools, l.WithExamples)
		case l.Called > 0 || r.Policy.SideEffects == string(conformance.SideEffectsAll):
			return fmt.Sprintf("%d of %d tools called", l.Called, l.Tools)
		case r.Policy.Gentle:
			return fmt.Sprintf("0 of %d tools were called, %d have readOnlyHint", l.Tools, l.ReadOnly)
		case l.ReadOnly > 0 && r.Policy.SideEffects != string(conformance.SideEffectsReadOnly):
			return fmt.Sprintf("0 of %d tools were called: --side-effects read-only calls %d", l.Tools, l.ReadOnly)
		}
		return fmt.Sprintf("0 of %d tools were called: --calls FILE names those that may be", l.Tools)
	}
	return ""
}

// policyWords describe the settings of the run.
func policyWords(r *conformance.Report) []string {
	var out []string
	policy := r.Policy
	if policy.Gentle {
		out = append(out, fmt.Sprintf("gentle: %s not run", plural(notRun(r), "check")))
	}
	if policy.Set != "" {
		out = append(out, "requirements of "+policy.Set)
	}
	if policy.SideEffects != "" {
		effects := "side effects: " + policy.SideEffects
		if policy.Granted {
			effects += " (granted by the server)"
		}
		out = append(out, effects)
	}
	if policy.Repeat > 1 {
		out = append(out, fmt.Sprintf("%d times", policy.Repeat))
	}
	if policy.Seed != 0 {
		out = append(out, fmt.Sprintf("seed %d", policy.Seed))
	}
	if policy.Strict {
		out = append(out, "strict")
	}
	return out
}

// notRun counts the checks that a gentle run has left out.
func notRun(r *conformance.Report) int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Reason == conformance.SkipGentle {
			n++
		}
	}
	return n
}

func skippedWhole(r *conformance.Report) string {
	if areas := r.Summary().SkippedAreas; len(areas) > 0 {
		return "skipped whole: " + strings.Join(areas, ", ")
	}
	return ""
}

// heading names a part: by its area, and by its revision if there are several.
func (p *textReport) heading(part part) string {
	if len(p.r.Revisions) > 1 {
		return string(part.revision) + " / " + part.area
	}
	return part.area
}

// checks writes one line per check.
func (p *textReport) checks() {
	idWidth := 0
	for i := range p.r.Results {
		idWidth = max(idWidth, len(p.r.Results[i].ID))
	}
	for _, part := range parts(p.r) {
		p.printf("%s\n", p.heading(part))
		for _, res := range part.results {
			line := fmt.Sprintf("  %s %-6s %-*s  %s", p.sign(res), res.Level, idWidth, res.ID, res.Title)
			about := remarks(res)
			if res.Status == conformance.Skip {
				about = append([]string{message(res)}, about...)
			}
			if len(about) > 0 {
				line += " (" + strings.Join(about, "; ") + ")"
			}
			p.printf("%s\n", line)
		}
	}
	p.printf("\n")
}

// statusOrder is the order of counts.
var statusOrder = []conformance.Status{
	conformance.Pass, conformance.Warn, conformance.Fail, conformance.Inconclusive, conformance.Error, conformance.Skip,
}

// finding writes one check that did not pass, with its evidence, or in one line if it is
// known.
func (p *textReport) finding(res *conformance.Result) {
	p.printf("%s %-6s %s   %s\n", p.sign(res), res.Level, res.ID, source(res))
	for _, remark := range remarks(res) {
		p.printf("        %s\n", remark)
	}
	if res.Excused() || res.Baseline == conformance.BaselineStale {
		p.printf("\n")
		return
	}
	p.printf("        %s\n", res.Title)
	if res.Spec.Quote != "" {
		p.printf("        %q\n", res.Spec.Quote)
	}
	if res.Detail != "" {
		p.printf("        %s\n", visible(res.Detail))
	}
	if res.Expected != "" {
		p.printf("        expected %s, got %s\n", res.Expected, visible(res.Actual))
	}
	for i := range res.Evidence {
		p.frame(&res.Evidence[i])
	}
	p.printf("        again: %s\n\n", again(p.r, res))
}

// details writes a finding: its cause if several checks share it, and each check.
func (p *textReport) details(f *finding) {
	if ids := f.ids(); len(ids) > 1 {
		p.printf("%s %s: %s\n\n", p.sign(f.lead()), plural(len(ids), "check"), f.title())
	}
	for _, res := range f.results {
		p.finding(res)
	}
}

// Finding returns the part of the text report about one result: the rule, what was expected
// and seen, the messages, and the command that repeats it.
func Finding(r *conformance.Report, res *conformance.Result) string {
	var b strings.Builder
	p := &textReport{w: bufio.NewWriter(&b), r: r}
	if reported(res) {
		p.finding(res)
	} else {
		p.printf("%s %-6s %s  %s\n%s", p.sign(res), res.Level, res.ID, res.Title, message(res))
	}
	_ = p.w.Flush() // a builder takes all
	return b.String()
}

// frame writes one frame of evidence, shortened for readers.
func (p *textReport) frame(f *conformance.Frame) {
	sign := arrow(f)
	if p.o.ASCII {
		sign = map[string]string{"←": "<-", "→": "->"}[sign]
	}
	const width = 300
	p.printf("        %s %s\n", sign, frameLine(f, width))
}

func (p *textReport) foot() {
	s := p.r.Summary()
	words := func(n int, what string) string {
		if n == 0 {
			return ""
		}
		return what
	}
	faults := s.Must[conformance.Error] + s.Should[conformance.Error]
	advised := advice(p.r)
	p.line(
		string(p.r.Verdict()), broken(p.r), words(s.Stale, fmt.Sprintf("%d stale", s.Stale)),
		inconclusive(p.r),
		plural(s.Should[conformance.Warn]-advised, "recommendation"), words(advised, plural(advised, "piece")+" of advice"), words(s.Flaky, fmt.Sprintf("%d flaky", s.Flaky)),
		fmt.Sprintf("%d passed", s.Must[conformance.Pass]+s.Should[conformance.Pass]), fmt.Sprintf("%d not applicable", notApplicable(p.r)),
		words(s.Unscored, fmt.Sprintf("%d without score", s.Unscored)), words(faults, plural(faults, "fault")+" of the suite"),
	)
}

// next names what to do about the worst finding.
func (p *textReport) next(found []finding) {
	if len(found) == 0 || found[0].rank >= rankKnown {
		return
	}
	if failing, _, _ := ranked(found); len(failing) > screenFull {
		p.printf("fix first: %s\n", clip(found[0].title(), 2*screenWidth-signWidth))
	}
	p.printf("next: %s\n", found[0].again(p.r, "-v"))
}

// notApplicable counts the checks that do not apply, without those that the options exclude.
func notApplicable(r *conformance.Report) int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Status == conformance.Skip && shown(&r.Results[i]) {
			n++
		}
	}
	return n
}
