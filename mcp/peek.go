package mcp

import "bytes"

// PeekResultType returns the resultType of a raw result without decoding the result.
// ok is false for a result without one, which counts as [ResultComplete]. A
// resultType that is not a string is returned as "", which is not a type. result
// must be valid JSON, such as a result from [jsonrpc.Decode].
//
// # Experimental
//
// The client uses it where speed matters. It may change.
func PeekResultType(result []byte) (kind ResultType, ok bool) {
	if len(result) > peekedBehind {
		// In the results of most servers, the large members precede the type. So a
		// list of a thousand tools need not be walked to find it.
		if text, ok := typeBehind(result); ok {
			return ResultType(text), true
		}
	}
	text, ok := memberAhead(result, resultTypeMember)
	return ResultType(text), ok
}

// peekedBehind is the number of bytes at the end of a result that are searched first.
const peekedBehind = 1 << 10

const resultTypeMember = "resultType"

// typeBehind searches for the resultType backwards from the end, for peekedBehind
// bytes. ok is also false if the resultType is before those. In valid JSON, a quote
// without a backslash before it begins or ends a string, so strings can be found
// backwards.
func typeBehind(data []byte) (text string, ok bool) {
	low := max(1, len(data)-peekedBehind)
	end := len(bytes.TrimRight(data, " \t\r\n")) - 1 // the closing brace
	depth, colon := 0, -1                            // colon is the last colon passed, while only white space follows
	for i := end - 1; i >= low; i-- {
		switch data[i] {
		case ' ', '\t', '\r', '\n':
			continue
		case ':':
			colon = i
			continue
		case '}', ']':
			depth++
		case '{', '[':
			depth--
		case '"':
			start := stringStart(data, i)
			if start < low {
				return "", false
			}
			if depth == 0 && colon >= 0 && isNamed(data[start:i+1], resultTypeMember) {
				return textAt(data, skipSpace(data, colon+1)), true
			}
			i = start
		}
		colon = -1
	}
	return "", false
}

// stringStart returns the start of the string that ends with the quote at i, or -1.
func stringStart(data []byte, i int) int {
	for {
		i = bytes.LastIndexByte(data[:i], '"')
		if i <= 0 || data[i-1] != '\\' {
			return i
		}
	}
}
