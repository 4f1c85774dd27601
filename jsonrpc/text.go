package jsonrpc

import (
	"math/bits"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// jsonSpace is the white space of JSON, which is less than that of Unicode.
const jsonSpace = " \t\r\n"

// AppendString appends s as a JSON string. It replaces invalid UTF-8 by U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for {
		n := plainRun(s)
		dst = append(dst, s[:n]...)
		if s = s[n:]; s == "" {
			return append(dst, '"')
		}
		if s[0] < utf8.RuneSelf {
			dst = appendEscaped(dst, s[0])
			s = s[1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		dst = utf8.AppendRune(dst, r)
		s = s[size:]
	}
}

// appendEscaped appends an ASCII character that must be escaped.
func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
	case '\b':
		c = 'b'
	case '\f':
		c = 'f'
	case '\n':
		c = 'n'
	case '\r':
		c = 'r'
	case '\t':
		c = 't'
	default:
		const digits = "0123456789abcdef"
		return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	}
	return append(dst, '\\', c)
}

// plainRun returns how many bytes at the start of s are ASCII without need of an
// escape in a JSON string. It examines eight bytes at a time, because long texts are
// mostly such bytes.
func plainRun(s string) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; n+8 <= len(s); n += 8 {
		b := s[n : n+8]
		x := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		quote, escape := x^ones*'"', x^ones*'\\'
		// The top bit of each byte that is a control character, a quote, a backslash
		// or not ASCII. It is correct up to the first such byte, which is enough.
		special := ((x-ones*0x20)&^x | (quote-ones)&^quote | (escape-ones)&^escape | x) & tops
		if special != 0 {
			return n + bits.TrailingZeros64(special)/8
		}
	}
	for ; n < len(s); n++ {
		if c := s[n]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return n
}

func appendInt(dst []byte, i int64) []byte { return strconv.AppendInt(dst, i, 10) }

// Printable makes text from a peer safe to display. It replaces control, format
// and bidirectional characters by U+FFFD, and line breaks by spaces. It cuts
// the text after limit runes and adds an ellipsis.
func Printable(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == limit {
			b.WriteRune('…')
			break
		}
		n++
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
