package schema

import (
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// Misfits returns the reasons why a validator rejected a value, one sentence each: "a.b[1]" must
// be an integer, got a string. They contain names and types, never values. There are none if the
// reason is a keyword that this package cannot explain.
func Misfits(root, value *doc.Value) []string {
	found := explain(New(root), root, value, false)
	out := make([]string, 0, len(found))
	for _, f := range found {
		message := f.Message
		if f.Pointer != "" {
			message = strconv.Quote(place(value, f.Pointer)) + " " + message
		}
		out = append(out, message)
	}
	return out
}

// place formats a JSON pointer as in programs: a.b[1].
func place(at *doc.Value, pointer string) string {
	var b strings.Builder
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if at.Kind() == doc.Array {
			b.WriteString("[" + token + "]")
			i, _ := strconv.Atoi(token) // an existing item
			at = at.Items()[i]
			continue
		}
		name := unescape(token)
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(cut(name))
		at = at.Get(name)
	}
	return b.String()
}
