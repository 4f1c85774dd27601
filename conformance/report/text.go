package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// TextOptions are the choices of the text report.
type TextOptions struct {
	// Summary leaves out the line per check and shows one per area instead,
	// for a person at a terminal.
	Summary bool
	// Verbose shows the reasons of skips in the summary, too.
	Verbose bool
	// Quiet shows only the last two lines.
	Quiet bool
	// ASCII replaces the marks by letters.
	ASCII bool
	// Color marks outcomes with ANSI colours. Nothing depends on it.
	Color bool
	// Again begins the line that repeats one check; empty means "mcpctl
	// conform server" and the subject as the report has it.
	Again string
}

// mark is how a status looks.
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
	case conformance.Unknown:
		return mark{"?", "?", "35"}
	default:
		return mark{"E", "ERROR", "31"}
	}
}

// Text writes the report for people: a headline, the checks, what is
// wrong with the traffic that shows it, and the verdict. The order is fixed
// and times stand only in the headline, so two reports compare line by line.
func Text(w io.Writer, r *conformance.Report, o TextOptions) error {
	p := &textReport{w: bufio.NewWriter(w), r: r, o: o}
	if !o.Quiet {
		p.head()
		if o.Summary {
			p.areas()
		} else {
			p.checks()
		}
		for _, res := range r.Results {
			if res.Status != conformance.Pass && res.Status != conformance.Skip {
				p.finding(res)
			}
		}
	}
	p.foot()
	return p.w.Flush()
}

// textReport writes one report. Errors surface in the final Flush.
type textReport struct {
	w *bufio.Writer
	r *conformance.Report
	o TextOptions
}

func (p *textReport) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

func (p *textReport) sign(s conformance.Status) string {
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

func (p *textReport) sep() string {
	if p.o.ASCII {
		return " | "
	}
	return " · "
}

func (p *textReport) head() {
	t, policy := p.r.Target, p.r.Policy
	name := strings.TrimSpace(visible(t.Name + " " + t.Version))
	if name == "" {
		name = "a server that gave no name"
	}
	parts := []string{"MCP conformance", name}
	if place := subjectText(t); place != "" {
		parts = append(parts, place)
	}
	if t.Revision != "" {
		parts = append(parts, "session "+visible(t.Revision))
	}
	p.printf("%s\n", strings.Join(parts, p.sep()))
	effects := "side effects: " + string(policy.SideEffects)
	if policy.Granted {
		effects += " (granted by the server)"
	}
	parts = []string{effects, fmt.Sprintf("%.1f s", p.r.Duration.Seconds())}
	if areas := p.r.Summary().SkippedAreas; len(areas) > 0 {
		parts = append(parts, "skipped whole: "+strings.Join(areas, ", "))
	}
	p.printf("%s\n\n", strings.Join(parts, p.sep()))
}

// subjectText is the subject as one would type it after "conform server".
func subjectText(t conformance.Target) string {
	switch {
	case t.URL != "":
		return t.URL
	case len(t.Argv) > 0:
		words := make([]string, len(t.Argv))
		for i, w := range t.Argv {
			words[i] = shellWord(w)
		}
		return "-- " + strings.Join(words, " ")
	}
	return ""
}

// shellWord quotes a word for a shell where it needs it.
func shellWord(w string) string {
	plain := func(c rune) bool {
		return c < utf8.RuneSelf && (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-_./:=@%+,", c))
	}
	if w != "" && strings.IndexFunc(w, func(c rune) bool { return !plain(c) }) < 0 {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// checks writes one line per check.
func (p *textReport) checks() {
	idWidth := 0
	for _, res := range p.r.Results {
		idWidth = max(idWidth, len(res.ID))
	}
	area := ""
	for _, res := range p.r.Results {
		if res.Reason == conformance.SkipExcluded {
			continue
		}
		if res.Area != area {
			area = res.Area
			p.printf("%s\n", area)
		}
		line := fmt.Sprintf("  %s %-6s %-*s  %s", p.sign(res.Status), res.Level, idWidth, res.ID, res.Title)
		switch {
		case res.Status == conformance.Skip && res.Detail != "":
			line += fmt.Sprintf(" (%s: %s)", res.Reason, visible(res.Detail))
		case res.Status == conformance.Skip:
			line += fmt.Sprintf(" (%s)", res.Reason)
		}
		p.printf("%s\n", line)
	}
	p.printf("\n")
}

// areas writes one line per area.
func (p *textReport) areas() {
	for _, area := range p.areasShown() {
		counts := map[conformance.Status]int{}
		reasons := map[string]int{}
		for _, res := range p.r.Results {
			if res.Area != area || res.Reason == conformance.SkipExcluded {
				continue
			}
			counts[res.Status]++
			if res.Status == conformance.Skip {
				reasons[strings.ReplaceAll(string(res.Reason), "-", " ")]++
			}
		}
		if len(counts) == 0 {
			continue
		}
		line := fmt.Sprintf("  %-18s", area)
		for _, status := range []conformance.Status{conformance.Pass, conformance.Warn, conformance.Fail, conformance.Unknown, conformance.Error, conformance.Skip} {
			if n := counts[status]; n > 0 {
				line += fmt.Sprintf(" %s %-3d", p.sign(status), n)
			}
		}
		if len(reasons) > 0 {
			var parts []string
			for reason, n := range reasons {
				parts = append(parts, strconv.Itoa(n)+" "+reason)
			}
			slices.Sort(parts)
			line += "(" + strings.Join(parts, ", ") + ")"
		}
		p.printf("%s\n", strings.TrimRight(line, " "))
		if p.o.Verbose {
			for _, res := range p.r.Results {
				if res.Area == area && res.Status == conformance.Skip && res.Reason != conformance.SkipExcluded {
					p.printf("      %s %s: %s\n", res.ID, res.Reason, visible(res.Detail))
				}
			}
		}
	}
	p.printf("\n")
}

// areasShown are the areas of the results, each once, in the order of the report.
func (p *textReport) areasShown() []string {
	var areas []string
	for _, res := range p.r.Results {
		if !slices.Contains(areas, res.Area) {
			areas = append(areas, res.Area)
		}
	}
	return areas
}

// finding writes one check that did not pass, with its evidence.
func (p *textReport) finding(res conformance.Result) {
	p.printf("%s %-6s %s   %s\n", p.sign(res.Status), res.Level, res.ID, p.source(res.Spec))
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
	for _, f := range res.Evidence {
		p.frame(f)
	}
	if p.o.Again != "" {
		p.printf("        again: %s --only %s\n\n", p.o.Again, shellWord(res.ID))
	} else {
		p.printf("        again: %s\n\n", repro(p.r.Target, res.ID))
	}
}

func (p *textReport) source(s conformance.Spec) string {
	switch {
	case s.Section != "":
		return "spec " + p.r.Target.Revision + " " + s.Section
	case s.Seed != "":
		return "requirement " + s.Seed
	}
	return ""
}

// frame writes one frame of evidence, cut to what a reader takes in.
func (p *textReport) frame(f conformance.Frame) {
	arrow := "→"
	switch {
	case p.o.ASCII && f.Dir == conformance.FromServer:
		arrow = "<-"
	case p.o.ASCII:
		arrow = "->"
	case f.Dir == conformance.FromServer:
		arrow = "←"
	}
	var parts []string
	if h := f.HTTP; h != nil {
		if h.Method != "" {
			parts = append(parts, h.Method)
		}
		if h.Status != 0 {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s", h.Status, visible(h.ContentType))))
		}
	}
	if len(f.Data) > 0 {
		const shown = 300
		text := visible(string(bytes.ToValidUTF8(f.Data[:min(len(f.Data), shown)], []byte("\uFFFD"))))
		if f.Size > shown {
			text += fmt.Sprintf("… (%d bytes)", f.Size)
		}
		parts = append(parts, text)
	}
	if f.Note != "" {
		parts = append(parts, "["+visible(f.Note)+"]")
	}
	p.printf("        %s %s\n", arrow, strings.Join(parts, "  "))
}

func (p *textReport) foot() {
	s := p.r.Summary()
	known := s.Must.Unknown + s.Should.Unknown
	faults := s.Must.Error + s.Should.Error
	parts := []string{
		string(p.r.Verdict()),
		plural(s.Must.Fail, "broken requirement"),
		fmt.Sprintf("%d not established", known),
		plural(s.Should.Warn, "recommendation"),
		fmt.Sprintf("%d passed", s.Must.Pass+s.Should.Pass),
		fmt.Sprintf("%d not applicable", s.Skipped),
	}
	if faults > 0 {
		parts = append(parts, plural(faults, "fault")+" of the suite")
	}
	p.printf("%s\n", strings.Join(parts, p.sep()))
	p.printf("exit %d\n", p.r.ExitCode())
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// visible makes text from a server harmless on a terminal: control, format and
// direction characters become visible, line breaks become spaces.
func visible(text string) string {
	safe := func(c rune) bool { return c == ' ' || unicode.IsPrint(c) }
	if strings.IndexFunc(text, func(c rune) bool { return !safe(c) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		switch {
		case safe(c):
			b.WriteRune(c)
		case c == '\n' || c == '\r' || c == '\t':
			b.WriteByte(' ')
		default:
			quoted := strconv.QuoteRuneToASCII(c)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}
