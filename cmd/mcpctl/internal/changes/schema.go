package changes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

// mostDepth bounds how deep schemas are compared, and mostPairs how much of them: references may
// lead in circles.
const (
	mostDepth = 40
	mostPairs = 20000
)

// pairing compares two schemas of one direction. Arguments go to the server: what it no longer
// accepts breaks callers. Results come from it: what they may be from now on breaks readers.
type pairing struct {
	*comparison
	was, now schema.Schema // the documents, in which references are looked up
	// word is argument or result.
	word  string
	pairs int
	// open are the pairs that are being compared: a reference may lead back to one.
	open map[[2]*doc.Value]bool
}

// schema compares the schemas of arguments or results.
func (c *comparison) schema(word, at string, was, now *doc.Value) {
	p := &pairing{comparison: c, was: schema.New(was), now: schema.New(now), word: word, open: map[[2]*doc.Value]bool{}}
	p.compare(at, "", was, now, 0)
}

func (p *pairing) input() bool { return p.word == "argument" }

// label names a place in words: argument a.b[].
func (p *pairing) label(path string) string {
	if path == "" {
		return "its " + p.word + "s"
	}
	return p.word + " " + path
}

// narrowed reports that fewer values are possible.
func (p *pairing) narrowed(kind, at, path, what string, was, now *doc.Value) {
	if p.input() {
		p.add(Breaking, kind, at, p.label(path)+": "+what, "calls that send other values are refused", was, now)
		return
	}
	p.add(Compatible, kind, at, p.label(path)+": "+what, nobody, was, now)
}

// widened reports that more values are possible. ofResult is the level for results.
func (p *pairing) widened(kind, at, path, what string, ofResult Level, was, now *doc.Value) {
	if p.input() {
		p.add(Compatible, kind, at, p.label(path)+": "+what, nobody, was, now)
		return
	}
	p.add(ofResult, kind, at, p.label(path)+": "+what, "programs that read it may not expect the new values", was, now)
}

// follow returns the schema that a reference leads to, and every other one unchanged.
func follow(in schema.Schema, node *doc.Value) *doc.Value {
	for range 20 {
		ref := node.Get("$ref")
		if ref.Kind() != doc.String || len(node.Members()) > 1 && hasMore(node) {
			return node
		}
		to := in.Resolve(ref.Str())
		if to == nil {
			return node
		}
		node = to
	}
	return node
}

// hasMore reports whether a node with a reference limits values itself, too.
func hasMore(node *doc.Value) bool {
	for _, m := range node.Members() {
		switch m.Name {
		case "$ref", "description", "title", "default", "examples", "deprecated", "$comment":
		default:
			return true
		}
	}
	return false
}

// texts are the members that only people and models read.
var texts = []string{"title", "description"}

func (p *pairing) compare(at, path string, was, now *doc.Value, depth int) {
	if doc.Equal(was, now) && !strings.Contains(was.String(), `"$ref"`) {
		return
	}
	if p.pairs++; depth > mostDepth || p.pairs > mostPairs {
		return
	}
	for _, name := range texts {
		if x, y := was.Get(name), now.Get(name); !doc.Equal(x, y) && (path != "" || name == "description") {
			p.text(Risky, name, at+"/"+name, p.label(path)+": the "+name, modelsRead, x, y)
		}
	}
	if x, y := was.Get("default"), now.Get("default"); !doc.Equal(x, y) {
		p.text(Risky, "default", at+"/default", p.label(path)+": the default", "calls that leave it out mean something else", x, y)
	}
	a, b := follow(p.was, was), follow(p.now, now)
	pair := [2]*doc.Value{a, b}
	if p.open[pair] {
		return
	}
	p.open[pair] = true
	defer delete(p.open, pair)
	if isUnion(a) || isUnion(b) {
		p.unions(at, path, p.branches(p.was, a), p.branches(p.now, b), depth)
		return
	}
	if a.Kind() == doc.Bool || b.Kind() == doc.Bool {
		p.booleans(at, path, a, b)
		return
	}
	if !p.types(at, path, a, b) {
		return
	}
	p.enums(at, path, a, b)
	p.limits(at, path, a, b)
	p.properties(at, path, a, b, depth)
	p.elements(at, path, a, b, depth)
	p.others(at, path, a, b)
}

// booleans compares schemas of which one is true or false.
func (p *pairing) booleans(at, path string, a, b *doc.Value) {
	never := func(v *doc.Value) bool { return v.Kind() == doc.Bool && !v.True() }
	always := func(v *doc.Value) bool {
		return v == nil || v.True() || v.Kind() == doc.Object && len(v.Members()) == 0
	}
	switch {
	case never(a) == never(b) && always(a) == always(b):
	case never(b) || always(a):
		p.narrowed("narrowed", at, path, "fewer values are allowed", a, b)
	default:
		p.widened("widened", at, path, "more values are allowed", Breaking, a, b)
	}
}

// typesOf returns the types that a schema allows, nil for all.
func typesOf(v *doc.Value) []string {
	switch t := v.Get("type"); t.Kind() {
	case doc.String:
		return []string{t.Str()}
	case doc.Array:
		var out []string
		for _, item := range t.Items() {
			out = append(out, item.Str())
		}
		return out
	case doc.Null, doc.Bool, doc.Number, doc.Object:
	}
	return nil
}

// lacks returns the types of one list that another one does not cover.
func lacks(these, others []string) []string {
	var out []string
	for _, t := range these {
		if !slices.Contains(others, t) && (t != "integer" || !slices.Contains(others, "number")) {
			out = append(out, t)
		}
	}
	return out
}

// types compares types. It reports whether the values have a type in common, so that the rest can
// be compared.
func (p *pairing) types(at, path string, a, b *doc.Value) bool {
	was, now := typesOf(a), typesOf(b)
	at += "/type"
	said := func(types []string) string {
		if types == nil {
			return "any"
		}
		return strings.Join(types, " or ")
	}
	what := "the type is " + said(now) + ", and was " + said(was)
	switch {
	case slices.Equal(was, now):
	case was == nil:
		p.narrowed("type-narrowed", at, path, what, a.Get("type"), b.Get("type"))
	case now == nil:
		p.widened("type-widened", at, path, what, Breaking, a.Get("type"), b.Get("type"))
	default:
		gone, added := lacks(was, now), lacks(now, was)
		switch {
		case len(gone) > 0 && len(added) > 0:
			p.add(Breaking, "type-changed", at, p.label(path)+": "+what, map[bool]string{
				true: "calls that send the old type are refused", false: "programs that read it expect the old type",
			}[p.input()], a.Get("type"), b.Get("type"))
			return len(gone) < len(was)
		case len(gone) > 0:
			p.narrowed("type-narrowed", at, path, what, a.Get("type"), b.Get("type"))
		case len(added) > 0:
			p.widened("type-widened", at, path, what, Breaking, a.Get("type"), b.Get("type"))
		}
	}
	return true
}

// values returns the values that an enumeration or a constant allows.
func values(v *doc.Value) (list []*doc.Value, ok bool) {
	if only := v.Get("const"); only != nil {
		return []*doc.Value{only}, true
	}
	list = v.Get("enum").Items()
	return list, v.Get("enum").Kind() == doc.Array
}

func (p *pairing) enums(at, path string, a, b *doc.Value) {
	was, limited := values(a)
	now, limits := values(b)
	at += "/enum"
	switch {
	case !limited && !limits:
	case !limited:
		p.narrowed("enum-added", at, path, "only these values are allowed: "+list(now), nil, doc.NewArray(now...))
	case !limits:
		p.widened("enum-removed", at, path, "other values than "+list(was)+" are allowed", Breaking, doc.NewArray(was...), nil)
	default:
		if gone := without(was, now); len(gone) > 0 {
			p.narrowed("enum-value-removed", at, path, "no longer allowed: "+list(gone), doc.NewArray(was...), doc.NewArray(now...))
		}
		if added := without(now, was); len(added) > 0 {
			p.widened("enum-value-added", at, path, "newly allowed: "+list(added), Risky, doc.NewArray(was...), doc.NewArray(now...))
		}
	}
}

func without(these, others []*doc.Value) []*doc.Value {
	var out []*doc.Value
	for _, v := range these {
		if !slices.ContainsFunc(others, func(o *doc.Value) bool { return doc.Equal(v, o) }) {
			out = append(out, v)
		}
	}
	return out
}

// list writes the first values of a list.
func list(all []*doc.Value) string {
	const most = 5
	var out []string
	for _, v := range all[:min(len(all), most)] {
		out = append(out, schema.Brief(v))
	}
	if len(all) > most {
		out = append(out, fmt.Sprintf("and %d more", len(all)-most))
	}
	return strings.Join(out, ", ")
}

// bounds are the limits of a schema, with whether a larger value is tighter.
var bounds = []struct {
	name   string
	atMost bool
}{
	{"minimum", false},
	{"exclusiveMinimum", false},
	{"minLength", false},
	{"minItems", false},
	{"minProperties", false},
	{"maximum", true},
	{"exclusiveMaximum", true},
	{"maxLength", true},
	{"maxItems", true},
	{"maxProperties", true},
}

func (p *pairing) limits(at, path string, a, b *doc.Value) {
	for _, bound := range bounds {
		x, y := a.Get(bound.name), b.Get(bound.name)
		if doc.Equal(x, y) || x.Kind() == doc.Bool || y.Kind() == doc.Bool {
			continue
		}
		what := bound.name + " is " + said(y) + ", and was " + said(x)
		if x == nil || y != nil && (y.Float() > x.Float()) != bound.atMost {
			p.narrowed("limit-tightened", at+"/"+bound.name, path, what, x, y)
		} else {
			p.widened("limit-loosened", at+"/"+bound.name, path, what, Risky, x, y)
		}
	}
	for _, name := range []string{"pattern", "multipleOf", "uniqueItems", "format"} {
		x, y := a.Get(name), b.Get(name)
		if doc.Equal(x, y) || name == "uniqueItems" && x.True() == y.True() {
			continue
		}
		what, place := name+" is "+said(y)+", and was "+said(x), at+"/"+name
		switch {
		case name == "format":
			p.add(Risky, "format-changed", place, p.label(path)+": "+what, "servers and clients may check it", x, y)
		case y == nil || name == "uniqueItems" && !y.True():
			p.widened("limit-loosened", place, path, what, Risky, x, y)
		case x != nil && !p.input() && name != "uniqueItems":
			p.widened("limit-changed", place, path, what, Risky, x, y)
		default:
			p.narrowed("limit-tightened", place, path, what, x, y)
		}
	}
}

func said(v *doc.Value) string {
	if v == nil {
		return "none"
	}
	return schema.Brief(v)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// requires returns the names that a schema requires.
func requires(v *doc.Value) []string {
	var out []string
	for _, item := range v.Get("required").Items() {
		out = append(out, item.Str())
	}
	return out
}

func (p *pairing) properties(at, path string, a, b *doc.Value, depth int) {
	was, now := a.Get("properties"), b.Get("properties")
	needed, needs := requires(a), requires(b)
	for _, name := range names(was, now) {
		x, y := was.Get(name), now.Get(name)
		place, inside := at+"/properties/"+escaped(name), join(path, name)
		label := p.label(inside)
		required := slices.Contains(needs, name)
		switch {
		case y == nil && p.input():
			p.add(Breaking, "argument-removed", place, label+" is gone", "callers that send it are refused, or it no longer has an effect", x, nil)
		case y == nil:
			p.add(Breaking, "result-removed", place, label+" is gone", "programs that read it find nothing", x, nil)
		case x == nil && p.input() && required:
			p.add(Breaking, "argument-required", place, label+" is new and required", "callers that do not send it are refused", nil, y)
		case x == nil && p.input():
			p.add(Compatible, "argument-added", place, label+" is new and optional", nobody, nil, y)
		case x == nil:
			p.add(Compatible, "result-added", place, label+" is new", nobody, nil, y)
		default:
			p.compare(place, inside, x, y, depth+1)
		}
	}
	for _, name := range needs {
		if slices.Contains(needed, name) || was.Get(name) == nil && now.Get(name) != nil {
			continue
		}
		label := p.label(join(path, name))
		if p.input() {
			p.add(Breaking, "argument-required", at+"/required", label+" is required now", "callers that do not send it are refused", a.Get("required"), b.Get("required"))
		} else {
			p.add(Compatible, "result-required", at+"/required", label+" is always there now", nobody, a.Get("required"), b.Get("required"))
		}
	}
	for _, name := range needed {
		if slices.Contains(needs, name) || now.Get(name) == nil && was.Get(name) != nil {
			continue
		}
		label := p.label(join(path, name))
		if p.input() {
			p.add(Compatible, "argument-optional", at+"/required", label+" is optional now", nobody, a.Get("required"), b.Get("required"))
		} else {
			p.add(Breaking, "result-optional", at+"/required", label+" may be missing now", "programs that read it find nothing", a.Get("required"), b.Get("required"))
		}
	}
	p.rest(at+"/additionalProperties", path, a.Get("additionalProperties"), b.Get("additionalProperties"), depth)
}

// rest compares what is allowed beside the declared members.
func (p *pairing) rest(at, path string, a, b *doc.Value, depth int) {
	closed := func(v *doc.Value) bool { return v.Kind() == doc.Bool && !v.True() }
	switch {
	case doc.Equal(a, b), a == nil && b.True(), b == nil && a.True():
	case closed(b):
		p.narrowed("closed", at, path, "members that are not declared are refused now", a, b)
	case closed(a):
		p.widened("opened", at, path, "members that are not declared are allowed now", Risky, a, b)
	default:
		p.compare(at, join(path, "*"), a, b, depth+1)
	}
}

// elements compares the items of arrays.
func (p *pairing) elements(at, path string, a, b *doc.Value, depth int) {
	x, y := a.Get("items"), b.Get("items")
	switch {
	case x == nil && y == nil:
	case x.Kind() == doc.Array && y.Kind() == doc.Array && len(x.Items()) == len(y.Items()):
		p.tuple(at+"/items", path, x.Items(), y.Items(), depth)
	case x.Kind() == doc.Array || y.Kind() == doc.Array:
		p.unknown(at+"/items", path, "items", x, y)
	default:
		p.compare(at+"/items", path+"[]", x, y, depth+1)
	}
	x, y = a.Get("prefixItems"), b.Get("prefixItems")
	if len(x.Items()) == len(y.Items()) {
		p.tuple(at+"/prefixItems", path, x.Items(), y.Items(), depth)
	} else {
		p.unknown(at+"/prefixItems", path, "prefixItems", x, y)
	}
}

func (p *pairing) tuple(at, path string, a, b []*doc.Value, depth int) {
	for i := range a {
		index := strconv.Itoa(i)
		p.compare(at+"/"+index, path+"["+index+"]", a[i], b[i], depth+1)
	}
}

// unknown reports a difference of a keyword whose effect is not known.
func (p *pairing) unknown(at, path, keyword string, a, b *doc.Value) {
	if !doc.Equal(a, b) {
		p.add(Risky, "keyword-changed", at, p.label(path)+": "+keyword+" changed", "other values may be allowed", a, b)
	}
}

// others compares the keywords that remain.
func (p *pairing) others(at, path string, a, b *doc.Value) {
	for _, keyword := range []string{
		"not", "if", "then", "else", "allOf", "patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies",
		"contains", "minContains", "maxContains", "unevaluatedProperties", "unevaluatedItems", "additionalItems", "$ref", "x-mcp-header",
	} {
		p.unknown(at+"/"+escaped(keyword), path, keyword, a.Get(keyword), b.Get(keyword))
	}
}

// isUnion reports whether the values of a schema are those of several branches.
func isUnion(v *doc.Value) bool { return v.Get("anyOf") != nil || v.Get("oneOf") != nil }

// branches returns the branches of a union, or a schema as the only one. A list of types is a
// union, too.
func (p *pairing) branches(in schema.Schema, v *doc.Value) []*doc.Value {
	list := append(slices.Clone(v.Get("anyOf").Items()), v.Get("oneOf").Items()...)
	if len(list) == 0 {
		list = []*doc.Value{v}
	}
	var out []*doc.Value
	for _, branch := range list {
		branch = follow(in, branch)
		types := branch.Get("type")
		if types.Kind() != doc.Array {
			out = append(out, bare(branch, types))
			continue
		}
		for _, one := range types.Items() {
			out = append(out, bare(branch, one))
		}
	}
	return out
}

// bare returns a branch with one type, and without texts, which are compared above it.
func bare(branch, typ *doc.Value) *doc.Value {
	if branch.Kind() != doc.Object {
		return branch
	}
	out := doc.NewObject()
	for _, m := range branch.Members() {
		if !slices.Contains(texts, m.Name) && m.Name != "default" {
			out.Set(m.Name, m.Value)
		}
	}
	if typ != nil {
		out.Set("type", typ)
	}
	return out
}

// unions compares branches: those that are the same have no difference, and one that is left on
// each side, or one of each type, is compared with the other. Integers are numbers.
func (p *pairing) unions(at, path string, was, now []*doc.Value, depth int) {
	gone, added := without(was, now), without(now, was)
	for i := 0; i < len(gone); i++ {
		same := func(v *doc.Value) bool {
			x, y := typesOf(gone[i]), typesOf(v)
			return slices.Equal(x, y) || len(x) > 0 && len(y) > 0 && (len(lacks(x, y)) == 0 || len(lacks(y, x)) == 0) || len(gone) == 1 && len(added) == 1
		}
		if k := slices.IndexFunc(added, same); k >= 0 {
			p.compare(at, path, gone[i], added[k], depth+1)
			gone, added = slices.Delete(gone, i, i+1), slices.Delete(added, k, k+1)
			i--
		}
	}
	kinds := func(list []*doc.Value) string {
		var out []string
		for _, v := range list {
			out = append(out, schema.New(v).Type())
		}
		return strings.Join(out, ", ")
	}
	if len(gone) > 0 {
		p.narrowed("type-narrowed", at, path, "no longer allowed: "+kinds(gone), doc.NewArray(gone...), nil)
	}
	if len(added) > 0 {
		p.widened("type-widened", at, path, "newly allowed: "+kinds(added), Breaking, nil, doc.NewArray(added...))
	}
}
