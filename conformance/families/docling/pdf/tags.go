package pdf

import (
	"cmp"
	"slices"
)

// The limits of the tree of tags, which a malformed file can make endless.
const (
	maxElements     = 500_000
	maxElementDepth = 512
)

// An element is a node of the tree of a tagged file: what a part of the text is, as the
// program that wrote the file knew it.
type element struct {
	role       string // a standard one, such as "P"
	above      *element
	rows, cols int // of a cell, how many it covers
	kids       []*element
}

// A tagTree is the tags of a file.
type tagTree struct {
	roles   value                    // from those of the file to the standard ones
	content map[int]map[int]*element // by page object and number of marked content
	count   int
	headed  bool // some of them are headings
}

// readTags reads the tags of a file; nil without any.
func readTags(f *reader) *tagTree {
	root := f.root().Key("StructTreeRoot")
	if root.Kind() != dictKind {
		return nil
	}
	t := &tagTree{roles: root.Key("RoleMap"), content: map[int]map[int]*element{}}
	t.walk(root.Key("K"), &element{}, 0, 0)
	if len(t.content) == 0 {
		return nil
	}
	return t
}

// of are the elements of a page, by the numbers of its marked content.
func (t *tagTree) of(s *sheet) map[int]*element {
	if t == nil {
		return nil
	}
	return t.content[s.page.ref]
}

// walk adds what is below an element; page is the number of the page object it is on.
func (t *tagTree) walk(kid value, above *element, page, depth int) {
	if t.count++; t.count > maxElements || depth > maxElementDepth {
		return
	}
	switch kid.Kind() {
	case numberKind:
		t.put(page, kid.Int(), above)
	case arrayKind:
		for i := range kid.Len() {
			t.walk(kid.Index(i), above, page, depth+1)
		}
	case dictKind:
		if p := kid.Key("Pg"); p.ref != 0 {
			page = p.ref
		}
		switch kid.Key("Type").Name() {
		case "MCR":
			t.put(page, kid.Key("MCID").Int(), above)
		case "OBJR":
		default:
			e := &element{role: t.role(kid.Key("S").Name()), above: above, rows: 1, cols: 1}
			e.spans(kid.Key("A"))
			above.kids = append(above.kids, e)
			t.walk(kid.Key("K"), e, page, depth+1)
		}
	}
}

func (t *tagTree) put(page, id int, e *element) {
	if t.content[page] == nil {
		t.content[page] = map[int]*element{}
	}
	t.content[page][id] = e
	t.headed = t.headed || e.heading() != nil
}

// role is the standard role that the file's own stands for.
func (t *tagTree) role(name string) string {
	for range 8 {
		next := t.roles.Key(name).Name()
		if next == "" || next == name {
			break
		}
		name = next
	}
	return name
}

// spans reads how many rows and columns a cell covers, of one list of attributes or several.
func (e *element) spans(a value) {
	for i := range a.Len() {
		e.spans(a.Index(i))
	}
	for key, to := range map[string]*int{"RowSpan": &e.rows, "ColSpan": &e.cols} {
		if n := a.Key(key).Int(); n > 1 && n <= maxSpan {
			*to = n
		}
	}
}

// maxSpan is how many rows or columns a cell covers at most.
const maxSpan = 100

// titleRole is the role of the title of a document, which is above all headings.
const titleRole = "Title"

// level is the level of a heading from 1, 0 of anything else.
func (e *element) level() int {
	switch {
	case e.role == "H" || e.role == titleRole:
		return 1
	case len(e.role) == 2 && e.role[0] == 'H' && e.role[1] >= '1' && e.role[1] <= '6':
		return int(e.role[1] - '0')
	}
	return 0
}

// blocks are the roles of elements whose text stands apart from that around it.
var blocks = []string{"P", "H", "H1", "H2", "H3", "H4", "H5", "H6", "Title", "LI", "TD", "TH", "Caption", "Note", "BlockQuote", "TOCI"}

// block is the innermost block that an element is in, or nil.
func (e *element) block() *element {
	return e.within(func(e *element) bool { return slices.Contains(blocks, e.role) })
}

// item is the innermost list item that an element is in, or nil.
func (e *element) item() *element { return e.within(func(e *element) bool { return e.role == "LI" }) }

// heading is the heading that an element is in, or nil.
func (e *element) heading() *element {
	return e.within(func(e *element) bool { return e.level() > 0 })
}

// within is the innermost element around e that is one of a kind, or nil.
func (e *element) within(is func(*element) bool) *element {
	for ; e != nil; e = e.above {
		if is(e) {
			return e
		}
	}
	return nil
}

// separate reports whether two elements are in different blocks.
func separate(a, b *element) bool {
	x, y := a.block(), b.block()
	return x != nil && y != nil && x != y
}

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
