package pdf

import (
	"math"
	"strings"
	"unicode/utf16"
)

// A marked is marked content that has begun.
type marked struct {
	// actual is the text in place of the content, if it has one: of a ligature, say, or of
	// letters that a script draws in another order.
	actual   string
	replaced bool
	from     int32    // the order of its first glyph
	tag      *element // of the content around it
}

// The limits of marked content: how deep it is nested, and how long a text is in place of it.
const (
	maxMarked = 1000
	maxActual = 4096 // bytes
)

// markedOperator runs an operator about marked content, and reports whether op was one.
func (in *interpreter) markedOperator(op []byte, args []operand, resources value) bool {
	switch string(op) {
	case "BMC", "BDC":
		m := marked{from: in.drawn, tag: in.tag}
		if len(args) == 2 {
			in.properties(&m, args[1], resources)
		}
		in.operators += len(m.actual)
		if m.replaced = m.replaced && len(m.actual) <= maxActual; len(in.marked) < maxMarked {
			in.marked = append(in.marked, m)
			if m.replaced {
				in.replacing++
			}
		}
	case "EMC":
		if n := len(in.marked) - 1; n >= 0 {
			m := in.marked[n]
			in.marked, in.tag = in.marked[:n], m.tag
			if m.replaced {
				in.replacing--
				in.replace(&m)
			}
		}
	default:
		return false
	}
	return true
}

// properties reads those of marked content: a dictionary in place, or the name of one.
func (in *interpreter) properties(m *marked, list operand, resources value) {
	if list.kind == nameKind {
		named := resources.Key("Properties").Key(string(list.text))
		if actual := named.Key("ActualText"); actual.Kind() == stringKind {
			m.actual, m.replaced = actual.Decoded(), true
		}
		if id := named.Key("MCID"); id.Kind() == numberKind {
			in.tag = in.tags[id.Int()]
		}
		return
	}
	for i := 0; i+1 < len(list.list); i += 2 {
		switch v := list.list[i+1]; string(list.list[i].text) {
		case "ActualText":
			if v.kind == stringKind {
				m.actual, m.replaced = textOf(string(v.text)), true
			}
		case "MCID":
			if v.kind == numberKind {
				in.tag = in.tags[int(v.num)]
			}
		}
	}
}

// textOf is a text string of a file: UTF-16 or UTF-8 after their marks, else about Latin-1.
func textOf(s string) string {
	if utf8, ok := strings.CutPrefix(s, "\xef\xbb\xbf"); ok {
		return strings.ToValidUTF8(utf8, "\ufffd")
	}
	if units, ok := strings.CutPrefix(s, "\xfe\xff"); ok {
		return utf16Text(units)
	}
	if units, ok := strings.CutPrefix(s, "\xff\xfe"); ok {
		little := make([]uint16, len(units)/2)
		for i := range little {
			little[i] = uint16(units[2*i+1])<<8 | uint16(units[2*i])
		}
		return string(utf16.Decode(little))
	}
	return latin1(s)
}

func latin1(s string) string {
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = rune(s[i])
	}
	return string(out)
}

// replace puts one glyph in place of those of marked content, with the text that they
// stand for. Content on several lines or at several angles keeps its glyphs: the text does
// not tell where its lines end.
func (in *interpreter) replace(m *marked) {
	angle, from := -1, 0
	for at, glyphs := range in.glyphs {
		n := len(glyphs)
		for n > 0 && glyphs[n-1].order >= m.from {
			n--
		}
		if n == len(glyphs) {
			continue
		}
		if angle >= 0 {
			return
		}
		angle, from = at, n
	}
	if angle < 0 {
		return
	}
	glyphs := in.glyphs[angle]
	one := glyphs[from]
	one.text = clean(m.actual)
	if one.text == "" {
		in.glyphs[angle] = glyphs[:from]
		return
	}
	end := one.x
	for _, g := range glyphs[from:] {
		if math.Abs(g.y-glyphs[from].y) > g.size {
			return
		}
		one.x, end = min(one.x, g.x), max(end, g.x+g.w)
		one.size = max(one.size, g.size)
	}
	one.w = end - one.x
	in.glyphs[angle] = append(glyphs[:from], one)
}
