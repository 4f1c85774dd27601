package pdf

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// A writer puts blocks into a document.
type writer struct {
	b      *document.Builder
	levels []look // of headings, the largest first
	titled bool
	title  look
	head   *element // the title of a tagged file

	lists  []openList     // the list being written and those it is in
	open   *document.Text // a paragraph that may go on in the next column
	openAt box            // of its last part
	back   matrix         // from the coordinates of lines to those of the page
}

// An openList is a list that the next item may belong to.
type openList struct {
	group  *document.Group
	indent float64
	last   *document.Text
	tag    *element // of that item
}

// A look is what headings of one level have in common.
type look struct {
	size float64
	bold bool
}

// write writes the pages in order.
func write(b *document.Builder, pages []page, tags *tagTree) {
	furniture := furnish(pages, measure(pages))
	bodies := make([]page, len(pages))
	for i, p := range pages {
		body := p
		body.lines = nil
		for j := range p.lines {
			if furniture[&p.lines[j]] == "" {
				body.lines = append(body.lines, p.lines[j])
			}
		}
		bodies[i] = body
	}
	r := measure(bodies)
	r.tagged = tags != nil && tags.headed
	parts := make([][]block, len(pages))
	for i, p := range bodies {
		parts[i] = r.blocks(r.beside(p.lines))
	}
	w := &writer{b: b}
	w.rank(parts, r)
	for i, p := range pages {
		w.back = p.back
		w.furniture(p.lines, furniture, document.PageHeader)
		w.write(&bodies[i], parts[i])
		w.asides(&p, r)
		w.back = p.back
		w.furniture(p.lines, furniture, document.PageFooter)
		if len(p.lines) == 0 {
			w.unread(&p)
		}
	}
	report(b, pages)
}

// asides writes the text of a page that runs at other angles, after all else. None of it
// is a heading, however large it is. Watermarks are in the background.
func (w *writer) asides(p *page, r ruler) {
	open := w.open // the next page may go on with it
	for i := range p.asides {
		a := &p.asides[i]
		w.back, w.open, w.lists = a.back, nil, nil
		from := len(w.b.Texts())
		blocks := r.blocks(r.beside(a.lines))
		for j := range blocks {
			if b := &blocks[j]; b.kind == heading || b.kind == caption {
				b.kind = paragraph
			}
			w.block(&blocks[j], &float{box: blocks[j].box()})
		}
		if a.watermark {
			for _, t := range w.b.Texts()[from:] {
				t.Layer = document.LayerBackground
			}
		}
	}
	w.open, w.lists = open, nil
}

// unread stands for a page without text: scans are not read here.
func (w *writer) unread(p *page) {
	if len(p.images) == 0 {
		w.locate(&w.b.Picture(nil, nil).Item, p.no, box{0, 0, p.width, p.height}, "")
	}
}

func (w *writer) furniture(lines []line, labels map[*line]document.Label, label document.Label) {
	for i := range lines {
		if labels[&lines[i]] == label {
			t := w.b.Text(nil, label, lines[i].text())
			t.Layer = document.LayerFurniture
			w.locate(&t.Item, lines[i].page, lines[i].box, t.Text)
		}
	}
}

// rank finds the looks of headings. The largest on the first page is the title's, if it
// differs from that of running text.
func (w *writer) rank(parts [][]block, r ruler) {
	w.head = titleOf(parts)
	w.titled = w.head != nil
	for i, blocks := range parts {
		for j := range blocks {
			if blocks[j].kind != heading || blocks[j].heading() != nil {
				continue
			}
			l := lookOf(&blocks[j])
			if !slices.Contains(w.levels, l) {
				w.levels = append(w.levels, l)
			}
			if i == 0 && l.size > w.title.size && (l.bold || l.size > r.size) {
				w.title = l
			}
		}
	}
	slices.SortFunc(w.levels, func(a, b look) int {
		if c := cmp.Compare(b.size, a.size); c != 0 {
			return c
		}
		return map[bool]int{true: -1, false: 1}[a.bold]
	})
	shared := 0
	for _, blocks := range parts {
		for j := range blocks {
			if blocks[j].kind == heading && lookOf(&blocks[j]) == w.title {
				shared++
			}
		}
	}
	if i := slices.Index(w.levels, w.title); i >= 0 && shared == 1 {
		w.levels = slices.Delete(w.levels, i, i+1)
	}
}

// titleOf is the title of a tagged file, on its first page: tagged so, or the one heading of the
// first level.
func titleOf(parts [][]block) *element {
	var title *element
	for i, blocks := range parts {
		for j := range blocks {
			h := blocks[j].heading()
			switch {
			case h == nil || h.level() > 1 || h == title:
			case i == 0 && h.role == titleRole:
				return h
			case i > 0 || title != nil:
				return nil
			default:
				title = h
			}
		}
	}
	return title
}

// heading is the tagged heading that a block is, or nil.
func (b *block) heading() *element {
	if b.kind != heading {
		return nil
	}
	return b.lines[0].tag.heading()
}

func lookOf(b *block) look { return look{b.lines[0].size, b.lines[0].bold} }

func (w *writer) write(p *page, blocks []block) {
	images := slices.Clone(p.images)
	slices.SortStableFunc(images, func(a, b box) int { return cmp.Compare(b.t, a.t) })
	tables, pictures, taken := captioned(blocks, images)
	for i := range blocks {
		b := &blocks[i]
		if taken[b] {
			continue
		}
		// An image is before the first block that begins below its middle.
		for len(pictures) > 0 && (pictures[0].box.t+pictures[0].box.b)/2 > b.lines[0].box.t {
			w.picture(p.no, pictures[0])
			pictures = pictures[1:]
		}
		w.block(b, tables[b])
	}
	for _, f := range pictures {
		w.picture(p.no, f)
	}
}

func (w *writer) picture(no int, f *float) {
	w.lists = nil
	picture := w.b.Picture(nil, nil)
	w.locate(&picture.Item, no, f.box, "")
	if f.caption != nil {
		text := f.caption.text()
		w.locate(&w.b.PictureCaption(picture, text).Item, no, f.caption.box(), text)
	}
}

// table writes a table with its caption.
func (w *writer) table(b *block, f *float) {
	table := w.b.Table(nil, b.grid(w.bbox))
	w.locate(&table.Item, b.lines[0].page, f.box, "")
	if f.caption != nil {
		text := f.caption.text()
		w.locate(&w.b.TableCaption(table, text).Item, b.lines[0].page, f.caption.box(), text)
	}
}

// block writes a block; f is the float of a table.
func (w *writer) block(b *block, f *float) {
	at, text := b.box(), b.text()
	if b.kind != listItem {
		w.lists = nil
	}
	var item *document.Item
	switch b.kind {
	case heading:
		if h := b.heading(); h != nil {
			item = w.tagged(h, text)
			break
		}
		l := lookOf(b)
		if !w.titled && l == w.title {
			w.titled = true
			item = &w.b.Title(nil, text).Item
			break
		}
		item = &w.b.Header(nil, slices.Index(w.levels, l)+1, text).Item
	case listItem:
		if w.sameItem(b, text, at) {
			return
		}
		item = &w.item(b, text).Item
	case tableBlock:
		w.open = nil
		w.table(b, f)
		return
	case caption:
		item = &w.b.Text(nil, document.Caption, text).Item
	case paragraph:
		if w.goesOn(b, text, at) {
			return
		}
		w.open = w.b.Paragraph(nil, text)
		item = &w.open.Item
	}
	if b.kind != paragraph {
		w.open = nil
	}
	w.openAt = at
	w.locate(item, b.lines[0].page, at, text)
}

// tagged writes a tagged heading. Below a title the levels begin with that of its parts.
func (w *writer) tagged(h *element, text string) *document.Item {
	switch {
	case h == w.head:
		return &w.b.Title(nil, text).Item
	case w.head != nil && w.head.role != titleRole:
		return &w.b.Header(nil, h.level()-1, text).Item
	}
	return &w.b.Header(nil, h.level(), text).Item
}

// goesOn adds a block to the paragraph before it, when that one stopped within
// a sentence at the end of its column or page.
func (w *writer) goesOn(b *block, text string, at box) bool {
	t := w.open
	if t == nil || endsSentence(t.Text) {
		return false
	}
	if first, _ := utf8.DecodeRuneInString(text); !unicode.IsLower(first) {
		return false
	}
	last := t.Prov[len(t.Prov)-1]
	if last.PageNo == b.lines[0].page && at.b < w.openAt.b { // further down the same column
		return false
	}
	w.openAt = at
	w.lengthen(t, b, text, at)
	return true
}

// lengthen adds a block to the text that it is the rest of.
func (w *writer) lengthen(t *document.Text, b *block, text string, at box) {
	t.Text = join(t.Text, text)
	t.Orig = t.Text
	end := utf8.RuneCountInString(t.Text)
	t.Prov = append(t.Prov, document.Prov{
		PageNo: b.lines[0].page, BBox: *w.bbox(at), CharSpan: [2]int{end - utf8.RuneCountInString(text), end},
	})
}

// sameItem adds a block to the list item before it, when a tag says that it is the rest of
// that: in the next column, say.
func (w *writer) sameItem(b *block, text string, at box) bool {
	tag := b.lines[0].tag.item()
	if len(w.lists) == 0 || tag == nil || w.lists[len(w.lists)-1].tag != tag {
		return false
	}
	w.lengthen(w.lists[len(w.lists)-1].last, b, text, at)
	return true
}

// item adds a list item. One whose mark stands further right than that of the
// item before begins a list within it.
func (w *writer) item(b *block, text string) *document.Text {
	step := b.lines[0].size
	for len(w.lists) > 1 && b.indent < w.lists[len(w.lists)-1].indent-step/2 {
		w.lists = w.lists[:len(w.lists)-1]
	}
	switch n := len(w.lists); {
	case n == 0:
		w.lists = []openList{{group: w.b.List(nil), indent: b.indent}}
	case b.indent > w.lists[n-1].indent+step/2 && n < 8:
		w.lists = append(w.lists, openList{group: w.b.List(w.lists[n-1].last), indent: b.indent})
	case w.lists[n-1].last.Enumerated != b.enumerated:
		var parent document.Parent
		if n > 1 {
			parent = w.lists[n-2].last
		}
		w.lists[n-1] = openList{group: w.b.List(parent), indent: b.indent}
	}
	open := &w.lists[len(w.lists)-1]
	open.last, open.tag = w.b.ListItem(open.group, text, b.enumerated, b.marker), b.lines[0].tag.item()
	return open.last
}

// locate says where an item is.
func (w *writer) locate(item *document.Item, no int, at box, text string) {
	item.Prov = []document.Prov{{PageNo: no, BBox: *w.bbox(at), CharSpan: [2]int{0, utf8.RuneCountInString(text)}}}
}

// bbox is the place of a box on the page in the document's form.
func (w *writer) bbox(b box) *document.BBox {
	b = w.back.box(b)
	return &document.BBox{L: round(b.l), T: round(b.t), R: round(b.r), B: round(b.b), Origin: document.BottomLeft}
}
