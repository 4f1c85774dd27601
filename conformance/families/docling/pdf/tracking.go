package pdf

import (
	"slices"
	"strings"
	"unicode"
)

// fewestTracked is how many letters letter-spaced text has at least.
const fewestTracked = 5

// tracking is the white between all letters of a letter-spaced text, beyond which words
// are apart. It is 0 for other text, in which most letters of a word touch, and for text with
// numbers, which may be a row of a table. Dots do not tell: they may lead to a page number.
func tracking(part []glyph) float64 {
	letters := 0
	var gaps []float64
	for i := range part {
		if strings.ContainsFunc(part[i].text, unicode.IsDigit) {
			return 0
		}
		if !isLetter(&part[i]) {
			continue
		}
		letters++
		if i > 0 && isLetter(&part[i-1]) && !part[i].spaced {
			gaps = append(gaps, part[i].x-part[i-1].x-part[i-1].w)
		}
	}
	if letters < fewestTracked || letters*2 < len(part) || len(gaps) < fewestTracked-1 {
		return 0
	}
	slices.Sort(gaps)
	if track := gaps[len(gaps)/4]; track > wordGap*part[0].size {
		return track
	}
	return 0
}

func isLetter(g *glyph) bool { return strings.ContainsFunc(g.text, unicode.IsLetter) }

// trackAlike gives the parts of a row that are too short to tell, or are numbers, the
// tracking of one that tells, if they have as much white between all that they are made of.
func trackAlike(parts [][]glyph) {
	var like *glyph
	for _, part := range parts {
		if track := tracking(part); track > 0 {
			part[0].track = track
			like = &part[0]
		}
	}
	if like == nil {
		return
	}
	for _, part := range parts {
		if part[0].track == 0 && isSpaced(part, like) {
			for i := range part {
				part[i].track = like.track
			}
		}
	}
}

// isSpaced reports whether no white in a part is less than the tracking of a letter.
func isSpaced(part []glyph, like *glyph) bool {
	const slack = 0.1 // for kerning, in sizes
	for i := range part {
		if part[i].size != like.size ||
			i > 0 && part[i].x-part[i-1].x-part[i-1].w < like.track-slack*like.size {
			return false
		}
	}
	return true
}
