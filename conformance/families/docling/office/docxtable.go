package office

import (
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// wordTable is a table as it was read, before it has its place in the document.
type wordTable struct {
	data document.TableData
	rich map[int][]cellPart // the contents of the cells that hold tables, by their index
}

// cellPart is a part of a cell: a paragraph, or a table.
type cellPart struct {
	text  string
	table *wordTable
}

// table reads a table. One cell alone is a frame around its content.
func (d *docx) table(parent document.Parent, e *element) error {
	rows := rowsOf(e)
	if len(rows) == 1 && len(cellsOf(rows[0])) == 1 {
		return d.blocks(parent, cellsOf(rows[0])[0])
	}
	t, err := d.readTable(rows)
	if err != nil || t == nil {
		return err
	}
	d.remarks.settle(&d.place(parent, t).Item)
	e.find("blip", func(blip *element) {
		d.Picture(parent, d.image(d.rels[blip.rel("embed")].target, d.Options))
	})
	var charts []string
	e.find("chart", func(chart *element) { charts = append(charts, d.picture(chart.rel("id"))) })
	for _, name := range charts {
		if err := d.addChart(d.Builder, parent, name); err != nil {
			return err
		}
	}
	return nil
}

// readTable reads rows of cells; nil is a table without any.
func (d *docx) readTable(rows []*element) (*wordTable, error) {
	c := newCells()
	header := map[int]bool{}
	t := &wordTable{rich: map[int][]cellPart{}}
	for i, row := range rows {
		if row.child("trPr", "tblHeader").on() {
			header[i] = true
		}
		col := number(row.child("trPr", "gridBefore").attr("val"), 0)
		for _, cell := range cellsOf(row) {
			props := cell.child("tcPr")
			span := number(props.child("gridSpan").attr("val"), 1)
			if merge := props.child("vMerge"); merge != nil && merge.attr("val") != "restart" {
				if above, ok := c.taken[point{i - 1, col}]; ok && c.extend(i, above) {
					col = c.list[above].EndCol
					continue
				}
			}
			col = c.free(i, col)
			parts, err := d.cellParts(cell)
			if err != nil {
				return nil, err
			}
			if err := c.add(i, col, 1, span, flat(parts)); err != nil {
				return nil, err
			}
			if slices.ContainsFunc(parts, func(p cellPart) bool { return p.table != nil }) {
				t.rich[len(c.list)-1] = parts
			}
			col = c.list[len(c.list)-1].EndCol
		}
	}
	if len(c.list) == 0 {
		return nil, nil
	}
	var err error
	t.data, err = c.data(len(rows), header)
	return t, err
}

// cellParts are the paragraphs and tables of a cell. A table of one cell is a
// frame here, too.
func (d *docx) cellParts(e *element) (parts []cellPart, err error) {
	for _, kid := range e.children() {
		rows := rowsOf(kid)
		var more []cellPart
		switch {
		case kid.name == "tbl" && (len(rows) != 1 || len(cellsOf(rows[0])) != 1):
			t, err := d.readTable(rows)
			if err != nil {
				return nil, err
			}
			if t != nil {
				parts = append(parts, cellPart{table: t})
			}
			continue
		case kid.name == "p":
			if text := d.plain(kid); text != "" {
				parts = append(parts, cellPart{text: text})
			}
		}
		if more, err = d.cellParts(kid); err != nil { // also of text boxes
			return nil, err
		}
		parts = append(parts, more...)
	}
	return parts, nil
}

// flat is the text of a cell for readers that know no tables in cells: a line for
// each paragraph and row, tabs between cells.
func flat(parts []cellPart) string {
	var lines []string
	for _, p := range parts {
		if p.table == nil {
			lines = append(lines, p.text)
			continue
		}
		row := -1
		for _, c := range p.table.data.Cells {
			if c.StartRow != row {
				lines = append(lines, c.Text)
				row = c.StartRow
				continue
			}
			lines[len(lines)-1] += "\t" + c.Text
		}
	}
	return strings.Join(lines, "\n")
}

// place adds a table. A cell that holds tables refers to a group of its contents,
// which is below the table.
func (d *docx) place(parent document.Parent, t *wordTable) *document.Table {
	table := d.Table(parent, t.data)
	for i := range table.Data.Cells {
		parts := t.rich[i]
		if parts == nil {
			continue
		}
		group := d.Group(table, document.Unspecified, "cell")
		ref := group.Ref()
		table.Data.Cells[i].Ref = &ref
		for _, p := range parts {
			if p.table != nil {
				d.place(group, p.table)
				continue
			}
			d.Paragraph(group, p.text)
		}
	}
	return table
}

// rowsOf and cellsOf see through content controls and tracked insertions. Rows
// that were deleted are gone.
func rowsOf(e *element) []*element {
	return slices.DeleteFunc(through(e, "tr"), func(row *element) bool { return row.child("trPr", "del") != nil })
}

func cellsOf(e *element) []*element { return through(e, "tc") }

func through(e *element, name string) []*element {
	var found []*element
	for _, kid := range e.children() {
		switch kid.name {
		case name:
			found = append(found, kid)
		case "sdt":
			found = append(found, through(kid.child("sdtContent"), name)...)
		case "customXml", "ins":
			found = append(found, through(kid, name)...)
		}
	}
	return found
}
