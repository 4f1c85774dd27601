// Package visible shows control characters instead of letting a terminal obey
// them. Text from a server may hold escape sequences that set the title, read
// the clipboard, move the cursor over earlier lines or reverse the reading
// direction; here each such character becomes a mark.
//
// Line feeds and tabs pass, and so does a carriage return right before a line
// feed (it is dropped). Everything else that has no glyph is marked: C0 as the
// control pictures (␛ for ESC), DEL as ␡, and C1, bidirectional, zero-width
// and other format characters as <U+202E>. A byte that is not UTF-8 is shown
// as <0x9B>, because an 8-bit terminal would read it as a C1 control.
package visible

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s with its control characters marked.
func Text(s string) string {
	if plain(s) {
		return s
	}
	out, rest := appendVisible(nil, []byte(s), true)
	return string(append(out, rest...))
}

// Line is [Text] for what must stay on one line: line feeds and tabs are
// marked too.
func Line(s string) string {
	if plain(s) && !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return strings.NewReplacer("\n", "␊", "\t", "␉").Replace(Text(s))
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || (c < 0x20 && c != '\n' && c != '\t') {
			return false
		}
	}
	return true
}

// Writer marks control characters in everything written through it. Characters
// that are split over two calls are handled; call Flush at the end. Not safe
// for concurrent use.
type Writer struct {
	w    io.Writer
	rest []byte
}

// NewWriter returns a Writer in front of w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	out, rest := appendVisible(nil, append(w.rest, p...), false)
	w.rest = append([]byte(nil), rest...)
	if _, err := w.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what was held back because it might have been the start of a
// longer character.
func (w *Writer) Flush() error {
	out, _ := appendVisible(nil, w.rest, true)
	w.rest = nil
	_, err := w.w.Write(out)
	return err
}

// appendVisible appends what src means to dst. When it is not the end of the
// text, what may go on in the next piece is returned as rest.
func appendVisible(dst, src []byte, end bool) (out, rest []byte) {
	for len(src) > 0 {
		if !end && (!utf8.FullRune(src) || (len(src) == 1 && src[0] == '\r')) {
			return dst, src
		}
		r, n := utf8.DecodeRune(src)
		switch {
		case r == '\n' || r == '\t':
			dst = append(dst, byte(r))
		case r == '\r' && n < len(src) && src[n] == '\n':
			// A line ending of two characters is one line ending.
		case r < 0x20:
			dst = utf8.AppendRune(dst, '\u2400'+r)
		case r == 0x7f:
			dst = append(dst, "␡"...)
		case r == utf8.RuneError && n == 1:
			dst = fmt.Appendf(dst, "<0x%02X>", src[0])
		case hidden(r):
			dst = fmt.Appendf(dst, "<U+%04X>", r)
		default:
			dst = append(dst, src[:n]...)
		}
		src = src[n:]
	}
	return dst, nil
}

// hidden reports whether a character has no glyph of its own: C1 controls,
// format characters (bidirectional marks, zero-width ones, tags), and the line
// and paragraph separators.
func hidden(r rune) bool {
	return r > 0x7f && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || fillers(r))
}

// fillers are letters to Unicode, but are drawn as nothing.
func fillers(r rune) bool {
	return r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0'
}

// Cut returns at most limit characters of s, with an ellipsis where it was cut.
func Cut(s string, limit int) string {
	if runes := []rune(s); len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return s
}

// Width returns how many columns of a terminal s takes: two for a wide character, and none
// for a mark on the one before it.
func Width(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case wide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

// wide reports whether a character takes two columns: those of East Asia, and emoji.
func wide(r rune) bool {
	return r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf && r != 0x303f || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 ||
		r >= 0x1f300 && r <= 0x1f64f || r >= 0x1f680 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd)
}

// Fit returns as much of s as a number of columns has room for, and ends with an ellipsis
// where something is left out, after a whole word if there is one.
func Fit(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	end, space, n := 0, 0, 1 // the ellipsis
	for i, r := range s {
		if n += Width(string(r)); n > columns {
			break
		}
		if r == ' ' {
			space = i
		}
		end = i + utf8.RuneLen(r)
	}
	if next, _ := utf8.DecodeRuneInString(s[end:]); next != ' ' && space > end/2 {
		end = space
	}
	return strings.TrimRight(s[:end], " ") + "…"
}
