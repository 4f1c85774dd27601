package pdf

import "math"

// The limits of the rules of a page. What is thicker is an area, what is
// shorter a dash or a part of a picture.
const (
	maxRules     = 20_000
	ruleThick    = 3.0
	ruleShortest = 4.0
)

// A rule is a line drawn on the page, along one axis: at is its place on the
// other one.
type rule struct{ at, from, to float64 }

// A path is what path operators have collected since the last painting, in the
// coordinates of the page.
type path struct {
	parts []subpath
}

// A subpath is points joined by straight lines; a curve spoils it.
type subpath struct {
	points [][2]float64
	curved bool
}

// box is around the points of a path.
func (p *subpath) box() box {
	first := p.points[0]
	b := box{first[0], first[1], first[0], first[1]}
	for _, at := range p.points {
		b = b.union(box{at[0], at[1], at[0], at[1]})
	}
	return b
}

// maxPoints bounds a path: no rule has more.
const maxPoints = 10_000

// pathOperator runs an operator about paths, and says whether op was one.
func (in *interpreter) pathOperator(s *state, op []byte, args []operand) bool {
	var numbers [6]float64
	v := numbers[:min(len(args), len(numbers))]
	for i := range v {
		v[i] = args[i].num
	}
	p := &in.path
	switch string(op) {
	case "m":
		if len(v) == 2 {
			p.move(s.ctm, v[0], v[1])
		}
	case "l":
		if len(v) == 2 {
			p.line(s.ctm, v[0], v[1])
		}
	case "c", "v", "y":
		if n := len(v); n >= 4 {
			p.line(s.ctm, v[n-2], v[n-1])
			p.spoil()
		}
	case "h":
		p.close()
	case "re":
		if len(v) == 4 {
			p.move(s.ctm, v[0], v[1])
			p.line(s.ctm, v[0]+v[2], v[1])
			p.line(s.ctm, v[0]+v[2], v[1]+v[3])
			p.line(s.ctm, v[0], v[1]+v[3])
			p.close()
		}
	case "S", "s", "B", "B*", "b", "b*":
		if op[0] == 's' || op[0] == 'b' {
			p.close()
		}
		in.stroked()
	case "f", "F", "f*":
		in.filled()
	case "n":
		in.path = path{}
	default:
		return false
	}
	return true
}

func (p *path) move(m matrix, x, y float64) {
	if len(p.parts) < maxPoints {
		p.parts = append(p.parts, subpath{points: [][2]float64{m.apply(x, y)}})
	}
}

func (p *path) line(m matrix, x, y float64) {
	if n := len(p.parts); n > 0 && len(p.parts[n-1].points) < maxPoints {
		p.parts[n-1].points = append(p.parts[n-1].points, m.apply(x, y))
	}
}

func (p *path) spoil() {
	if n := len(p.parts); n > 0 {
		p.parts[n-1].curved = true
	}
}

func (p *path) close() {
	if n := len(p.parts); n > 0 && len(p.parts[n-1].points) < maxPoints {
		p.parts[n-1].points = append(p.parts[n-1].points, p.parts[n-1].points[0])
	}
}

// stroked makes rules of the straight lines of the path.
func (in *interpreter) stroked() {
	for _, part := range in.path.parts {
		if part.curved {
			in.dot(part.box())
			continue
		}
		for i := 1; i < len(part.points); i++ {
			a, b := part.points[i-1], part.points[i]
			in.rule(box{min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1])})
		}
	}
	in.path = path{}
}

// filled makes rules of the thin areas of the path: many programs draw borders
// so.
func (in *interpreter) filled() {
	for i := range in.path.parts {
		part := &in.path.parts[i]
		b := part.box()
		in.dot(b)
		if !part.curved && len(part.points) >= 3 && len(part.points) <= 6 {
			in.rule(b)
		}
	}
	in.path = path{}
}

// rule keeps what is thin one way and long the other.
func (d *drawing) rule(b box) {
	if !(math.Abs(b.l)+math.Abs(b.r)+math.Abs(b.t)+math.Abs(b.b) < 1e6) || len(d.rules) >= maxRules {
		return
	}
	thin, long := min(b.r-b.l, b.t-b.b), max(b.r-b.l, b.t-b.b)
	if thin <= ruleThick && long >= ruleShortest {
		d.rules = append(d.rules, b)
	}
}

// directed are the rules of a page in a frame, by their direction there.
func directed(rules []box, frame matrix) (across, down []rule) {
	for _, b := range rules {
		b = frame.box(b)
		if b.t-b.b <= ruleThick && b.r-b.l >= b.t-b.b {
			across = append(across, rule{(b.t + b.b) / 2, b.l, b.r})
		} else {
			down = append(down, rule{(b.l + b.r) / 2, b.b, b.t})
		}
	}
	return across, down
}
