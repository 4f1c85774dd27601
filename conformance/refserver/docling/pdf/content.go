package pdf

import (
	"io"
	"math"

	"github.com/ledongthuc/pdf"
)

// The limits of what a page may draw.
const (
	maxOperators = 2_000_000
	objectCost   = 200 // in operators: what drawing another object takes
	maxGlyphs    = 500_000
	maxFormDepth = 8

	maxUnpacked = 128 << 20 // bytes, of all content of a document together
)

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

// A glyph is a sign on the page: its text, place on the base line and look.
type glyph struct {
	text         string
	x, y, w      float64
	size         float64
	bold, italic bool
}

// A box is a place on the page.
type box struct{ l, b, r, t float64 }

func (a box) union(b box) box {
	return box{min(a.l, b.l), min(a.b, b.b), max(a.r, b.r), max(a.t, b.t)}
}

// state is the graphics state as far as text needs it.
type state struct {
	ctm                                 matrix
	font                                *font
	size, charSpace, wordSpace, leading float64
	scale, rise                         float64
	text, line                          matrix
}

// An interpreter runs the content of one page.
type interpreter struct {
	fonts     map[string]*font // by reference, for the whole document
	glyphs    []glyph
	images    []box
	path      path
	across    []rule
	down      []rule
	operators int
	unpacked  int64 // bytes of content, of the whole document
}

// draw runs a stream of operators with its resources.
func (in *interpreter) draw(stream, resources pdf.Value, ctm matrix, depth int) {
	in.unpack(stream)
	s := state{ctm: ctm, scale: 1, text: identity, line: identity}
	var saved []state
	pdf.Interpret(stream, func(stack *pdf.Stack, op string) {
		if in.operators++; in.operators > maxOperators || len(in.glyphs) > maxGlyphs {
			panic(ErrTooMuch) // the only way out of the library's loop; see read
		}
		args := make([]pdf.Value, stack.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stack.Pop()
		}
		switch op {
		case "q":
			if len(saved) < 1000 {
				saved = append(saved, s)
			}
		case "Q":
			if n := len(saved); n > 0 {
				s, saved = saved[n-1], saved[:n-1]
			}
		case "cm":
			if m, ok := matrixOf(args); ok {
				s.ctm = m.mul(s.ctm)
			}
		case "Do":
			if in.operators += objectCost; len(args) == 1 {
				in.object(resources.Key("XObject").Key(args[0].Name()), resources, s.ctm, depth)
			}
		case "Tf":
			if len(args) == 2 {
				s.font, s.size = in.font(resources.Key("Font").Key(args[0].Name()), args[0].Name()), args[1].Float64()
			}
		default:
			if !in.pathOperator(&s, op, args) {
				in.textOperator(&s, op, args)
			}
		}
	})
}

// unpack counts what a stream unpacks to before it is run: the library's loop
// gives no word while it reads white space or one long string.
func (in *interpreter) unpack(stream pdf.Value) {
	parts := []pdf.Value{stream}
	if stream.Kind() == pdf.Array {
		parts = nil
		for i := range stream.Len() {
			parts = append(parts, stream.Index(i))
		}
	}
	for _, part := range parts {
		n, _ := io.Copy(io.Discard, io.LimitReader(part.Reader(), maxUnpacked-in.unpacked+1)) // a damaged end is for the reader to judge
		if in.unpacked += n; in.unpacked > maxUnpacked {
			panic(ErrTooMuch)
		}
	}
}

var identity = matrix{1, 0, 0, 1, 0, 0}

func matrixOf(args []pdf.Value) (m matrix, ok bool) {
	if len(args) != 6 {
		return m, false
	}
	for i := range m {
		m[i] = args[i].Float64()
	}
	return m, true
}

// object draws what a page refers to: a form is content of its own, an image
// covers the unit square.
func (in *interpreter) object(x, resources pdf.Value, ctm matrix, depth int) {
	switch x.Key("Subtype").Name() {
	case "Image":
		in.images = append(in.images, cover(ctm))
	case "Form":
		if depth >= maxFormDepth {
			return
		}
		if own := x.Key("Resources"); own.Kind() == pdf.Dict {
			resources = own
		}
		if list := x.Key("Matrix"); list.Len() == 6 {
			var m matrix
			for i := range m {
				m[i] = list.Index(i).Float64()
			}
			ctm = m.mul(ctm)
		}
		in.draw(x, resources, ctm, depth+1)
	}
}

// cover is the box of the unit square.
func cover(m matrix) box {
	b := box{m[4], m[5], m[4], m[5]}
	for _, corner := range [][2]float64{{1, 0}, {0, 1}, {1, 1}} {
		x := corner[0]*m[0] + corner[1]*m[2] + m[4]
		y := corner[0]*m[1] + corner[1]*m[3] + m[5]
		b = b.union(box{x, y, x, y})
	}
	return b
}

// textOperator runs an operator about text; those about anything else are no
// concern here.
func (in *interpreter) textOperator(s *state, op string, args []pdf.Value) {
	number := func(i int) float64 {
		if i < len(args) {
			return args[i].Float64()
		}
		return 0
	}
	move := func(x, y float64) {
		s.line = matrix{1, 0, 0, 1, x, y}.mul(s.line)
		s.text = s.line
	}
	switch op {
	case "BT":
		s.text, s.line = identity, identity
	case "Tc":
		s.charSpace = number(0)
	case "Tw":
		s.wordSpace = number(0)
	case "Tz":
		s.scale = number(0) / 100
	case "TL":
		s.leading = number(0)
	case "Ts":
		s.rise = number(0)
	case "Td":
		move(number(0), number(1))
	case "TD":
		s.leading = -number(1)
		move(number(0), number(1))
	case "Tm":
		if m, ok := matrixOf(args); ok {
			s.text, s.line = m, m
		}
	case "T*":
		move(0, -s.leading)
	case "'", "\"":
		if op == "\"" && len(args) == 3 {
			s.wordSpace, s.charSpace = number(0), number(1)
		}
		move(0, -s.leading)
		if n := len(args); n > 0 {
			in.show(s, args[n-1].RawString())
		}
	case "Tj":
		if len(args) > 0 {
			in.show(s, args[0].RawString())
		}
	case "TJ":
		if len(args) == 0 {
			return
		}
		for i := range args[0].Len() {
			part := args[0].Index(i)
			if part.Kind() == pdf.String {
				in.show(s, part.RawString())
				continue
			}
			s.text = matrix{1, 0, 0, 1, -part.Float64() / 1000 * s.size * s.scale, 0}.mul(s.text)
		}
	}
}

// show draws the codes of a string.
func (in *interpreter) show(s *state, codes string) {
	if s.font == nil {
		s.font = &font{}
	}
	for len(codes) > 0 {
		n := min(s.font.codeLength(), len(codes))
		code := codes[:n]
		codes = codes[n:]
		text, width := s.font.glyph(code)
		m := matrix{s.size * s.scale, 0, 0, s.size, 0, s.rise}.mul(s.text).mul(s.ctm)
		advance := width/1000*s.size + s.charSpace
		if code == " " {
			advance += s.wordSpace
		}
		in.add(m, glyph{text: text, w: width / 1000, bold: s.font.bold, italic: s.font.italic})
		s.text = matrix{1, 0, 0, 1, advance * s.scale, 0}.mul(s.text)
	}
}

// add keeps a glyph that stands upright; sideways text is decoration, and has
// no place in lines.
func (in *interpreter) add(m matrix, g glyph) {
	g.x, g.y = m[4], m[5]
	g.size = math.Hypot(m[2], m[3])
	g.w *= m[0]
	sound := !math.IsNaN(g.x+g.y+g.w+g.size) && math.Abs(g.x)+math.Abs(g.y)+math.Abs(g.w) < 1e6 && g.size < 1e4
	if !sound || g.size < 0.5 || m[0] <= 0 || math.Abs(m[1]) > m[0]/2 || g.text == "" {
		return
	}
	in.glyphs = append(in.glyphs, g)
}
