package pdf

import "math"

// A matrix is a, b, c, d, e, f of a coordinate transformation.
type matrix [6]float64

// mul is what applies m first, then n.
func (m matrix) mul(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

var identity = matrix{1, 0, 0, 1, 0, 0}

// apply is where m moves a point.
func (m matrix) apply(x, y float64) [2]float64 {
	return [2]float64{x*m[0] + y*m[2] + m[4], x*m[1] + y*m[3] + m[5]}
}

// moved is a matrix after a step along its base line and up from it.
func (m matrix) moved(across, up float64) matrix {
	m[4] += across*m[0] + up*m[2]
	m[5] += across*m[1] + up*m[3]
	return m
}

// box is the box around what m makes of a box.
func (m matrix) box(of box) box {
	at := m.apply(of.l, of.b)
	b := box{at[0], at[1], at[0], at[1]}
	for _, corner := range [][2]float64{{of.r, of.b}, {of.l, of.t}, {of.r, of.t}} {
		at := m.apply(corner[0], corner[1])
		b = b.union(box{at[0], at[1], at[0], at[1]})
	}
	return b
}

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

// A box is a place on the page.
type box struct{ l, b, r, t float64 }

func (a box) union(b box) box {
	return box{min(a.l, b.l), min(a.b, b.b), max(a.r, b.r), max(a.t, b.t)}
}

// round keeps hundredths: more is noise of the program that wrote the file.
func round(v float64) float64 { return math.Round(v*100) / 100 }
