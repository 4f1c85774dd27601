package jsonrpc

import "bytes"

// plainMessage reads a small message without spaces, escapes and error, as most
// messages are, in one pass. That is a fifth of the work of the decoder. It returns
// false for all other messages, valid or not, which the decoder then reads. The
// decoder would accept whatever plainMessage accepts, with the same result.
func plainMessage(data []byte, e *envelope) bool {
	if len(data) > maxFlat || len(data) < 2 || data[0] != '{' {
		return false
	}
	version := false
	var got envelope
	for i := 1; ; i++ {
		nameEnd := plainString(data, i)
		if nameEnd < 0 || nameEnd >= len(data) || data[nameEnd] != ':' {
			return false
		}
		end := plainValue(data, nameEnd+1, 1)
		if end < 0 || end >= len(data) {
			return false
		}
		value := data[nameEnd+1 : end : end]
		switch string(data[i:nameEnd]) {
		case `"jsonrpc"`:
			if version {
				return false
			}
			version = string(value) == `"2.0"`
		case `"id"`:
			if got.hasID || got.set("id", value) != nil {
				return false
			}
		case `"result"`:
			if got.result != nil {
				return false
			}
			got.result = value
		case `"method"`:
			if got.kind == kindNotification || got.set("method", value) != nil {
				return false
			}
		case `"params"`:
			if got.params != nil || value[0] != '{' {
				return false
			}
			got.params = value
		default:
			return false
		}
		if i = end; data[i] != ',' {
			if data[i] != '}' || i != len(data)-1 {
				return false
			}
			break
		}
	}
	if !version || got.hasID && got.id == nil || got.classify() != nil {
		return false
	}
	got.marked = true
	*e = got
	return true
}

// isPlainValue reports whether data is one small value without spaces and escapes that
// the decoder would accept.
func isPlainValue(data []byte) bool {
	return len(data) <= maxFlat && plainValue(data, 0, 0) == len(data)
}

const (
	// maxFlat limits the size of a message that may be read twice because it turns
	// out not to be plain.
	maxFlat = 4 << 10
	// maxFlatDepth limits the recursion. maxFlatNames limits the names of an object,
	// because each is compared with each.
	maxFlatDepth, maxFlatNames = 16, 12
)

// plainValue returns the end of the value that begins at i, or -1 if any part of it
// is not plain.
func plainValue(data []byte, i, depth int) int {
	if i >= len(data) {
		return -1
	}
	switch c := data[i]; {
	case c == '"':
		return plainString(data, i)
	case c == '{' && depth < maxFlatDepth:
		return plainObject(data, i, depth+1)
	case c == '[' && depth < maxFlatDepth:
		return plainArray(data, i, depth+1)
	case c == 't':
		return plainWord(data, i, "true")
	case c == 'f':
		return plainWord(data, i, "false")
	case c == 'n':
		return plainWord(data, i, "null")
	}
	return plainInteger(data, i)
}

func plainObject(data []byte, i, depth int) int {
	if i++; i < len(data) && data[i] == '}' {
		return i + 1
	}
	var names [maxFlatNames][]byte
	for n := range names {
		end := plainString(data, i)
		if end < 0 || end >= len(data) || data[end] != ':' {
			return -1
		}
		names[n] = data[i:end]
		for _, other := range names[:n] {
			if bytes.Equal(other, names[n]) {
				return -1
			}
		}
		if i = plainValue(data, end+1, depth); i < 0 || i >= len(data) {
			return -1
		}
		if data[i] == '}' {
			return i + 1
		}
		if data[i] != ',' {
			return -1
		}
		i++
	}
	return -1
}

func plainArray(data []byte, i, depth int) int {
	if i++; i < len(data) && data[i] == ']' {
		return i + 1
	}
	for {
		if i = plainValue(data, i, depth); i < 0 || i >= len(data) {
			return -1
		}
		if data[i] == ']' {
			return i + 1
		}
		if data[i] != ',' {
			return -1
		}
		i++
	}
}

// plainString accepts printable ASCII without a backslash.
func plainString(data []byte, i int) int {
	if i >= len(data) || data[i] != '"' {
		return -1
	}
	for i++; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			return i + 1
		case c < ' ' || c >= 0x7f || c == '\\':
			return -1
		}
	}
	return -1
}

// plainInteger accepts a number without fraction and exponent.
func plainInteger(data []byte, i int) int {
	if i < len(data) && data[i] == '-' {
		i++
	}
	first := i
	for i < len(data) && data[i] >= '0' && data[i] <= '9' {
		i++
	}
	if i == first || data[first] == '0' && i > first+1 {
		return -1
	}
	return i
}

func plainWord(data []byte, i int, word string) int {
	if !bytes.HasPrefix(data[i:], []byte(word)) {
		return -1
	}
	return i + len(word)
}
