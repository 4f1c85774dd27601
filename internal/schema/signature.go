package schema

import (
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// Signature returns the one-line form of a tool: name(a: integer, b?: x|y).
func Signature(name string, input Schema) string {
	return signature(name, input, func(s Schema) string { return s.Type() })
}

// BriefSignature is [Signature] for a schema of any size: it writes at most types types, and …
// for the rest.
func BriefSignature(name string, input Schema, types int) string {
	return signature(name, input, func(s Schema) string { return s.typeText(nesting, &types) })
}

func signature(name string, input Schema, typeOf func(Schema) string) string {
	var args []string
	for _, f := range input.Fields() {
		mark := ": "
		if !f.Required {
			mark = "?: "
		}
		args = append(args, f.Name+mark+typeOf(f.Schema))
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

// Type returns the type in a few characters: string, integer[], fast|exact, {id: integer}. An
// unknown type is any.
func (s Schema) Type() string {
	left := maxTypes
	return s.typeText(nesting, &left)
}

const (
	// nesting is the maximum depth of a type.
	nesting = 3
	// maxValues is how many values of an enum a type shows.
	maxValues = 6
	// maxTypes limits how many types are written for one type, since types that refer to
	// themselves multiply.
	maxTypes = 200
)

// typeText writes a type, if the limit of types is not reached.
func (s Schema) typeText(depth int, left *int) string {
	if *left--; *left < 0 {
		return "…"
	}
	var parts []string
	add := func(text string) {
		if !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	for _, c := range s.choices() {
		switch {
		case len(c.values) > 0:
			for i, v := range c.values {
				if i == maxValues {
					add("…")
					break
				}
				add(bare(v))
			}
		case c.kind == "array" && depth >= 0:
			add(s.only(c.node).arrayText(depth, left))
		case c.kind == "object" && depth > 0:
			add(s.only(c.node).objectText(depth, left))
		case c.kind != "":
			add(c.kind)
		}
	}
	if len(parts) == 0 {
		return "any"
	}
	return strings.Join(parts, "|")
}

// only restricts a place to one of its schemas.
func (s Schema) only(node *doc.Value) Schema { return Schema{root: s.root, alts: []*doc.Value{node}} }

func (s Schema) arrayText(depth int, left *int) string {
	item := s.Item(0).typeText(depth-1, left)
	if strings.Contains(item, "|") && !strings.HasPrefix(item, "{") {
		return "(" + item + ")[]"
	}
	return item + "[]"
}

// maxFields is how many properties of a nested object a type shows.
const maxFields = 4

func (s Schema) objectText(depth int, left *int) string {
	fields := s.Fields()
	if len(fields) == 0 {
		return "object"
	}
	var parts []string
	for i, f := range fields {
		if i == maxFields {
			parts = append(parts, "…")
			break
		}
		mark := ": "
		if !f.Required {
			mark = "?: "
		}
		parts = append(parts, f.Name+mark+f.Schema.typeText(depth-1, left))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// bare formats a listed value without quotes if that is not ambiguous.
func bare(v *doc.Value) string {
	text := v.Str()
	if v.Kind() == doc.String && text != "" && !strings.ContainsAny(text, " |,(){}[]\"'\n\t") {
		return text
	}
	return Brief(v)
}

// Limits returns the constraints of a place as text, for the table of fields.
func (s Schema) Limits() []string {
	var out []string
	for _, node := range s.certain() {
		for _, limit := range []struct{ key, words string }{
			{"minimum", "≥ "},
			{"exclusiveMinimum", "> "},
			{"maximum", "≤ "},
			{"exclusiveMaximum", "< "},
			{"multipleOf", "multiple of "},
			{"minLength", "length ≥ "},
			{"maxLength", "length ≤ "},
			{"minItems", "items ≥ "},
			{"maxItems", "items ≤ "},
			{"pattern", "matches "},
			{"format", "format "},
		} {
			switch v := node.Get(limit.key); v.Kind() {
			case doc.Number:
				out = append(out, limit.words+v.String())
			case doc.String:
				out = append(out, limit.words+v.Str())
			}
		}
		if node.Get("uniqueItems").True() {
			out = append(out, "unique items")
		}
	}
	return out
}
