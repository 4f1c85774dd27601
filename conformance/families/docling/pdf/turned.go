package pdf

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// An aside is text of a page that runs at another angle than most of it.
type aside struct {
	back  matrix // from the coordinates of its lines to those of the page
	lines []line
	// watermark says that it runs across the page in large letters.
	watermark bool
}

// watermarkSize is how much larger the letters of a watermark are than those of most text.
const watermarkSize = 1.5

// mainAngle is the one of the four directions that most text of a page runs in.
func mainAngle(glyphs map[int][]glyph) int {
	best := 0
	for _, at := range []int{90, 180, 270} {
		if len(glyphs[at]) > len(glyphs[best]) {
			best = at
		}
	}
	return best
}

// asides lays out the text that does not run at the main angle.
func (d *drawing) asides(no, main int) []aside {
	var out []aside
	usual := usualSize(d.glyphs[main])
	for _, at := range slices.Sorted(maps.Keys(d.glyphs)) {
		if at == main {
			continue
		}
		slanted := at%90 != 0
		a := aside{
			back:      back(at, d.width, d.height),
			watermark: slanted && usualSize(d.glyphs[at]) > watermarkSize*usual,
			lines:     arrange(no, segmented(combine(d.glyphs[at]))),
		}
		if len(a.lines) > 0 {
			out = append(out, a)
		}
	}
	slices.SortStableFunc(out, func(a, b aside) int { return cmp.Compare(b.top(), a.top()) })
	return out
}

// top is the upper edge of an aside on the page.
func (a *aside) top() float64 {
	top := math.Inf(-1)
	for i := range a.lines {
		top = max(top, a.back.box(a.lines[i].box).t)
	}
	return top
}

// usualSize is the size that most glyphs have, 0 without glyphs.
func usualSize(glyphs []glyph) float64 {
	sizes := map[float64]int{}
	for i := range glyphs {
		sizes[math.Round(glyphs[i].size*2)/2]++
	}
	return mostFrequent(sizes)
}
