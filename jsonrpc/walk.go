package jsonrpc

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Walk is [Members] for an object that is known to be valid JSON, such as the
// output of [AppendValue] and [Marshal], and messages from a [Conn]. It skips
// the validation, which makes it several times faster. If the object is invalid
// after all, Walk stops where it no longer looks like an object.
func Walk(object []byte, visit func(name, value []byte) bool) error {
	rest, ok := bytes.CutPrefix(trimSpace(object), []byte("{"))
	if !ok {
		return errNotObject
	}
	for {
		rest = trimSpace(rest)
		end := valueEnd(rest)
		if end < 2 || rest[0] != '"' {
			return nil // the closing brace, or the end
		}
		name := rest[1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			text, err := jsontext.AppendUnquote(nil, rest[:end])
			if err != nil {
				return err
			}
			name = text
		}
		rest = trimSpace(rest[end:])
		if len(rest) == 0 {
			return nil
		}
		rest = trimSpace(rest[1:]) // a colon
		if end = valueEnd(rest); end == 0 || !visit(name, rest[:end:end]) {
			return nil
		}
		if rest = trimSpace(rest[end:]); len(rest) == 0 || rest[0] != ',' {
			return nil
		}
		rest = rest[1:]
	}
}

// valueEnd returns where the value at the start of text ends.
func valueEnd(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	switch text[0] {
	case '"':
		return stringEnd(text)
	case '{', '[':
	default:
		if end := bytes.IndexAny(text, ",]} \t\r\n"); end >= 0 {
			return end
		}
		return len(text)
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += stringEnd(text[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// stringEnd returns where the string at the start of text ends.
func stringEnd(text []byte) int {
	for i := 1; ; {
		quote := bytes.IndexByte(text[i:], '"')
		if quote < 0 {
			return len(text)
		}
		i += quote + 1
		escapes := 0
		for at := i - 2; at > 0 && text[at] == '\\'; at-- {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
}

func trimSpace(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t' || text[0] == '\n' || text[0] == '\r') {
		text = text[1:]
	}
	return text
}
