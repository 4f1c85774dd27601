package schema

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/doc"
)

// unsafe returns why a schema must not be given to a validator, "" when it may.
// The validator follows references without a bound, so a schema that applies
// itself to the same value again, {"$ref": "#"}, would end the process.
func (s Schema) unsafe() string {
	w := walker{schema: s, state: map[*doc.Value]mark{}}
	w.walk(s.root)
	return w.reason
}

type mark uint8

const (
	open mark = iota + 1
	done
)

type walker struct {
	schema Schema
	state  map[*doc.Value]mark
	reason string
}

// walk looks at every object of the document as a schema.
func (w *walker) walk(v *doc.Value) {
	if w.reason != "" {
		return
	}
	if v.Kind() == doc.Object {
		w.references(v)
		w.visit(v)
	}
	for _, m := range v.Members() {
		w.walk(m.Value)
	}
	for _, item := range v.Items() {
		w.walk(item)
	}
}

// references refuses what would make "#" mean something else than the root of
// the document, because visit could not see the loop then.
func (w *walker) references(v *doc.Value) {
	if v != w.schema.root && v.Get("$id").Kind() == doc.String {
		w.reason = "it has a document of its own inside ($id)"
	}
	for _, key := range []string{"$ref", "$dynamicRef"} {
		if ref := v.Get(key); ref.Kind() == doc.String && !strings.HasPrefix(ref.Str(), "#") {
			w.reason = "it refers to another document, " + Brief(ref)
		}
	}
}

// visit follows what applies to the same value as node, and notes a loop.
func (w *walker) visit(node *doc.Value) {
	switch w.state[node] {
	case open:
		w.reason = "it refers to itself without end"
		return
	case done:
		return
	}
	w.state[node] = open
	next := w.schema.inPlace(node)
	for _, key := range []string{"not", "if"} {
		next = append(next, node.Get(key))
	}
	for _, m := range node.Get("dependencies").Members() {
		next = append(next, m.Value)
	}
	if ref := node.Get("$dynamicRef"); ref.Kind() == doc.String {
		// Whichever anchor of that name applies in the end, all must be safe.
		next = append(next, w.dynamic(w.schema.root, strings.TrimPrefix(ref.Str(), "#"))...)
	}
	for _, n := range next {
		if n.Kind() == doc.Object && w.reason == "" {
			w.visit(n)
		}
	}
	w.state[node] = done
}

func (w *walker) dynamic(at *doc.Value, name string) []*doc.Value {
	var out []*doc.Value
	if name == "" || at.Get("$dynamicAnchor").Str() == name || at.Get("$anchor").Str() == name {
		out = append(out, at)
	}
	if name == "" {
		return out
	}
	for _, m := range at.Members() {
		out = append(out, w.dynamic(m.Value, name)...)
	}
	for _, item := range at.Items() {
		out = append(out, w.dynamic(item, name)...)
	}
	return out
}
