package mcp

import (
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// checkTrace returns an error for an invalid value of a W3C trace key, and nil for
// other keys.
func checkTrace(key string, value []byte) error {
	var ok func(string) bool
	switch key {
	case MetaTraceParent:
		ok = isTraceParent
	case MetaTraceState, MetaBaggage:
		ok = isMemberList
	default:
		return nil
	}
	var text string
	if jsonrpc.Unmarshal(value, &text) != nil || !ok(text) {
		return fmt.Errorf("_meta key %q: the value does not have the form W3C gives it", key)
	}
	return nil
}

// isTraceParent reports whether text is a traceparent: version, trace id, parent id
// and flags in lower-case hexadecimal. Ids of zeros and version ff are invalid.
// Versions after 00 may have more fields.
func isTraceParent(text string) bool {
	parts := strings.Split(text, "-")
	if len(parts) < 4 || (len(parts) > 4 && parts[0] == "00") {
		return false
	}
	for i, size := range []int{2, 32, 16, 2} {
		if len(parts[i]) != size || strings.Trim(parts[i], "0123456789abcdef") != "" {
			return false
		}
	}
	return parts[0] != "ff" && strings.Trim(parts[1], "0") != "" && strings.Trim(parts[2], "0") != ""
}

// isMemberList reports whether text is a comma-separated list of name=value in
// visible ASCII.
func isMemberList(text string) bool {
	for i := range len(text) {
		if (text[i] < 0x20 || text[i] > 0x7e) && text[i] != '\t' {
			return false
		}
	}
	for member := range strings.SplitSeq(text, ",") {
		name, _, found := strings.Cut(strings.TrimSpace(member), "=")
		if !found || name == "" {
			return false
		}
	}
	return true
}
