package console

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks a line between words, so that no part is wider than width where its words allow
// that. The parts after the first one begin with hang.
func Wrap(line string, width int, hang string) []string {
	var out []string
	for utf8.RuneCountInString(line) > width {
		at := breakAt(line, width, len(line)-len(strings.TrimLeft(line, " ")))
		if at < 0 {
			break
		}
		out = append(out, strings.TrimRight(line[:at], " "))
		line = hang + strings.TrimLeft(line[at:], " ")
	}
	return append(out, line)
}

// breakAt returns the last space after start that leaves at most width characters before it, or
// else the first one behind them; -1 for none.
func breakAt(line string, width, start int) int {
	at, column := -1, 0
	for i, r := range line {
		if column > width && at >= 0 {
			break
		}
		if r == ' ' && i > start {
			at = i
		}
		column++
	}
	return at
}

// Wrapped breaks the lines of a text for a terminal, each with an indent. In a pipe lines stay
// whole, because a reader there knows nothing of a width.
func (c *Console) Wrapped(text, indent string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = indent + strings.TrimRight(line, "\n")
		if c.OutTerminal {
			line = strings.Join(Wrap(line, c.Width, indent), "\n")
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// TextWidth is the width of a report for people. Its lines break in a pipe, too, because it is no
// table.
func (c *Console) TextWidth() int {
	if c.OutTerminal {
		return min(c.Width, 120)
	}
	return 80
}
