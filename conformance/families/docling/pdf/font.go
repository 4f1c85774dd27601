package pdf

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	pdfont "github.com/pdfcpu/pdfcpu/pkg/font"
	"golang.org/x/text/encoding/charmap"
)

// A font says what the codes of a string mean and how wide they are.
type font struct {
	composite    bool // codes are those of a character map
	bold, italic bool
	unicode      map[string]string
	confused     bool         // unicode gives some glyphs the text of whole lines
	encoding     *[256]string // of a font whose codes are single bytes
	cmap         *charMap     // of a composite font
	widths       map[int]float64
	width        float64 // of codes that widths does not have
	scale        float64 // of widths, to make thousandths of the size
	standard     bool    // one of the fonts every reader has, without widths
	core         string  // the name of that font, if it is known
	mono         bool
	vertical     *vertical // of a font whose text runs down

	single [256]shape // of one byte, kept
	double map[string]shape
}

// A vertical is how the glyphs of a font follow each other that runs down, in thousandths of
// the size.
type vertical struct {
	above   float64 // from the origin of a glyph up to where it begins
	advance float64 // to the next one, negative
}

// readVertical reads how a composite font runs down; nil if it does not.
func readVertical(v, descendant value) *vertical {
	if name := v.Key("Encoding").Name(); !strings.HasSuffix(name, "-V") && name != "V" {
		return nil
	}
	if dw := descendant.Key("DW2"); dw.Len() == 2 {
		return &vertical{dw.Index(0).Float64(), dw.Index(1).Float64()}
	}
	return &vertical{880, -1000}
}

// A shape is what a code draws.
type shape struct {
	known bool
	text  string
	width float64 // in thousandths of the size
}

// font returns the font v describes, read once.
func (in *interpreter) font(v value) *font {
	if v.ref == 0 {
		return newFont(v) // without a number of its own, nobody else has it
	}
	if f, ok := in.fonts[v.ref]; ok {
		return f
	}
	f := newFont(v)
	in.fonts[v.ref] = f
	return f
}

func newFont(v value) *font {
	subtype := v.Key("Subtype").Name()
	f := &font{composite: subtype == "Type0", widths: map[int]float64{}, double: map[string]shape{}, scale: 1}
	f.unicode = readToUnicode(v.Key("ToUnicode"))
	f.confused = confused(f.unicode)
	descriptor := v.Key("FontDescriptor")
	if f.composite {
		descendant := v.Key("DescendantFonts").Index(0)
		descriptor = descendant.Key("FontDescriptor")
		f.width = 1000
		if dw := descendant.Key("DW"); !dw.IsNull() {
			f.width = dw.Float64()
		}
		f.compositeWidths(descendant.Key("W"))
		f.cmap = readCharMap(v)
		f.vertical = readVertical(v, descendant)
	} else {
		f.simpleWidths(v)
		f.width = descriptor.Key("MissingWidth").Float64()
		f.encoding = readEncoding(v)
	}
	if m := v.Key("FontMatrix"); subtype == "Type3" && m.Len() == 6 && m.Index(0).Float64() != 0 {
		f.scale = m.Index(0).Float64() * 1000
	}
	look := strings.ToLower(v.Key("BaseFont").Name())
	flags := descriptor.Key("Flags").Int()
	f.bold = boldName.MatchString(look) || flags&(1<<18) != 0 ||
		descriptor.Key("StemV").Float64() >= 140 && !strings.Contains(look, "regular")
	f.italic = strings.Contains(look, "italic") || strings.Contains(look, "oblique") || flags&(1<<6) != 0
	f.mono = flags&1 != 0 || strings.Contains(look, "courier") || strings.Contains(look, "mono")
	if f.standard = len(f.widths) == 0 && !f.composite; f.standard {
		f.core = coreFont(look, f.bold, f.italic)
	}
	return f
}

// boldName is what the names of bold fonts have in common: "Franklin Gothic Demi",
// "NimbusRomNo9L-Medi" and TeX's CMBX are bold, "Medium" is not.
var boldName = regexp.MustCompile(`bold|black|heavy|demi|-medi(?:ital)?$|-bd|^(?:[a-z]{6}\+)?(?:cm|sf|ec|lm)(?:ss)?bx`)

// longestGlyph is how many characters one glyph means at most.
const longestGlyph = 18

// confused reports whether a table gives glyphs the text of a line, as some programs do with
// text that runs from the right: then it is wrong about others too.
func confused(table map[string]string) bool {
	for _, text := range table {
		if len(text) > longestGlyph && utf8.RuneCountInString(text) > longestGlyph {
			return true
		}
	}
	return false
}

func (f *font) simpleWidths(v value) {
	list := v.Key("Widths")
	first := v.Key("FirstChar").Int()
	for i := range min(list.Len(), 256) {
		f.widths[first+i] = list.Index(i).Float64()
	}
}

// compositeWidths reads runs of the forms "c [w1 w2 …]" and "first last w".
func (f *font) compositeWidths(list value) {
	for i := 0; i+1 < list.Len() && len(f.widths) < maxMapped; {
		first := list.Index(i).Int()
		if own := list.Index(i + 1); own.Kind() == arrayKind {
			for j := range min(own.Len(), 1<<16) {
				f.widths[first+j] = own.Index(j).Float64()
			}
			i += 2
			continue
		}
		last := min(list.Index(i+1).Int(), 1<<16)
		for c := first; c <= last && len(f.widths) < maxMapped; c++ {
			f.widths[c] = list.Index(i + 2).Float64()
		}
		i += 3
	}
}

// codeLength is how many bytes the first code of codes has.
func (f *font) codeLength(codes []byte) int {
	if f.composite {
		return min(f.cmap.length(codes), len(codes))
	}
	return 1
}

// code is what a code draws, looked up once.
func (f *font) code(code []byte) shape {
	if len(code) == 1 {
		s := &f.single[code[0]]
		if !s.known {
			*s = f.shape(string(code))
		}
		return *s
	}
	s, ok := f.double[string(code)]
	if !ok {
		s = f.shape(string(code))
		f.double[string(code)] = s
	}
	return s
}

func (f *font) shape(code string) shape {
	text, ok := f.unicode[code]
	if f.confused && f.composite {
		if own, known := f.cmap.glyphs[f.cmap.number(code, bigEndian(code))]; known {
			text = string(own)
		}
	}
	if !ok && len(code) == 1 && f.composite {
		text, ok = f.unicode["\x00"+code]
	}
	if !ok || text == "" {
		switch {
		case f.composite:
			text = f.cmap.text(code)
		case f.encoding != nil:
			text = f.encoding[code[0]]
		default:
			text = code
		}
	}
	number := 0
	for _, c := range []byte(code) {
		number = number<<8 | int(c)
	}
	if f.composite {
		number = f.cmap.number(code, number)
	}
	width, ok := f.widths[number]
	switch {
	case ok:
	case f.mono:
		width = 600
	case f.standard:
		width = f.standardWidth(code, text)
	default:
		width = f.width
	}
	return shape{known: true, text: clean(text), width: width * f.scale}
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
		case r >= 0xfffe && r <= 0xffff: // no characters
			return unicode.ReplacementChar
		}
		return r
	}, ligatures.Replace(letters(strings.ToValidUTF8(text, "\ufffd"))))
}

var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

// coreFont is the standard font that a name without widths stands for.
func coreFont(look string, bold, italic bool) string {
	style := 0
	if bold {
		style = 1
	}
	if italic {
		style += 2
	}
	switch {
	case strings.Contains(look, "symbol"):
		return "Symbol"
	case strings.Contains(look, "dingbats"):
		return "ZapfDingbats"
	case strings.Contains(look, "times"), strings.Contains(look, "serif") && !strings.Contains(look, "sans"):
		return []string{"Times-Roman", "Times-Bold", "Times-Italic", "Times-BoldItalic"}[style]
	}
	return []string{"Helvetica", "Helvetica-Bold", "Helvetica-Oblique", "Helvetica-BoldOblique"}[style]
}

// otherWidth is about how wide signs are that the standard fonts do not have.
const otherWidth = 520

// standardWidth is how wide a code is in the standard font. Its widths are known
// by the codes of the font's own encoding, or those of Windows.
func (f *font) standardWidth(code, text string) float64 {
	number := int(code[0])
	if f.core != "Symbol" && f.core != "ZapfDingbats" {
		r, size := utf8.DecodeRuneInString(text)
		b, ok := charmap.Windows1252.EncodeRune(r)
		if !ok || size != len(text) {
			return otherWidth
		}
		number = int(b)
	}
	width, err := pdfont.CharWidth(f.core, rune(number))
	if err != nil {
		return otherWidth
	}
	return float64(width)
}
