package pdf

import (
	"cmp"
	"slices"
)

// A place is what a cell of a tagged table covers.
type place struct{ row, col, rows, cols int }

// A layout is the places of the cells of a tagged table.
type layout struct {
	cells      map[*element]place
	rows, cols int
	taken      map[[2]int]bool
}

// layout returns the places of a table. One with too many has no cells.
func (e *element) layout() *layout {
	if e.places == nil {
		e.places = &layout{cells: map[*element]place{}, taken: map[[2]int]bool{}}
		if e.places.add(e); len(e.places.taken) > maxPlaces {
			e.places.cells = nil
		}
	}
	return e.places
}

// add adds the rows below an element, which may be in groups.
func (g *layout) add(e *element) {
	for _, kid := range e.kids {
		switch {
		case len(g.taken) > maxPlaces:
			return
		case kid.role == "TR":
			g.row(kid)
		case kid.role != "Caption":
			g.add(kid)
		}
	}
}

func (g *layout) row(e *element) {
	col := 0
	for _, c := range e.kids {
		if !c.isCell() || len(g.taken) > maxPlaces {
			continue
		}
		for g.taken[[2]int{g.rows, col}] {
			col++
		}
		width := 1
		for width < c.cols && !g.taken[[2]int{g.rows, col + width}] {
			width++
		}
		for y := range c.rows {
			for x := range width {
				g.taken[[2]int{g.rows + y, col + x}] = true
			}
		}
		g.cells[c] = place{g.rows, col, c.rows, width}
		col += width
		g.cols = max(g.cols, col)
	}
	g.rows++
}

// taggedTables takes the glyphs of tagged tables out of those of a page.
func taggedTables(glyphs []glyph) (found []*ruled, rest []glyph) {
	byTable := map[*element]map[*element][]glyph{} // by cell
	var order []*element
	for i := range glyphs {
		if table, _ := glyphs[i].tableCell(); table != nil && byTable[table] == nil {
			byTable[table] = map[*element][]glyph{}
			order = append(order, table)
		}
	}
	if len(order) == 0 {
		return nil, glyphs
	}
	for _, g := range glyphs {
		if table, cell := g.tableCell(); table != nil {
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
		if table, _ := g.tableCell(); !sound[table] {
			rest = append(rest, g)
		}
	}
	return found, rest
}

// tableCell is the tagged table that a glyph is in, and the cell there, or nil.
func (g *glyph) tableCell() (table, cell *element) {
	if g.tag == nil {
		return nil, nil
	}
	return g.tag.table, g.tag.cell
}

// taggedTable is the part of a table that is on a page, with the glyphs of its cells. It is
// none where it has one column only, or text outside of its cells.
func taggedTable(table *element, glyphs map[*element][]glyph) (*ruled, bool) {
	g := table.layout()
	if g.cols < 2 || g.rows*g.cols > maxPlaces {
		return nil, false
	}
	first, last := g.rows, -1
	for cell := range glyphs {
		at, ok := g.cells[cell]
		if !ok {
			return nil, false
		}
		first, last = min(first, at.row), max(last, at.row)
	}
	t := &ruled{cols: g.cols, bold: make([]bool, last-first+1)}
	for cell, at := range g.cells {
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
