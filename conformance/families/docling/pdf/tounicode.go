package pdf

import (
	"encoding/hex"
	"regexp"
	"strings"
	"unicode/utf16"
)

// The limits of a font's table from codes to text.
const (
	maxMapped   = 1 << 17
	maxMapBytes = 8 << 20
)

// mapToken is what counts in a ToUnicode map: codes and texts in hexadecimal,
// arrays of them, and the words that begin and end a part.
var mapToken = regexp.MustCompile(`<[0-9A-Fa-f\s]*>|\[|\]|(?:begin|end)bf(?:char|range)`)

// cmapToken is what counts in a map from codes to numbers of glyphs.
var cmapToken = regexp.MustCompile(`<[0-9A-Fa-f\s]*>|(?:begin|end)(?:codespacerange|cidrange|cidchar)|\b[0-9]+\b`)

// readToUnicode reads the table from codes to text. It is PostScript, of which
// only two operators matter, and those are read without running the rest.
func readToUnicode(stream value) map[string]string {
	if stream.Kind() != streamKind {
		return nil
	}
	data := stream.Data()
	return parseToUnicode(string(data[:min(len(data), maxMapBytes)]))
}

func parseToUnicode(data string) map[string]string {
	table := map[string]string{}
	var part []string // the tokens since the last begin
	for _, token := range mapToken.FindAllString(data, -1) {
		if len(table) >= maxMapped {
			break
		}
		switch token {
		case "beginbfchar", "beginbfrange":
			part = nil
		case "endbfchar":
			for i := 0; i+1 < len(part); i += 2 {
				table[unhex(part[i])] = utf16Text(unhex(part[i+1]))
			}
		case "endbfrange":
			mapRanges(table, part)
		default:
			part = append(part, token)
		}
	}
	return table
}

// mapRanges reads triples of a first code, a last one, and the text of the first
// or the texts of all in brackets.
func mapRanges(table map[string]string, part []string) {
	for len(part) >= 3 && len(table) < maxMapped {
		lo, hi := unhex(part[0]), unhex(part[1])
		texts := part[2:3]
		part = part[3:]
		each := texts[0] == "["
		if each {
			n := 0
			for n < len(part) && part[n] != "]" {
				n++
			}
			texts, part = part[:n], part[min(n+1, len(part)):]
		}
		if len(lo) == 0 || len(lo) != len(hi) || lo > hi {
			continue
		}
		last := len(lo) - 1
		for i := 0; i <= int(hi[last])-int(lo[last]); i++ {
			code := lo[:last] + string([]byte{lo[last] + byte(i)})
			switch {
			case !each:
				table[code] = utf16Text(later(unhex(texts[0]), i))
			case i < len(texts):
				table[code] = utf16Text(unhex(texts[i]))
			}
		}
	}
}

// later is the UTF-16 text whose last unit is so much higher.
func later(text string, by int) string {
	b := []byte(text)
	for i := len(b) - 1; i >= 0 && i >= len(b)-2; i-- {
		by += int(b[i])
		b[i] = byte(by)
		by >>= 8
	}
	return string(b)
}

func unhex(token string) string {
	digits := strings.Join(strings.Fields(strings.Trim(token, "<>")), "")
	if len(digits)%2 != 0 {
		digits += "0"
	}
	b, _ := hex.DecodeString(digits) // brackets in the wrong place are no codes
	return string(b)
}

func utf16Text(s string) string {
	units := make([]uint16, len(s)/2)
	for i := range units {
		units[i] = uint16(s[2*i])<<8 | uint16(s[2*i+1])
	}
	return string(utf16.Decode(units))
}
