package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// Limits of GitHub: a step may have a summary of 1 MiB, of which other tools need a part,
// and ten annotations of a kind.
const (
	summaryLimit    = 900_000
	annotationLimit = 10
)

// GitHub writes the report as Markdown for the summary of a job ($GITHUB_STEP_SUMMARY) or a
// comment. Text of the server cannot mention people, link or format.
func GitHub(w io.Writer, r *conformance.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s MCP conformance %s: %s", markOf(verdictStatus(r.Verdict())).sign, r.Verdict(), markdown(named(r.Target)))
	fmt.Fprintf(&b, " (%s)\n\n%s.\n\n", markdown(strings.TrimPrefix(revisionsText(r)+", "+string(r.Target.Transport), ", ")), capital(sentence(r)))
	if areas := r.Summary().SkippedAreas; len(areas) > 0 {
		fmt.Fprintf(&b, "Skipped whole: %s\n\n", markdown(strings.Join(areas, ", ")))
	}
	githubTable(&b, r)
	if r.CI.URL != "" {
		fmt.Fprintf(&b, "[run](%s)\n", r.CI.URL)
	}
	left := 0
	for i := range r.Results {
		res := &r.Results[i]
		if !reported(res) {
			continue
		}
		item := githubItem(r, res)
		if left > 0 || b.Len()+len(item) > summaryLimit {
			left++
			continue
		}
		b.WriteString(item)
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n%d more are not shown here: the summary is full.\n", left)
	}
	_, err := io.WriteString(w, b.String())
	return err
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

// githubTable counts by part; parts without findings share a row.
func githubTable(b *strings.Builder, r *conformance.Report) {
	b.WriteString("| | pass | fail | warn | inconclusive | n/a |\n|---|--:|--:|--:|--:|--:|\n")
	others := map[conformance.Status]int{}
	row := func(name string, n map[conformance.Status]int) {
		fail := fmt.Sprint(n[conformance.Fail])
		if n[conformance.Fail] > 0 {
			fail = "**" + fail + "**"
		}
		fmt.Fprintf(b, "| %s | %d | %s | %d | %d | %d |\n", name, n[conformance.Pass], fail, n[conformance.Warn],
			n[conformance.Inconclusive]+n[conformance.Error], n[conformance.Skip])
	}
	for _, part := range parts(r) {
		counts := map[conformance.Status]int{}
		interesting := false
		for _, res := range part.results {
			counts[res.Status]++
			interesting = interesting || reported(res)
		}
		if !interesting {
			for status, n := range counts {
				others[status] += n
			}
			continue
		}
		name := part.area
		if len(r.Revisions) > 1 {
			name = string(part.revision) + " " + name
		}
		row(markdown(name), counts)
	}
	if len(others) > 0 {
		row("others", others)
	}
	b.WriteString("\n")
}

func githubItem(r *conformance.Report, res *conformance.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- %s %s %s: %s", markOf(res.Status).sign, code(res.ID), res.Level, markdown(clip(message(res), messageLimit)))
	if url := specURL(res); url != "" {
		fmt.Fprintf(&b, " ([spec](%s))", url)
	}
	for _, remark := range remarks(res) {
		fmt.Fprintf(&b, " · %s", markdown(remark))
	}
	b.WriteString("\n")
	if len(res.Evidence) > 0 && !res.Excused() {
		// The content of an indented block cannot end it.
		b.WriteString("  <details><summary>wire</summary>\n\n")
		for i := range res.Evidence {
			fmt.Fprintf(&b, "      %s %s\n", arrow(&res.Evidence[i]), frameLine(&res.Evidence[i], frameLimit))
		}
		fmt.Fprintf(&b, "\n  %s\n  </details>\n", code(again(r, res)))
	}
	return b.String()
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

// Annotations writes the workflow commands that mark a job, at most ten: worst
// first, the rest in one.
func Annotations(w io.Writer, r *conformance.Report) error {
	var failures, warnings []*conformance.Result
	for i := range r.Results {
		res := &r.Results[i]
		switch {
		case r.Fails(res):
			failures = append(failures, res)
		case reported(res) && !res.Excused() && !res.Unscored:
			warnings = append(warnings, res)
		}
	}
	all := append(append([]*conformance.Result{}, failures...), warnings...)
	var b strings.Builder
	for i, res := range all {
		if i == annotationLimit-1 && len(all) > annotationLimit {
			fmt.Fprintf(&b, "::warning title=MCP conformance::%d more findings are in the report\n", len(all)-i)
			break
		}
		kind := "warning"
		if i < len(failures) {
			kind = "error"
		}
		title := res.ID + " " + string(res.Level)
		fmt.Fprintf(&b, "::%s title=%s::%s\n", kind, property(title), data(clip(res.Title+": "+message(res), messageLimit)))
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
