package console

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
)

// Wrap breaks a line between words, so that no part is wider than width where its words allow
// that. The parts after the first one begin with hang.
func Wrap(line string, width int, hang string) []string { return wrap(line, width, hang, "") }

// WrapSignature breaks the signature of a tool, where it must also inside of types.
func WrapSignature(line string, width int, hang string) []string {
	return wrap(line, width, hang, "(|{<[,")
}

// wrap breaks a line at spaces, and after the characters in after where no space is near.
func wrap(line string, width int, hang, after string) []string {
	var out []string
	for visible.Width(line) > width {
		at := breakAt(line, width, len(line)-len(strings.TrimLeft(line, " ")), after)
		if at < 0 {
			break
		}
		out = append(out, strings.TrimRight(line[:at], " "))
		line = hang + strings.TrimLeft(line[at:], " ")
	}
	return append(out, line)
}

// breakAt returns the last space after start that leaves at most width columns before it, or
// else the last place after one of the characters in after, or else the first space behind
// them; -1 for none.
func breakAt(line string, width, start int, after string) int {
	at, inside, column := -1, -1, 0
	for i, r := range line {
		if column > width && max(at, inside) >= 0 {
			break
		}
		if r == ' ' && i > start {
			at = i
		}
		column += visible.Width(string(r))
		if strings.ContainsRune(after, r) && column <= width && i > start {
			inside = i + 1
		}
	}
	if at < 0 || inside > 0 && visible.Width(line[:at]) > width {
		return inside
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
