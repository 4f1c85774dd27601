package office

import (
	"cmp"
	"path"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// docx reads the body of a document in order.
type docx struct {
	*document.Builder
	*parts
	Options
	rels      map[string]relation // of the part being read
	styles    styles
	numbering *numbering
	lists     lists
	notes     []note // footnotes and endnotes met so far
	remarks   remarks
	readings  map[*element]bool // ruby with a reading; some paragraphs are read twice
}

// note is a reference to a footnote or endnote.
type note struct{ part, id string }

func readDOCX(b *document.Builder, p *parts, o Options) error {
	d := &docx{Builder: b, parts: p, Options: o, readings: map[*element]bool{}}
	d.lists = lists{Builder: b}
	root, err := p.tree(p.main)
	if err != nil {
		return err
	}
	if d.rels, err = p.relations(p.main); err != nil {
		return err
	}
	drop(b, d.rels)
	if err := d.readStyles(); err != nil {
		return err
	}
	body := root.child("body")
	if body == nil {
		return failf(StageParse, Corrupt, "%s: no body", p.main)
	}
	if err := d.decoration(body, "headerReference", document.PageHeader); err != nil {
		return err
	}
	if err := d.blocks(nil, body); err != nil {
		return err
	}
	if err := cmp.Or(d.readNotes(), d.readComments()); err != nil {
		return err
	}
	err = d.decoration(body, "footerReference", document.PageFooter)
	d.Drop(document.LostReadings, len(d.readings))
	return err
}

func (d *docx) readStyles() error {
	root, err := d.tree(d.beside("styles"))
	if err != nil {
		return err
	}
	d.styles = newStyles(root)
	root, err = d.tree(d.beside("numbering"))
	d.numbering = newNumbering(root)
	return err
}

// beside is the part that the main one relates to by that kind.
func (d *docx) beside(kind string) string { return related(d.rels, kind) }

// decoration adds the texts of all headers or footers, each part once, as
// furniture.
func (d *docx) decoration(body *element, reference string, label document.Label) error {
	seen := map[string]bool{}
	var names []string
	body.find(reference, func(e *element) {
		r := d.rels[e.rel("id")]
		if name := r.target; !r.external && name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	})
	for _, name := range names {
		root, err := d.tree(name)
		if err != nil {
			return err
		}
		for _, text := range d.paragraphs(root) {
			d.Text(nil, label, text).Layer = document.LayerFurniture
		}
	}
	return nil
}

// readNotes adds the footnotes, then the endnotes, in the order of their
// references.
func (d *docx) readNotes() error {
	for _, kind := range []string{"footnote", "endnote"} {
		root, err := d.tree(d.beside(kind + "s"))
		if err != nil {
			return err
		}
		texts := map[string]string{}
		for _, e := range root.all(kind) {
			texts[e.attr("id")] = strings.Join(d.paragraphs(e), "\n")
		}
		for _, n := range d.notes {
			if text := texts[n.id]; n.part == kind && text != "" {
				d.Text(nil, document.Footnote, text)
				delete(texts, n.id) // once, however often it is referred to
			}
		}
	}
	return nil
}

// blocks reads paragraphs and tables, wherever content controls hide them.
func (d *docx) blocks(parent document.Parent, e *element) error {
	for _, kid := range e.children() {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		err := d.fits(d.Builder, 0)
		if err != nil {
			return err
		}
		switch kid.name {
		case "p":
			err = d.paragraph(parent, kid)
		case "tbl":
			d.lists.end()
			err = d.table(parent, kid)
		case "sdt":
			err = d.blocks(parent, kid.child("sdtContent"))
		case "customXml", "ins", "moveTo":
			err = d.blocks(parent, kid)
		case "commentRangeStart":
			d.remarks.meet(kid.attr("id"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// paragraph is a title, a header, a list item, a checkbox or a text, by its style,
// numbering and content; pictures and text boxes in it come after it.
func (d *docx) paragraph(parent document.Parent, e *element) error {
	r := d.runs(e)
	props := e.child("pPr")
	style := d.styles.chain(props.child("pStyle").attr("val"))
	text := document.PlainText(r.list)
	level := style.heading(props)
	item, numbered := d.numbering.item(style.numPr(props))
	before := len(d.Texts())
	switch {
	case text == "":
		if len(r.boxes)+len(r.images)+len(r.charts) > 0 {
			d.lists.end()
		}
	case style.title():
		d.lists.end()
		d.Fill(d.Title(parent, ""), r.list)
	case level > 0:
		d.lists.end()
		d.Fill(d.Header(parent, level, ""), r.list)
	case numbered:
		d.lists.item(parent, item, r.list)
	case len(r.ticks) == 1 && unticked(text) != "":
		d.lists.end()
		d.Text(parent, r.ticks[0], unticked(text))
	default:
		d.lists.end()
		d.Runs(parent, r.list)
	}
	d.remarks.settle(itemsOf(d.Texts()[before:])...)
	return d.extras(parent, r)
}

func itemsOf(texts []*document.Text) []*document.Item {
	items := make([]*document.Item, len(texts))
	for i, t := range texts {
		items[i] = &t.Item
	}
	return items
}

// extras adds what a paragraph holds beside its text.
func (d *docx) extras(parent document.Parent, r *runs) error {
	if hidden := strings.TrimSpace(r.hidden.String()); hidden != "" {
		d.Paragraph(parent, hidden).Layer = document.LayerInvisible
	}
	for _, name := range r.images {
		d.Picture(parent, d.image(name, d.Options))
	}
	for _, name := range r.diagrams {
		texts, err := d.diagram(name)
		if err != nil {
			return err
		}
		for _, text := range texts {
			d.lists.end()
			d.Paragraph(parent, text)
		}
	}
	for _, name := range r.charts {
		d.lists.end()
		if err := d.addChart(d.Builder, parent, name); err != nil {
			return err
		}
	}
	for _, box := range r.boxes {
		d.lists.end()
		if err := d.blocks(parent, box); err != nil {
			return err
		}
		d.lists.end()
	}
	return nil
}

// paragraphs are the plain texts of all paragraphs below e that have one, with
// their numbers.
func (d *docx) paragraphs(e *element) []string {
	var texts []string
	e.find("p", func(p *element) {
		if text := d.plain(p); text != "" {
			texts = append(texts, text)
		}
	})
	return texts
}

// plain is the text of a paragraph, with its number.
func (d *docx) plain(p *element) string {
	text := document.PlainText(d.runs(p).list)
	if text == "" {
		return ""
	}
	props := p.child("pPr")
	style := d.styles.chain(props.child("pStyle").attr("val"))
	if item, _ := d.numbering.item(style.numPr(props)); item.enumerated && item.marker != "" {
		text = item.marker + " " + text
	}
	return text
}

// picture is the name of the part a drawing shows, empty when it lies outside.
func (d *docx) picture(id string) string {
	if r := d.rels[id]; !r.external {
		return path.Clean(r.target)
	}
	return ""
}
