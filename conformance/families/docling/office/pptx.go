package office

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// pptx reads slides in order: each is a page and a group.
type pptx struct {
	*document.Builder
	*parts
	Options
	layouts map[string]*layout // slides share few
	authors map[string]remark  // of comments, by their ids
	slide   slide
}

// slide is the slide being read.
type slide struct {
	no     int
	group  *document.Group
	rels   map[string]relation
	layout *layout
}

func readPPTX(b *document.Builder, p *parts, o Options) error {
	x := &pptx{Builder: b, parts: p, Options: o, layouts: map[string]*layout{}}
	root, err := p.tree(p.main)
	if err != nil {
		return err
	}
	rels, err := p.relations(p.main)
	if err != nil {
		return err
	}
	if x.authors, err = p.authors(rels); err != nil {
		return err
	}
	size := root.child("sldSz")
	width, height := float64(number(size.attr("cx"), 0)), float64(number(size.attr("cy"), 0))
	read := 0
	seen := map[string]bool{} // a slide stands once, also if the list says it twice
	for i, id := range root.child("sldIdLst").all("sldId") {
		name := rels[id.rel("id")].target
		if !o.includes(i+1, read) || name == "" || seen[name] {
			continue
		}
		read++
		seen[name] = true
		b.Page(i+1, width, height)
		x.slide = slide{no: i + 1, group: b.Group(nil, document.Chapter, fmt.Sprintf("slide-%d", i))}
		if err := cmp.Or(x.readSlide(name), o.fits(b, 0)); err != nil {
			return err
		}
	}
	return nil
}

func (x *pptx) readSlide(name string) error {
	root, err := x.tree(name)
	if err != nil {
		return err
	}
	if root == nil {
		return failf(StageParse, Corrupt, "%s is not there", name)
	}
	if x.slide.rels, err = x.relations(name); err != nil {
		return err
	}
	drop(x.Builder, x.slide.rels)
	name = related(x.slide.rels, "slideLayout")
	if x.layouts[name] == nil {
		if x.layouts[name], err = x.layout(name); err != nil {
			return err
		}
	}
	x.slide.layout = x.layouts[name]
	if err := x.shapes(root.child("cSld", "spTree"), identity); err != nil {
		return err
	}
	x.Anywhere()
	return cmp.Or(x.speakerNotes(related(x.slide.rels, "notesSlide")), x.comments(related(x.slide.rels, "comments")))
}

// speakerNotes adds what stands on the notes page beside the slide and the
// decoration of the page, in the layer of notes.
func (x *pptx) speakerNotes(name string) error {
	root, err := x.tree(name)
	if err != nil {
		return err
	}
	for _, shape := range root.child("cSld", "spTree").all("sp") {
		switch placeholderOf(shape).kind {
		case "sldImg", "hdr", "ftr", "dt", "sldNum":
			continue
		}
		for _, p := range shape.child("txBody").all("p") {
			if text := document.PlainText(x.runs(p)); text != "" {
				x.Paragraph(x.slide.group, text).Layer = document.LayerNotes
			}
		}
	}
	return nil
}

// shapes reads the shapes of a slide or of a group in it.
func (x *pptx) shapes(tree *element, place transform) error {
	for _, shape := range tree.children() {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		switch shape.name {
		case "sp":
			x.shape(shape, place)
		case "pic":
			x.At(x.slide.no, place.box(shape.child("spPr", "xfrm")))
			x.Picture(x.slide.group, x.image(x.slide.rels[shape.child("blipFill", "blip").rel("embed")].target, x.Options))
		case "graphicFrame":
			if err := x.frame(shape, place); err != nil {
				return err
			}
		case "grpSp":
			if err := x.shapes(shape, place.within(shape.child("grpSpPr", "xfrm"))); err != nil {
				return err
			}
		}
	}
	return nil
}

// shape is a text shape: what it is, its placeholder says.
func (x *pptx) shape(e *element, place transform) {
	holder := placeholderOf(e)
	frame := e.child("spPr", "xfrm")
	if frame == nil {
		frame = x.slide.layout.frame(holder)
	}
	x.At(x.slide.no, place.box(frame))
	body := e.child("txBody")
	switch holder.kind {
	case "title", "ctrTitle", "subTitle":
		var all []document.Run
		for _, p := range body.all("p") {
			if runs := x.runs(p); len(runs) > 0 {
				if len(all) > 0 {
					all = append(all, document.Run{Text: "\n"})
				}
				all = append(all, runs...)
			}
		}
		switch {
		case document.PlainText(all) == "":
		case holder.kind == "subTitle":
			x.Fill(x.Header(x.slide.group, 1, ""), all)
		default:
			x.Fill(x.Title(x.slide.group, ""), all)
		}
	case "dt", "ftr", "sldNum", "hdr":
		for _, p := range body.all("p") {
			if text := document.PlainText(x.runs(p)); text != "" {
				x.Text(x.slide.group, document.PageFooter, text).Layer = document.LayerFurniture
			}
		}
	default:
		x.paragraphs(body, holder)
	}
}

// paragraphs reads a text body: bullets nest by level, the rest are texts.
func (x *pptx) paragraphs(body *element, holder placeholder) {
	l := lists{Builder: x.Builder}
	var counts [maxListLevel + 1]int
	for _, p := range body.all("p") {
		if x.ctx.Err() != nil {
			return // the next shape reports it
		}
		runs := x.runs(p)
		if document.PlainText(runs) == "" {
			continue
		}
		level := min(max(number(p.child("pPr").attr("lvl"), 0), 0), maxListLevel)
		bullet := x.slide.layout.bullet(p, body, holder, level)
		clear(counts[level+1:])
		if bullet == nil || bullet.name == "buNone" {
			l.end()
			clear(counts[:])
			x.Runs(x.slide.group, runs)
			continue
		}
		item := listItem{level: level, marker: "-"}
		if bullet.name == "buAutoNum" {
			if counts[level] == 0 {
				counts[level] = number(bullet.attr("startAt"), 1) - 1
			}
			counts[level]++
			item.enumerated, item.list = true, "numbered"
			item.marker = autoNumber(bullet.attr("type"), counts[level])
		}
		l.item(x.slide.group, item, runs)
	}
}

// frame is a graphic frame: a table, a diagram or a chart; anything else is a
// picture here.
func (x *pptx) frame(e *element, place transform) error {
	x.At(x.slide.no, place.box(e.child("xfrm")))
	content := e.child("graphic", "graphicData")
	if data := content.child("relIds").rel("dm"); data != "" {
		texts, err := x.diagram(x.slide.rels[data].target)
		for _, text := range texts {
			x.Paragraph(x.slide.group, text)
		}
		if err != nil || len(texts) > 0 {
			return err
		}
	}
	if id := content.child("chart").rel("id"); id != "" {
		return x.addChart(x.Builder, x.slide.group, x.slide.rels[id].target)
	}
	tbl := content.child("tbl")
	if tbl == nil {
		if len(content.children()) > 0 {
			x.Picture(x.slide.group, nil)
		}
		return nil
	}
	c := newCells()
	rows := tbl.all("tr")
	for i, row := range rows {
		for col, cell := range row.all("tc") {
			if cell.yes("hMerge") || cell.yes("vMerge") {
				continue
			}
			if _, taken := c.taken[point{i, col}]; taken {
				continue
			}
			var texts []string
			for _, p := range cell.child("txBody").all("p") {
				if text := document.PlainText(x.runs(p)); text != "" {
					texts = append(texts, text)
				}
			}
			rowSpan, colSpan := number(cell.attr("rowSpan"), 1), number(cell.attr("gridSpan"), 1)
			if err := c.add(i, col, min(rowSpan, len(rows)-i), colSpan, strings.Join(texts, "\n")); err != nil {
				return err
			}
		}
	}
	if len(c.list) == 0 {
		return nil
	}
	data, err := c.data(len(rows), nil)
	if err != nil {
		return err
	}
	x.Table(x.slide.group, data)
	return nil
}
