package agent

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/knowledge"
)

// enough is the share of the words of a criterion that code must have.
const enough = 0.6

// Verify looks for each criterion in the code: for its words in names, texts and
// comments. All numbers must be there, and a negation where the criterion has one and
// nowhere else. It runs nothing and knows no language, so a PASS says that each criterion
// has a trace in the code, and a FAIL which has none. Without a criterion to look at
// there is no PASS.
func Verify(r Request) string {
	criteria := criteriaOf(r)
	if len(criteria) == 0 {
		return "FAIL - there is no criterion to look at: name a task of the plan in args.task, or write there what must hold, a line each"
	}
	var lines []string
	missing := 0
	for _, c := range criteria {
		trace := knowledge.Look(c, r.Code)
		switch {
		case trace.Share < enough || trace.Numberless:
			lines = append(lines, fmt.Sprintf("- not found: %s (the code does not mention %s)", c, strings.Join(trace.Missing, ", ")))
		case trace.Denied:
			lines = append(lines, fmt.Sprintf("- not found: %s (of this and line %d only one has a negation: %s)", c, trace.Line, short(trace.Text)))
		default:
			lines = append(lines, fmt.Sprintf("- found: %s (line %d: %s)", c, trace.Line, short(trace.Text)))
			continue
		}
		missing++
	}
	verdict := fmt.Sprintf("PASS - each of %d criteria has a trace in the code; nothing was run", len(criteria))
	switch problem := unfinished(r.Code); {
	case missing > 0:
		verdict = fmt.Sprintf("FAIL - %d of %d criteria have no trace in the code", missing, len(criteria))
	case problem != "":
		verdict = "FAIL - " + problem
	}
	return verdict + "\n" + strings.Join(lines, "\n")
}

// numbered is the number of an item of a list, which is none of the criterion.
var numbered = regexp.MustCompile(`^\d+[.)]\s+`)

// criteriaOf returns what must hold: the criteria of the task, else the lines of what
// the caller wrote.
func criteriaOf(r Request) []string {
	if r.Task != nil {
		return r.Task.Criteria
	}
	var out []string
	for line := range strings.Lines(r.Text) {
		line = numbered.ReplaceAllString(strings.Trim(line, " \t\r\n-*"), "")
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

func short(line string) string {
	line = strings.TrimSpace(line)
	if r := []rune(line); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return line
}

// unfinished returns what can be seen in code of any language: a bracket without a
// partner, or a mark of something to do.
func unfinished(code string) string {
	if open := unmatched(code); open != "" {
		return "unbalanced " + open
	}
	for _, mark := range []string{"TODO", "FIXME", "XXX"} {
		if strings.Contains(code, mark) {
			return "unfinished: the code contains " + mark
		}
	}
	return ""
}

// unmatched returns the first bracket without a partner, or "". Brackets in
// strings count too: a finding for a person to look at, no parser.
func unmatched(code string) string {
	partner := map[rune]rune{')': '(', ']': '[', '}': '{'}
	var open []rune
	for _, r := range code {
		switch r {
		case '(', '[', '{':
			open = append(open, r)
		case ')', ']', '}':
			if len(open) == 0 || open[len(open)-1] != partner[r] {
				return string(r)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return string(open[len(open)-1])
	}
	return ""
}
