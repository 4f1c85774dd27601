package pdf

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// maxTilt is how far text may be off one of the four directions, in degrees: scans are
// never quite straight.
const maxTilt = 8.0

// angle is the direction that the text of a glyph runs in: degrees counterclockwise from
// the right, from 0 to 359.
func angle(m matrix) int {
	degrees := math.Atan2(m[1], m[0]) * 180 / math.Pi
	if quarter := math.Round(degrees/90) * 90; math.Abs(degrees-quarter) <= maxTilt {
		degrees = quarter
	}
	return (int(math.Round(degrees)) + 360) % 360
}

// frame turns the coordinates of a page into those in which text at an angle is upright
// and runs to the right. At the four directions the whole page is in the frame's upper
// right quadrant.
func frame(angle int, width, height float64) matrix {
	switch angle {
	case 0:
		return identity
	case 90:
		return matrix{0, -1, 1, 0, 0, width}
	case 180:
		return matrix{-1, 0, 0, -1, width, height}
	case 270:
		return matrix{0, 1, -1, 0, height, 0}
	}
	sin, cos := math.Sincos(float64(angle) * math.Pi / 180)
	return matrix{cos, -sin, sin, cos, 0, 0}
}

// back turns the coordinates of a frame into those of the page.
func back(angle int, width, height float64) matrix {
	if angle%180 == 90 {
		width, height = height, width
	}
	return frame((360-angle)%360, width, height)
}

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
func (in *interpreter) asides(no, main int) []aside {
	var out []aside
	usual := usualSize(in.glyphs[main])
	for _, at := range slices.Sorted(maps.Keys(in.glyphs)) {
		if at == main {
			continue
		}
		slanted := at%90 != 0
		a := aside{
			back:      back(at, in.width, in.height),
			watermark: slanted && usualSize(in.glyphs[at]) > watermarkSize*usual,
			lines:     arrange(no, segmented(combine(in.glyphs[at]))),
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
