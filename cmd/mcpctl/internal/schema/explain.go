package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/doc"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/suggest"
)

// explainer collects what is wrong with a value that a validator has refused.
// It has words for the keywords people meet; what it does not know it passes.
type explainer struct {
	schema Schema
	found  []Finding
}

// maxDepth bounds how far an explanation goes down.
const maxDepth = 64

func (e *explainer) add(pointer, format string, args ...any) {
	f := Finding{Pointer: pointer, Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(e.found, f) {
		e.found = append(e.found, f)
	}
}

// fits reports whether nothing is found wrong with v under node.
func (e *explainer) fits(node, v *doc.Value, depth int) bool {
	try := explainer{schema: e.schema}
	try.node(node, v, "", depth)
	return len(try.found) == 0
}

func (e *explainer) node(node, v *doc.Value, at string, depth int) {
	if depth > maxDepth {
		return
	}
	if node.Kind() == doc.Bool && !node.True() {
		e.add(at, "is not allowed")
	}
	if node.Kind() != doc.Object {
		return
	}
	if ref := node.Get("$ref"); ref.Kind() == doc.String {
		e.node(e.schema.Resolve(ref.Str()), v, at, depth+1)
	}
	if !e.listed(node, v, at) || !e.typed(node, v, at) {
		return // the rest would only repeat it
	}
	switch v.Kind() {
	case doc.Number:
		e.number(node, v, at)
	case doc.String:
		e.text(node, v, at)
	case doc.Array:
		e.array(node, v, at, depth)
	case doc.Object:
		e.object(node, v, at, depth)
	}
	e.branches(node, v, at, depth)
}

func (e *explainer) typed(node, v *doc.Value, at string) bool {
	var kinds []string
	switch t := node.Get("type"); t.Kind() {
	case doc.String:
		kinds = []string{t.Str()}
	case doc.Array:
		kinds = typeNames(node)
	default:
		return true
	}
	for _, kind := range kinds {
		if kind == v.Kind().String() || (kind == "integer" && v.IsInteger()) {
			return true
		}
	}
	e.add(at, "%s, got %s", mustBe(kinds), Brief(v))
	return false
}

func (e *explainer) listed(node, v *doc.Value, at string) bool {
	values := node.Get("enum").Items()
	if node.Get("enum") == nil {
		c := node.Get("const")
		if c == nil {
			return true
		}
		values = []*doc.Value{c}
	}
	var names []string
	for _, allowed := range values {
		if doc.Equal(allowed, v) {
			return true
		}
		names = append(names, allowed.Str())
	}
	message := fmt.Sprintf("must be %s, got %s", oneOf(values), Brief(v))
	if len(values) == 0 {
		message = "can have no value: the schema allows none"
	}
	if near := suggest.Nearest(v.Str(), names); len(near) > 0 && len(values) > 2 {
		message += "; did you mean " + strconv.Quote(near[0]) + "?"
	}
	e.add(at, "%s", message)
	return false
}

func (e *explainer) number(node, v *doc.Value, at string) {
	n := v.Float()
	check := func(key, words string, ok func(limit float64) bool) {
		if limit := node.Get(key); limit.Kind() == doc.Number && !ok(limit.Float()) {
			e.add(at, "must be %s %s, got %s", words, limit, Brief(v))
		}
	}
	check("minimum", "at least", func(l float64) bool { return n >= l })
	check("maximum", "at most", func(l float64) bool { return n <= l })
	check("exclusiveMinimum", "more than", func(l float64) bool { return n > l })
	check("exclusiveMaximum", "less than", func(l float64) bool { return n < l })
	check("multipleOf", "a multiple of", func(l float64) bool { return l == 0 || float64(int64(n/l)) == n/l })
}

func (e *explainer) text(node, v *doc.Value, at string) {
	s := v.Str()
	n := float64(utf8.RuneCountInString(s))
	e.count(node, "minLength", "maxLength", "character", n, at)
	if pattern := node.Get("pattern").Str(); pattern != "" {
		if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(s) {
			e.add(at, "must match %s, got %s", pattern, Brief(v))
		}
	}
}

// count checks a length against its two limits.
func (e *explainer) count(node *doc.Value, least, most, unit string, n float64, at string) {
	say := func(words string, limit *doc.Value) {
		if limit.Float() != 1 {
			unit += "s"
		}
		e.add(at, "must have %s %s %s, has %.0f", words, limit, unit, n)
	}
	if limit := node.Get(least); limit.Kind() == doc.Number && n < limit.Float() {
		say("at least", limit)
	}
	if limit := node.Get(most); limit.Kind() == doc.Number && n > limit.Float() {
		say("at most", limit)
	}
}

func (e *explainer) array(node, v *doc.Value, at string, depth int) {
	e.count(node, "minItems", "maxItems", "item", float64(len(v.Items())), at)
	fixed, rest := node.Get("prefixItems").Items(), node.Get("items")
	if rest.Kind() == doc.Array {
		fixed, rest = rest.Items(), node.Get("additionalItems")
	}
	for i, item := range v.Items() {
		below := at + "/" + strconv.Itoa(i)
		switch {
		case i < len(fixed):
			e.node(fixed[i], item, below, depth+1)
		case rest.Kind() == doc.Bool && !rest.True():
			e.add(below, "is one item too many")
		default:
			e.node(rest, item, below, depth+1)
		}
		if node.Get("uniqueItems").True() && slices.ContainsFunc(v.Items()[:i], func(x *doc.Value) bool { return doc.Equal(x, item) }) {
			e.add(below, "is there already: no item may be there twice")
		}
	}
	if want := node.Get("contains"); want != nil && node.Get("minContains") == nil {
		if !slices.ContainsFunc(v.Items(), func(x *doc.Value) bool { return e.fits(want, x, depth+1) }) {
			e.add(at, "must contain an item that is %s", e.schema.only(want).Type())
		}
	}
}

func (e *explainer) object(node, v *doc.Value, at string, depth int) {
	e.count(node, "minProperties", "maxProperties", "property", float64(len(v.Members())), at)
	for _, name := range node.Get("required").Items() {
		if v.Get(name.Str()) == nil {
			e.add(at+"/"+escape(name.Str()), "is required")
		}
	}
	for _, m := range node.Get("dependentRequired").Members() {
		for _, name := range m.Value.Items() {
			if v.Get(m.Name) != nil && v.Get(name.Str()) == nil {
				e.add(at+"/"+escape(name.Str()), "is required together with %s", m.Name)
			}
		}
	}
	for _, m := range node.Get("dependentSchemas").Members() {
		if v.Get(m.Name) != nil {
			e.node(m.Value, v, at, depth+1)
		}
	}
	declared := node.Get("properties")
	for _, m := range v.Members() {
		below := at + "/" + escape(m.Name)
		known := false
		if p := declared.Get(m.Name); p != nil {
			e.node(p, m.Value, below, depth+1)
			known = true
		}
		for _, p := range node.Get("patternProperties").Members() {
			if re, err := regexp.Compile(p.Name); err == nil && re.MatchString(m.Name) {
				e.node(p.Value, m.Value, below, depth+1)
				known = true
			}
		}
		if rest := node.Get("additionalProperties"); !known && rest.Kind() == doc.Bool && !rest.True() {
			e.add(below, "is not a known property%s", e.meant(m.Name, v, declared))
		} else if !known {
			e.node(rest, m.Value, below, depth+1)
		}
		if names := node.Get("propertyNames"); names != nil && !e.fits(names, doc.Text(m.Name), depth+1) {
			e.add(below, "is not an allowed name")
		}
	}
}

// meant names the nearest declared property that is not there yet.
func (e *explainer) meant(name string, v, declared *doc.Value) string {
	var names []string
	for _, m := range declared.Members() {
		if v.Get(m.Name) == nil {
			names = append(names, m.Name)
		}
	}
	if near := suggest.Nearest(name, names); len(near) > 0 {
		return "; did you mean " + near[0] + "?"
	}
	return ""
}

func (e *explainer) branches(node, v *doc.Value, at string, depth int) {
	for _, part := range node.Get("allOf").Items() {
		e.node(part, v, at, depth+1)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if node.Get(key) != nil {
			e.union(node.Get(key).Items(), key == "oneOf", v, at, depth)
		}
	}
	if not := node.Get("not"); not != nil && e.fits(not, v, depth+1) {
		e.add(at, "has a value that is ruled out")
	}
	if condition := node.Get("if"); condition != nil {
		branch := node.Get("else")
		if e.fits(condition, v, depth+1) {
			branch = node.Get("then")
		}
		e.node(branch, v, at, depth+1)
	}
}

// union explains why no branch fits: by the one branch of the right type when
// there is one, else by what all of them ask for.
func (e *explainer) union(branches []*doc.Value, exactly bool, v *doc.Value, at string, depth int) {
	var fitting int
	var near []explainer
	for _, b := range branches {
		try := explainer{schema: e.schema}
		try.node(b, v, at, depth+1)
		if len(try.found) == 0 {
			fitting++
			continue
		}
		if try.found[0].Pointer != at || !strings.Contains(try.found[0].Message, ", got ") {
			near = append(near, try)
		}
	}
	switch {
	case fitting > 1 && exactly:
		e.add(at, "fits %d of the alternatives, must fit exactly one", fitting)
	case fitting > 0:
	case len(near) == 1:
		for _, f := range near[0].found {
			e.add(f.Pointer, "%s", f.Message)
		}
	default:
		here := Schema{root: e.schema.root, alts: branches}
		e.add(at, "fits none of the alternatives %s, got %s", here.Type(), Brief(v))
	}
}

// escape writes a name as a token of a JSON pointer (RFC 6901 section 3).
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
