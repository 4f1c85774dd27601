package inputschema

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// unsafe returns why the validator must not get a schema, "" if it may, and the largest extent of
// all its parts. The validator follows references without a limit. A schema that applies itself
// to the same value, such as {"$ref": "#"}, would overflow the stack, which cannot be recovered
// from; so would a long chain. Thirty schemas with two references each to the next would be
// followed two to the power of 30 times.
func unsafe(document any) (most extent, reason string) {
	w := walker{root: document, extents: map[string]extent{}, anchors: map[string]string{}}
	w.index("", document)
	if w.reason == "" {
		w.walk("", document)
	}
	return w.most, w.reason
}

// walker walks through a schema. A place is a JSON pointer.
type walker struct {
	root    any
	extents map[string]extent // by place; the zero extent while it is computed
	most    extent
	anchors map[string]string // places by anchor name
	reason  string
}

// index records anchors, and rejects schemas in which "#" may refer to something other than the
// root of the document, because visit could not detect a loop then.
func (w *walker) index(place string, v any) {
	node, _ := v.(map[string]any)
	if _, isText := node["$id"].(string); isText && place != "" {
		w.reason = "it has a document of its own inside ($id)"
	}
	for _, key := range []string{"$ref", "$dynamicRef"} {
		if ref, isText := node[key].(string); isText && !strings.HasPrefix(ref, "#") {
			w.reason = "it refers to another document"
		}
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if name, isText := node[key].(string); isText {
			if other, there := w.anchors[name]; there && other != place {
				w.reason = "it has an anchor twice"
			}
			w.anchors[name] = place
		}
	}
	children(place, v, w.index)
}

// walk visits every object of the document as a schema.
func (w *walker) walk(place string, v any) {
	if _, isObject := v.(map[string]any); isObject && w.reason == "" {
		w.visit(place, 0)
	}
	if w.reason == "" {
		children(place, v, w.walk)
	}
}

// visit follows the schemas that apply to the same value as the schema at place. chain is the
// length of the chain that leads to it.
func (w *walker) visit(place string, chain int) extent {
	e, seen := w.extents[place]
	switch {
	case seen && e.cost == 0:
		w.reason = "it refers to itself without end"
		return e
	case seen:
		return e
	case chain > maxChain:
		w.reason = chainedTooLong
		return e
	}
	w.extents[place] = extent{}
	node, _ := w.at(place).(map[string]any)
	e = own(node)
	for _, next := range w.applied(place, node) {
		switch w.at(next).(type) {
		case map[string]any:
			more := w.visit(next, chain+1)
			e.cost += more.cost
			e.growth += more.growth
			e.chain = max(e.chain, more.chain+1)
		case bool:
			e.cost++
		}
		switch {
		case w.reason != "":
		case e.cost > maxCost:
			w.reason = "too many of its parts apply to the same value"
		case e.chain > maxChain: // the end of the chain was visited first
			w.reason = chainedTooLong
		}
		if w.reason != "" {
			return e
		}
	}
	w.extents[place] = e
	w.most = extent{cost: max(w.most.cost, e.cost), growth: max(w.most.growth, e.growth)}
	return e
}

const chainedTooLong = "too many of its parts apply because of one another"

// applied returns the places of the schemas that a schema applies to its own value.
func (w *walker) applied(place string, node map[string]any) []string {
	var out []string
	for _, key := range []string{"not", "if", "then", "else"} {
		out = append(out, place+"/"+key)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"} {
		children(place+"/"+key, node[key], func(child string, _ any) { out = append(out, child) })
	}
	for _, key := range []string{"$ref", "$dynamicRef"} {
		ref, isText := node[key].(string)
		switch {
		case !isText:
		case ref == "#" || strings.HasPrefix(ref, "#/"):
			out = append(out, unescapeURI(ref[1:]))
		default:
			if at, there := w.anchors[ref[1:]]; there {
				out = append(out, at)
			}
		}
	}
	return out
}

// at returns the value at a place, nil if there is none.
func (w *walker) at(place string) any {
	v := w.root
	if place == "" {
		return v
	}
	for _, token := range strings.Split(place[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch in := v.(type) {
		case map[string]any:
			v = in[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// children calls f with every value directly inside v, in a fixed order.
func children(place string, v any, f func(place string, v any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			token := strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
			f(place+"/"+token, v[name])
		}
	case []any:
		for i := range v {
			f(place+"/"+strconv.Itoa(i), v[i])
		}
	}
}

// unescapeURI decodes the percent encoding of a fragment. An invalid encoding is returned
// unchanged, and refers to nothing.
func unescapeURI(fragment string) string {
	if plain, err := url.PathUnescape(fragment); err == nil {
		return plain
	}
	return fragment
}
