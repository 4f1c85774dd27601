package console

import (
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
)

// Unlimited is the width of a table that is not cut.
const Unlimited = 1 << 16

// Style colours text for a terminal that shows colours; the zero Style leaves
// text unchanged.
type Style bool

func (s Style) wrap(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold is for names and headings.
func (s Style) Bold(text string) string { return s.wrap("1", text) }

// Dim is for labels and notes.
func (s Style) Dim(text string) string { return s.wrap("2", text) }

// Bad is for what failed.
func (s Style) Bad(text string) string { return s.wrap("31", text) }

// separated writes rows as tab-separated values, the form of tables in a pipe.
// It marks control characters.
func separated(rows [][]string) string {
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(visible.Line(OneLine(cell)))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Aligned pads every column but the last, which is cut at the width. It marks
// control characters.
func Aligned(s Style, width int, indent string, headings []string, rows [][]string) string {
	cells := make([][]string, 0, len(rows)+1)
	if headings != nil {
		cells = append(cells, headings)
	}
	for _, row := range rows {
		marked := make([]string, len(row))
		for i, cell := range row {
			marked[i] = visible.Line(OneLine(cell))
		}
		cells = append(cells, marked)
	}
	widths := map[int]int{}
	for _, row := range cells {
		for i, cell := range row {
			widths[i] = max(widths[i], min(maxCell, utf8.RuneCountInString(cell)))
		}
	}
	var b strings.Builder
	for n, row := range cells {
		line := indent
		for i, cell := range row {
			if i == len(row)-1 {
				line += visible.Cut(cell, max(20, width-utf8.RuneCountInString(line)-1))
				break
			}
			line += cell + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell))+2)
		}
		line = strings.TrimRight(line, " ")
		if n == 0 && headings != nil {
			line = s.Dim(line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// maxCell bounds the width that one long cell can give its column.
const maxCell = 48
