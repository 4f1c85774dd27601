package schema

import (
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// choice is one allowed form of a value: a type, and the allowed values if they are listed.
type choice struct {
	kind   string // a JSON Schema type name, "" if only values are listed
	values []*doc.Value
	node   *doc.Value // the schema with this choice
}

// choices returns the choices of the schema, in its own order.
func (s Schema) choices() []choice {
	var out []choice
	for _, node := range s.flat() {
		values := node.Get("enum").Items()
		if c := node.Get("const"); c != nil {
			values = []*doc.Value{c}
		}
		kinds := typeNames(node)
		if len(kinds) == 0 && len(values) > 0 {
			kinds = []string{""}
		}
		for _, kind := range kinds {
			out = append(out, choice{kind, values, node})
		}
	}
	return out
}

// maxChosen limits the answer of [Schema.Values]: nobody chooses from more.
const maxChosen = 200

// Values returns the values that can be chosen from: those that are listed, and both of a boolean.
func (s Schema) Values() []*doc.Value {
	var out []*doc.Value
	for _, c := range s.choices() {
		values := c.values
		if c.kind == "boolean" && len(values) == 0 {
			both, _ := doc.Parse([]byte("[true,false]"))
			values = both.Items()
		}
		for _, v := range values {
			if len(out) == maxChosen {
				return out
			}
			if !slices.ContainsFunc(out, func(other *doc.Value) bool { return doc.Equal(other, v) }) {
				out = append(out, v)
			}
		}
	}
	return out
}

// TakesArray reports whether the schema describes an array.
func (s Schema) TakesArray() bool {
	return slices.ContainsFunc(s.choices(), func(c choice) bool { return c.kind == "array" })
}

// typeNames returns the types of a node, or those that its other keywords imply.
func typeNames(node *doc.Value) []string {
	var out []string
	switch t := node.Get("type"); t.Kind() {
	case doc.String:
		out = append(out, t.Str())
	case doc.Array:
		for _, item := range t.Items() {
			out = append(out, item.Str())
		}
	default:
		if node.Get("properties") != nil {
			out = append(out, "object")
		} else if node.Get("items") != nil || node.Get("prefixItems") != nil {
			out = append(out, "array")
		}
	}
	return out
}

// Typed returns the value that text means here: of the first choice that parses it, strings last,
// and a string if nothing is known. ok is false if no choice accepts it; then want describes the
// accepted values, and the value is the text itself.
func (s Schema) Typed(text string) (v *doc.Value, want string, ok bool) {
	choices := s.choices()
	stringly := len(choices) == 0
	for _, c := range choices {
		if c.kind == "string" {
			stringly = stringly || len(c.values) == 0 || slices.ContainsFunc(c.values, func(v *doc.Value) bool {
				return v.Kind() == doc.String && v.Str() == text
			})
			continue
		}
		if v := c.parse(text); v != nil {
			return v, "", true
		}
	}
	if stringly {
		return doc.Text(text), "", true
	}
	return doc.Text(text), s.must(), false
}

// parse parses text as this choice, strictly; nil if it does not match.
func (c choice) parse(text string) *doc.Value {
	if whole, zeros, found := strings.Cut(text, "."); c.kind == "integer" && found && zeros != "" && strings.Trim(zeros, "0") == "" {
		text = whole // 1.0 is an integer in JSON Schema, and every server reads 1
	}
	v, err := doc.Parse([]byte(text))
	if c.kind == "" {
		for _, allowed := range c.values {
			if (allowed.Kind() == doc.String && allowed.Str() == text) || (err == nil && doc.Equal(allowed, v)) {
				return allowed
			}
		}
		return nil
	}
	if err != nil || strings.TrimSpace(text) != text {
		return nil
	}
	if c.kind == "integer" {
		if v.Kind() != doc.Number || strings.ContainsAny(text, ".eE") {
			return nil
		}
	} else if c.kind != v.Kind().String() {
		return nil
	}
	if len(c.values) > 0 && !slices.ContainsFunc(c.values, func(a *doc.Value) bool { return doc.Equal(a, v) }) {
		return nil
	}
	return v
}

// must describes the accepted values: "must be an integer".
func (s Schema) must() string {
	var names []string
	var listed []*doc.Value
	for _, c := range s.choices() {
		listed = append(listed, c.values...)
		if c.kind != "" && !slices.Contains(names, c.kind) {
			names = append(names, c.kind)
		}
	}
	if len(listed) > 0 {
		return "must be " + oneOf(listed)
	}
	return mustBe(names)
}

func mustBe(names []string) string {
	words := make([]string, len(names))
	for i, name := range names {
		words[i] = article(name)
	}
	switch len(words) {
	case 0:
		return "does not fit"
	case 1:
		return "must be " + words[0]
	}
	return "must be " + strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func article(name string) string {
	switch name {
	case "null":
		return name
	case "integer", "array", "object":
		return "an " + name
	}
	return "a " + name
}

// maxListed is how many allowed values a message shows.
const maxListed = 12

func oneOf(values []*doc.Value) string {
	if len(values) == 1 {
		return Brief(values[0])
	}
	var words []string
	for _, v := range values[:min(maxListed, len(values))] {
		words = append(words, Brief(v))
	}
	if len(values) > maxListed {
		words = append(words, "…")
	}
	return "one of " + strings.Join(words, ", ")
}

// maxBrief is how much of a value a message shows, in runes.
const maxBrief = 60

// Brief returns a value for a message, shortened if it is long.
func Brief(v *doc.Value) string { return cut(v.String()) }

func cut(text string) string {
	runes := []rune(text)
	if len(runes) > maxBrief {
		return string(runes[:maxBrief]) + "…"
	}
	return text
}
