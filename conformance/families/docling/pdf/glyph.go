package pdf

import "math"

// A glyph is a sign on the page: its text, place on the base line and look.
type glyph struct {
	text         string
	x, y, w      float64
	size         float64
	track        float64 // the white between all letters of its text
	tag          *element
	order        int32 // when it is drawn, among all of the page
	bold, italic bool
	spaced       bool // a space is drawn before it
	fromRight    bool // so does most text of the page
}

// apart says that a word ends between a glyph and the next one on its line.
func (g *glyph) apart(next *glyph) bool {
	gap := next.x - g.x - g.w - g.track
	return gap > wordGap*next.size || next.spaced && gap > spaceGap*next.size
}

// goesOn says that a glyph stands right after another one, on its base line.
func (g *glyph) goesOn(last *glyph) bool {
	return math.Abs(g.y-last.y) < g.size/10 && math.Abs(g.x-last.x-last.w) < wordGap*g.size
}

// Gaps between glyphs, in sizes: from one on a word ends, from the other on a
// segment does.
const (
	wordGap    = 0.17
	spaceGap   = 0.02 // is enough where a space is drawn
	segmentGap = 1.0
)

// smallSize is how large a subscript is at most, to the text that it belongs to.
const smallSize = 0.9
