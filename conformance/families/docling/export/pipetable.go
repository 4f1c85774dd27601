package export

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// maxPadding bounds the width a column is padded to: one long cell must not make
// every row as long.
const maxPadding = 200

// pipeTable is a table as GitHub writes it: the first row is the header, columns
// are padded, columns of numbers stand to the right.
func pipeTable(grid [][]document.Cell) string {
	if len(grid) == 0 || len(grid[0]) == 0 {
		return ""
	}
	rows := make([][]string, len(grid))
	for i, row := range grid {
		rows[i] = make([]string, len(row))
		for j, c := range row {
			rows[i][j] = cellText(c.Text)
		}
	}
	widths := make([]int, len(rows[0]))
	numeric := make([]bool, len(rows[0]))
	for col := range widths {
		widths[col] = utf8.RuneCountInString(rows[0][col]) + 2
		for _, row := range rows[1:] {
			widths[col] = max(widths[col], utf8.RuneCountInString(row[col]))
		}
		widths[col] = min(widths[col], maxPadding)
		numeric[col] = isNumeric(rows[1:], col)
	}
	var out strings.Builder
	for i, row := range rows {
		if i > 0 {
			out.WriteByte('\n')
		}
		writeRow(&out, row, widths, numeric)
		if i == 0 {
			out.WriteString("\n|")
			for _, w := range widths {
				out.WriteString(strings.Repeat("-", w+2) + "|")
			}
		}
	}
	return out.String()
}

func writeRow(out *strings.Builder, row []string, widths []int, numeric []bool) {
	out.WriteByte('|')
	for col, text := range row {
		pad := strings.Repeat(" ", max(widths[col]-utf8.RuneCountInString(text), 0))
		if numeric[col] {
			text = pad + text
		} else {
			text += pad
		}
		out.WriteString(" " + text + " |")
	}
}

// cellText is text that stays in its cell (S2-EXP-07). A backslash at the end
// would take the bar after it.
func cellText(text string) string {
	text = strings.ReplaceAll(escape(oneLine(text)), "|", "&#124;")
	if strings.HasSuffix(text, `\`) {
		text += " "
	}
	return text
}

var number = regexp.MustCompile(`^[-+]?(?:\d+|\d{1,3}(?:,\d{3})+)?(?:\.\d*)?(?:[eE][-+]?\d+)?$`)

// isNumeric says whether all filled cells of a column are numbers.
func isNumeric(rows [][]string, col int) bool {
	found := false
	for _, row := range rows {
		switch text := row[col]; {
		case text == "":
		case !number.MatchString(text) || !strings.ContainsAny(text, "0123456789"):
			return false
		default:
			found = true
		}
	}
	return found
}
