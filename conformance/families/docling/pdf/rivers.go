package pdf

import (
	"cmp"
	"math"
	"slices"
)

// A river is white between two columns of a table without rules, which may be
// narrower in one row than the gap between segments: where a number that is set
// to the right stands beside a text that is set to the left.
const (
	riverWidth = 0.15 // in sizes, at least
	rowGap     = 2.2  // between the base lines of rows of one table, at most
	aloneGap   = 0.45 // is no space: divides a row no other gap divides
	alignSlack = 0.75 // in points
	maxRivers  = 200  // of one table
)

// divide splits segments where the rows around them have a river.
func divide(rows [][]segment) {
	for i := 0; i < len(rows); {
		n := 1
		for i+n < len(rows) && near(rows[i+n-1][0], rows[i+n][0]) {
			n++
		}
		divideRun(rows[i : i+n])
		i += n
	}
}

// near says that b is in the row below a's.
func near(a, b segment) bool {
	gap := a.y - b.y
	return a.table == nil && b.table == nil && gap > 0 && gap <= rowGap*max(a.size, b.size)
}

func divideRun(run [][]segment) {
	several := 0
	for _, row := range run {
		if len(row) > 1 {
			several++
		}
	}
	if several < fewestRows || several*2 < len(run) {
		return
	}
	found := rivers(run)
	for i, row := range run {
		alone := len(row) == 1
		var out []segment
		for _, s := range row {
			out = append(out, s.at(found, alone)...)
		}
		run[i] = out
	}
}

// words are the parts of a segment between spaces.
func (s *segment) words() [][]glyph {
	var out [][]glyph
	from := 0
	for i := 1; i < len(s.glyphs); i++ {
		if s.glyphs[i-1].apart(&s.glyphs[i]) {
			out = append(out, s.glyphs[from:i])
			from = i
		}
	}
	return append(out, s.glyphs[from:])
}

func spanOf(glyphs []glyph) span {
	out := span{glyphs[0].x, glyphs[0].x}
	for _, g := range glyphs {
		out = span{min(out.l, g.x), max(out.r, g.x+g.w)}
	}
	return out
}

// rivers finds the white that goes through all rows of several segments, divides
// one of them at least, and has text beginning or ending at one place beside it.
func rivers(run [][]segment) []span {
	var words []span
	size := 0.0
	var rows [][]span
	for _, row := range run {
		if len(row) < 2 {
			continue
		}
		var own []span
		for _, s := range row {
			size = max(size, s.size)
			for _, w := range s.words() {
				own = append(own, spanOf(w))
			}
		}
		rows = append(rows, own)
		words = append(words, own...)
	}
	slices.SortFunc(words, func(a, b span) int { return cmp.Or(cmp.Compare(a.l, b.l), cmp.Compare(a.r, b.r)) })
	var white []span
	end := math.Inf(1)
	for _, w := range words {
		if w.l-end >= riverWidth*size {
			white = append(white, span{end, w.l})
		}
		if math.IsInf(end, 1) {
			end = w.r
		}
		end = max(end, w.r)
	}
	if len(white) > maxRivers {
		return nil
	}
	white = notSpaces(white, rows, size)
	wide := map[span]bool{}
	for _, words := range rows {
		for i := 1; i < len(words); i++ {
			if gap := (span{words[i-1].r, words[i].l}); gap.r-gap.l > segmentGap*size {
				wide[widest(white, gap)] = true
			}
		}
	}
	return slices.DeleteFunc(white, func(gap span) bool { return !wide[gap] || !lined(rows, gap) })
}

// notSpaces leaves out white that is no wider than a space wherever words stand
// on both sides of it: that between a number and its unit.
func notSpaces(white []span, rows [][]span, size float64) []span {
	return slices.DeleteFunc(slices.Clone(white), func(river span) bool {
		space := false
		for _, words := range rows {
			for i := 1; i < len(words); i++ {
				gap := span{words[i-1].r, words[i].l}
				if gap.l > river.l || gap.r < river.r || slices.ContainsFunc(white, func(w span) bool { return w != river && w.l >= gap.l && w.r <= gap.r }) {
					continue
				}
				if gap.r-gap.l > aloneGap*size {
					return false
				}
				space = true
			}
		}
		return space
	})
}

// widest is the widest of the white within a gap between two words: where cells
// are empty, a gap goes over several rivers, and says nothing of the others.
func widest(white []span, gap span) span {
	best := span{}
	for _, w := range white {
		if w.l >= gap.l && w.r <= gap.r && w.r-w.l > best.r-best.l {
			best = w
		}
	}
	return best
}

// lined says that words begin, or end, at one place beside a gap.
func lined(rows [][]span, gap span) bool {
	begin, end := map[float64]int{}, map[float64]int{}
	both := 0
	for _, words := range rows {
		n := slices.IndexFunc(words, func(w span) bool { return w.l >= gap.r })
		if n <= 0 {
			continue
		}
		both++
		begin[math.Round(words[n].l/alignSlack)]++
		end[math.Round(words[n-1].r/alignSlack)]++
	}
	most := 0
	for _, counts := range []map[float64]int{begin, end} {
		for _, n := range counts {
			most = max(most, n)
		}
	}
	return most >= 2 && most*2 >= both
}

// at divides a segment at rivers. One that is alone in its row may be a text
// across the table: it needs more white, and no word in a river.
func (s *segment) at(rivers []span, alone bool) []segment {
	words := s.words()
	var out []segment
	var part []glyph
	for i, w := range words {
		own := spanOf(w)
		if alone && slices.ContainsFunc(rivers, func(r span) bool { return own.l < r.l && own.r > r.r }) {
			return []segment{*s}
		}
		if i > 0 {
			before := spanOf(words[i-1])
			middle := func(r span) bool { m := (r.l + r.r) / 2; return before.r <= m && own.l >= m }
			if slices.ContainsFunc(rivers, middle) {
				if alone && own.l-before.r < aloneGap*s.size {
					return []segment{*s}
				}
				out = append(out, newSegment(part))
				part = nil
			}
		}
		part = append(part, w...)
	}
	return append(out, newSegment(part))
}
