package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Some programs draw the bullets of lists as small shapes, not as text.

// The measures of drawn bullets: in points, and in sizes of the text beside them.
const (
	dotSmallest, dotLargest = 1.5, 9.0
	dotSquare               = 1.35 // times as wide as high, or as high as wide, at most
	dotSize                 = 0.8  // of the size of the text
	dotReach                = 3.0  // from the text
	dotAlone                = 1.0  // from other text on the line
	maxDots                 = 2000 // of a page
)

// dot keeps a shape that may be a bullet.
func (d *drawing) dot(b box) {
	w, h := b.r-b.l, b.t-b.b
	if min(w, h) >= dotSmallest && max(w, h) <= dotLargest && max(w, h) <= dotSquare*min(w, h) && len(d.dots) < maxDots {
		d.dots = append(d.dots, b)
	}
}

// bulleted puts drawn bullets before the text right after them.
func bulleted(rows [][]segment, dots []box) {
	middle := func(b box) float64 { return (b.t + b.b) / 2 }
	dots = slices.SortedFunc(slices.Values(dots), func(a, b box) int { return cmp.Compare(middle(a), middle(b)) })
	for _, row := range rows {
		bottom, top := math.Inf(1), math.Inf(-1)
		for i := range row {
			bottom, top = min(bottom, row[i].y), max(top, row[i].y+row[i].size)
		}
		at, _ := slices.BinarySearchFunc(dots, bottom, func(b box, y float64) int { return cmp.Compare(middle(b), y) })
		for ; at < len(dots) && middle(dots[at]) <= top; at++ {
			putBullet(row, dots[at])
		}
	}
}

// putBullet puts a bullet to the segment right after a dot, if there is one.
func putBullet(row []segment, dot box) {
	middle := (dot.t + dot.b) / 2
	for i := range row {
		s := &row[i]
		if s.table != nil || dot.t-dot.b > dotSize*s.size || middle < s.y || middle > s.y+0.8*s.size || strings.HasPrefix(s.text, "•") {
			continue
		}
		g := glyph{text: "•", x: dot.l, y: s.y, w: dot.r - dot.l, size: s.size, spaced: true}
		if len(s.glyphs) > 0 {
			g.fromRight, g.tag, g.order = s.glyphs[0].fromRight, s.glyphs[0].tag, s.glyphs[0].order
		}
		alone := func(at int, gap func(*segment) float64) bool {
			return at < 0 || at >= len(row) || gap(&row[at]) > dotAlone*s.size
		}
		if gap := s.box.l - dot.r; gap > 0 && gap < dotReach*s.size && alone(i-1, func(o *segment) float64 { return dot.l - o.box.r }) && !s.fromRight() {
			*s = newSegment(append([]glyph{g}, s.glyphs...))
			return
		}
		if gap := dot.l - s.box.r; gap > 0 && gap < dotReach*s.size && alone(i+1, func(o *segment) float64 { return o.box.l - dot.r }) && s.fromRight() {
			*s = newSegment(append(s.glyphs[:len(s.glyphs):len(s.glyphs)], g))
			return
		}
	}
}
