package office

import (
	"path"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// MaxRow and maxCol are how many rows and columns a sheet has at most, by the
// format.
const (
	MaxRow = 1 << 20
	maxCol = 1 << 14
)

// xlsx reads worksheets in order: each is a page and a group.
type xlsx struct {
	*document.Builder
	*parts
	Options
	shared  []string          // the strings that cells share
	people  map[string]string // who wrote threads of comments, by their ids
	formats *formats
	filled  int
	names   map[string]string // parts of sheets by their names
	read    map[string]values // cells by the part of the sheet, of the last sheet read
}

// A sheet is a worksheet's name and part.
type sheet struct {
	name   string
	part   string
	hidden bool
}

func readXLSX(b *document.Builder, p *parts, o Options) error {
	root, err := p.tree(p.main)
	if err != nil {
		return err
	}
	rels, err := p.relations(p.main)
	if err != nil {
		return err
	}
	x := &xlsx{Builder: b, parts: p, Options: o}
	if x.shared, err = p.sharedStrings(related(rels, "sharedStrings")); err != nil {
		return err
	}
	if x.people, err = p.persons(related(rels, "person")); err != nil {
		return err
	}
	styles, err := p.tree(related(rels, "styles"))
	if err != nil {
		return err
	}
	x.formats = newFormats(styles, root.child("workbookPr").yes("date1904"))
	defer x.formats.close()
	x.names, p.resolve = map[string]string{}, x.referred
	all := sheets(root, rels)
	for _, s := range all {
		x.names[s.name] = s.part
	}
	read := 0
	for i, s := range all {
		if !o.includes(i+1, read) {
			continue
		}
		read++
		if err := x.sheet(i+1, s); err != nil {
			return err
		}
	}
	return nil
}

// sheets lists the sheets of the workbook: those of cells, of macros, and those that
// are one chart.
func sheets(workbook *element, rels map[string]relation) []sheet {
	var list []sheet
	for _, e := range workbook.child("sheets").all("sheet") {
		r := rels[e.rel("id")]
		if kind := path.Base(r.kind); !r.external && (kind == "worksheet" || kind == "chartsheet" || strings.HasSuffix(kind, "acrosheet")) {
			state := e.attr("state")
			list = append(list, sheet{e.attr("name"), r.target, state == "hidden" || state == "veryHidden"})
		}
	}
	return list
}

// sheet adds a page, a group, and a table for every block of cells that touch.
func (x *xlsx) sheet(no int, s sheet) error {
	values, merged, err := x.cells(s.part)
	if err != nil {
		return err
	}
	x.remember(s.part, values)
	rels, err := x.relations(s.part)
	if err != nil {
		return err
	}
	drop(x.Builder, rels)
	shapes, err := x.shapes(s.part, rels)
	if err != nil {
		return err
	}
	g := x.Group(nil, document.Sheet, "sheet: "+s.name)
	if s.hidden {
		g.Layer = document.LayerInvisible
	}
	spans := values.spans(merged)
	width, height := 0, 0
	for at, span := range spans {
		width, height = max(width, at.col+span.col), max(height, at.row+span.row)
	}
	for _, shape := range shapes {
		width, height = max(width, shape.to.col), max(height, shape.to.row)
	}
	x.Page(no, float64(width), float64(height))
	found, err := blocks(spans)
	if err != nil {
		return err
	}
	var tables []placed
	for _, block := range found {
		table, err := x.block(g, no, block, values, spans)
		if err != nil {
			return err
		}
		tables = append(tables, placed{block, &table.Item})
	}
	for _, shape := range shapes {
		if err := x.place(g, no, shape); err != nil {
			return err
		}
	}
	return x.readComments(s.name, rels, tables)
}

// block adds one table, in the coordinates of its upper left cell.
func (x *xlsx) block(g *document.Group, no int, b block, values values, spans map[point]point) (*document.Table, error) {
	c := newCells()
	for _, at := range b.cells {
		span := spans[at]
		if _, covered := c.taken[point{at.row - b.from.row, at.col - b.from.col}]; covered {
			continue // a merged range hides it
		}
		if err := c.add(at.row-b.from.row, at.col-b.from.col, span.row, span.col, values[at]); err != nil {
			return nil, err
		}
		cell := &c.list[len(c.list)-1]
		if len(b.cells) <= document.ManyCells { // else it follows from the place of the table
			box := provCells(no, at, point{at.row + span.row, at.col + span.col}).BBox
			cell.BBox = &box
		}
	}
	c.cols = b.to.col - b.from.col
	data, err := c.data(b.to.row-b.from.row, nil)
	if err != nil {
		return nil, err
	}
	table := x.Table(g, data)
	table.Prov = []document.Prov{provCells(no, b.from, b.to)}
	return table, nil
}

func provCells(no int, from, to point) document.Prov {
	return document.Prov{PageNo: no, BBox: document.BBox{
		L: float64(from.col), T: float64(from.row), R: float64(to.col), B: float64(to.row), Origin: document.TopLeft,
	}}
}
