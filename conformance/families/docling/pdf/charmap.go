package pdf

import (
	"strings"
	"unicode"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// A charMap takes the strings of a composite font apart into codes. The zero
// value is that of two bytes a code, which is the number of the glyph too.
type charMap struct {
	// utf16 says that codes are text in UTF-16.
	utf16 bool
	// legacy is the encoding that codes are text in, of one byte or two.
	legacy encoding.Encoding
	// ranges are those of an embedded map, by the length of their codes.
	ranges []codeRange
	cids   []cidRange
	// glyphs is the text of glyphs by number, of a font without another table.
	glyphs map[int]rune
}

// A codeRange is codes of one length between two.
type codeRange struct{ lo, hi string }

// A cidRange is codes in order whose glyphs are numbered in order.
type cidRange struct {
	lo, hi string
	cid    int
}

// legacyMaps are parts of the names of the maps every reader knows.
var legacyMaps = []struct {
	part string
	is   encoding.Encoding
}{
	{"RKSJ", japanese.ShiftJIS},
	{"GBK", simplifiedchinese.GBK},
	{"GB-EUC", simplifiedchinese.GBK},
	{"GBpc", simplifiedchinese.GBK},
	{"B5", traditionalchinese.Big5},
	{"ETen", traditionalchinese.Big5},
	{"HKscs", traditionalchinese.Big5},
	{"KSC", korean.EUCKR},
	{"EUC", japanese.EUCJP},
}

// readCharMap reads the map of a composite font. A font may say by a name in
// place of its table of texts that its codes are texts.
func readCharMap(v value) *charMap {
	m, descendant := &charMap{}, v.Key("DescendantFonts").Index(0)
	codesAreText := strings.HasPrefix(v.Key("ToUnicode").Name(), "Identity")
	v = v.Key("Encoding")
	name := v.Name()
	switch {
	case codesAreText:
		m.utf16 = true
	case v.Kind() == streamKind:
		m.read(string(v.Data()))
	case strings.Contains(name, "UCS2"), strings.Contains(name, "UTF16"):
		m.utf16 = true
	case strings.HasPrefix(name, "Identity"):
	default:
		for _, known := range legacyMaps {
			if strings.Contains(name, known.part) {
				m.legacy = known.is
				break
			}
		}
	}
	if !m.utf16 && m.legacy == nil {
		m.glyphs = collected(descendant)
	}
	return m
}

// collected is the text of the glyphs of a font, where the font or the collection
// it is of says it.
func collected(descendant value) map[int]rune {
	ordering := descendant.Key("CIDSystemInfo").Key("Ordering").Text()
	if ordering == "Japan1" {
		return japan()
	}
	program := descendant.Key("FontDescriptor").Key("FontFile2")
	if ordering != "Identity" || program.Kind() != streamKind {
		return nil
	}
	glyphs := byGlyph(program.Data())
	numbers := descendant.Key("CIDToGIDMap")
	if numbers.Kind() != streamKind {
		return glyphs
	}
	renumbered := map[int]rune{} // two bytes for each number say which glyph it is
	for i, data := 0, numbers.Data(); 2*i+1 < len(data) && i < 1<<16; i++ {
		if r, ok := glyphs[bigEndian(string(data[2*i:2*i+2]))]; ok {
			renumbered[i] = r
		}
	}
	return renumbered
}

// read reads the ranges of an embedded map.
func (m *charMap) read(data string) {
	var part []string
	for _, token := range cmapToken.FindAllString(data[:min(len(data), maxMapBytes)], -1) {
		switch token {
		case "begincodespacerange", "begincidrange", "begincidchar":
			part = nil
		case "endcodespacerange":
			for i := 0; i+1 < len(part) && len(m.ranges) < 100; i += 2 {
				m.ranges = append(m.ranges, codeRange{unhex(part[i]), unhex(part[i+1])})
			}
		case "endcidrange":
			for i := 0; i+2 < len(part) && len(m.cids) < maxMapped; i += 3 {
				m.cids = append(m.cids, cidRange{unhex(part[i]), unhex(part[i+1]), decimal(part[i+2])})
			}
		case "endcidchar":
			for i := 0; i+1 < len(part) && len(m.cids) < maxMapped; i += 2 {
				m.cids = append(m.cids, cidRange{unhex(part[i]), unhex(part[i]), decimal(part[i+1])})
			}
		default:
			part = append(part, token)
		}
	}
}

func decimal(token string) int {
	n := 0
	for _, c := range []byte(token) {
		if c < '0' || c > '9' || n > 1<<20 {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// length is how many bytes the first code has, at least one.
func (m *charMap) length(codes []byte) int {
	switch {
	case m.legacy != nil:
		if codes[0] < 0x81 || m.legacy == japanese.ShiftJIS && codes[0] >= 0xa0 && codes[0] < 0xe0 {
			return 1
		}
	case len(m.ranges) > 0:
		for _, r := range m.ranges {
			n := len(r.lo)
			if n > 0 && n == len(r.hi) && n <= len(codes) && within(codes[:n], r) {
				return n
			}
		}
	}
	return 2
}

// within says that each byte of a code is within its bounds.
func within(code []byte, r codeRange) bool {
	for i, c := range code {
		if c < r.lo[i] || c > r.hi[i] {
			return false
		}
	}
	return true
}

// text is what a code means on its own.
func (m *charMap) text(code string) string {
	switch {
	case m.utf16 && len(code) == 2:
		return utf16Text(code)
	case m.legacy != nil:
		if text, err := m.legacy.NewDecoder().String(code); err == nil {
			return text
		}
	}
	if r, ok := m.glyphs[m.number(code, bigEndian(code))]; ok {
		return string(r)
	}
	return string(unicode.ReplacementChar)
}

// number is the number of the glyph of a code.
func (m *charMap) number(code string, asNumber int) int {
	for _, r := range m.cids {
		if len(r.lo) == len(code) && r.lo <= code && code <= r.hi {
			return r.cid + asNumber - bigEndian(r.lo)
		}
	}
	return asNumber
}

func bigEndian(code string) int {
	n := 0
	for _, c := range []byte(code) {
		n = n<<8 | int(c)
	}
	return n
}
