package pdf

import (
	"regexp"
	"unicode/utf8"
)

// How captions begin: the word for a figure or a table, its number, and then a sign, a
// capital or nothing. "Figure 3 shows" begins a sentence.
var (
	figureCaption = regexp.MustCompile(`^(?:Figure|FIGURE|Fig\.|FIG\.|Abbildung|Abb\.|Bild|Figura|Illustration|Рис(?:унок|\.)|图|圖|図|그림)` + captionNumber)
	tableCaption  = regexp.MustCompile(`^(?:Table|TABLE|Tab\.|Tabelle|Tableau|Tabla|Tabella|Таблица|表)` + captionNumber)
)

const captionNumber = `\s*(?:[0-9]{1,3}|[A-Z]|[IVX]{1,5})(?:[.\-–/][0-9A-Z]{1,3})*[a-z]?(?:\s*[.:|–—](?:\s|$)|\s+-\s|\s+[\p{Lu}\p{Lo}(]|$)`

const (
	// maxCaption is how many signs a caption has at most: more is a paragraph.
	maxCaption = 400
	// nearCaption is how far a caption is from its table or picture, in sizes of its text.
	nearCaption = 4.0
)

func isCaption(text string) bool {
	return figureCaption.MatchString(text) || tableCaption.MatchString(text)
}

// A float is a table or a picture of a page, and its caption if it has one.
type float struct {
	box     box
	table   bool
	caption *block
}

// captioned gives the captions among the blocks of a page to its tables and pictures,
// each to the nearest one of its kind that has none. It returns the floats of the tables,
// by block, and those of the images. A caption without a float, such as that of a
// drawing, is left in its place.
func captioned(blocks []block, images []box) (tables map[*block]*float, pictures []*float, taken map[*block]bool) {
	tables, taken = map[*block]*float{}, map[*block]bool{}
	var all []*float
	for i := range blocks {
		if blocks[i].kind == tableBlock {
			f := &float{box: blocks[i].box(), table: true}
			tables[&blocks[i]] = f
			all = append(all, f)
		}
	}
	for _, image := range images {
		f := &float{box: image}
		pictures, all = append(pictures, f), append(all, f)
	}
	for i := range blocks {
		b := &blocks[i]
		if b.kind != caption {
			continue
		}
		if f := floatOf(b, all); f != nil {
			f.caption, taken[b] = b, true
		}
	}
	return tables, pictures, taken
}

// floatOf is the float right above or below a caption that shares some of its width.
func floatOf(b *block, all []*float) *float {
	at, table := b.box(), tableCaption.MatchString(b.text())
	least := nearCaption * b.lines[0].size
	var best *float
	for _, f := range all {
		gap := max(at.b-f.box.t, f.box.b-at.t, 0)
		if f.caption == nil && f.table == table && gap < least && at.l < f.box.r && at.r > f.box.l {
			best, least = f, gap
		}
	}
	return best
}

// box is what the lines of a block cover.
func (b *block) box() box {
	at := b.lines[0].box
	for i := range b.lines {
		at = at.union(b.lines[i].box)
	}
	return at
}

// short reports whether a block has no more text than a caption.
func (b *block) short() bool { return utf8.RuneCountInString(b.text()) <= maxCaption }
