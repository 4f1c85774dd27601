package mcp

import (
	"bytes"
	"unsafe"
)

// maxPlain is up to which size reading a result at once is worth a try: a longer
// one would be gone through twice where the try fails.
const maxPlain = 16 << 10

// readPlain reads what most tools answer, one text without escapes, at a
// fraction of what the codec takes. It reports false, and has changed nothing,
// for everything else, which is for the codec to judge. It shares memory with
// data as the codec does.
func (v *CallToolResult) readPlain(data []byte) bool {
	if len(data) > maxPlain {
		return false
	}
	rest := data
	has := func(literal string) bool {
		if len(rest) < len(literal) || string(rest[:len(literal)]) != literal {
			return false
		}
		rest = rest[len(literal):]
		return true
	}
	if !has("{") {
		return false
	}
	var text []byte
	var content, isError, complete bool
	for more := true; more; more = has(",") {
		switch {
		case !content && has(`"content":[{"type":"text","text":"`):
			end := bytes.IndexByte(rest, '"')
			if end < 0 || !plain(rest[:end]) {
				return false
			}
			text, rest, content = rest[:end], rest[end+1:], true
			if !has(`}]`) {
				return false
			}
		case !isError && has(`"isError":false`):
			isError = true
		case !complete && has(`"resultType":"complete"`):
			complete = true
		default:
			return false
		}
	}
	if !content || !has("}") || len(rest) > 0 {
		return false
	}
	room := &loneText{text: TextContent{Text: unsafe.String(unsafe.SliceData(text), len(text))}}
	v.Content = append(room.list[:0], &room.text)
	v.Extra, v.zero = nil, 0
	if isError {
		v.IsError = false
		v.zero |= spelledOutIsError
	}
	if complete {
		v.ResultType = ResultComplete
	}
	return true
}

// spelledOutIsError is what the codec marks for isError: false: the member's
// place in the list of fields.
const spelledOutIsError presence = 1 << 2

// plain reports whether a string stands for itself: ASCII without escapes.
func plain(text []byte) bool {
	for _, c := range text {
		if c < 0x20 || c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}
