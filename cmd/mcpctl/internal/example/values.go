package example

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// object proposes an object with its required properties, and with more of the
// declared ones on later turns or when the schema wants a number of them.
func (g *generator) object(node *doc.Value, depth int) *doc.Value {
	node = g.merged(node, depth)
	out := doc.NewObject()
	properties := node.Get("properties")
	fill := func(name string) bool {
		if out.Get(name) != nil {
			return true
		}
		v := g.value(orAny(properties.Get(name), node.Get("additionalProperties")), name, depth+1)
		if v == nil {
			return false
		}
		out.Set(name, v)
		return true
	}
	var required []string
	for _, name := range node.Get("required").Items() {
		required = append(required, name.Str())
	}
	// In the order they are declared in, which is how a person would write them.
	for _, m := range properties.Members() {
		for _, name := range required {
			if name == m.Name && !fill(name) {
				return nil
			}
		}
	}
	for _, name := range required {
		if !fill(name) {
			return nil
		}
	}
	least := int(node.Get("minProperties").Float())
	everything := g.turn%3 == 2
	for _, m := range properties.Members() {
		if everything || len(out.Members()) < least {
			fill(m.Name)
		}
	}
	for i := 1; len(out.Members()) < min(least, maxItems); i++ {
		fill("key" + strconv.Itoa(i))
	}
	for _, m := range node.Get("dependentRequired").Members() {
		if out.Get(m.Name) != nil {
			for _, name := range m.Value.Items() {
				fill(name.Str())
			}
		}
	}
	return out
}

// orAny returns the schema of a property that is not declared.
func orAny(declared, rest *doc.Value) *doc.Value {
	switch {
	case declared != nil:
		return declared
	case rest.Kind() == doc.Object:
		return rest
	}
	return doc.NewObject()
}

// maxItems bounds the lists and objects that a server can ask for.
const maxItems = 32

func (g *generator) array(node *doc.Value, depth int) *doc.Value {
	out := doc.NewArray()
	fixed, rest := node.Get("prefixItems").Items(), node.Get("items")
	if rest.Kind() == doc.Array {
		fixed, rest = rest.Items(), node.Get("additionalItems")
	}
	least := int(node.Get("minItems").Float())
	if most := node.Get("maxItems"); least == 0 && (most == nil || most.Float() > 0) && (rest.Kind() == doc.Object || len(fixed) > 0) {
		least = max(1, len(fixed)) // an empty list is a poor example
	}
	if node.Get("contains") != nil {
		rest = node.Get("contains")
		least = max(least, int(node.Get("minContains").Float()), 1)
	}
	for i := range min(least, maxItems) {
		item := rest
		if i < len(fixed) {
			item = fixed[i]
		}
		turn := g.turn
		if node.Get("uniqueItems").True() {
			g.turn += i // another branch, another value of an enum
		}
		v := g.value(orAny(item, nil), "", depth+1)
		if node.Get("uniqueItems").True() {
			g.turn = turn
			other := distinct(v, i)
			g.madeUp = g.madeUp || (v != nil && !doc.Equal(v, other))
			v = other
		}
		if v == nil {
			if i < int(node.Get("minItems").Float()) {
				return nil
			}
			break
		}
		out.SetItem(i, v)
	}
	return out
}

// distinct makes item i of a list in which none may be there twice.
func distinct(v *doc.Value, i int) *doc.Value {
	if i == 0 {
		return v
	}
	switch v.Kind() {
	case doc.Number:
		if n, ok := v.Any().(int64); ok {
			return literal(strconv.FormatInt(n+int64(i), 10))
		}
	case doc.String:
		return doc.Text(v.Str() + strconv.Itoa(i+1))
	}
	return v
}

// number proposes the first of a few plain numbers that keeps every limit.
func number(node *doc.Value, g *generator) *doc.Value {
	least, most := math.Inf(-1), math.Inf(1)
	open := func(key string) (float64, bool) {
		v := node.Get(key)
		return v.Float(), v.Kind() == doc.Number
	}
	if v, ok := open("minimum"); ok {
		least = v
	}
	if v, ok := open("maximum"); ok {
		most = v
	}
	over, hasOver := open("exclusiveMinimum")
	under, hasUnder := open("exclusiveMaximum")
	unit, hasUnit := open("multipleOf")
	if !hasUnit || unit <= 0 {
		unit = 1
	}
	integer := node.Get("type").Str() == "integer"
	fits := func(n float64) bool {
		return n >= least && n <= most && (!hasOver || n > over) && (!hasUnder || n < under) &&
			(!integer || n == math.Trunc(n)) && (!hasUnit || n/unit == math.Trunc(n/unit))
	}
	low := max(least, over)
	if math.IsInf(least, -1) && hasOver {
		low = over
	}
	high := min(most, under)
	if !hasUnder {
		high = most
	}
	candidates := []float64{
		1, 0, unit, 10, -1, -unit, least, most, low + 1, high - 1, math.Ceil(low/unit) * unit,
		(math.Floor(low/unit) + 1) * unit, math.Floor(high/unit) * unit, (math.Ceil(high/unit) - 1) * unit, (low + high) / 2,
	}
	for i := range candidates {
		n := candidates[(i+g.turn/4)%len(candidates)]
		if !math.IsInf(n, 0) && !math.IsNaN(n) && fits(n) {
			return literal(strconv.FormatFloat(n, 'f', -1, 64))
		}
	}
	return nil
}

// text proposes a string: by format, by pattern, by name, and of a length that
// the schema allows.
func (g *generator) text(node *doc.Value, name string) *doc.Value {
	least, most := int(node.Get("minLength").Float()), math.MaxInt
	if v := node.Get("maxLength"); v.Kind() == doc.Number {
		most = int(v.Float())
	}
	if least > maxText {
		return nil
	}
	if pattern := node.Get("pattern").Str(); pattern != "" {
		if s, ok := matching(pattern, least, most); ok {
			return doc.Text(s)
		}
		return nil
	}
	s, ok := formats[node.Get("format").Str()]
	if !ok {
		s = byName(name)
	}
	if n := utf8.RuneCountInString(s); n < least {
		s = (strings.Repeat(s+" ", least/max(1, n)+1) + s)[:least-1] + "."
	}
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:max(0, most)])
	}
	return doc.Text(s)
}

// maxText bounds the strings that a server can ask for.
const maxText = 4096
