package inputschema

import "strings"

// Limits of a schema. They are far beyond schemas that people write, and low enough that
// validation takes at most about a second.
const (
	maxBytes   = 1 << 20  // of text
	maxObjects = 20_000   // in the whole schema
	maxNesting = 512      // of objects and arrays
	maxPlaces  = 32 << 20 // bytes of the JSON pointers of all values together
	maxNested  = 32 << 20 // values times their nesting: the library reads a schema once per level
	maxCost    = 10_000   // schemas that apply to one value
	maxChain   = 128      // schemas that apply because of one another
	maxWork    = 4_000_000
)

// oversized returns why a document is too large to process, "" if it is not. Nothing before it
// may take more than one pass.
func oversized(document any) string {
	var m measure
	m.add(document, 0, 0)
	switch {
	case m.deep:
		return "it is nested too deeply"
	case m.objects > maxObjects:
		return "it has too many parts"
	case m.places > maxPlaces || m.nested > maxNested:
		return "its names are too long for their depth"
	case m.program > maxProgram:
		return "its patterns are too large"
	}
	return ""
}

// measure measures a document in a single pass.
type measure struct {
	objects, places, nested, program int

	deep bool
}

// add counts v. place is the length of its JSON pointer.
func (m *measure) add(v any, place, nesting int) {
	if m.deep = m.deep || nesting > maxNesting; m.deep {
		return
	}
	m.places += place
	switch v := v.(type) {
	case map[string]any:
		m.objects++
		m.addPatterns(v)
		for name, value := range v {
			m.nested += len(name) * nesting
			m.add(value, place+1+len(name)+strings.Count(name, "~")+strings.Count(name, "/"), nesting+1)
		}
	case []any:
		const digits = 7 // of an index, at most
		for _, value := range v {
			m.add(value, place+1+digits, nesting+1)
		}
	case string:
		m.nested += len(v) * nesting
	default:
		m.nested += nesting
	}
}

// extent is the cost of validating a value with a schema.
type extent struct {
	// cost limits how many schemas apply to the value itself.
	cost int
	// growth limits how many schemas apply to one value inside it.
	growth int
	// chain is how many schemas apply because of this one, in a chain.
	chain int
}

// own returns the extent of a schema without the schemas that it applies to the same value.
func own(node map[string]any) extent {
	// The lists in a schema are searched each time it applies.
	const listed = 64
	e := extent{cost: 1}
	for _, value := range node {
		switch value := value.(type) {
		case map[string]any:
			e.cost += len(value) / listed
		case []any:
			e.cost += len(value) / listed
		}
	}
	count := func(keys ...string) (n int) {
		for _, key := range keys {
			if _, isSchema := node[key].(map[string]any); isSchema {
				n++
			}
		}
		return n
	}
	patterns, _ := node["patternProperties"].(map[string]any)
	// additionalProperties does not apply to properties with a schema of their own.
	object := max(count("properties")+len(patterns), count("additionalProperties")) + count("unevaluatedProperties")
	list := 0
	for _, key := range []string{"items", "prefixItems", "additionalItems"} {
		switch node[key].(type) {
		case map[string]any, []any:
			list = 1 // one of them applies, depending on the index
		}
	}
	list += count("contains", "unevaluatedItems")
	e.growth = max(object, list)
	return e
}

// affordable reports whether a value can be validated within maxWork steps by a schema whose
// parts are all within the extent: a value inside is validated at most cost times growth to the
// power of its depth.
func (e extent) affordable(value any) bool {
	size, depth := weigh(value, 0)
	work := float64(size) * float64(max(e.cost, 1))
	for range depth {
		if work *= float64(max(e.growth, 1)); work > maxWork {
			return false
		}
	}
	return work <= maxWork
}

// weigh returns the size of a value in steps, and its depth. Strings count by length because the
// validator prints values into its errors.
func weigh(value any, nesting int) (size, depth int) {
	const step = 32 // bytes
	size, depth = 1, nesting
	inside := func(v any) {
		if nesting < maxNesting {
			n, d := weigh(v, nesting+1)
			size, depth = size+n, max(depth, d)
		} else {
			size = maxWork + 1 // too deep for the recursion
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			size += 1 + len(name)/step
			inside(v)
		}
	case []any:
		for _, v := range value {
			inside(v)
		}
	case string:
		size += len(value) / step
	}
	return size, depth
}
