package pdf

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// ruleSlack is how far apart rules may be and still be one, or touch: a double
// border, and the corners programs leave open.
const ruleSlack = 3.0

// The limits of ruled tables: the places of one, those of a page, and the pairs
// of rules that may meet. What is over one is a drawing.
const (
	maxPlaces   = 10_000
	maxLattices = 500
	maxMeetings = 1_000_000
)

// A ruled table is a table whose cells are drawn.
type ruled struct {
	box   box
	cols  int
	bold  []bool // by row: all of its text
	cells []*ruledCell
}

// A ruledCell is a cell between rules; it may cover several places.
type ruledCell struct {
	row, col, rows, cols int
	box                  box
	glyphs               []glyph
	text                 string
	bold                 bool
	head                 bool // by its tag
}

// lattices finds the tables that rules draw: rules that meet, with two rows and
// two columns at least between them.
func lattices(across, down []rule) []*lattice {
	across, down = joinRules(across), joinRules(down)
	if len(across)*len(down) > maxMeetings {
		return nil
	}
	parent := make([]int, len(across)+len(down))
	for i := range parent {
		parent[i] = i
	}
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for i, a := range across {
		for j, d := range down {
			if d.at >= a.from-ruleSlack && d.at <= a.to+ruleSlack && a.at >= d.from-ruleSlack && a.at <= d.to+ruleSlack {
				parent[find(i)] = find(len(across) + j)
			}
		}
	}
	byRoot := map[int]*lattice{}
	var out []*lattice
	for i := range parent {
		root := find(i)
		l := byRoot[root]
		if l == nil {
			l = &lattice{}
			byRoot[root] = l
			out = append(out, l)
		}
		if i < len(across) {
			l.across = append(l.across, across[i])
		} else {
			l.down = append(l.down, down[i-len(across)])
		}
	}
	return slices.DeleteFunc(out, func(l *lattice) bool { return !l.measure() })
}

// joinRules makes one rule of those that go on in each other.
func joinRules(rules []rule) []rule {
	slices.SortFunc(rules, func(a, b rule) int {
		return cmp.Or(cmp.Compare(math.Round(a.at), math.Round(b.at)), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.at, b.at))
	})
	var out []rule
	for _, r := range rules {
		if n := len(out) - 1; n >= 0 && math.Round(out[n].at) == math.Round(r.at) && r.from <= out[n].to+ruleSlack {
			out[n].to = max(out[n].to, r.to)
			continue
		}
		out = append(out, r)
	}
	return out
}

// A lattice is rules that meet. Its columns are between neighbours of xs, its
// rows between those of ys, which go down.
type lattice struct {
	across, down []rule
	xs, ys       []float64
	// Whether there is a rule above a row in a column, and left of a column in a row.
	above, left [][]bool
}

// places puts rules at nearly one place together.
func places(rules []rule) []float64 {
	at := make([]float64, len(rules))
	for i, r := range rules {
		at[i] = r.at
	}
	slices.Sort(at)
	return slices.CompactFunc(at, func(a, b float64) bool { return math.Abs(b-a) <= ruleSlack })
}

// measure finds the places of a lattice, and says whether it can be a table.
func (l *lattice) measure() bool {
	l.xs, l.ys = places(l.down), places(l.across)
	slices.Reverse(l.ys)
	cols, rows := len(l.xs)-1, len(l.ys)-1
	if cols < 1 || rows < 1 || cols*rows < 2 || cols*rows > maxPlaces {
		return false
	}
	l.above, l.left = make([][]bool, rows+1), make([][]bool, rows)
	for y := range l.above {
		l.above[y] = make([]bool, cols)
	}
	for y := range l.left {
		l.left[y] = make([]bool, cols+1)
	}
	for _, r := range l.across {
		y := nearest(l.ys, r.at)
		for x := range cols {
			if middle := (l.xs[x] + l.xs[x+1]) / 2; r.from <= middle && r.to >= middle {
				l.above[y][x] = true
			}
		}
	}
	for _, r := range l.down {
		x := nearest(l.xs, r.at)
		for y := range rows {
			if middle := (l.ys[y] + l.ys[y+1]) / 2; r.from <= middle && r.to >= middle {
				l.left[y][x] = true
			}
		}
	}
	return true
}

func nearest(places []float64, at float64) int {
	best := 0
	for i, p := range places {
		if math.Abs(p-at) < math.Abs(places[best]-at) {
			best = i
		}
	}
	return best
}

func (l *lattice) box() box {
	return box{l.xs[0], l.ys[len(l.ys)-1], l.xs[len(l.xs)-1], l.ys[0]}
}

// cells makes the cells: places without a rule between them are one, as long as
// that is a rectangle.
func (l *lattice) cells() (cells []*ruledCell, at [][]*ruledCell) {
	rows, cols := len(l.left), len(l.xs)-1
	at = make([][]*ruledCell, rows)
	for y := range at {
		at[y] = make([]*ruledCell, cols)
	}
	for y := range rows {
		for x := range cols {
			if at[y][x] != nil {
				continue
			}
			c := &ruledCell{row: y, col: x, rows: 1, cols: 1}
			for x+c.cols < cols && !l.left[y][x+c.cols] && at[y][x+c.cols] == nil {
				c.cols++
			}
			for y+c.rows < rows && l.open(y+c.rows, x, x+c.cols, at[y+c.rows]) {
				c.rows++
			}
			c.box = box{l.xs[x], l.ys[y+c.rows], l.xs[x+c.cols], l.ys[y]}
			for i := y; i < y+c.rows; i++ {
				for j := x; j < x+c.cols; j++ {
					at[i][j] = c
				}
			}
			cells = append(cells, c)
		}
	}
	return cells, at
}

// open says that no rule divides the places of a row from each other and from
// those above.
func (l *lattice) open(row, from, to int, taken []*ruledCell) bool {
	for x := from; x < to; x++ {
		if l.above[row][x] || taken[x] != nil || x > from && l.left[row][x] {
			return false
		}
	}
	return true
}

// tables takes the glyphs of ruled tables out of those of a page.
func tables(across, down []rule, glyphs []glyph) (found []*ruled, rest []glyph) {
	all := lattices(across, down)
	if len(all) > maxLattices {
		return nil, glyphs
	}
	slices.SortStableFunc(all, func(a, b *lattice) int { return cmp.Compare(area(a.box()), area(b.box())) })
	for _, l := range all {
		if t, others := l.table(glyphs); t != nil {
			found, glyphs = append(found, t), others
		}
	}
	slices.SortStableFunc(found, func(a, b *ruled) int { return cmp.Compare(b.box.t, a.box.t) })
	return found, glyphs
}

func area(b box) float64 { return (b.r - b.l) * (b.t - b.b) }

// table fills the cells with the glyphs in them. It is nil where the rules are no
// table: with less than two rows or two columns of text, or mostly empty.
func (l *lattice) table(glyphs []glyph) (t *ruled, rest []glyph) {
	t = &ruled{box: l.box(), cols: len(l.xs) - 1}
	cells, at := l.cells()
	for _, g := range glyphs {
		x, y := g.x+g.w/2, g.y+0.3*g.size
		if x <= t.box.l || x >= t.box.r || y <= t.box.b || y >= t.box.t {
			rest = append(rest, g)
			continue
		}
		col, _ := slices.BinarySearch(l.xs, x)
		row, _ := slices.BinarySearchFunc(l.ys, y, func(a, b float64) int { return cmp.Compare(b, a) })
		c := at[row-1][col-1]
		c.glyphs = append(c.glyphs, g)
	}
	rows, cols, filled := map[int]bool{}, map[int]bool{}, 0
	for _, c := range cells {
		if c.read(); c.text != "" {
			rows[c.row], cols[c.col] = true, true
			filled++
		}
	}
	if len(rows) < 2 || len(cols) < 2 || filled*5 < len(cells) {
		return nil, glyphs
	}
	t.cells = cells
	if slices.ContainsFunc(glyphs, func(g glyph) bool { return g.fromRight }) {
		t.mirror()
	}
	t.bold = make([]bool, len(at))
	for y := range t.bold {
		t.bold[y] = true
		some := false
		for _, c := range at[y] {
			t.bold[y] = t.bold[y] && (c.bold || c.text == "")
			some = some || c.text != ""
		}
		t.bold[y] = t.bold[y] && some
	}
	return t, rest
}

// mirror numbers the columns from the right.
func (t *ruled) mirror() {
	for _, c := range t.cells {
		c.col = t.cols - c.col - c.cols
	}
	slices.SortFunc(t.cells, func(a, b *ruledCell) int { return cmp.Or(a.row-b.row, a.col-b.col) })
}

// read makes the text of a cell of its glyphs.
func (c *ruledCell) read() {
	c.bold = true
	for _, row := range rows(c.glyphs) {
		for _, s := range split(row) {
			c.bold = c.bold && s.bold
			if c.text == "" {
				c.text, c.box = s.text, s.box
				continue
			}
			c.text, c.box = join(c.text, s.text), c.box.union(s.box)
		}
	}
	c.text = strings.ReplaceAll(c.text, "\u00ad", "")
	c.glyphs = nil
}

// grid is the table of the document.
func (t *ruled) grid(flip func(box) *document.BBox) document.TableData {
	data := document.TableData{NumRows: len(t.bold), NumCols: t.cols}
	header := t.header()
	for _, c := range t.cells {
		made := document.NewCell(c.row, c.col, c.rows, c.cols, c.text)
		made.ColumnHeader = c.row < header || c.head && c.row == 0
		if c.text != "" {
			made.BBox = flip(c.box)
		}
		data.Cells = append(data.Cells, made)
	}
	return data
}

// header is how many rows are headers: the bold ones at the top where others
// follow, or the first, if it alone has no number.
func (t *ruled) header() int {
	if slices.ContainsFunc(t.cells, func(c *ruledCell) bool { return c.head }) {
		return 0 // the cells tell
	}
	n := 0
	for n < len(t.bold) && t.bold[n] {
		n++
	}
	if n > 0 && n < len(t.bold) {
		return n
	}
	text := make([]string, len(t.bold))
	for _, c := range t.cells {
		text[c.row] += c.text + " "
	}
	return wordsAbove(text)
}
