// Package schema reads a tool's schema for a person who fills in the arguments: the type of a
// property, the value that a text means, the signature, and the errors in arguments.
// [Judge.Findings] shows values, for the person who typed them; [Misfits] does not.
//
// It works on the bytes of the schema, so that properties keep the server's order. It follows
// only references inside the document; nothing is ever fetched. google/jsonschema-go validates
// ([Judge]); this package explains its verdict.
package schema

import (
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// Schema is the schema of one place in the arguments: the alternatives that may describe it. The
// zero Schema is empty and allows everything.
type Schema struct {
	root *doc.Value
	alts []*doc.Value
}

// New returns the schema of a whole document; nil returns the zero Schema.
func New(root *doc.Value) Schema {
	if root == nil {
		return Schema{}
	}
	return Schema{root: root, alts: []*doc.Value{root}}
}

// Known reports whether anything describes the place.
func (s Schema) Known() bool { return len(s.alts) > 0 }

// maxNodes limits how many schema nodes one question may visit, so that a schema that refers to
// itself takes limited time.
const maxNodes = 512

// flat returns every node that applies to the place itself: the alternatives, their references,
// and the branches of unions and conditions.
func (s Schema) flat() []*doc.Value {
	var out []*doc.Value
	queue := slices.Clone(s.alts)
	for len(queue) > 0 && len(out) < maxNodes {
		node := queue[0]
		queue = queue[1:]
		if node.Kind() != doc.Object || slices.Contains(out, node) {
			continue
		}
		out = append(out, node)
		// In reading order, before later alternatives.
		queue = append(s.inPlace(node), queue...)
	}
	return out
}

// inPlace returns the schemas that apply to the same value as node.
func (s Schema) inPlace(node *doc.Value) []*doc.Value {
	var out []*doc.Value
	if ref := node.Get("$ref"); ref.Kind() == doc.String {
		if to := s.Resolve(ref.Str()); to != nil {
			out = append(out, to)
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		out = append(out, node.Get(key).Items()...)
	}
	for _, key := range []string{"then", "else"} {
		if branch := node.Get(key); branch != nil {
			out = append(out, branch)
		}
	}
	for _, m := range node.Get("dependentSchemas").Members() {
		out = append(out, m.Value)
	}
	return out
}

// Resolve follows a reference inside the document: a JSON pointer, or the name of an $anchor. It
// returns nil for any other reference.
func (s Schema) Resolve(ref string) *doc.Value {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	if text, err := url.PathUnescape(fragment); err == nil {
		fragment = text
	}
	if fragment == "" {
		return s.root
	}
	if !strings.HasPrefix(fragment, "/") {
		return anchor(s.root, fragment)
	}
	at := s.root
	for token := range strings.SplitSeq(fragment[1:], "/") {
		token = unescape(token)
		switch at.Kind() {
		case doc.Object:
			at = at.Get(token)
		case doc.Array:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at.Items()) {
				return nil
			}
			at = at.Items()[i]
		default:
			return nil
		}
	}
	return at
}

func anchor(at *doc.Value, name string) *doc.Value {
	if at.Get("$anchor").Str() == name {
		return at
	}
	for _, m := range at.Members() {
		if found := anchor(m.Value, name); found != nil {
			return found
		}
	}
	for _, item := range at.Items() {
		if found := anchor(item, name); found != nil {
			return found
		}
	}
	return nil
}

// Property returns the schema of a property of an object.
func (s Schema) Property(name string) Schema {
	out := Schema{root: s.root}
	var rest []*doc.Value
	for _, node := range s.flat() {
		if p := node.Get("properties").Get(name); p != nil {
			out.alts = append(out.alts, p)
		} else if p := node.Get("additionalProperties"); p.Kind() == doc.Object {
			rest = append(rest, p)
		}
	}
	if len(out.alts) == 0 {
		out.alts = rest
	}
	return out
}

// Item returns the schema of item i of an array.
func (s Schema) Item(i int) Schema {
	out := Schema{root: s.root}
	for _, node := range s.flat() {
		fixed, rest := node.Get("prefixItems").Items(), node.Get("items")
		if rest.Kind() == doc.Array { // draft-07 writes a tuple as a list of items
			fixed, rest = rest.Items(), node.Get("additionalItems")
		}
		switch {
		case i < len(fixed):
			out.alts = append(out.alts, fixed[i])
		case rest.Kind() == doc.Object:
			out.alts = append(out.alts, rest)
		}
	}
	return out
}

// Field is one declared property of an object.
type Field struct {
	Name     string
	Schema   Schema
	Required bool
}

// Fields returns the declared properties: the required ones first, each group in the order of the
// schema. A property that only some branches require is optional.
func (s Schema) Fields() []Field {
	var out []Field
	place := map[string]int{} // index in out
	for _, node := range s.flat() {
		for _, m := range node.Get("properties").Members() {
			i, known := place[m.Name]
			if !known {
				i = len(out)
				place[m.Name] = i
				out = append(out, Field{Name: m.Name, Schema: Schema{root: s.root}})
			}
			out[i].Schema.alts = append(out[i].Schema.alts, m.Value)
		}
	}
	for _, node := range s.certain() {
		for _, item := range node.Get("required").Items() {
			name := item.Str()
			i, known := place[name]
			switch {
			case known:
				out[i].Required = true
			case name != "": // required, but not declared
				place[name] = len(out)
				out = append(out, Field{Name: name, Schema: s.Property(name), Required: true})
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Required && !out[j].Required })
	return out
}

// certain returns the nodes that apply in any case: the node, its reference, and the parts of
// allOf.
func (s Schema) certain() []*doc.Value {
	if len(s.alts) != 1 {
		return nil
	}
	var out []*doc.Value
	queue := slices.Clone(s.alts)
	for len(queue) > 0 && len(out) < maxNodes {
		node := queue[0]
		queue = queue[1:]
		if node.Kind() != doc.Object || slices.Contains(out, node) {
			continue
		}
		out = append(out, node)
		if ref := node.Get("$ref"); ref.Kind() == doc.String {
			queue = append(queue, s.Resolve(ref.Str()))
		}
		queue = append(queue, node.Get("allOf").Items()...)
	}
	return out
}

// Word returns the text of an annotation such as description, from the first node that has it.
func (s Schema) Word(key string) string {
	for _, node := range s.flat() {
		if text := node.Get(key).Str(); text != "" {
			return text
		}
	}
	return ""
}

// Default returns the declared default, nil for none.
func (s Schema) Default() *doc.Value {
	for _, node := range s.certain() {
		if v := node.Get("default"); v != nil {
			return v
		}
	}
	return nil
}

// TakesObject reports whether the schema describes an object and not an array.
func (s Schema) TakesObject() bool {
	object := false
	for _, c := range s.choices() {
		if c.kind == "array" {
			return false
		}
		object = object || c.kind == "object"
	}
	return object
}
