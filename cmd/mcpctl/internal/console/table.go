package console

import (
	"slices"
	"strings"

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

// Aligned pads every column but the last, whose text wraps between words. Where a narrow
// terminal leaves it too little room, it is on lines of its own below the others, without
// the headings. It marks control characters.
func Aligned(s Style, width int, indent string, headings []string, rows [][]string) string {
	return newTable(headings, rows).text(s, width, indent, Wrap)
}

// Brief is [Aligned] with one line for the last column: the end of a longer text is left
// out.
func Brief(s Style, width int, indent string, rows [][]string) string {
	return newTable(nil, rows).text(s, width, indent, func(line string, width int, _ string) []string {
		return []string{visible.Fit(line, width)}
	})
}

const (
	// maxCell bounds the width that one long cell can give its column.
	maxCell = 48
	// minLast is the least width of the last column beside the others.
	minLast = 24
)

// table is rows of marked text, and the widths of the columns before the last.
type table struct {
	headed bool
	cells  [][]string
	widths map[int]int
}

func newTable(headings []string, rows [][]string) *table {
	t := &table{headed: headings != nil, widths: map[int]int{}}
	if t.headed {
		t.cells = append(t.cells, headings)
	}
	for _, row := range rows {
		marked := make([]string, len(row))
		for i, cell := range row {
			marked[i] = visible.Line(OneLine(cell))
		}
		t.cells = append(t.cells, marked)
	}
	for _, row := range t.cells {
		for i := range len(row) - 1 {
			t.widths[i] = max(t.widths[i], min(maxCell, visible.Width(row[i])))
		}
	}
	return t
}

// text writes the rows. fold breaks the text of the last column, like [Wrap].
func (t *table) text(s Style, width int, indent string, fold func(line string, width int, hang string) []string) string {
	before := visible.Width(indent)
	for _, w := range t.widths {
		before += w + len(gap)
	}
	var b strings.Builder
	write := func(line string, heading bool) {
		line = strings.TrimRight(line, " ")
		if heading {
			line = s.Dim(line)
		}
		b.WriteString(line + "\n")
	}
	for n, row := range t.cells {
		heading, last := t.headed && n == 0, len(row)-1
		switch {
		case last < 0:
			write("", false)
			continue
		case width-before < minLast && last > 0:
			if heading {
				continue
			}
			full := slices.DeleteFunc(slices.Clone(row[:last]), func(cell string) bool { return cell == "" })
			for _, line := range Wrap(indent+strings.Join(full, gap), width, indent+below) {
				write(line, false)
			}
			if row[last] != "" {
				for _, line := range fold(row[last], width-visible.Width(indent+below), "") {
					write(indent+below+line, false)
				}
			}
			continue
		}
		line := indent
		for i, cell := range row[:last] {
			line += cell + strings.Repeat(" ", max(0, t.widths[i]-visible.Width(cell))) + gap
		}
		if visible.Width(line) > before { // a long cell has the line for itself
			write(line, heading)
			line = ""
		}
		hang := strings.Repeat(" ", before)
		if line == "" {
			line = hang
		}
		for i, part := range fold(row[last], max(minLast, width-before), "") {
			if i > 0 {
				line = hang
			}
			write(line+part, heading)
		}
	}
	return b.String()
}

// gap is between two columns, below before what does not fit beside them.
const (
	gap   = "  "
	below = "    "
)
