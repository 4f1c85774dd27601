package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// fewestRows is how many lines must repeat the positions of columns.
const fewestRows = 3

// How far rows of a table are apart: in sizes at most, and at most so many times
// what the others are.
const (
	tableGap  = 4.0
	tableStep = 2.5
)

// A span is what a column covers of the width.
type span struct{ l, r float64 }

// tableAt says how many lines from the first on are a table: lines of several
// segments whose columns agree. A line of fewer segments right below is the rest
// of a cell.
func tableAt(lines []line, r ruler) (n int, ok bool) {
	full := 0
	end := 0
	step := math.Inf(1) // the smallest distance of rows so far
	var columns []span
	for i := range lines {
		l := &lines[i]
		if i > 0 {
			gap := lines[i-1].y - l.y
			if lines[i-1].page != l.page || gap <= 0 || gap > min(tableGap*l.size, tableStep*step) {
				break
			}
			step = min(step, gap)
		}
		if l.table() != nil {
			break
		}
		merged, agree := overlay(columns, l.segments)
		if !agree {
			break
		}
		if len(l.segments) >= 2 {
			columns = merged
			full++
			end = i + 1
			continue
		}
		if i == 0 || r.isHeading(l) || len(columns) > 0 && l.segments[0].box.l < columns[0].r {
			break // a table begins, and each of its rows, with more than one
		}
	}
	return end, full >= fewestRows && len(columns) >= 2
}

// overlay adds segments to the columns they stand in. They disagree when one
// stands in two columns, or two stand in one.
func overlay(columns []span, segments []segment) (merged []span, agree bool) {
	merged = slices.Clone(columns)
	for _, s := range segments {
		hit := -1
		for i, c := range merged {
			if s.box.l < c.r && s.box.r > c.l {
				if hit >= 0 {
					return columns, false
				}
				hit = i
			}
		}
		if hit < 0 {
			merged = append(merged, span{s.box.l, s.box.r})
			continue
		}
		merged[hit] = span{min(merged[hit].l, s.box.l), max(merged[hit].r, s.box.r)}
	}
	slices.SortFunc(merged, func(a, b span) int { return cmp.Compare(a.l, b.l) })
	for i := 1; i < len(merged); i++ {
		if merged[i].l < merged[i-1].r {
			return columns, false
		}
	}
	taken := map[int]bool{}
	for _, s := range segments {
		i := columnOf(merged, s)
		if taken[i] {
			return columns, false
		}
		taken[i] = true
	}
	// With three segments and more the columns are few; where every line brings
	// new ones, nothing repeats.
	if len(columns) > 0 && len(merged) > len(columns)+1 && len(merged) > len(segments) {
		return columns, false
	}
	return merged, true
}

func columnOf(columns []span, s segment) int {
	best, at := math.Inf(-1), 0
	for i, c := range columns {
		if common := min(c.r, s.box.r) - max(c.l, s.box.l); common > best {
			best, at = common, i
		}
	}
	return at
}

// grid makes the cells of a table, ruled or not.
func (b *block) grid(flip func(box) *document.BBox) document.TableData {
	if t := b.lines[0].table(); t != nil {
		return t.grid(flip)
	}
	return grid(b.lines, flip)
}

// grid makes the cells of the lines of a table.
func grid(lines []line, flip func(box) *document.BBox) document.TableData {
	var columns []span
	for i := range lines {
		if len(lines[i].segments) >= 2 {
			columns, _ = overlay(columns, lines[i].segments)
		}
	}
	var rows [][]cell
	for i := range lines {
		if len(lines[i].segments) >= 2 || len(rows) == 0 {
			rows = append(rows, make([]cell, len(columns)))
		}
		row := rows[len(rows)-1]
		for _, s := range lines[i].segments {
			c := &row[columnOf(columns, s)]
			if c.text == "" {
				*c = cell{s.text, s.box}
				continue
			}
			c.text, c.box = join(c.text, s.text), c.box.union(s.box)
		}
	}
	rows = underHeads(rows)
	if lines[0].segments[0].fromRight() {
		for _, row := range rows {
			slices.Reverse(row)
		}
	}
	data := document.TableData{NumRows: len(rows), NumCols: len(rows[0])}
	texts := make([]string, len(rows[0]))
	for i, c := range rows[0] {
		texts[i] = c.text
	}
	header := headed(lines, texts)
	for y, row := range rows {
		for x, c := range row {
			made := document.NewCell(y, x, 1, 1, c.text)
			made.ColumnHeader = y == 0 && header
			if c.text != "" {
				made.BBox = flip(c.box)
			}
			data.Cells = append(data.Cells, made)
		}
	}
	return data
}

// A cell is text in a place of a table.
type cell struct {
	text string
	box  box
}

// underHeads puts the head of a column above its cells where it stands beside
// them, one to the left and the others to the right: of two neighbours, one has
// text in the first row alone, and the other has none there.
func underHeads(rows [][]cell) [][]cell {
	alone := func(x int) bool {
		return rows[0][x].text != "" && !slices.ContainsFunc(rows[1:], func(row []cell) bool { return row[x].text != "" })
	}
	for x := len(rows[0]) - 2; x >= 0 && len(rows[0]) > 2; x-- {
		switch {
		case alone(x) && rows[0][x+1].text == "":
			rows[0][x+1] = rows[0][x]
		case alone(x+1) && rows[0][x].text == "":
			rows[0][x] = rows[0][x+1]
			for _, row := range rows {
				row[x+1] = row[x]
			}
		default:
			continue
		}
		for y := range rows {
			rows[y] = slices.Delete(rows[y], x, x+1)
		}
	}
	return rows
}

// headed says that the first row is a header: alone in bold, or alone without a
// number.
func headed(lines []line, first []string) bool {
	bold := 0
	for i := range lines[1:] {
		if lines[i+1].bold {
			bold++
		}
	}
	if lines[0].bold && bold*2 < len(lines) {
		return true
	}
	rest := make([]string, len(lines))
	rest[0] = strings.Join(first, "")
	for i := range lines[1:] {
		rest[i+1] = lines[i+1].text()
	}
	return wordsAbove(rest) > 0
}

// wordsAbove is 1 when the first of the rows, and of most of them it alone, has
// no number.
func wordsAbove(rows []string) int {
	numbers := 0
	for _, row := range rows[1:] {
		if strings.ContainsFunc(row, unicode.IsDigit) {
			numbers++
		}
	}
	if strings.ContainsFunc(rows[0], unicode.IsDigit) || numbers*2 <= len(rows)-1 {
		return 0
	}
	return 1
}
