package mcperrors

import (
	"slices"
	"strings"
)

// faultWords begin the lines in which programs report why they failed.
var faultWords = []string{
	"error", "exception", "panic", "fatal", "cannot ", "can't ", "could not", "not found", "no such", "denied", "failed", "refused", "missing", "invalid",
	"unable to", "unknown option", "usage:",
}

// ErrorLine reports whether a line of a program's output looks like the reason
// of a failure. Such a line names an error and is not part of a stack trace.
func ErrorLine(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	if strings.HasPrefix(line, "at ") || strings.HasPrefix(line, `file "`) {
		return false
	}
	return slices.ContainsFunc(faultWords, func(word string) bool { return strings.Contains(line, word) })
}

// Reason returns at most n lines of Stderr that are most likely to explain the
// failure, in their order. It prefers the first line that looks like an error
// and the last ones that do. If there are too few of those, it adds the last
// lines. It leaves out the first Earlier lines.
func (p *ProcessEvidence) Reason(n int) []string {
	lines := p.Stderr[min(max(0, p.Earlier), len(p.Stderr)):]
	if len(lines) <= n {
		return slices.Clone(lines)
	}
	var faults []int
	for i, line := range lines {
		if ErrorLine(line) {
			faults = append(faults, i)
		}
	}
	if n > 0 && len(faults) > n {
		faults = append(faults[:1], faults[len(faults)-n+1:]...)
	}
	for i := len(lines) - 1; len(faults) < n; i-- {
		if !slices.Contains(faults, i) {
			faults = append(faults, i)
		}
	}
	slices.Sort(faults)
	var out []string
	for _, i := range faults[:max(0, n)] {
		out = append(out, lines[i])
	}
	return out
}
