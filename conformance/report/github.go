package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// Limits of the summary of a step, and of GitHub: ten annotations of a kind. A summary has at
// most 60 lines.
const (
	summaryLimit    = 900_000
	summaryFindings = 10
	summaryOthers   = 6
	summaryAreas    = 8
	annotationLimit = 10
)

// GitHub writes the report as Markdown for the summary of a job ($GITHUB_STEP_SUMMARY) or a
// comment: the findings, what to fix first at the top, then the counts. Text of the server
// cannot mention people, link or format.
func GitHub(w io.Writer, r *conformance.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s MCP conformance %s: %s", markOf(verdictStatus(r.Verdict())).sign, r.Verdict(), markdown(named(r.Target)))
	fmt.Fprintf(&b, " (%s)\n\n%s.\n\n", markdown(strings.TrimPrefix(revisionsText(r)+", "+string(r.Target.Transport), ", ")), capital(sentence(r)))
	failing, others, advised := ranked(findings(r))
	githubFindings(&b, r, failing, summaryFindings, true)
	githubFindings(&b, r, append(others, advised...), summaryOthers, len(failing) == 0)
	githubTable(&b, r)
	if areas := r.Summary().SkippedAreas; len(areas) > 0 {
		fmt.Fprintf(&b, "Skipped whole: %s\n\n", markdown(strings.Join(areas, ", ")))
	}
	if r.CI.URL != "" {
		fmt.Fprintf(&b, "[run](%s)\n", r.CI.URL)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// githubFindings writes a list of findings, at most n, in full or a line each.
func githubFindings(b *strings.Builder, r *conformance.Report, found []finding, n int, full bool) {
	for i := range found {
		item := githubItem(r, &found[i], full)
		if i == n || b.Len()+len(item) > summaryLimit {
			fmt.Fprintf(b, "- %d more are in the other reports\n", len(found)-i)
			break
		}
		b.WriteString(item)
	}
	if len(found) > 0 {
		b.WriteString("\n")
	}
}

// verdictStatus returns the status with the mark of a verdict.
func verdictStatus(v conformance.Verdict) conformance.Status {
	switch v {
	case conformance.Passed:
		return conformance.Pass
	case conformance.Failed:
		return conformance.Fail
	case conformance.VerdictInconclusive:
	}
	return conformance.Inconclusive
}

// githubTable counts by part; parts without findings share a row, and so do those that are
// too many.
func githubTable(b *strings.Builder, r *conformance.Report) {
	b.WriteString("| | pass | fail | warn | inconclusive | n/a |\n|---|--:|--:|--:|--:|--:|\n")
	others, rows := map[conformance.Status]int{}, 0
	row := func(name string, n map[conformance.Status]int) {
		cell := func(n int) string {
			if n == 0 {
				return ""
			}
			return strconv.Itoa(n)
		}
		fail := cell(n[conformance.Fail])
		if fail != "" {
			fail = "**" + fail + "**"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", name, cell(n[conformance.Pass]), fail, cell(n[conformance.Warn]),
			cell(n[conformance.Inconclusive]+n[conformance.Error]), cell(n[conformance.Skip]))
	}
	for _, part := range parts(r) {
		counts := map[conformance.Status]int{}
		interesting := false
		for _, res := range part.results {
			counts[res.Status]++
			interesting = interesting || r.Fails(res)
		}
		if !interesting || rows == summaryAreas {
			for status, n := range counts {
				others[status] += n
			}
			continue
		}
		name := part.area
		if len(r.Revisions) > 1 {
			name = string(part.revision) + " " + name
		}
		rows++
		row(markdown(name), counts)
	}
	if len(others) > 0 {
		row("others", others)
	}
	b.WriteString("\n")
}

// githubItem writes a finding: what is wrong and, in full, a line with what was sent and the
// rule, and the command that repeats it.
func githubItem(r *conformance.Report, f *finding, full bool) string {
	var b strings.Builder
	res := f.lead()
	level := string(res.Level)
	if f.rank == rankFails && f.harm < harmMust {
		level += ", " + f.harm.String()
	}
	fmt.Fprintf(&b, "- %s **%s** (%s, %s): %s", markOf(checkStatus(res)).sign, markdown(clip(f.title(), messageLimit)), code(f.name()), level, markdown(clip(f.compared(), messageLimit)))
	for _, remark := range remarks(res) {
		fmt.Fprintf(&b, " · %s", markdown(remark))
	}
	b.WriteString("\n")
	if !full || f.rank >= rankShould {
		return b.String()
	}
	const sent = 200
	var rule []string
	if text := f.sent(sent); text != "" {
		rule = append(rule, "sent "+code(clip(text, sent)))
	}
	if res.Spec.Quote != "" {
		rule = append(rule, markdown(strconv.Quote(res.Spec.Quote)))
	}
	if url := specURL(res); url != "" {
		rule = append(rule, fmt.Sprintf("[spec](%s)", url))
	}
	if len(rule) > 0 {
		fmt.Fprintf(&b, "  %s  \n", strings.Join(rule, " · "))
	}
	fmt.Fprintf(&b, "  %s\n", code(f.again(r)))
	return b.String()
}

// checkStatus is the status of the mark of a result.
func checkStatus(res *conformance.Result) conformance.Status {
	if res.Baseline == conformance.BaselineStale {
		return conformance.Fail
	}
	return res.Status
}

// markdown escapes the syntax of Markdown and GitHub; an invisible joiner breaks mentions
// and references.
func markdown(text string) string {
	var b strings.Builder
	for _, c := range visible(text) {
		switch c {
		case '\\', '`', '*', '_', '{', '}', '[', ']', '(', ')', '<', '>', '|', '~', '!', '$', '^':
			b.WriteByte('\\')
			b.WriteRune(c)
		case '&':
			b.WriteString("&amp;")
		case '@', '#':
			b.WriteRune(c)
			b.WriteString("\u200b")
		case ':':
			b.WriteString("&#58;") // no URL becomes a link
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// code writes text as code, with a fence longer than any run of backticks in it.
func code(text string) string {
	text = visible(text)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// Annotations writes the workflow commands that mark a job, one for each finding and at most
// ten: what to fix first is the first, the rest is in the last. Advice has none of its own.
func Annotations(w io.Writer, r *conformance.Report) error {
	failing, others, _ := ranked(findings(r))
	var all []finding
	for _, f := range append(failing, others...) {
		if f.rank != rankKnown {
			all = append(all, f)
		}
	}
	var b strings.Builder
	for i := range all {
		f := &all[i]
		if i == annotationLimit-1 && len(all) > annotationLimit {
			fmt.Fprintf(&b, "::warning title=MCP conformance::%d more findings are in the report\n", len(all)-i)
			break
		}
		kind := "warning"
		if f.rank == rankFails {
			kind = "error"
		}
		text := f.title() + ": " + f.compared()
		if also := f.alsoFails(); also != "" {
			text += "; also fails " + also
		}
		fmt.Fprintf(&b, "::%s title=%s::%s\n", kind, property(f.name()+" "+string(f.lead().Level)), data(clip(text, messageLimit)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// data and property escape the two places of a workflow command.
func data(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(visible(text))
}

func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(text))
}
