package pdf

import (
	"bytes"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of what a page may draw.
const (
	maxOperators = 2_000_000
	objectCost   = 200 // in operators: what drawing another object takes
	maxGlyphs    = 500_000
	maxFormDepth = 8
)

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
	fonts map[int]*font // by number of the object, for the whole document
	drawing
	path      path
	operators int

	tags   map[int]*element // of the page, by the numbers of marked content
	tag    *element         // of what is being drawn
	marked []marked
	// replacing is how many of them have a text of their own: their glyphs may have none.
	replacing int
}

// draw runs a stream of operators with its resources, or those of an array one
// after the other.
func (in *interpreter) draw(stream, resources value, ctm matrix, depth int) {
	s := state{ctm: ctm, scale: 1, text: identity, line: identity}
	var saved []state
	fonts := resources.Key("Font")
	scan := &scanner{data: content(stream)}
	scan.each(func(op []byte, args []operand) {
		if in.operators++; in.operators > maxOperators || in.drawn > maxGlyphs {
			panic(ErrTooMuch) // see read
		}
		switch string(op) {
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
				in.object(resources.Key("XObject").Key(string(args[0].text)), resources, s.ctm, depth)
			}
		case "Tf":
			if len(args) == 2 {
				s.font, s.size = in.font(fonts.Key(string(args[0].text))), args[1].num
			}
		case "gs":
			if len(args) == 1 {
				in.external(&s, resources.Key("ExtGState").Key(string(args[0].text)))
			}
		default:
			if !in.markedOperator(op, args, resources) && !in.pathOperator(&s, op, args) {
				in.textOperator(&s, op, args)
			}
		}
	})
}

// external sets the font that a dictionary of graphics state may have.
func (in *interpreter) external(s *state, v value) {
	if list := v.Key("Font"); list.Len() == 2 {
		s.font, s.size = in.font(list.Index(0)), list.Index(1).Float64()
	}
}

// content is the operators of a stream, or of the streams of an array.
func content(v value) []byte {
	if v.Kind() != arrayKind {
		return v.Data()
	}
	var parts [][]byte
	for i := range v.Len() {
		parts = append(parts, v.Index(i).Data())
	}
	return bytes.Join(parts, []byte("\n"))
}

// unknownText is that of a glyph whose text the file does not tell.
const unknownText = string(unicode.ReplacementChar)

func matrixOf(args []operand) (m matrix, ok bool) {
	if len(args) != 6 {
		return m, false
	}
	for i := range m {
		m[i] = args[i].num
	}
	return m, true
}

// object draws what a page refers to: a form is content of its own, an image
// covers the unit square.
func (in *interpreter) object(x, resources value, ctm matrix, depth int) {
	switch x.Key("Subtype").Name() {
	case "Image":
		in.images = append(in.images, cover(ctm))
	case "Form":
		if depth < maxFormDepth {
			in.form(x, resources, ctm, depth+1)
		}
	}
}

// form draws a form, with the resources around it where it has none.
func (in *interpreter) form(x, resources value, ctm matrix, depth int) {
	if own := x.Key("Resources"); own.Kind() == dictKind {
		resources = own
	}
	marked, tags, tag, replacing := in.marked, in.tags, in.tag, in.replacing
	if in.marked = nil; x.Key("StructParents").Kind() == numberKind {
		in.tags = nil // its numbers are its own
	}
	in.draw(x, resources, matrixIn(x).mul(ctm), depth)
	in.marked, in.tags, in.tag, in.replacing = marked, tags, tag, replacing
}

// matrixIn is the matrix of a form.
func matrixIn(x value) matrix {
	list := x.Key("Matrix")
	if list.Len() != 6 {
		return identity
	}
	var m matrix
	for i := range m {
		m[i] = list.Index(i).Float64()
	}
	return m
}

// cover is the box of the unit square.
func cover(m matrix) box { return m.box(box{0, 0, 1, 1}) }

// textOperator runs an operator about text; those about anything else are no
// concern here.
func (in *interpreter) textOperator(s *state, op []byte, args []operand) {
	number := func(i int) float64 {
		if i < len(args) {
			return args[i].num
		}
		return 0
	}
	move := func(x, y float64) {
		s.line = matrix{1, 0, 0, 1, x, y}.mul(s.line)
		s.text = s.line
	}
	switch string(op) {
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
		if op[0] == '"' && len(args) == 3 {
			s.wordSpace, s.charSpace = number(0), number(1)
		}
		move(0, -s.leading)
		if n := len(args); n > 0 {
			in.show(s, args[n-1].text)
		}
	case "Tj":
		if len(args) > 0 {
			in.show(s, args[0].text)
		}
	case "TJ":
		if len(args) == 0 {
			return
		}
		for _, part := range args[0].list {
			if part.kind == stringKind {
				in.show(s, part.text)
			}
			by := -part.num / 1000 * s.size // zero but of numbers
			if s.font != nil && s.font.vertical != nil {
				s.text = s.text.moved(0, by)
			} else {
				s.text = s.text.moved(by*s.scale, 0)
			}
		}
	}
}

// show draws the codes of a string.
func (in *interpreter) show(s *state, codes []byte) {
	if s.font == nil {
		s.font = &font{}
	}
	m := matrix{s.size * s.scale, 0, 0, s.size, 0, s.rise}.mul(s.text).mul(s.ctm)
	step := s.text.mul(s.ctm)
	across, up := 0.0, 0.0 // where the next glyph begins
	for len(codes) > 0 {
		n := s.font.codeLength(codes)
		c := s.font.code(codes[:n])
		advance := c.width / 1000 * s.size
		x, y := across, up
		if v := s.font.vertical; v != nil {
			x, y = across-advance/2*s.scale, up-v.above/1000*s.size
			advance = v.advance / 1000 * s.size
		}
		at := m
		at[4] += x*step[0] + y*step[2]
		at[5] += x*step[1] + y*step[3]
		in.add(at, glyph{text: c.text, w: c.width / 1000, bold: s.font.bold, italic: s.font.italic})
		if advance += s.charSpace; n == 1 && codes[0] == ' ' {
			advance += s.wordSpace
		}
		if s.font.vertical != nil {
			up += advance
		} else {
			across += advance * s.scale
		}
		codes = codes[n:]
	}
	s.text = s.text.moved(across, up)
}

// add keeps a glyph with the others whose text runs at the same angle, at its place in
// their frame.
func (in *interpreter) add(m matrix, g glyph) {
	g.x, g.y = m[4], m[5]
	g.size = math.Hypot(m[2], m[3])
	along := math.Hypot(m[0], m[1])
	g.w *= along
	sound := !math.IsNaN(g.x+g.y+g.w+g.size) && math.Abs(g.x)+math.Abs(g.y)+math.Abs(g.w) < 1e6 && g.size < 1e4
	if !sound || g.size < 0.5 || along == 0 || g.text == "" && in.replacing == 0 {
		return
	}
	if g.x < -1 || g.x > in.width || g.y < -1 || g.y > in.height {
		in.outside += utf8.RuneCountInString(strings.TrimSpace(g.text))
		return
	}
	if g.text == unknownText && in.replacing == 0 {
		in.unknown++
	}
	g.order, g.tag = in.drawn, in.tag
	in.drawn++
	at := angle(m)
	place := frame(at, in.width, in.height).apply(g.x, g.y)
	g.x, g.y = place[0], place[1]
	in.glyphs[at] = append(in.glyphs[at], g)
}
