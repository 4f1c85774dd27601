package pdf

import (
	"cmp"
	"slices"
)

// table is the outermost table that an element is in and the cell of that, or nil: a table
// within a cell is text of the cell.
func (e *element) table() (table, cell *element) {
	var last *element
	for ; e != nil; e = e.above {
		switch e.role {
		case "TD", "TH":
			last = e
		case "Table":
			table, cell = e, last
		}
	}
	return table, cell
}

// A place is what a cell of a tagged table covers.
type place struct{ row, col, rows, cols int }

// grid gives the cells of a table their places. Rows may be in groups.
func (e *element) grid() (cells map[*element]place, rows, cols int) {
	cells = map[*element]place{}
	taken := map[[2]int]bool{}
	var walk func(e *element)
	walk = func(e *element) {
		for _, kid := range e.kids {
			if kid.role != "TR" {
				if kid.role != "Caption" {
					walk(kid)
				}
				continue
			}
			col := 0
			for _, c := range kid.kids {
				if c.role != "TD" && c.role != "TH" {
					continue
				}
				for taken[[2]int{rows, col}] {
					col++
				}
				width := 1
				for width < c.cols && !taken[[2]int{rows, col + width}] {
					width++
				}
				for y := range c.rows {
					for x := range width {
						taken[[2]int{rows + y, col + x}] = true
					}
				}
				cells[c] = place{rows, col, c.rows, width}
				col += width
				cols = max(cols, col)
			}
			rows++
		}
	}
	walk(e)
	return cells, rows, cols
}

// taggedTables takes the glyphs of tagged tables out of those of a page.
func taggedTables(glyphs []glyph) (found []*ruled, rest []glyph) {
	byTable := map[*element]map[*element][]glyph{} // by cell
	var order []*element
	for i := range glyphs {
		if table, _ := glyphs[i].tag.table(); table != nil && byTable[table] == nil {
			byTable[table] = map[*element][]glyph{}
			order = append(order, table)
		}
	}
	if len(order) == 0 {
		return nil, glyphs
	}
	for _, g := range glyphs {
		if table, cell := g.tag.table(); table != nil {
			byTable[table][cell] = append(byTable[table][cell], g)
		}
	}
	sound := map[*element]bool{}
	for _, table := range order {
		if t, ok := taggedTable(table, byTable[table]); ok {
			found, sound[table] = append(found, t), true
		}
	}
	for _, g := range glyphs {
		if table, _ := g.tag.table(); !sound[table] {
			rest = append(rest, g)
		}
	}
	return found, rest
}

// taggedTable is the part of a table that is on a page, with the glyphs of its cells. It is
// none where it has one column only, or text outside of its cells.
func taggedTable(table *element, glyphs map[*element][]glyph) (*ruled, bool) {
	places, rows, cols := table.grid()
	if cols < 2 || rows*cols > maxPlaces {
		return nil, false
	}
	first, last := rows, -1
	for cell := range glyphs {
		at, ok := places[cell]
		if !ok {
			return nil, false
		}
		first, last = min(first, at.row), max(last, at.row)
	}
	t := &ruled{cols: cols, bold: make([]bool, last-first+1)}
	for cell, at := range places {
		if at.row >= first && at.row <= last {
			t.cells = append(t.cells, &ruledCell{
				row: at.row - first, col: at.col, rows: min(at.rows, last+1-at.row), cols: at.cols,
				head: cell.role == "TH", glyphs: slices.Clone(glyphs[cell]),
			})
		}
	}
	slices.SortFunc(t.cells, func(a, b *ruledCell) int { return cmp.Or(a.row-b.row, a.col-b.col) })
	filled := 0
	for _, c := range t.cells {
		if c.read(); c.text == "" {
			continue
		}
		if filled++; filled == 1 {
			t.box = c.box
		}
		t.box = t.box.union(c.box)
	}
	return t, filled > 1
}
