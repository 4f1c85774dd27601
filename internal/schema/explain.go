package schema

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
)

// explanation is shared by all explainers of one value.
type explanation struct {
	schema Schema
	// values is set if messages show values, not only their types.
	values bool
	// work is the remaining work of the explanation, and types the number of types that it may
	// still write: schemas come from servers.
	work, types int
	refs        map[string]*doc.Value
	texts       map[*doc.Value]string // texts of types
	patterns    map[string]*regexp.Regexp
}

// explainer collects the reasons why a validator rejected a value. It explains common keywords
// and ignores unknown ones.
type explainer struct {
	*explanation
	found []Finding
	// hints are names that the schema allows but does not declare. They are shown only if
	// something is wrong.
	hints []Finding
	// itself is set if the first finding is about the value, not about a part.
	itself bool
}

const (
	// maxDepth limits the depth of an explanation.
	maxDepth = 64
	// maxFindings limits the number of findings.
	maxFindings = 100
	// maxWork limits the work, to about a tenth of a second.
	maxWork = 1_000_000
)

// explain returns all reasons why v does not match, in the order of the signature.
func explain(s Schema, root, v *doc.Value, values bool) []Finding {
	e := explainer{explanation: &explanation{
		schema: s, values: values, work: maxWork, types: maxTypes,
		refs: map[string]*doc.Value{}, texts: map[*doc.Value]string{}, patterns: map[string]*regexp.Regexp{},
	}}
	e.node(root, v, "", 0)
	if len(e.found) == 0 {
		return nil
	}
	for _, hint := range e.hints {
		if !slices.ContainsFunc(e.found, func(f Finding) bool { return f.Pointer == hint.Pointer }) {
			e.found = append(e.found, hint)
		}
	}
	s.sort(e.found)
	return e.found
}

// sort sorts findings in the order of the signature, those that are not in it last.
func (s Schema) sort(found []Finding) {
	place := map[string]int{}
	for i, f := range s.Fields() {
		place[escape(f.Name)] = i
	}
	of := func(f Finding) int {
		name, _, _ := strings.Cut(strings.TrimPrefix(f.Pointer, "/"), "/")
		if at, known := place[name]; known {
			return at
		}
		return len(place)
	}
	sort.SliceStable(found, func(i, j int) bool { return of(found[i]) < of(found[j]) })
}

// spend reports whether the explanation may do more work.
func (e *explanation) spend(work int) bool {
	e.work -= work
	return e.work >= 0
}

// done reports whether to stop. A stopped explanation adds no findings, because they could be
// wrong.
func (e *explainer) done() bool { return e.work < 0 || len(e.found) >= maxFindings }

func (e *explainer) add(pointer, format string, args ...any) {
	f := Finding{Pointer: pointer, Message: fmt.Sprintf(format, args...)}
	if !e.done() && !slices.Contains(e.found, f) {
		e.found = append(e.found, f)
	}
}

// mismatch adds a finding about the value itself.
func (e *explainer) mismatch(pointer, format string, args ...any) {
	if len(e.found) == 0 {
		e.itself = true
	}
	e.add(pointer, format, args...)
}

// got describes a value: itself, or only its type.
func (e *explanation) got(v *doc.Value) string {
	switch {
	case e.values:
		return ", got " + Brief(v)
	case v.IsInteger():
		return ", got an integer"
	}
	return ", got " + article(v.Kind().String())
}

// gotValue describes a value if its type is not informative.
func (e *explanation) gotValue(v *doc.Value) string {
	if !e.values {
		return ""
	}
	return e.got(v)
}

// try returns an explainer for the same value with one of several schemas.
func (e *explainer) try(node, v *doc.Value, at string, depth int) explainer {
	try := explainer{explanation: e.explanation}
	try.node(node, v, at, depth)
	return try
}

// fits reports whether v matches node.
func (e *explainer) fits(node, v *doc.Value, depth int) bool {
	return len(e.try(node, v, "", depth).found) == 0
}

func (e *explanation) resolve(ref string) *doc.Value {
	to, known := e.refs[ref]
	if !known {
		to = e.schema.Resolve(ref)
		e.refs[ref] = to
	}
	return to
}

// matches reports whether a text matches a pattern. An invalid pattern matches.
func (e *explanation) matches(pattern, text string) bool {
	re, known := e.patterns[pattern]
	if !known {
		re, _ = regexp.Compile(pattern) // nil for a pattern that the validator rejects, too
		e.patterns[pattern] = re
	}
	const step = 64
	return re == nil || !e.spend(1+len(pattern)*len(text)/step) || re.MatchString(text)
}

func (e *explainer) node(node, v *doc.Value, at string, depth int) {
	if depth > maxDepth || e.done() || !e.spend(8+len(node.Members())) {
		return
	}
	if node.Kind() == doc.Bool && !node.True() {
		e.add(at, "is not allowed")
	}
	if node.Kind() != doc.Object {
		return
	}
	if ref := node.Get("$ref"); ref.Kind() == doc.String {
		e.node(e.resolve(ref.Str()), v, at, depth+1)
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
	e.mismatch(at, "%s%s", mustBe(kinds), e.got(v))
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
	const step = 32 // bytes
	size := len(v.String())
	var names []string
	kin := false // a value of the same type is allowed
	for _, allowed := range values {
		if !e.spend(1+(size+len(allowed.String()))/step) || doc.Equal(allowed, v) {
			return true
		}
		names = append(names, allowed.Str())
		kin = kin || allowed.Kind() == v.Kind()
	}
	if len(values) == 0 {
		e.mismatch(at, "can have no value: the schema allows none")
		return false
	}
	got := e.got(v)
	if kin {
		got = e.gotValue(v)
	}
	message := fmt.Sprintf("must be %s%s", oneOf(values), got)
	if len(values) > 2 {
		if near := e.nearest(v.Str(), names); near != "" {
			message += "; did you mean " + strconv.Quote(near) + "?"
		}
	}
	e.mismatch(at, "%s", message)
	return false
}

// nearest returns the name that was probably meant, "" for none.
func (e *explanation) nearest(name string, names []string) string {
	const step = 8 // letters per step
	work := 0
	for _, n := range names {
		work += 1 + min(len(name), longName)*min(len(n), longName)/step
	}
	if !e.spend(work) {
		return ""
	}
	if near := suggest.Nearest(name, names); len(near) > 0 {
		return near[0]
	}
	return ""
}

// longName is the length over which names are not compared letter by letter.
const longName = 256

func (e *explainer) number(node, v *doc.Value, at string) {
	n := v.Float()
	check := func(key, words string, ok func(limit float64) bool) {
		if limit := node.Get(key); limit.Kind() == doc.Number && !ok(limit.Float()) {
			e.mismatch(at, "must be %s %s%s", words, limit, e.gotValue(v))
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
	if pattern := node.Get("pattern").Str(); pattern != "" && !e.matches(pattern, s) {
		e.mismatch(at, "must match %s%s", pattern, e.gotValue(v))
	}
}

// count checks a length against its two limits.
func (e *explainer) count(node *doc.Value, least, most, unit string, n float64, at string) {
	say := func(words string, limit *doc.Value) {
		if limit.Float() != 1 {
			unit += "s"
		}
		has := ""
		if e.values {
			has = fmt.Sprintf(", has %.0f", n)
		}
		e.add(at, "must have %s %s %s%s", words, limit, unit, has)
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
	unique := node.Get("uniqueItems").True()
	if unique {
		const step = 32 // bytes
		e.spend(len(v.Items()) * (1 + len(v.String())/step))
	}
	for i, item := range v.Items() {
		if e.done() {
			return
		}
		below := at + "/" + strconv.Itoa(i)
		switch {
		case i < len(fixed):
			e.node(fixed[i], item, below, depth+1)
		case rest.Kind() == doc.Bool && !rest.True():
			e.add(below, "is one item too many")
		default:
			e.node(rest, item, below, depth+1)
		}
		if unique && slices.ContainsFunc(v.Items()[:i], func(x *doc.Value) bool { return doc.Equal(x, item) }) {
			e.add(below, "is a duplicate: items must be unique")
		}
	}
	if want := node.Get("contains"); want != nil && node.Get("minContains") == nil {
		if !slices.ContainsFunc(v.Items(), func(x *doc.Value) bool { return e.fits(want, x, depth+1) }) {
			e.add(at, "must contain an item that is %s", e.typeOf(want, want))
		}
	}
}

func (e *explainer) object(node, v *doc.Value, at string, depth int) {
	e.count(node, "minProperties", "maxProperties", "property", float64(len(v.Members())), at)
	required, declared, patterns := node.Get("required").Items(), node.Get("properties"), node.Get("patternProperties").Members()
	if !e.spend(len(v.Members()) * (1 + len(required) + len(declared.Members()) + len(node.Get("dependentRequired").Members()))) {
		return
	}
	for _, name := range required {
		if v.Get(name.Str()) == nil {
			e.add(at+"/"+escape(name.Str()), "is required")
		}
	}
	for _, m := range node.Get("dependentRequired").Members() {
		if v.Get(m.Name) == nil || !e.spend(len(m.Value.Items())*len(v.Members())) {
			continue
		}
		for _, name := range m.Value.Items() {
			if v.Get(name.Str()) == nil {
				e.add(at+"/"+escape(name.Str()), "is required together with %s", m.Name)
			}
		}
	}
	for _, m := range node.Get("dependentSchemas").Members() {
		if v.Get(m.Name) != nil {
			e.node(m.Value, v, at, depth+1)
		}
	}
	for _, m := range v.Members() {
		if e.done() {
			return
		}
		below := at + "/" + escape(m.Name)
		known := false
		if p := declared.Get(m.Name); p != nil {
			e.node(p, m.Value, below, depth+1)
			known = true
		}
		for _, p := range patterns {
			if e.matches(p.Name, m.Name) {
				e.node(p.Value, m.Value, below, depth+1)
				known = true
			}
		}
		rest := node.Get("additionalProperties")
		switch {
		case known:
		case rest.Kind() == doc.Object:
			e.node(rest, m.Value, below, depth+1)
		default:
			message, meant := "is not a known property", e.meant(m.Name, v, declared)
			if meant != "" {
				message += "; did you mean " + meant + "?"
			}
			if rest.Kind() == doc.Bool && !rest.True() {
				e.add(below, "%s", message)
			} else if meant != "" && len(e.hints) < maxFindings {
				e.hints = append(e.hints, Finding{below, message})
			}
		}
		if names := node.Get("propertyNames"); names != nil && !e.fits(names, doc.Text(m.Name), depth+1) {
			e.add(below, "is not an allowed name")
		}
	}
}

// meant returns the nearest declared property that is missing.
func (e *explainer) meant(name string, v, declared *doc.Value) string {
	if !e.spend(len(declared.Members()) * len(v.Members())) {
		return ""
	}
	var names []string
	for _, m := range declared.Members() {
		if v.Get(m.Name) == nil {
			names = append(names, m.Name)
		}
	}
	return e.nearest(name, names)
}

func (e *explainer) branches(node, v *doc.Value, at string, depth int) {
	for _, part := range node.Get("allOf").Items() {
		e.node(part, v, at, depth+1)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list := node.Get(key); list != nil {
			e.union(list, key == "oneOf", v, at, depth)
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

// union explains why no branch matches: with the reasons of the only branch of the right type, or
// else with the types of all branches.
func (e *explainer) union(list *doc.Value, exactly bool, v *doc.Value, at string, depth int) {
	branches, fitting := list.Items(), 0
	var near []explainer
	for _, b := range branches {
		try := e.try(b, v, at, depth+1)
		if len(try.found) == 0 {
			fitting++
			continue
		}
		if try.found[0].Pointer != at || !try.itself {
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
		e.mismatch(at, "fits none of the alternatives %s%s", e.typeOf(list, branches...), e.got(v))
	}
}

// typeOf returns the type of a node, computed once and limited.
func (e *explanation) typeOf(node *doc.Value, branches ...*doc.Value) string {
	text, known := e.texts[node]
	if !known {
		const work = maxWork / 20
		if !e.spend(work) {
			return ""
		}
		text = Schema{root: e.schema.root, alts: branches}.typeText(nesting, &e.types)
		e.texts[node] = text
	}
	return text
}

// escape encodes a name as a token of a JSON pointer (RFC 6901 section 3).
func escape(name string) string { return escapes.Replace(name) }

// unescape decodes a token of a JSON pointer.
func unescape(token string) string { return unescapes.Replace(token) }

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)
