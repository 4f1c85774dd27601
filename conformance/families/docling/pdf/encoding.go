package pdf

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// readEncoding is the text of each code of a font whose codes are single bytes.
func readEncoding(v value) *[256]string {
	name := strings.ToLower(v.Key("BaseFont").Name())
	if _, after, ok := strings.Cut(name, "+"); ok {
		name = after
	}
	encoding := v.Key("Encoding")
	base := encoding.Name()
	if base == "" {
		base = encoding.Key("BaseEncoding").Name()
	}
	var table [256]string
	switch {
	case base == "WinAnsiEncoding":
		table = fromCharmap(charmap.Windows1252)
	case base == "MacRomanEncoding":
		table = fromCharmap(charmap.Macintosh)
	case strings.HasPrefix(name, "symbol"):
		table = fromRows(symbolRows)
	case strings.HasPrefix(name, "zapfdingbats"):
		table = fromRows(dingbatRows)
	case base == "StandardEncoding" || v.Key("Subtype").Name() == "Type1" || v.Key("Subtype").Name() == "MMType1":
		table = fromRows(standardRows)
		builtIn(&table, v.Key("FontDescriptor").Key("FontFile"))
	default:
		table = fromCharmap(charmap.Windows1252)
	}
	differences := encoding.Key("Differences")
	code := 0
	for i := range differences.Len() {
		d := differences.Index(i)
		if d.Kind() != nameKind {
			code = d.Int()
			continue
		}
		if code >= 0 && code < len(table) {
			if text, ok := glyphText(d.Name()); ok {
				table[code] = text
			} else {
				table[code] = byNumber(d.Name(), code)
			}
		}
		code++
	}
	return &table
}

func fromCharmap(from *charmap.Charmap) (table [256]string) {
	for i := range table {
		if r := from.DecodeByte(byte(i)); r != utf8.RuneError {
			table[i] = string(r)
		} else {
			table[i] = "•" // as other readers fill the gaps of these encodings
		}
	}
	return table
}

// fromRows makes a table of rows of 16 signs, the first of which is that of
// code 0x20; a middle dot that is none stands for a code without a sign.
func fromRows(rows string) (table [256]string) {
	code := 0x20
	for _, r := range rows {
		if r == '\n' {
			continue
		}
		if r == '\t' { // the 32 codes without a sign
			code += 0x20
			continue
		}
		if code < len(table) && r != '\x01' {
			table[code] = string(r)
		}
		code++
	}
	return table
}

// The encodings that no library has, by rows. \x01 is a code without a sign, a
// tab is 32 of them.
const (
	standardRows = " !\"#$%&’()*+,-./0123456789:;<=>?" +
		"@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_" +
		"‘abcdefghijklmnopqrstuvwxyz{|}~\x01" +
		"\t" +
		"\x01¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ" + "\x01–†‡·\x01¶•‚„”»…‰\x01¿" +
		"\x01`´ˆ˜¯˘˙¨\x01˚¸\x01˝˛ˇ" + "—\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01" +
		"\x01Æ\x01ª\x01\x01\x01\x01ŁØŒº\x01\x01\x01\x01" + "\x01æ\x01\x01\x01ı\x01\x01łøœß\x01\x01\x01\x01"
	symbolRows = " !∀#∃%&∋()∗+,−./0123456789:;<=>?" +
		"≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_" +
		"‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼\x01" +
		"\t" +
		"€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓" + "°±″≥×∝∂•÷≠≡≈…⏐⎯↵" +
		"ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉" + "∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓" +
		"◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪" + "\x01〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭\x01"
	dingbatRows = " ✁✂✃✄☎✆✇✈✉☛☞✌✍✎✏✐✑✒✓✔✕✖✗✘✙✚✛✜✝✞✟" +
		"✠✡✢✣✤✥✦✧★✩✪✫✬✭✮✯✰✱✲✳✴✵✶✷✸✹✺✻✼✽✾✿" +
		"❀❁❂❃❄❅❆❇❈❉❊❋●❍■❏❐❑❒▲▼◆❖◗❘❙❚❛❜❝❞\x01" +
		"\t" +
		"\x01❡❢❣❤❥❦❧♣♦♥♠①②③④" + "⑤⑥⑦⑧⑨⑩❶❷❸❹❺❻❼❽❾❿" +
		"➀➁➂➃➄➅➆➇➈➉➊➋➌➍➎➏" + "➐➑➒➓➔→↔↕➘➙➚➛➜➝➞➟" +
		"➠➡➢➣➤➥➦➧➨➩➪➫➬➭➮➯" + "\x01➱➲➳➴➵➶➷➸➹➺➻➼➽➾\x01"
)

// put is a line of a Type 1 font's own encoding.
var put = regexp.MustCompile(`dup\s+(\d{1,3})\s*/(\S+)\s+put`)

// builtIn puts the encoding of an embedded Type 1 font into a table.
func builtIn(table *[256]string, program value) {
	data := program.Data()
	if n := program.Key("Length1").Int(); n > 0 && n < len(data) {
		data = data[:n]
	}
	data = data[:min(len(data), 64<<10)]
	for _, found := range put.FindAllSubmatch(data, 256) {
		code, _ := strconv.Atoi(string(found[1])) // digits
		if text, ok := glyphText(string(found[2])); ok && code < len(table) {
			table[code] = text
		}
	}
}

// glyphList is Adobe's list of the names of glyphs, with its licence.
//
//go:embed glyphlist.txt
var glyphList string

var glyphNames = sync.OnceValue(func() map[string]string {
	names := make(map[string]string, 4300)
	for line := range strings.Lines(glyphList) {
		name, codes, ok := strings.Cut(strings.TrimSpace(line), ";")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		names[name] = hexText(strings.Fields(codes))
	}
	return names
})

// hexText is the text of code points in hexadecimal.
func hexText(codes []string) string {
	var text strings.Builder
	for _, code := range codes {
		if n, err := strconv.ParseUint(code, 16, 21); err == nil {
			text.WriteRune(rune(n))
		}
	}
	return text.String()
}

// glyphText is what a glyph of a name means, by the rules of Adobe's list.
func glyphText(name string) (text string, ok bool) {
	if text, ok = glyphNames()[name]; ok {
		return text, true
	}
	name, _, _ = strings.Cut(name, ".")
	if name == "" {
		return "", true // .notdef
	}
	for part := range strings.SplitSeq(name, "_") {
		known, ok := glyphNames()[part]
		switch {
		case ok:
		case strings.HasPrefix(part, "uni") && len(part) >= 7 && len(part)%4 == 3 && isHex(part[3:]):
			var units []string
			for i := 3; i < len(part); i += 4 {
				units = append(units, part[i:i+4])
			}
			known = hexText(units)
		case strings.HasPrefix(part, "u") && len(part) >= 5 && len(part) <= 7 && isHex(part[1:]):
			known = hexText([]string{part[1:]})
		default:
			return "", false
		}
		text += known
	}
	return text, true
}

func isHex(s string) bool { return strings.Trim(s, "0123456789ABCDEFabcdef") == "" }

// byNumber is what a name outside the list most often means: the number in it
// is the sign's, as in "a65"; without one it is the code.
func byNumber(name string, code int) string {
	if n, err := strconv.Atoi(strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")); err == nil && n >= 0x20 && n < 256 {
		code = n
	}
	if r := charmap.Windows1252.DecodeByte(byte(code)); r > ' ' && r != utf8.RuneError && code < 256 {
		return string(r)
	}
	return ""
}
