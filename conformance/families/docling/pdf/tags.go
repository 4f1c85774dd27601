package pdf

import (
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
	// The outermost table that it is in, and its cell there: a table within a cell is text of
	// the cell.
	table, cell *element
	places      *layout // of a table, once they are known
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
	switch kid.Kind() { //nolint:exhaustive // nothing else is part of a tree
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
			e := &element{role: t.role(kid.Key("S").Name()), above: above, rows: 1, cols: 1, table: above.table, cell: above.cell}
			e.spans(kid.Key("A"))
			switch {
			case e.table == nil && e.role == "Table":
				e.table = e
			case e.table != nil && e.cell == nil && e.isCell():
				e.cell = e
			}
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

// role is the standard role in place of the file's own.
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

func (e *element) isCell() bool { return e.role == "TD" || e.role == "TH" }

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

// blocks are the roles of elements that are blocks of text.
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
