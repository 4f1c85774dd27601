package pdf

import (
	"cmp"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fewestStacked is how many characters are drawn one below the other where text runs down.
const fewestStacked = 4

// stack moves Chinese, Japanese and Korean text that runs down, with upright characters, to
// the glyphs whose text runs at 270 degrees: there its lines are those that a reader sees,
// from the right to the left.
func (d *drawing) stack() {
	upright := d.glyphs[0]
	stacked := inColumns(upright)
	if stacked == nil {
		return
	}
	down := frame(270, d.width, d.height)
	kept := upright[:0:0]
	for i, g := range upright {
		if !stacked[i] {
			kept = append(kept, g)
			continue
		}
		top := down.apply(g.x+(1-ascent)*g.size, g.y+ascent*g.size)
		g.x, g.y, g.w = top[0], top[1], g.size
		if r, _ := utf8.DecodeRuneInString(g.text); r >= 0xfe10 && r <= 0xfe4f {
			g.text = norm.NFKC.String(g.text) // what punctuation looks like where text runs down
		}
		d.glyphs[270] = append(d.glyphs[270], g)
	}
	d.glyphs[0] = kept
	slices.SortStableFunc(d.glyphs[270], func(a, b glyph) int { return cmp.Compare(a.order, b.order) })
}

// inColumns tells which glyphs are of text that runs down, and is nil without any. Where most
// text does, so do characters on their own.
func inColumns(glyphs []glyph) []bool {
	out := make([]bool, len(glyphs))
	down, all := 0, 0
	stacks(glyphs, func(from, n int) {
		if n >= fewestStacked || from > 0 && out[from-1] && nextStack(&glyphs[from-1], &glyphs[from]) {
			down += n
			for i := range n {
				out[from+i] = true
			}
		}
	})
	if down == 0 {
		return nil
	}
	for i := range glyphs {
		if runsDown(&glyphs[i]) {
			all++
		}
	}
	if down*2 > all {
		stacks(glyphs, func(from, n int) {
			if n == 1 && (!runsDown(&glyphs[from]) || from > 0 && adjacent(&glyphs[from-1], &glyphs[from]) ||
				from+1 < len(glyphs) && adjacent(&glyphs[from], &glyphs[from+1])) {
				return
			}
			for i := range n {
				out[from+i] = true
			}
		})
	}
	return out
}

// stacks calls f with the first glyph and the number of glyphs that are drawn one below the
// other.
func stacks(glyphs []glyph, f func(from, n int)) {
	for i := 0; i < len(glyphs); {
		n := 1
		for i+n < len(glyphs) && below(&glyphs[i+n-1], &glyphs[i+n]) {
			n++
		}
		f(i, n)
		i += n
	}
}

// adjacent reports whether b is right beside a.
func adjacent(a, b *glyph) bool {
	return math.Abs(a.y-b.y) < 0.3*a.size && math.Abs(b.x-a.x-a.w) < a.size
}

// ascent is how far the square of a character reaches above the base line, in sizes.
const ascent = 0.88

// below reports whether b is right below a, both of a script that may run down.
func below(a, b *glyph) bool {
	size := max(a.size, b.size)
	down := a.y - b.y
	return runsDown(a) && runsDown(b) && math.Abs(a.x+a.w/2-b.x-b.w/2) < 0.3*size && down > 0.5*size && down < 2*size
}

// nextStack reports whether b begins the column left of the one that a ends.
func nextStack(a, b *glyph) bool {
	return runsDown(b) && a.x > b.x && a.x-b.x < 4*a.size && b.y > a.y
}

func runsDown(g *glyph) bool {
	r, _ := utf8.DecodeRuneInString(g.text)
	return isEastAsian(r)
}

// isEastAsian reports whether a character is Chinese, Japanese or Korean, or one of their
// punctuation.
func isEastAsian(r rune) bool {
	return r >= 0x3000 && r <= 0x303f || r >= 0xfe10 && r <= 0xfe4f || r >= 0xff00 && r <= 0xffef || r == 'ー' ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
