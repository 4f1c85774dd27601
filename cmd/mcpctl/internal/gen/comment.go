package gen

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
)

// lineWidth is where the lines of comments are wrapped.
const lineWidth = 90

// commentText returns a comment of paragraphs, some of them by a server. Each line begins
// with "// ", so none is a directive, and control characters are marked, so none ends its
// line. What gofmt would write otherwise is written as it does.
func commentText(indent string, paragraphs ...string) string {
	var lines []string
	for _, paragraph := range paragraphs {
		lines = append(append(lines, ""), wrapped(paragraph)...)
	}
	var b strings.Builder
	lines = trimmed(lines)
	for i, line := range lines {
		if line == "" {
			b.WriteString(indent + "//\n")
			continue
		}
		alone := i > 0 && lines[i-1] == "" && i+1 < len(lines) && lines[i+1] == ""
		if last, _ := utf8.DecodeLastRuneInString(line); alone && (unicode.IsLetter(last) || unicode.IsDigit(last)) {
			line += ":" // else gofmt makes it a heading
		}
		b.WriteString(indent + "// " + line + "\n")
	}
	return b.String()
}

// wrapped returns the lines of a text, none of them too long if it has words.
func wrapped(text string) []string {
	text = strings.NewReplacer("```", "```", "``", `"`, "''", `"`, "\u2028", "\n", "\u2029", "\n").Replace(text)
	var out []string
	for line := range strings.Lines(visible.Text(text)) {
		current := ""
		for _, word := range strings.Fields(line) {
			if current != "" && utf8.RuneCountInString(current)+utf8.RuneCountInString(word) >= lineWidth {
				out = append(out, plain(current))
				current = ""
			}
			if current != "" {
				current += " "
			}
			current += word
		}
		out = append(out, plain(current))
	}
	return out
}

// plain takes from the start of a line what gofmt or go vet would read as more than text:
// a heading, a definition of a link, and a build constraint of old.
func plain(line string) string {
	line = strings.TrimLeft(line, "# ")
	if strings.HasPrefix(line, "+") {
		line = "-" + line[1:]
	}
	if strings.HasPrefix(line, "[") {
		line = strings.ReplaceAll(line, "]:", "] :")
	}
	return line
}

// trimmed removes empty lines at both ends, and all but one of those that follow each other.
func trimmed(lines []string) []string {
	var out []string
	for _, line := range lines {
		if line != "" || len(out) > 0 && out[len(out)-1] != "" {
			out = append(out, line)
		}
	}
	if len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}
