package schema

import (
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/doc"
)

// Signature returns the one-line form of a tool: name(a: integer, b?: x|y).
func Signature(name string, input Schema) string {
	var args []string
	for _, f := range input.Fields() {
		mark := ": "
		if !f.Required {
			mark = "?: "
		}
		args = append(args, f.Name+mark+f.Schema.Type())
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

// Type returns the type in a few characters: string, integer[], fast|exact,
// {id: integer}. What says nothing is any.
func (s Schema) Type() string { return s.typeText(3) }

// maxValues is how many values of an enum a type shows.
const maxValues = 6

func (s Schema) typeText(depth int) string {
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
			add(s.only(c.node).arrayText(depth))
		case c.kind == "object" && depth > 0:
			add(s.only(c.node).objectText(depth))
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

func (s Schema) arrayText(depth int) string {
	item := s.Item(0).typeText(depth - 1)
	if strings.Contains(item, "|") && !strings.HasPrefix(item, "{") {
		return "(" + item + ")[]"
	}
	return item + "[]"
}

// maxFields is how many properties of a nested object a type shows.
const maxFields = 4

func (s Schema) objectText(depth int) string {
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
		parts = append(parts, f.Name+mark+f.Schema.typeText(depth-1))
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
