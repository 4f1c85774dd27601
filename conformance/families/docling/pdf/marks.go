package pdf

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// markReach is how many signs before and after a mark in the content its letter
// is looked for.
const markReach = 4

// combine puts marks, such as vowel points, to the letters they stand at: on the
// page a mark has a place of its own. Programs draw marks after their letters or,
// some that write from the right, before them; which, shows in the places of all
// marks of a script.
func combine(glyphs []glyph) []glyph {
	changed := accented(glyphs)
	changed = unreorder(glyphs) || changed
	scripts := map[rune][]int{}
	for i := range glyphs {
		if g := &glyphs[i]; g.text >= "\u0300" && isMark(g) {
			r, _ := utf8.DecodeRuneInString(g.text)
			scripts[r>>scriptBits] = append(scripts[r>>scriptBits], i)
		}
	}
	if len(scripts) == 0 && !changed {
		return glyphs
	}
	for _, script := range slices.Sorted(maps.Keys(scripts)) {
		attach(glyphs, scripts[script])
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

// scriptBits is how many bits of a character do not tell its script: Unicode gives most
// scripts 128 characters.
const scriptBits = 7

// markSlack is how much further marks must be from the letters before them than from those
// after them to be drawn in front, in sizes for each mark. Marks above a letter of another
// width are never exactly at it.
const markSlack = 0.05

// attach puts the marks of a script to their letters.
func attach(glyphs []glyph, marks []int) {
	var off [2]float64 // from the letters before, and from those after
	slack := 0.0
	for _, i := range marks {
		slack += markSlack * glyphs[i].size
		for side, step := range []int{-1, 1} {
			if _, away := letterOf(glyphs, i, step); away < math.Inf(1) {
				off[side] += away
			} else {
				off[side] += glyphs[i].size
			}
		}
	}
	step := -1
	if off[1] < off[0]-slack {
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
}

// isMark reports whether a glyph has nothing but marks.
func isMark(g *glyph) bool {
	return g.text != "" && !strings.ContainsFunc(g.text, func(r rune) bool { return !unicode.Is(unicode.Mn, r) })
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
		if r, _ := utf8.DecodeRuneInString(g.text); !unicode.IsLetter(r) && !unicode.Is(unicode.Mc, r) || math.Abs(g.y-m.y) > g.size {
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

// thai puts the marks of Thai text into the order in which they are written: a vowel before
// a tone mark. The vowel sara am, which programs draw as a ring over the consonant and a
// letter after it, is one letter, after a tone mark; so is that of Lao.
func thai(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x0e00 && r <= 0x0eff }) {
		return text
	}
	text = thaiTones.ReplaceAllString(text, "$2$1")
	text = saraAm.ReplaceAllString(text, "${1}\u0e33")
	return strings.ReplaceAll(text, "\u0ecd\u0eb2", "\u0eb3")
}

var (
	thaiTones = regexp.MustCompile("([\u0e48-\u0e4b])([\u0e31\u0e34-\u0e37\u0e4d])")
	saraAm    = regexp.MustCompile("\u0e4d([\u0e48-\u0e4b]?)\u0e32")
)
