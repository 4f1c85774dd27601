package pdf

import (
	"cmp"
	"slices"
)

// A drawing is what a page shows: all that the layout is made of, whatever program read it
// from the file.
type drawing struct {
	width, height float64         // of the page as it is shown
	glyphs        map[int][]glyph // by the angle that their text runs at, in its frame
	drawn         int32           // glyphs
	outside       int             // characters beside the page
	unknown       int             // glyphs whose text the file does not tell
	images        []box
	rules         []box // thin areas, which may be borders of cells
	dots          []box // small ones, which may be bullets
}

// A page is what was found on a page. Lines and images are in the frame of most of its
// text.
type page struct {
	no            int
	width, height float64 // of that frame
	back          matrix  // from that frame to the page as it is shown
	lines         []line
	asides        []aside
	images        []box
	outside       int // characters that were drawn beside the page
	unknown       int // glyphs whose text the file does not tell
}

// smallest is how wide and high an image must be to count: what is smaller is
// a rule or a bullet.
const smallest = 20

// layout makes lines and tables of what page no shows.
func (d *drawing) layout(no int) page {
	d.stack()
	for _, glyphs := range d.glyphs {
		markDirection(glyphs)
	}
	main := mainAngle(d.glyphs)
	turn := frame(main, d.width, d.height)
	p := page{
		no: no, width: d.width, height: d.height, back: back(main, d.width, d.height),
		outside: d.outside, unknown: d.unknown, asides: d.asides(no, main),
	}
	if main%180 != 0 {
		p.width, p.height = d.height, d.width
	}
	tagged, rest := taggedTables(combine(d.glyphs[main]))
	across, down := directed(d.rules, turn)
	found, rest := tables(across, down, rest)
	found = append(found, tagged...)
	slices.SortStableFunc(found, func(a, b *ruled) int { return cmp.Compare(b.box.t, a.box.t) })
	for _, t := range found {
		t.box = t.box.within(p.width, p.height)
	}
	dots := make([]box, len(d.dots))
	for i := range dots {
		dots[i] = turn.box(d.dots[i])
	}
	for _, part := range columns(rest, found) {
		rows := segmented(part.glyphs)
		bulleted(rows, dots)
		p.lines = append(p.lines, arrange(no, between(part.tables, rows))...)
	}
	for _, b := range d.images {
		if b = b.within(d.width, d.height); b.r-b.l >= smallest && b.t-b.b >= smallest {
			p.images = append(p.images, turn.box(b))
		}
	}
	return p
}

// within is the part of a box on the page.
func (a box) within(width, height float64) box {
	return box{max(a.l, 0), max(a.b, 0), min(a.r, width), min(a.t, height)}
}

// segmented makes the rows of the glyphs, of segments.
func segmented(glyphs []glyph) [][]segment {
	var out [][]segment
	for _, row := range rows(glyphs) {
		if segments := split(row); len(segments) > 0 {
			out = append(out, segments)
		}
	}
	divide(out)
	return out
}

// between puts tables, each a row of its own, before the first row below its top.
func between(tables []*ruled, rows [][]segment) [][]segment {
	var out [][]segment
	for _, row := range rows {
		for len(tables) > 0 && tables[0].box.t > row[0].y {
			out = append(out, tables[0].row())
			tables = tables[1:]
		}
		out = append(out, row)
	}
	for _, t := range tables {
		out = append(out, t.row())
	}
	return out
}

// row is the place of a table among the rows of a page.
func (t *ruled) row() []segment { return []segment{{box: t.box, y: t.box.t, table: t}} }
