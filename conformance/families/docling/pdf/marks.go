package pdf

import (
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// markReach is how many signs before and after a mark in the content its letter
// is looked for.
const markReach = 4

// combine puts marks, such as vowel points, to the letters they stand at: on the
// page a mark has a place of its own. Programs draw marks after their letters or
// before them; which, shows in the places of all of them.
func combine(glyphs []glyph) []glyph {
	changed := accented(glyphs)
	var marks []int
	for i := range glyphs {
		if g := &glyphs[i]; g.text >= "\u0300" && isMark(g) {
			marks = append(marks, i)
		}
	}
	if len(marks) == 0 && !changed {
		return glyphs
	}
	var off [2]float64 // from the letters before, and from those after
	for _, i := range marks {
		for side, step := range []int{-1, 1} {
			if _, away := letterOf(glyphs, i, step); away < math.Inf(1) {
				off[side] += away
			} else {
				off[side] += glyphs[i].size
			}
		}
	}
	step := -1
	if off[1] < off[0] {
		step = 1
		slices.Reverse(marks)
	}
	for _, i := range marks {
		for _, way := range []int{step, -step} {
			if j, away := letterOf(glyphs, i, way); away <= glyphs[i].size/2 {
				glyphs[j].text += glyphs[i].text
				glyphs[i].text = ""
				break
			}
		}
	}
	kept := glyphs[:0]
	for _, g := range glyphs {
		if g.text != "" {
			g.text = norm.NFC.String(g.text)
			kept = append(kept, g)
		}
	}
	return kept
}

func isMark(g *glyph) bool {
	r, _ := utf8.DecodeRuneInString(g.text)
	return unicode.Is(unicode.Mn, r)
}

// letterOf is the letter before or after a mark in the content, and how far the
// mark stands from it.
func letterOf(glyphs []glyph, mark, step int) (letter int, away float64) {
	m := &glyphs[mark]
	for i, n := mark+step, 0; i >= 0 && i < len(glyphs) && n < markReach; i, n = i+step, n+1 {
		g := &glyphs[i]
		if isMark(g) || g.text == "" {
			continue
		}
		if r, _ := utf8.DecodeRuneInString(g.text); !unicode.IsLetter(r) || math.Abs(g.y-m.y) > g.size {
			break
		}
		at := m.x + m.w/2
		return i, max(g.x-at, at-g.x-g.w, 0)
	}
	return 0, math.Inf(1)
}

// accents are signs that TeX and others draw over a letter, and the marks they
// are there.
var accents = map[string]string{
	"`": "\u0300", "´": "\u0301", "ˆ": "\u0302", "˜": "\u0303", "¯": "\u0304", "˘": "\u0306", "˙": "\u0307", "¨": "\u0308",
	"˚": "\u030a", "˝": "\u030b", "ˇ": "\u030c", "¸": "\u0327", "˛": "\u0328",
}

// accented makes marks of the accents that stand over the letter drawn next, or
// over the one before; such an accent has no text then.
func accented(glyphs []glyph) (changed bool) {
	for i := range glyphs {
		a := &glyphs[i]
		mark, ok := accents[a.text]
		if !ok {
			continue
		}
		for _, j := range []int{i + 1, i - 1} {
			if j < 0 || j >= len(glyphs) {
				continue
			}
			g := &glyphs[j]
			middle := a.x + a.w/2
			if r, n := utf8.DecodeRuneInString(g.text); n == len(g.text) && unicode.IsLetter(r) &&
				middle > g.x && middle < g.x+g.w && math.Abs(a.y-g.y) < g.size/2 {
				if both := norm.NFC.String(string(r) + mark); utf8.RuneCountInString(both) == 1 {
					a.text, g.text, changed = "", both, true
				}
				break
			}
		}
	}
	return changed
}
