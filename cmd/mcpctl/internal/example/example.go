// Package example makes arguments for a tool that its input schema accepts, so
// that the example line of `mcpctl describe` works when it is pasted.
//
// It proposes values from the schema's own words (const, default, examples,
// enum, limits, pattern, format) and has every proposal judged; when one does
// not pass it tries other branches of unions and conditions. A schema that
// accepts nothing it can think of gets no example.
package example

import (
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

// attempts is how many proposals are judged.
const attempts = 48

// Arguments returns an object that the schema accepts; ok is false when none
// was found. Only what is required is filled in, unless the schema asks for
// more. A nil schema gets an empty object. placeholders says that a value of it
// was made up here, not named by the schema: it has the right form, and may
// mean nothing to the server.
func Arguments(root *doc.Value) (args *doc.Value, placeholders, ok bool) {
	if root == nil {
		return doc.NewObject(), false, true
	}
	j, err := schema.NewJudge(root)
	if err != nil {
		// It cannot be judged, so nothing can be said about what fits. The first
		// proposal is still the best guess, but it is no promise.
		return nil, false, false
	}
	for turn := range attempts {
		g := generator{root: root, schema: schema.New(root), turn: turn}
		args := g.object(root, 0)
		if args != nil && j.Fits(args) {
			return args, g.madeUp, true
		}
	}
	return nil, false, false
}

// generator makes one proposal. turn decides which branches are taken: its
// low digit, in mixed radix, goes to the first choice met, and so on.
type generator struct {
	root   *doc.Value
	schema schema.Schema
	turn   int
	// madeUp is set by a value that the schema does not name.
	madeUp bool
}

// pick takes one of n branches and uses up that much of the turn.
func (g *generator) pick(n int) int {
	if n <= 1 {
		return 0
	}
	i := g.turn % n
	g.turn /= n
	return i
}

// maxDepth bounds how deep a proposal goes; schemas may be recursive.
const maxDepth = 12

// value proposes a value for a node; name is the property it is for, "" in a
// list. nil means none was thought of.
func (g *generator) value(node *doc.Value, name string, depth int) *doc.Value {
	if depth > maxDepth || (node.Kind() == doc.Bool && !node.True()) {
		return nil
	}
	node = g.merged(node, depth)
	if v := declared(node, g); v != nil {
		return v
	}
	kind := g.kind(node)
	switch kind {
	case "object":
		return g.object(node, depth)
	case "array":
		return g.array(node, depth)
	case "null":
		return literal("null")
	}
	g.madeUp = true
	switch kind {
	case "integer", "number":
		return number(node, g)
	case "boolean":
		return literal("true")
	}
	return g.text(node, name)
}

// declared proposes a value that the schema itself names.
func declared(node *doc.Value, g *generator) *doc.Value {
	if c := node.Get("const"); c != nil {
		return c
	}
	values := node.Get("enum").Items()
	if d := node.Get("default"); d != nil && d.Kind() != doc.Null && g.turn%2 == 0 {
		return d
	}
	if len(values) > 0 {
		return values[g.pick(len(values))]
	}
	if examples := node.Get("examples").Items(); len(examples) > 0 && g.turn%2 == 0 {
		return examples[0]
	}
	return nil
}

// kind returns the type to propose.
func (g *generator) kind(node *doc.Value) string {
	switch t := node.Get("type"); t.Kind() {
	case doc.String:
		return t.Str()
	case doc.Array:
		items := t.Items()
		if len(items) > 0 {
			return items[g.pick(len(items))].Str()
		}
	}
	for _, hint := range []struct{ key, kind string }{
		{"properties", "object"},
		{"required", "object"},
		{"items", "array"},
		{"prefixItems", "array"},
		{"minItems", "array"},
		{"minimum", "number"},
		{"maximum", "number"},
		{"exclusiveMinimum", "number"},
		{"multipleOf", "number"},
	} {
		if node.Get(hint.key) != nil {
			return hint.kind
		}
	}
	return "string"
}

func literal(text string) *doc.Value {
	v, err := doc.Parse([]byte(text))
	if err != nil {
		return nil
	}
	return v
}
