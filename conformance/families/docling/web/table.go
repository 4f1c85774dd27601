package web

import (
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// maxColumns bounds what colspan may claim; browsers stop there too.
const maxColumns = 1000

// tableRow is a row and whether it stands in the head of its table.
type tableRow struct {
	n    *html.Node
	head bool
}

// table adds a table. One that holds a table, or a single cell, is layout: its
// cells are read one after the other.
func (w *walker) table(n *html.Node, s style) {
	rows, cells := tableRows(n)
	nested := find(n, func(d *html.Node) bool { return d.DataAtom == atom.Table }) != nil
	if nested || cells < 2 {
		w.children(n, s)
		w.flush()
		return
	}
	data := grid(rows)
	w.item = nil
	t := w.b.Table(w.parent, data)
	for c := range n.ChildNodes() {
		if c.DataAtom == atom.Caption {
			if text := plain(c); text != "" {
				w.b.TableCaption(t, text)
			}
			return
		}
	}
}

// tableRows are the rows of a table in the order they are shown, and the number
// of their cells.
func tableRows(n *html.Node) (rows []tableRow, cells int) {
	var foot []tableRow
	for section := range n.ChildNodes() {
		for r := range section.ChildNodes() {
			if r.DataAtom != atom.Tr || hidden(section) || hidden(r) {
				continue
			}
			for c := range r.ChildNodes() {
				if isCell(c) {
					cells++
				}
			}
			row := tableRow{r, section.DataAtom == atom.Thead}
			if section.DataAtom == atom.Tfoot {
				foot = append(foot, row)
			} else {
				rows = append(rows, row)
			}
		}
	}
	return append(rows, foot...), cells
}

func isCell(n *html.Node) bool { return n.DataAtom == atom.Td || n.DataAtom == atom.Th }

// grid lays the cells of rows out as HTML does: each at the first free place of
// its row, without covering another.
func grid(rows []tableRow) document.TableData {
	data := document.TableData{NumRows: len(rows)}
	taken := make([]int, maxColumns) // by column: the row from which it is free
	for y, row := range rows {
		headed := row.head || y == 0 && allHeaders(row.n)
		x := 0
		for c := range row.n.ChildNodes() {
			if !isCell(c) || hidden(c) {
				continue
			}
			for x < maxColumns && taken[x] > y {
				x++
			}
			if x == maxColumns {
				break
			}
			height := span(c, "rowspan", len(rows)-y)
			width := 0
			for most := span(c, "colspan", maxColumns-x); width < most && taken[x+width] <= y; width++ {
				taken[x+width] = y + height
			}
			cell := document.NewCell(y, x, height, width, plain(c))
			cell.ColumnHeader = headed
			cell.RowHeader = !headed && c.DataAtom == atom.Th
			data.Cells = append(data.Cells, cell)
			x += width
			data.NumCols = max(data.NumCols, cell.StartCol+1)
		}
	}
	for i := range data.Cells { // columns at the end in which no cell begins are none
		c := &data.Cells[i]
		c.EndCol = min(c.EndCol, data.NumCols)
		c.ColSpan = c.EndCol - c.StartCol
	}
	return data
}

func allHeaders(row *html.Node) bool {
	for c := range row.ChildNodes() {
		if c.DataAtom == atom.Td {
			return false
		}
	}
	return true
}

// span is the attribute's number within 1 to most; rowspan 0 is all there is.
func span(n *html.Node, key string, most int) int {
	v, err := strconv.Atoi(attr(n, key))
	switch {
	case err == nil && v == 0 && key == "rowspan":
		return most
	case err != nil || v < 1:
		return 1
	}
	return min(v, most)
}
