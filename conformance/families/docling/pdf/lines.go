package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A segment is text of one line without a large gap in it: a word, a sentence
// or the cell of a table.
type segment struct {
	text string
	box  box
	y    float64 // of the base line
	size float64 // of most of its text
	bold bool
	// What it was made of, left to right.
	glyphs []glyph
	// A ruled table stands among the lines as a segment without text.
	table *ruled
}

// A line is what stands on one base line of a column of text.
type line struct {
	page     int
	segments []segment
	box      box
	y, size  float64
	bold     bool
	tag      *element // of its first text
	// It has text from the right, on a page of such text.
	fromRight bool
}

// text is the line's text, its segments apart by a space.
func (l *line) text() string {
	if len(l.segments) == 1 {
		return l.segments[0].text
	}
	parts := make([]string, len(l.segments))
	for i, s := range l.segments {
		parts[i] = s.text
	}
	if l.fromRight || runsFromRight(parts...) {
		slices.Reverse(parts)
	}
	return strings.Join(parts, " ")
}

// start is where the line begins, the further the later: the left edge, or the negative
// right one of a line from the right.
func (l *line) start() float64 {
	if l.fromRight {
		return -l.box.r
	}
	return l.box.l
}

// fromRight reports whether most text of the page runs from the right.
func (s *segment) fromRight() bool { return len(s.glyphs) > 0 && s.glyphs[0].fromRight }

// table is the ruled table that stands in place of the line, or nil.
func (l *line) table() *ruled { return l.segments[0].table }

func newLine(page int, segments []segment) line {
	segments = joinMark(segments)
	l := line{page: page, segments: segments, box: segments[0].box, y: segments[0].y, size: segments[0].size, bold: true}
	most := 0
	for _, s := range segments {
		l.box = l.box.union(s.box)
		l.bold = l.bold && s.bold
		l.fromRight = l.fromRight || s.fromRight() && strings.ContainsFunc(s.text, func(r rune) bool { return r >= firstFromRight })
		if len(s.text) > most {
			most, l.y, l.size = len(s.text), s.y, s.size
		}
		if l.tag == nil && len(s.glyphs) > 0 {
			l.tag = s.glyphs[0].tag
		}
	}
	return l
}

// rows puts glyphs whose base lines are within half the size of each other into
// one row (tools.md §9.2), top to bottom, and the glyphs of a row left to right.
func rows(glyphs []glyph) [][]glyph {
	slices.SortStableFunc(glyphs, func(a, b glyph) int { return cmp.Compare(b.y, a.y) })
	var out [][]glyph
	for i := 0; i < len(glyphs); {
		first, size := glyphs[i].y, glyphs[i].size
		j := i
		for ; j < len(glyphs) && first-glyphs[j].y < max(size, glyphs[j].size)/2; j++ {
			if strings.TrimSpace(glyphs[j].text) != "" {
				size = max(size, glyphs[j].size)
			}
		}
		j += hanging(glyphs[i:j], glyphs[j:], size)
		row := glyphs[i:j]
		slices.SortStableFunc(row, func(a, b glyph) int { return cmp.Compare(a.x, b.x) })
		out = append(out, row)
		i = j
	}
	return out
}

// hanging moves the subscripts of a row to the front of the glyphs below it, and counts
// them. In a row with superscripts they are too far from the topmost base line.
func hanging(row, below []glyph, size float64) int {
	lowest := row[len(row)-1].y
	slices.SortStableFunc(row, func(a, b glyph) int { return cmp.Compare(a.x, b.x) })
	var first, rest []glyph
	for i := 0; i < len(below) && lowest-below[i].y < size/2; i++ {
		g := below[i]
		if len(first) > 0 && g.goesOn(&first[len(first)-1]) || isSubscript(row, &g) {
			first = append(first, g)
		} else {
			rest = append(rest, g)
		}
	}
	copy(below, slices.Concat(first, rest))
	return len(first)
}

// isSubscript reports whether a glyph hangs at the right of a larger one of a row, which is
// sorted. A superscript may stand between them.
func isSubscript(row []glyph, g *glyph) bool {
	const nearest = 3 // that are looked at
	if strings.TrimSpace(g.text) == "" {
		return false
	}
	next, _ := slices.BinarySearchFunc(row, g.x+g.size/2, func(of glyph, x float64) int { return cmp.Compare(of.x, x) })
	return slices.ContainsFunc(row[max(next-nearest, 0):next], func(of glyph) bool {
		down := of.y - g.y
		return strings.TrimSpace(of.text) != "" && g.size < smallSize*of.size && down > 0 && down < of.size/2 &&
			math.Abs(g.x-of.x-of.w) < wordGap*of.size
	})
}

// split makes segments of a row.
func split(row []glyph) []segment {
	var parts [][]glyph
	var part []glyph
	end := math.Inf(-1)
	spaced := false
	for _, g := range row {
		if strings.TrimSpace(g.text) == "" {
			spaced = true // a space is the gap it leaves
			continue
		}
		g.spaced, spaced = spaced, false
		if len(part) > 0 {
			last := part[len(part)-1]
			if g.text == last.text && math.Abs(g.x-last.x) < g.size/10 && math.Abs(g.y-last.y) < g.size/10 {
				continue // drawn twice, to look bold
			}
			if g.x-end > segmentGap*max(g.size, last.size) {
				parts = append(parts, part)
				part = nil
			}
		}
		part = append(part, g)
		end = max(g.x+g.w, g.x)
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	trackAlike(parts)
	out := make([]segment, len(parts))
	for i, part := range parts {
		out[i] = newSegment(part)
	}
	return out
}

func newSegment(part []glyph) segment {
	s := segment{glyphs: part}
	if track := tracking(part); track > 0 {
		for i := range part {
			part[i].track = track
		}
	}
	pieces := make([]string, 0, 2*len(part))
	sizes := map[float64]int{}
	bold := 0
	for i, g := range part {
		if i > 0 && part[i-1].apart(&g) {
			pieces = append(pieces, " ")
		}
		pieces = append(pieces, g.text)
		sizes[math.Round(g.size*2)/2] += len(g.text)
		if g.bold {
			bold++
		}
		end := g.x + g.w
		b := box{g.x, g.y - 0.2*g.size, max(end, g.x), g.y + 0.8*g.size}
		if i == 0 {
			s.box, s.y = b, g.y
			continue
		}
		s.box = s.box.union(b)
	}
	s.text = thai(strings.TrimSpace(reorder(pieces, part[0].fromRight)))
	s.size = mostFrequent(sizes)
	s.bold = bold*10 >= len(part)*9
	for _, g := range part {
		if math.Abs(g.size-s.size) <= 0.5 {
			s.y = g.y // of the text, not of a footnote's mark above it
			break
		}
	}
	return s
}

// mostFrequent is the key with the highest count; the larger one of equals.
func mostFrequent(counts map[float64]int) float64 {
	var best float64
	most := 0
	for v, n := range counts {
		if n > most || n == most && v > best {
			best, most = v, n
		}
	}
	return best
}

// arrange makes lines of the rows of a page, in reading order: where most rows
// respect a vertical gap, one column comes before the other.
func arrange(page int, rows [][]segment) []line {
	gap, ok := rowGutter(rows)
	var out, second []line
	flush := func() {
		out = append(out, second...)
		second = nil
	}
	for _, row := range rows {
		if len(row) == 0 {
			continue
		}
		if !ok {
			out = append(out, newLine(page, row))
			continue
		}
		if crosses(row, gap) {
			flush()
			out = append(out, newLine(page, row))
			continue
		}
		n := slices.IndexFunc(row, func(s segment) bool { return s.box.l >= gap })
		if n < 0 {
			n = len(row)
		}
		columns := [][]segment{row[:n], row[n:]}
		if row[0].fromRight() {
			slices.Reverse(columns)
		}
		if len(columns[0]) > 0 {
			out = append(out, newLine(page, columns[0]))
		}
		if len(columns[1]) > 0 {
			second = append(second, newLine(page, columns[1]))
		}
	}
	flush()
	return out
}

func crosses(row []segment, x float64) bool {
	return slices.ContainsFunc(row, func(s segment) bool { return s.box.l < x && s.box.r > x })
}

// rowGutter finds the x that separates two columns of running text. The cells of a
// table respect one too, but do not fill their columns.
func rowGutter(rows [][]segment) (x float64, ok bool) {
	const (
		fewest   = 5    // rows with text on both sides
		mostEnds = 1000 // places to try: a page of text has fewer
	)
	left, right := math.Inf(1), math.Inf(-1)
	var ends []float64
	for _, row := range rows {
		for _, s := range row {
			left, right = min(left, s.box.l), max(right, s.box.r)
		}
		if len(row) >= 2 {
			for _, s := range row[1:] {
				ends = append(ends, s.box.l-0.1)
			}
		}
	}
	if len(ends) < fewest {
		return 0, false
	}
	tried := map[float64]bool{}
	ends = slices.DeleteFunc(ends, func(at float64) bool {
		again := tried[round(at)] || len(tried) >= mostEnds
		tried[round(at)] = true
		return again
	})
	width := right - left
	best := 0
	for _, at := range ends {
		if at < left+width/4 || at > right-width/4 {
			continue
		}
		if n := respect(rows, at, width); n > best {
			best, x = n, at
		}
	}
	return x, best >= fewest
}

// respect counts the rows with running text on both sides of x, or is zero when
// they are not most of the rows or do not fill their side.
func respect(rows [][]segment, x, width float64) int {
	both, across, parts := 0, 0, 0
	filled := [2]float64{}
	extent := [2]box{{math.Inf(1), 0, math.Inf(-1), 0}, {math.Inf(1), 0, math.Inf(-1), 0}}
	for _, row := range rows {
		if len(row) == 0 {
			continue
		}
		if crosses(row, x) {
			across++
			continue
		}
		var has [2]bool
		for _, s := range row {
			side := 0
			if s.box.l >= x {
				side = 1
			}
			has[side] = true
			extent[side].l, extent[side].r = min(extent[side].l, s.box.l), max(extent[side].r, s.box.r)
		}
		if !has[0] || !has[1] {
			continue
		}
		both++
		parts += len(row)
		for _, s := range row {
			if s.box.l >= x {
				filled[1] += s.box.r - s.box.l
			} else {
				filled[0] += s.box.r - s.box.l
			}
		}
	}
	if both <= across || both*5 < parts*2 { // more than five parts in two rows: a table
		return 0
	}
	for side, e := range extent {
		w := e.r - e.l
		if w < width/4 || filled[side]/float64(both) < 0.6*w {
			return 0
		}
	}
	return both
}
