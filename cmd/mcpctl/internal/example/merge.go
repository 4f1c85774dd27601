package example

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// merged returns one node with everything that holds at a place: the node, what
// it refers to, all parts of allOf, one branch of each union, and one branch
// of its condition.
func (g *generator) merged(node *doc.Value, depth int) *doc.Value {
	out := doc.NewObject()
	g.mergeInto(out, node, depth)
	return out
}

func (g *generator) mergeInto(out, node *doc.Value, depth int) {
	if node.Kind() != doc.Object || depth > 2*maxDepth {
		return
	}
	for _, m := range node.Members() {
		switch m.Name {
		case "$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "$defs", "definitions":
		default:
			join(out, m.Name, m.Value)
		}
	}
	if ref := node.Get("$ref"); ref != nil {
		g.mergeInto(out, g.schema.Resolve(ref.Str()), depth+1)
	}
	for _, part := range node.Get("allOf").Items() {
		g.mergeInto(out, part, depth+1)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := node.Get(key).Items(); len(branches) > 0 {
			g.mergeInto(out, branches[g.pick(len(branches))], depth+1)
		}
	}
	if condition := node.Get("if"); condition != nil {
		if g.pick(2) == 0 {
			g.mergeInto(out, condition, depth+1)
			g.mergeInto(out, node.Get("then"), depth+1)
		} else {
			g.mergeInto(out, node.Get("else"), depth+1)
		}
	}
}

// join adds one keyword. Where two nodes say something about the same keyword,
// both hold: lists of names are joined, properties are taken together, and of
// two limits the tighter one is kept.
func join(out *doc.Value, key string, value *doc.Value) {
	have := out.Get(key)
	if have == nil {
		out.Set(key, clone(value))
		return
	}
	switch key {
	case "required":
		for _, name := range value.Items() {
			if !slices.ContainsFunc(have.Items(), func(v *doc.Value) bool { return doc.Equal(v, name) }) {
				have.SetItem(len(have.Items()), name)
			}
		}
	case "properties":
		for _, m := range value.Members() {
			if old := have.Get(m.Name); old != nil {
				both := doc.NewObject()
				both.Set("allOf", doc.NewArray(old, m.Value))
				have.Set(m.Name, both)
				continue
			}
			have.Set(m.Name, m.Value)
		}
	case "enum":
		both := doc.NewArray()
		for _, v := range have.Items() {
			if slices.ContainsFunc(value.Items(), func(w *doc.Value) bool { return doc.Equal(v, w) }) {
				both.SetItem(len(both.Items()), v)
			}
		}
		out.Set(key, both)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		if value.Float() > have.Float() {
			out.Set(key, value)
		}
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		if value.Float() < have.Float() {
			out.Set(key, value)
		}
	case "type":
		// The narrower of the two: a name beats a list, an integer a number.
		if have.Kind() == doc.Array || have.Str() == "number" {
			out.Set(key, value)
		}
	}
}

// clone copies the part of a keyword that join may change; schemas below it are
// shared, and never changed.
func clone(v *doc.Value) *doc.Value {
	switch v.Kind() {
	case doc.Array:
		return doc.NewArray(slices.Clone(v.Items())...)
	case doc.Object:
		out := doc.NewObject()
		for _, m := range v.Members() {
			out.Set(m.Name, m.Value)
		}
		return out
	}
	return v
}
