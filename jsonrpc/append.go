package jsonrpc

import (
	stdjson "encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendMarshal appends v as JSON in the form of [Marshal]. It writes maps,
// slices of any, strings, numbers and booleans directly to dst. A string of
// many megabytes is therefore copied only once.
func AppendMarshal(dst []byte, v any) ([]byte, error) {
	if out, ok := appendPlain(dst, v, 0); ok {
		return out, nil
	}
	raw, err := Marshal(v)
	return append(dst, raw...), err
}

// maxPlainDepth limits the nesting that appendPlain follows, because a map may
// contain itself. Marshal reports such a map.
const maxPlainDepth = 100

// appendPlain appends v if it consists of plain values only, else it returns false.
func appendPlain(dst []byte, v any, depth int) (out []byte, ok bool) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), true
	case bool:
		return strconv.AppendBool(dst, v), true
	case string:
		return appendText(dst, v), true
	case int:
		return strconv.AppendInt(dst, int64(v), 10), true
	case int64:
		return strconv.AppendInt(dst, v, 10), true
	case float64:
		return appendFloat(dst, v)
	case stdjson.Number:
		raw := jsontext.Value(v)
		// A valid number ends in a digit. Marshal removes white space.
		if raw.Kind() == '0' && raw.IsValid() && v[0] > ' ' && v[len(v)-1] > ' ' {
			return append(dst, v...), true
		}
	case map[string]any:
		return appendMap(dst, v, depth)
	case []any:
		return appendList(dst, v, depth)
	}
	return dst, false
}

func appendMap(dst []byte, m map[string]any, depth int) (out []byte, ok bool) {
	if m == nil {
		return append(dst, "null"...), true
	}
	if depth == maxPlainDepth {
		return dst, false
	}
	var room [16]string
	names := room[:0]
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	out = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(AppendString(out, name), ':')
		if out, ok = appendPlain(out, m[name], depth+1); !ok {
			return dst, false
		}
	}
	return append(out, '}'), true
}

func appendList(dst []byte, list []any, depth int) (out []byte, ok bool) {
	if list == nil {
		return append(dst, "null"...), true
	}
	if depth == maxPlainDepth {
		return dst, false
	}
	out = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if out, ok = appendPlain(out, v, depth+1); !ok {
			return dst, false
		}
	}
	return append(out, ']'), true
}

// longText is the length from which a text is measured before it is written, so
// that the buffer grows only once.
const longText = 4 << 10

func appendText(dst []byte, s string) []byte {
	if len(s) >= longText {
		escapes := 0
		for i := plainRun(s); i < len(s); i += plainRun(s[i:]) {
			switch c := s[i]; {
			case c >= utf8.RuneSelf:
			case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
				escapes++
			default:
				escapes += 5
			}
			i++
		}
		dst = slices.Grow(dst, len(s)+escapes+roomBehind)
	}
	return AppendString(dst, s)
}

// roomBehind is the space reserved after a long text for the rest of the message.
const roomBehind = 1 << 10

// appendFloat writes a number as encoding/json does: the shortest form, with an
// exponent only for the very large and the very small.
func appendFloat(dst []byte, f float64) (out []byte, ok bool) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return dst, false
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	out = strconv.AppendFloat(dst, f, format, -1, 64)
	if n := len(out); format == 'e' && n >= 4 && out[n-4] == 'e' && out[n-3] == '-' && out[n-2] == '0' {
		out[n-2] = out[n-1] // e-09 is written e-9
		out = out[:n-1]
	}
	return out, true
}
