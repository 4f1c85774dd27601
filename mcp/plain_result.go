package mcp

import (
	"bytes"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Consume is [UnmarshalValid] for data that is not needed afterwards. It joins
// texts in place, so decoding a text of many megabytes with escapes allocates
// nothing. The contents of data are undefined afterwards.
//
// # Experimental
//
// The client uses it where speed matters. It may change.
func Consume(data []byte, v any) error {
	if r, ok := v.(*CallToolResult); ok && r != nil && plainResult(data, r) {
		return nil
	}
	o, ok := v.(object)
	if !ok || isNil(o) {
		return jsonrpc.Unmarshal(data, v)
	}
	return withCodec(data, func(c *codec) {
		c.trust()
		c.consumes = true
		c.readObject(o)
	})
}

// plainResult reads a result with one short text, as most calls have, in one pass
// without the decoder. The text must have the form that nearly all servers write:
// without white space and escapes, and with no other members than those below. For
// any other result it returns false and changes nothing. data must be valid JSON.
func plainResult(data []byte, v *CallToolResult) bool {
	if len(data) > maxPlainResult || len(data) == 0 || data[0] != '{' || bytes.IndexByte(data, '\\') >= 0 || !utf8.Valid(data) {
		return false
	}
	out := CallToolResult{IsError: v.IsError, ResultType: v.ResultType, Meta: v.Meta, StructuredContent: v.StructuredContent}
	var text []byte
	var seen presence
	for i := 1; ; i++ {
		rest := data[i:]
		size, member := 0, presence(0)
		switch {
		case bytes.HasPrefix(rest, plainContent):
			member = 1
			body := rest[len(plainContent):]
			end := bytes.IndexByte(body, '"')
			if end < 0 || !bytes.HasPrefix(body[end:], plainContentEnd) {
				return false
			}
			text = body[:end:end]
			size = len(plainContent) + end + len(plainContentEnd)
		case bytes.HasPrefix(rest, plainNoError):
			member, size = isErrorBit, len(plainNoError)
			out.IsError, out.zero = false, isErrorBit
		case bytes.HasPrefix(rest, plainComplete):
			member, size = 2, len(plainComplete)
			out.ResultType = ResultComplete
		case bytes.HasPrefix(rest, plainMeta):
			member = 8
			if size = objectEnd(rest, len(plainMeta)-1); size < 0 {
				return false
			}
			out.Meta = rest[len(plainMeta)-1 : size : size]
		}
		i += size
		if member == 0 || seen&member != 0 || i >= len(data) {
			return false
		}
		seen |= member
		if data[i] == '}' && i == len(data)-1 {
			break
		}
		if data[i] != ',' {
			return false
		}
	}
	if text == nil {
		return false
	}
	room := &loneText{}
	room.text.Text = shared(text)
	out.Content = append(room.list[:0], &room.text)
	*v = out
	return true
}

// maxPlainResult limits the size of a result that may be read twice because it turns
// out not to be plain.
const maxPlainResult = 4 << 10

// isErrorBit is the [presence] bit of isError in a result.
const isErrorBit presence = 1 << 2

var (
	plainContent    = []byte(`"content":[{"type":"text","text":"`)
	plainContentEnd = []byte(`"}]`)
	plainNoError    = []byte(`"isError":false`)
	plainComplete   = []byte(`"resultType":"complete"`)
	plainMeta       = []byte(`"_meta":{`)
)

// objectEnd returns the index after the object that begins at i, or -1 if it does
// not end. data has no escapes.
func objectEnd(data []byte, i int) int {
	for depth := 0; i < len(data); i++ {
		switch data[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			end := bytes.IndexByte(data[i+1:], '"')
			if end < 0 {
				return -1
			}
			i += end + 1
		}
	}
	return -1
}
