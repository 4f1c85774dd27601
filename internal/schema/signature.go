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

// BriefSignature is [Signature] for a schema of any size: it writes out so many
// types, and … for what is beyond them.
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

// Type returns the type in a few characters: string, integer[], fast|exact,
// {id: integer}. What says nothing is any.
func (s Schema) Type() string {
	left := maxTypes
	return s.typeText(nesting, &left)
}

const (
	// nesting is how deep a type goes.
	nesting = 3
	// maxValues is how many values of an enum a type shows.
	maxValues = 6
	// maxTypes bounds how many types are written out for one: those that refer
	// to themselves would multiply.
	maxTypes = 200
)

// typeText writes a type while there are types left to write.
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
		case c.kind == "array" && depth > 0:
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

// only narrows a place to one of the schemas that describe it.
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

// bare shows a listed value without quotes where that is not ambiguous.
func bare(v *doc.Value) string {
	text := v.Str()
	if v.Kind() == doc.String && text != "" && !strings.ContainsAny(text, " |,(){}[]\"'\n\t") {
		return text
	}
	return Brief(v)
}

// Limits returns the constraints of a place in words, for the table of fields.
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
			out = append(out, "no item twice")
		}
	}
	return out
}
