package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Programs draw a column of text after the other, and a table row by row. So the order of
// drawing tells columns that stand beside each other, whatever their base lines are.

// The measures of flows and gutters, in sizes of the text if not lines.
const (
	flowGap     = 3.0  // between the base lines of a flow, at most
	flowWide    = 1.6  // a line so many times as wide begins another flow
	flowSize    = 1.15 // and so does one that is so many times larger or smaller
	fewestFlow  = 2    // lines of the shorter one of two flows
	fullFlow    = 5    // lines of the longer one
	columnWidth = 7.0  // of most lines of a column
	gutterWidth = 0.5
	gutterReach = 3.0 // from the text of columns to more of it

	maxPieces  = 20_000 // of a page: more are a drawing
	maxFlows   = 200    // that are compared
	maxGutters = 64     // that are tried
	maxNested  = 12     // columns within columns
)

// A piece is text that is drawn in one go: a line or a part of it.
type piece struct {
	box    box
	y      float64
	size   float64
	glyphs []glyph
	table  *ruled
}

// A flow is lines that are drawn one below the other.
type flow struct {
	box   box   // of the lines that are about as wide as most
	lines []box // each of its pieces
	y     float64
	size  float64
}

// columns divides the text of a page, in the order in which it is drawn, into parts in reading
// order, each of which is read line by line.
func columns(glyphs []glyph, tables []*ruled) []part {
	all := pieces(glyphs)
	for _, t := range tables {
		all = append(all, piece{box: t.box, y: t.box.b, table: t})
	}
	if _, several := columnGutter(all); !several {
		return []part{{glyphs, tables}}
	}
	var out []part
	divideColumns(all, 0, &out)
	return out
}

// A part is text that is read line by line, and the tables among it.
type part struct {
	glyphs []glyph
	tables []*ruled
}

func divideColumns(all []piece, depth int, out *[]part) {
	g, ok := columnGutter(all)
	if !ok || depth >= maxNested {
		if len(all) > 0 {
			*out = append(*out, together(all))
		}
		return
	}
	var above, below, left, right []piece
	for _, p := range all {
		switch middle := (p.box.t + p.box.b) / 2; {
		case middle > g.top:
			above = append(above, p)
		case middle < g.bottom:
			below = append(below, p)
		case p.box.l < g.x:
			left = append(left, p)
		default:
			right = append(right, p)
		}
	}
	if fromTheRight(left, right) {
		left, right = right, left
	}
	for _, group := range [][]piece{above, left, right, below} {
		divideColumns(group, depth+1, out)
	}
}

func fromTheRight(groups ...[]piece) bool {
	for _, group := range groups {
		for i := range group {
			if len(group[i].glyphs) > 0 {
				return group[i].glyphs[0].fromRight
			}
		}
	}
	return false
}

func together(all []piece) part {
	var out part
	for _, p := range all {
		if p.table != nil {
			out.tables = append(out.tables, p.table)
			continue
		}
		out.glyphs = append(out.glyphs, p.glyphs...)
	}
	return out
}

// pieces puts glyphs together that are drawn next to each other, one after the other.
func pieces(glyphs []glyph) []piece {
	var out []piece
	from := 0
	var last *piece
	for i := range glyphs {
		g := &glyphs[i]
		b := box{g.x, g.y - 0.2*g.size, max(g.x+g.w, g.x), g.y + 0.8*g.size}
		blank := strings.TrimSpace(g.text) == ""
		if last != nil && (blank || math.Abs(g.y-last.y) < max(g.size, last.size)/2 &&
			b.l < last.box.r+segmentGap*g.size && b.r > last.box.l-segmentGap*g.size) {
			if last.glyphs = glyphs[from : i+1]; !blank {
				last.box = last.box.union(b)
			}
			continue
		}
		if blank {
			b.r = b.l
		}
		from = i
		out = append(out, piece{box: b, y: g.y, size: g.size, glyphs: glyphs[i : i+1]})
		last = &out[len(out)-1]
	}
	return out
}

// flows puts pieces into flows, in the order in which they are drawn.
func flows(all []piece) []flow {
	var out []flow
	for i := range all {
		p := &all[i]
		if p.table != nil {
			continue
		}
		if len(out) == 0 || !out[len(out)-1].take(p) {
			out = append(out, flow{box: p.box, lines: []box{p.box}, y: p.y, size: p.size})
		}
	}
	for i := range out {
		out[i].trim()
	}
	return out
}

// take adds a piece to a flow, and reports whether it belongs there: to its last line, or
// right below it.
func (f *flow) take(p *piece) bool {
	down, last := f.y-p.y, len(f.lines)-1
	if math.Abs(down) < max(f.size, p.size)/2 {
		f.lines[last], f.box = f.lines[last].union(p.box), f.box.union(p.box)
		return true
	}
	if down < 0 || down > flowGap*f.size || p.box.l > f.box.r || p.box.r < f.box.l ||
		max(p.size, f.size) > flowSize*min(p.size, f.size) ||
		last > 0 && p.box.r-p.box.l > flowWide*(f.box.r-f.box.l) {
		return false
	}
	f.lines, f.box, f.y = append(f.lines, p.box), f.box.union(p.box), p.y
	return true
}

// trim leaves lines out of the box of a flow that are wider than most: those above columns.
func (f *flow) trim() {
	most := f.width(len(f.lines) / 2)
	first := true
	for _, b := range f.lines {
		switch {
		case b.r-b.l > flowWide*most:
		case first:
			f.box, first = b, false
		default:
			f.box = f.box.union(b)
		}
	}
}

// width is that of a line, of all from the narrowest to the widest.
func (f *flow) width(at int) float64 {
	widths := make([]float64, len(f.lines))
	for i, b := range f.lines {
		widths[i] = b.r - b.l
	}
	slices.Sort(widths)
	return widths[at]
}

// isColumn reports whether a flow may be a column: short lines are those of a table.
func (f *flow) isColumn() bool {
	return len(f.lines) >= fewestFlow && f.width(len(f.lines)/2) >= columnWidth*f.size
}

// A gutter is the white between two columns: at x, from top to bottom.
type gutter struct{ x, top, bottom float64 }

// columnGutter finds the gutter that reaches furthest.
func columnGutter(all []piece) (best gutter, ok bool) {
	if len(all) > maxPieces {
		return best, false
	}
	found := flows(all)
	var lines []box // in the order in which they are drawn, then tables
	for i := range found {
		lines = append(lines, found[i].lines...)
	}
	drawn := len(lines)
	for i := range all {
		if all[i].table != nil {
			lines = append(lines, all[i].box)
		}
	}
	found = slices.DeleteFunc(found, func(f flow) bool { return !f.isColumn() })
	slices.SortStableFunc(found, func(a, b flow) int { return cmp.Compare(len(b.lines), len(a.lines)) })
	found = found[:min(len(found), maxFlows)]
	tries := 0
	var pairs []pair
	for i := range found {
		a := &found[i]
		for j := i + 1; j < len(found) && len(a.lines) >= fullFlow && tries < maxGutters; j++ {
			b := &found[j]
			white := span{min(a.box.r, b.box.r), max(a.box.l, b.box.l)}
			top, bottom := min(a.box.t, b.box.t), max(a.box.b, b.box.b)
			if white.r-white.l < gutterWidth*a.size || top-bottom < a.size {
				continue
			}
			tries++
			between := gutter{(white.l + white.r) / 2, top, bottom}
			g, sound := reach(lines, between, a.size)
			if sound {
				pairs = append(pairs, pair{between, white, a.size})
			}
			if sound && (!ok || g.top-g.bottom > best.top-best.bottom) {
				best, ok = g, true
			}
		}
	}
	end := best.bottom
	for _, p := range pairs {
		if p.white.l <= best.x && best.x <= p.white.r && p.top <= best.top && p.bottom >= best.bottom {
			end = max(end, best.end(lines[:drawn], p))
		}
	}
	best.bottom = end
	return best, ok
}

// A pair is two columns that stand beside each other: the gutter as far as both of them reach,
// all white between them, and the size of the text.
type pair struct {
	gutter
	white span
	size  float64
}

// reach makes a gutter reach up and down over all lines that do not cross it, as long as they
// are near to those before. It is not sound where a line or a table crosses it between the two
// columns.
func reach(lines []box, g gutter, size float64) (reached gutter, sound bool) {
	var around []box // that do not cross
	ceiling, floor := math.Inf(1), math.Inf(-1)
	for _, b := range lines {
		switch {
		case b.l >= g.x || b.r <= g.x:
			around = append(around, b)
		case b.b >= g.top-size/2:
			ceiling = min(ceiling, b.b)
		case b.t <= g.bottom+size/2:
			floor = max(floor, b.t)
		default:
			return g, false
		}
	}
	slices.SortFunc(around, func(a, b box) int { return cmp.Compare(a.b, b.b) })
	for _, b := range around {
		if b.t > g.top && b.b < g.top+gutterReach*size && b.b < ceiling {
			g.top = b.t
		}
	}
	slices.SortFunc(around, func(a, b box) int { return cmp.Compare(b.t, a.t) })
	for _, b := range around {
		if b.b < g.bottom && b.t > g.bottom-gutterReach*size && b.t > floor {
			g.bottom = b.b
		}
	}
	return g, true
}

// end is where a pair of columns at a gutter ends: above text on the side of the first of them
// that is drawn next after the other one, and after all of both, as is what stands below it.
func (g *gutter) end(lines []box, of pair) float64 {
	var around []int // from the top down
	for i, b := range lines {
		if (b.l >= g.x || b.r <= g.x) && b.b < of.top && b.t > g.bottom {
			around = append(around, i)
		}
	}
	if len(around) == 0 {
		return g.bottom
	}
	slices.SortStableFunc(around, func(a, b int) int { return cmp.Compare(lines[b].t, lines[a].t) })
	isLeft := func(i int) bool { return lines[i].r <= g.x }
	first := isLeft(slices.Min(around))
	earliest := make([]int, len(around)+1) // of a line and all below it
	earliest[len(around)] = len(lines)
	others := make([]int, len(around)+1) // as many as are not on that side
	for k := len(around) - 1; k >= 0; k-- {
		earliest[k], others[k] = min(earliest[k+1], around[k]), others[k+1]
		if isLeft(around[k]) != first {
			others[k]++
		}
	}
	latest, lowest := -1, math.Inf(1) // of the lines above
	for k, i := range around {
		b := lines[i]
		if b.t < of.bottom+of.size/2 && b.t < lowest+of.size/2 && isLeft(i) == first && i > 0 && isLeft(i-1) != first &&
			earliest[k] > latest && (others[k] == 0 || others[k] >= fullFlow) {
			return b.t
		}
		latest, lowest = max(latest, i), min(lowest, b.b)
	}
	return g.bottom
}
