package mcp

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// memberAhead returns the text of the named member of the object at the start of
// data, "" for a value that is not a string. ok reports whether the member exists.
// memberAhead does not validate: its callers read the object strictly before or
// after it.
func memberAhead(data []byte, name string) (text string, ok bool) {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return "", false
	}
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
			if depth == 0 {
				return "", false
			}
		case '"':
			end := skipString(data, i)
			if end < 0 {
				return "", false
			}
			key := data[i:end]
			i = end
			if depth != 1 || !isNamed(key, name) {
				continue
			}
			// A value can equal the name, but only a name is followed by a colon.
			at := skipSpace(data, end)
			if at >= len(data) || data[at] != ':' {
				continue
			}
			return textAt(data, skipSpace(data, at+1)), true
		default:
			i++
		}
	}
	return "", false
}

// textAt returns the text of the value at the index, "" if it is not a string.
func textAt(data []byte, at int) string {
	if at >= len(data) || data[at] != '"' {
		return ""
	}
	end := skipString(data, at)
	if end < 0 {
		return ""
	}
	return shortText(data[at:end])
}

// shortText returns the text of a raw JSON string. It does not allocate for the
// texts that are in every message.
func shortText(raw []byte) string {
	switch string(raw) {
	case `"text"`:
		return "text"
	case `"complete"`:
		return "complete"
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // invalid text becomes U+FFFD
	return string(text)
}

func isNamed(raw []byte, name string) bool {
	if len(raw) == len(name)+2 {
		return string(raw[1:len(raw)-1]) == name
	}
	if len(raw) < len(name)+2 || len(raw) > 6*len(name)+2 {
		return false
	}
	text, err := jsontext.AppendUnquote(nil, raw) // an escaped spelling
	return err == nil && string(text) == name
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at i, or -1 if the
// string does not end.
func skipString(data []byte, i int) int {
	for i++; ; i++ {
		at := bytes.IndexByte(data[i:], '"')
		if at < 0 {
			return -1
		}
		i += at
		slashes := 0
		for data[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}
