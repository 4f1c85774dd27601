package office

import (
	"cmp"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// A sheetShape is what lies on the cells of a sheet: a picture, a chart, text (also
// that of a diagram), or a control of a form.
type sheetShape struct {
	picture  bool
	chart    bool
	part     string // of a picture or chart
	text     string
	label    document.Label
	from, to point
}

// shapes reads the drawing of a worksheet.
func (x *xlsx) shapes(sheet string, rels map[string]relation) ([]sheetShape, error) {
	drawing := related(rels, "drawing")
	root, err := x.tree(drawing)
	if err != nil || root == nil {
		return nil, err
	}
	controls, err := x.controls(sheet, rels)
	if err != nil {
		return nil, err
	}
	if rels, err = x.relations(drawing); err != nil {
		return nil, err
	}
	var found []sheetShape
	for _, anchor := range root.kids {
		from, to := corner(anchor.child("from")), corner(anchor.child("to"))
		to = point{max(to.row, from.row) + 1, max(to.col, from.col) + 1}
		anchor.find("pic", func(pic *element) {
			embed := pic.child("blipFill", "blip").rel("embed")
			found = append(found, sheetShape{picture: true, part: rels[embed].target, from: from, to: to})
		})
		anchor.find("relIds", func(ids *element) {
			texts, failed := x.diagram(rels[ids.rel("dm")].target)
			for _, text := range texts {
				found = append(found, sheetShape{text: text, label: document.Plain, from: from, to: to})
			}
			err = cmp.Or(err, failed)
		})
		anchor.find("chart", func(chart *element) {
			found = append(found, sheetShape{chart: true, part: rels[chart.rel("id")].target, from: from, to: to})
		})
		anchor.find("sp", func(shape *element) {
			label := controls[shape.child("nvSpPr", "cNvPr").attr("id")]
			if label == "" {
				label = document.Plain
			}
			if text := strings.Join(drawnText(shape.child("txBody")), "\n"); text != "" {
				found = append(found, sheetShape{text: text, label: label, from: from, to: to})
			}
		})
	}
	return found, err
}

// controls says which shapes of a sheet are checkboxes, and whether they are ticked.
func (x *xlsx) controls(sheet string, rels map[string]relation) (map[string]document.Label, error) {
	parts := map[string]string{}
	err := x.scan(sheet, func(e *element) bool { return e.name == "control" }, func(e *element) {
		parts[e.attr("shapeId")] = rels[e.rel("id")].target
	})
	if err != nil {
		return nil, err
	}
	found := map[string]document.Label{}
	for id, part := range parts {
		properties, err := x.tree(part)
		if err != nil {
			return nil, err
		}
		if kind := properties.attr("objectType"); kind == "CheckBox" || kind == "Radio" {
			found[id] = ticked(properties.attr("checked") == "Checked")
		}
	}
	return found, nil
}

// place adds a shape to the group of its sheet.
func (x *xlsx) place(g *document.Group, no int, s sheetShape) error {
	x.At(no, provCells(no, s.from, s.to).BBox)
	defer x.Anywhere()
	switch {
	case s.chart:
		return x.addChart(x.Builder, g, s.part)
	case s.picture:
		x.Picture(g, x.image(s.part, x.Options))
	default:
		x.Text(g, s.label, s.text)
	}
	return nil
}

func corner(e *element) point {
	read := func(name string) int {
		if kid := e.child(name); kid != nil {
			return min(max(number(kid.text, 0), 0), MaxRow)
		}
		return 0
	}
	return point{read("row"), read("col")}
}
