package pdf

import (
	"strings"
	"unicode"

	"github.com/ledongthuc/pdf"
)

// A font says what the codes of a string mean and how wide they are.
type font struct {
	composite    bool // codes are two bytes
	bold, italic bool
	unicode      map[string]string
	encoding     pdf.TextEncoding
	widths       map[int]float64
	width        float64 // of codes that widths does not have
	standard     bool    // one of the fonts every reader has, without widths
	mono         bool
}

// font returns the font v describes, read once.
func (in *interpreter) font(v pdf.Value, name string) *font {
	key := name + " " + v.Key("BaseFont").Name() + " " + v.String()
	if f, ok := in.fonts[key]; ok {
		return f
	}
	f := newFont(v)
	in.fonts[key] = f
	return f
}

func newFont(v pdf.Value) *font {
	f := &font{composite: v.Key("Subtype").Name() == "Type0", widths: map[int]float64{}}
	f.unicode = readToUnicode(v.Key("ToUnicode"))
	descriptor := v.Key("FontDescriptor")
	if f.composite {
		descendant := v.Key("DescendantFonts").Index(0)
		descriptor = descendant.Key("FontDescriptor")
		f.width = 1000
		if dw := descendant.Key("DW"); !dw.IsNull() {
			f.width = dw.Float64()
		}
		f.compositeWidths(descendant.Key("W"))
	} else {
		f.simpleWidths(v)
		f.width = descriptor.Key("MissingWidth").Float64()
		decoder := pdf.Font{V: v}
		if len(f.unicode) == 0 || v.Key("Encoding").Kind() != pdf.Null {
			f.encoding = decoder.Encoder()
		}
	}
	look := strings.ToLower(v.Key("BaseFont").Name())
	flags := descriptor.Key("Flags").Int64()
	f.bold = strings.Contains(look, "bold") || strings.Contains(look, "black") || strings.Contains(look, "heavy") || flags&(1<<18) != 0 ||
		descriptor.Key("StemV").Float64() >= 140
	f.italic = strings.Contains(look, "italic") || strings.Contains(look, "oblique") || flags&(1<<6) != 0
	f.mono = flags&1 != 0 || strings.Contains(look, "courier") || strings.Contains(look, "mono")
	f.standard = len(f.widths) == 0 && !f.composite
	return f
}

func (f *font) simpleWidths(v pdf.Value) {
	list := v.Key("Widths")
	first := int(v.Key("FirstChar").Int64())
	for i := range min(list.Len(), 256) {
		f.widths[first+i] = list.Index(i).Float64()
	}
}

// compositeWidths reads runs of the forms "c [w1 w2 …]" and "first last w".
func (f *font) compositeWidths(list pdf.Value) {
	for i := 0; i+1 < list.Len() && len(f.widths) < maxMapped; {
		first := int(list.Index(i).Int64())
		if own := list.Index(i + 1); own.Kind() == pdf.Array {
			for j := range min(own.Len(), 1<<16) {
				f.widths[first+j] = own.Index(j).Float64()
			}
			i += 2
			continue
		}
		last := min(int(list.Index(i+1).Int64()), 1<<16)
		for c := first; c <= last && len(f.widths) < maxMapped; c++ {
			f.widths[c] = list.Index(i + 2).Float64()
		}
		i += 3
	}
}

func (f *font) codeLength() int {
	if f.composite {
		return 2
	}
	return 1
}

// glyph is the text of a code and its width in thousandths of the size.
func (f *font) glyph(code string) (text string, width float64) {
	text, ok := f.unicode[code]
	if !ok {
		switch {
		case f.encoding != nil:
			text = f.encoding.Decode(code)
		case f.composite:
			text = string(unicode.ReplacementChar)
		default:
			text = code
		}
	}
	number := 0
	for _, c := range []byte(code) {
		number = number<<8 | int(c)
	}
	width, ok = f.widths[number]
	switch {
	case ok:
	case f.mono:
		width = 600
	case f.standard:
		width = standardWidth(text)
	default:
		width = f.width
	}
	return clean(text), width
}

// clean takes out of text what is no text, and apart what is drawn as one.
func clean(text string) string {
	if len(text) == 1 && text[0] >= ' ' && text[0] < 0x7f {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u00a0' || r == '\t' || r == '\n' || r == '\r':
			return ' '
		case unicode.IsControl(r) || r == '\ufeff':
			return -1
		}
		return r
	}, ligatures.Replace(strings.ToValidUTF8(text, "\ufffd")))
}

var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

// narrow and wide are the letters of a proportional font that are far from its
// middle width.
const (
	narrow = "iljtfrI.,:;'|!()[]{}/\\ -"
	wide   = "mwMWABCDGHKNOQRSUVXY@%&—"
)

// standardWidth is about how wide text is in Helvetica or Times. It is good
// enough to tell words apart, which is what it is for.
func standardWidth(text string) float64 {
	switch {
	case strings.ContainsAny(text, narrow):
		return 290
	case strings.ContainsAny(text, wide):
		return 720
	}
	return 520
}
