package mcp

import "bytes"

// PeekResultType returns the resultType of a raw result without decoding it. ok
// is false for a result without one, which counts as [ResultComplete];
// one that is no text is "", which is no type. result must be valid JSON, as
// everything from [jsonrpc.Decode] is.
//
// # Experimental
//
// The client uses it where speed matters. It may change.
func PeekResultType(result []byte) (kind ResultType, ok bool) {
	if len(result) > peekedBehind {
		// What makes a result large stands before its type in what most servers
		// write: a list of a thousand tools need not be walked for it.
		if text, ok := typeBehind(result); ok {
			return ResultType(text), true
		}
	}
	text, ok := memberAhead(result, resultTypeMember)
	return ResultType(text), ok
}

// peekedBehind is how much of the end of a result is looked at first.
const peekedBehind = 1 << 10

const resultTypeMember = "resultType"

// typeBehind looks for the resultType from the end, as far as peekedBehind: ok is
// false too for one that stands before that. In valid JSON a quote that no
// backslash stands before begins or ends a string, so strings can be told
// backwards as well.
func typeBehind(data []byte) (text string, ok bool) {
	low := max(1, len(data)-peekedBehind)
	end := len(bytes.TrimRight(data, " \t\r\n")) - 1 // of what stands in the object
	depth, colon := 0, -1                            // colon is the last one passed, if only white space stood before it
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

// stringStart is where the string that ends with the quote at i starts, -1 when
// it does not.
func stringStart(data []byte, i int) int {
	for {
		i = bytes.LastIndexByte(data[:i], '"')
		if i <= 0 || data[i-1] != '\\' {
			return i
		}
	}
}
