package operand

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

// Format writes an object as operands that give it back: name=value where the
// schema types the text to the same value, else name:=JSON. An object with a
// name that operands cannot carry is written as --json and its text.
func Format(args *doc.Value, s schema.Schema) []string {
	out := make([]string, 0, len(args.Members()))
	for _, m := range args.Members() {
		if !Carries(m.Name) {
			return []string{"--json", args.String()}
		}
		out = append(out, m.Name+Assign(m.Value, s.Property(m.Name)))
	}
	return out
}

// Carries reports whether an operand can have this name.
func Carries(name string) bool {
	return name != "" && name[0] != '-' && !strings.ContainsAny(name, "=[]") && !strings.HasSuffix(name, ":")
}

// Assign returns what follows the name in an operand with this value: =value or :=JSON.
func Assign(v *doc.Value, s schema.Schema) string {
	text := v.String()
	if v.Kind() == doc.String {
		text = v.Str()
	}
	again, _, ok := s.Typed(text)
	if !ok || text == "=" || again.Kind() != v.Kind() || again.String() != v.String() {
		return ":=" + v.String()
	}
	if strings.HasPrefix(text, "@") {
		text = "@" + text
	}
	return "=" + text
}
