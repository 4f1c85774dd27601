package document

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Builder makes a document in reading order and keeps parents and children in
// agreement. A nil parent is the body. What is added under another node begins
// in that node's layer; every returned node may be changed, except its place.
type Builder struct {
	doc   *Document
	at    *Prov
	lost  losses
	size  int64
	cells int // of all tables
}

// The least that a node and a cell take as JSON. A cell stands there twice, as
// itself and in the grid, but where there are many.
const (
	nodeSize      = 100
	cellSize      = 400
	shortCellSize = 100
)

// Size is how many bytes of JSON the document takes at least, with so many cells
// of tables more than it has.
func (b *Builder) Size(more int) int64 {
	if cells := int64(b.cells + more); cells > ManyCells {
		return b.size + cells*shortCellSize
	}
	return b.size + int64(b.cells+more)*cellSize
}

// NewBuilder begins a document.
func NewBuilder(name string, origin *Origin) *Builder {
	return &Builder{doc: &Document{
		SchemaName:    SchemaName,
		Version:       Version,
		Name:          name,
		Origin:        origin,
		Furniture:     root("#/furniture", LayerFurniture),
		Body:          root("#/body", LayerBody),
		Groups:        []*Group{},
		Texts:         []*Text{},
		Pictures:      []*Picture{},
		Tables:        []*Table{},
		KeyValueItems: []*Region{},
		FormItems:     []*Region{},
		Pages:         Pages{},
	}}
}

func root(ref string, layer Layer) *Group {
	return &Group{Node: Node{SelfRef: ref, Children: []Ref{}, Layer: layer}, Name: "_root_", Label: Unspecified}
}

// Document is the finished document, checked: an error is a fault of the
// converter, not of its input.
func (b *Builder) Document() (*Document, error) {
	b.doc.Dropped = b.lost.sentences()
	if err := Check(b.doc); err != nil {
		return nil, err
	}
	return b.doc, nil
}

// Empty says whether the document has no text, table or picture yet.
func (b *Builder) Empty() bool {
	return len(b.doc.Texts)+len(b.doc.Tables)+len(b.doc.Pictures) == 0
}

// Page adds page no of that size.
func (b *Builder) Page(no int, width, height float64) *Page {
	p := &Page{Size: Size{width, height}, No: no}
	b.doc.Pages[no] = p
	return p
}

// place makes a node the last child of parent.
func (b *Builder) place(parent Parent, kind string, index int) Node {
	if parent == nil {
		parent = b.doc.Body
	}
	b.size += nodeSize
	p := parent.Base()
	n := Node{SelfRef: fmt.Sprintf("#/%s/%d", kind, index), Parent: &Ref{p.SelfRef}, Children: []Ref{}, Layer: p.Layer}
	p.Children = append(p.Children, n.Ref())
	return n
}

// At sets where the items that are added from here on were found. The span of
// characters is that of the whole item.
func (b *Builder) At(page int, box BBox) { b.at = &Prov{PageNo: page, BBox: box} }

// Anywhere ends At.
func (b *Builder) Anywhere() { b.at = nil }

func (b *Builder) item(parent Parent, kind string, index int, label Label) Item {
	prov := []Prov{}
	if b.at != nil {
		prov = append(prov, *b.at)
	}
	return Item{Node: b.place(parent, kind, index), Label: label, Prov: prov}
}

// Group adds a group.
func (b *Builder) Group(parent Parent, label Label, name string) *Group {
	g := &Group{Node: b.place(parent, "groups", len(b.doc.Groups)), Name: name, Label: label}
	b.doc.Groups = append(b.doc.Groups, g)
	return g
}

// List adds a group for list items. A list within a list has a list item as its parent.
func (b *Builder) List(parent Parent) *Group { return b.Group(parent, List, "list") }

// Text adds a text of that label. For a section header use Header, for a list
// item ListItem.
func (b *Builder) Text(parent Parent, label Label, text string) *Text {
	t := &Text{Item: b.item(parent, "texts", len(b.doc.Texts), label), Orig: text, Text: text}
	if label == Code {
		t.Language, t.Floating = "unknown", t.Floating.filled()
	}
	b.span(t)
	b.size += 2 * int64(len(text))
	b.doc.Texts = append(b.doc.Texts, t)
	return t
}

// Texts are the texts that were added so far, in order.
func (b *Builder) Texts() []*Text { return b.doc.Texts }

// Title adds the title of the document.
func (b *Builder) Title(parent Parent, text string) *Text { return b.Text(parent, TitleLabel, text) }

// Header adds a section header; level is from 1.
func (b *Builder) Header(parent Parent, level int, text string) *Text {
	t := b.Text(parent, SectionHeader, text)
	t.Level = max(level, 1)
	return t
}

// Paragraph adds a plain text.
func (b *Builder) Paragraph(parent Parent, text string) *Text { return b.Text(parent, Plain, text) }

// ListItem adds an item to list. The marker is "-" or as the source shows it: "3.", "b)".
func (b *Builder) ListItem(list *Group, text string, enumerated bool, marker string) *Text {
	t := b.Text(list, ListItem, text)
	t.Enumerated, t.Marker = enumerated, marker
	return t
}

// Runs adds a paragraph whose parts differ in look. Parts that look alike are
// joined; one look makes one text, several make an inline group of texts. White
// space alone adds nothing and returns nil.
func (b *Builder) Runs(parent Parent, runs []Run) Parent {
	runs = spaced(joined(runs))
	switch len(runs) {
	case 0:
		return nil
	case 1:
		return b.run(parent, runs[0])
	}
	g := b.Group(parent, Inline, "group")
	for _, r := range runs {
		b.run(g, r)
	}
	return g
}

// Fill gives t, a title, header or list item made with empty text, its runs. A
// header keeps one text, and the look only when all of it looks the same; a list
// item of several looks gets an inline group.
func (b *Builder) Fill(t *Text, runs []Run) {
	runs = joined(runs)
	if t.Label == ListItem {
		runs = spaced(runs)
	}
	if len(runs) > 1 && t.Label == ListItem {
		g := b.Group(t, Inline, "group")
		for _, r := range runs {
			b.run(g, r)
		}
		return
	}
	t.Text = PlainText(runs)
	t.Orig = t.Text
	b.span(t)
	if len(runs) == 1 {
		t.Formatting, t.Hyperlink = runs[0].Formatting, runs[0].Hyperlink
	}
}

// span fits the span of a text that At gave its place.
func (b *Builder) span(t *Text) {
	if b.at != nil && len(t.Prov) == 1 {
		t.Prov[0].CharSpan = [2]int{0, utf8.RuneCountInString(t.Text)}
	}
}

func (b *Builder) run(parent Parent, r Run) *Text {
	label := r.Label
	if label == "" {
		label = Plain
	}
	t := b.Text(parent, label, r.Text)
	t.Formatting, t.Hyperlink = r.Formatting, r.Hyperlink
	return t
}

// PlainText is the text of runs without their looks.
func PlainText(runs []Run) string {
	var text strings.Builder
	for _, r := range runs {
		text.WriteString(r.Text)
	}
	return strings.TrimSpace(text.String())
}

// joined merges neighbours that look alike; white space takes any look, so that
// it never makes a text of its own.
func joined(runs []Run) []Run {
	var out []Run
	var text strings.Builder // of the last of out
	blank := true            // so far it is white space alone
	for _, r := range runs {
		space := strings.TrimSpace(r.Text) == ""
		switch {
		case r.Text == "":
			continue
		case len(out) > 0 && blank:
			out[len(out)-1] = r // the white space before it takes its look
		case len(out) == 0:
			out = append(out, r)
		case !space && !r.alike(out[len(out)-1]):
			out[len(out)-1].Text = text.String()
			text.Reset()
			out = append(out, r)
		}
		blank = blank && space
		text.WriteString(r.Text)
	}
	if blank {
		return nil
	}
	out[len(out)-1].Text = text.String()
	return out
}

// Table adds a table.
func (b *Builder) Table(parent Parent, data TableData) *Table {
	data.Orientation = "rot_0"
	b.cells += len(data.Cells)
	if data.Cells == nil {
		data.Cells = []Cell{}
	}
	t := &Table{Item: b.item(parent, "tables", len(b.doc.Tables), TableLabel), Floating: Floating{}.filled(), Data: data}
	t.Annotations = []Raw{}
	b.doc.Tables = append(b.doc.Tables, t)
	return t
}

// Picture adds a picture; image is nil when its data are not kept.
func (b *Builder) Picture(parent Parent, image *Image) *Picture {
	p := &Picture{Item: b.item(parent, "pictures", len(b.doc.Pictures), PictureLabel), Floating: Floating{}.filled()}
	p.Image, p.Annotations = image, []Raw{}
	b.doc.Pictures = append(b.doc.Pictures, p)
	return p
}

// TableCaption adds the caption of a table.
func (b *Builder) TableCaption(t *Table, text string) *Text {
	return b.caption(t, &t.Floating, text)
}

// PictureCaption adds the caption of a picture.
func (b *Builder) PictureCaption(p *Picture, text string) *Text {
	return b.caption(p, &p.Floating, text)
}

func (b *Builder) caption(of Parent, f *Floating, text string) *Text {
	t := b.Text(of, Caption, text)
	f.Captions = append(f.Captions, t.Ref())
	return t
}
