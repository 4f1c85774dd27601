package lint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/inputschema"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

// Bounds of what the APIs of all large models take.
const (
	mostDepth      = 10
	mostProperties = 100
)

var apiProperty = lazyregexp.New(`^[a-zA-Z0-9_.-]{1,64}$`)

// tree is a schema that is being checked.
type tree struct {
	*check
	root *doc.Value
	// input is set for arguments, which models fill in.
	input             bool
	deepest, declared int
}

// schema checks the schema of arguments or of a result.
func (c *check) schema(at string, root *doc.Value, input bool) {
	t := &tree{check: c, root: root, input: input}
	if root.Get("type").Str() != "object" {
		c.add(Error, "schema-root", at+"/type", `the root of the schema is not of type "object"`, "the specification demands it, and APIs of models refuse other types", `write "type":"object" at the root`)
	}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf", "not", "enum"} {
		if input && root.Get(keyword) != nil {
			c.add(Error, "schema-root-keyword", at+"/"+keyword, keyword+" at the root of the schema", "APIs of models refuse it there", "declare the arguments as properties, and check their combination in the tool")
		}
	}
	if _, err := inputschema.Compile(root.AppendJSON(nil)); err != nil {
		what := strings.TrimPrefix(err.Error(), inputschema.ErrUnusable.Error()+": ")
		c.add(Error, "schema-invalid", at, "it is not a JSON Schema that can be used: "+what, "clients cannot check values with it, and some refuse the list", "correct the schema")
	}
	t.node(at, root, 0, nil)
	if t.deepest > mostDepth {
		c.add(Warning, "schema-deep", at, fmt.Sprintf("values are nested %d deep", t.deepest), fmt.Sprintf("APIs of models take up to %d levels, and models lose track earlier", mostDepth), "make the arguments flat")
	}
	if t.declared > mostProperties {
		c.add(Warning, "schema-large", at, fmt.Sprintf("%d properties", t.declared), fmt.Sprintf("some APIs of models take up to %d", mostProperties), "split the tool")
	}
}

// parts are the keywords that hold a schema, lists those that hold several, and named those with
// schemas by name.
var (
	parts = []string{"items", "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems"}
	lists = []string{"anyOf", "oneOf", "allOf", "prefixItems", "items"}
	named = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// node checks a schema. outer are the properties that schemas for the same value declare, of which
// this one is a branch.
func (t *tree) node(at string, v *doc.Value, depth int, outer []*doc.Value) {
	if v.Kind() != doc.Object || depth > 4*mostDepth {
		return
	}
	t.deepest = max(t.deepest, depth)
	t.types(at+"/type", v.Get("type"))
	t.reference(at, v)
	t.values(at, v)
	t.bounds(at, v)
	if typ := v.Get("type"); typ.Str() == "array" && v.Get("items") == nil && v.Get("prefixItems") == nil && t.input {
		t.add(Error, "array-items", at, "an array without items", "APIs of models refuse it", "describe the items")
	}
	properties := v.Get("properties")
	outer = append(slices.Clip(outer), properties)
	for _, item := range v.Get("required").Items() {
		name := item.Str()
		declares := func(p *doc.Value) bool { return p.Get(name) != nil }
		if !slices.ContainsFunc(outer, declares) && v.Get("$ref") == nil && v.Get("patternProperties") == nil && v.Get("allOf") == nil {
			t.add(Warning, "required-unknown", at+"/required", "it requires "+name+", which is not declared", "models cannot know what to send", "declare it, or do not require it")
		}
	}
	for _, m := range properties.Members() {
		t.property(at+"/properties/"+escaped(m.Name), m.Name, m.Value, depth)
	}
	for _, keyword := range parts {
		if part := v.Get(keyword); part.Kind() == doc.Object {
			switch keyword {
			case "items", "additionalProperties":
				t.node(at+"/"+keyword, part, depth+1, nil)
			case "not", "if", "then", "else":
				t.node(at+"/"+keyword, part, depth, outer)
			default:
				t.node(at+"/"+keyword, part, depth, nil)
			}
		}
	}
	for _, keyword := range lists {
		for i, part := range v.Get(keyword).Items() {
			within := outer
			if keyword == "prefixItems" || keyword == "items" {
				within = nil
			}
			t.node(fmt.Sprintf("%s/%s/%d", at, keyword, i), part, depth, within)
		}
	}
	for _, keyword := range named {
		for _, m := range v.Get(keyword).Members() {
			deeper := depth
			if keyword == "properties" {
				deeper++
			}
			t.node(at+"/"+keyword+"/"+escaped(m.Name), m.Value, deeper, nil)
		}
	}
}

// known are the types of JSON Schema.
var known = []string{"null", "boolean", "object", "array", "number", "integer", "string"}

func (t *tree) types(at string, typ *doc.Value) {
	for _, one := range append(slices.Clone(typ.Items()), typ) {
		if one.Kind() != 0 && one.Kind() != doc.Array && !slices.Contains(known, one.Str()) {
			t.add(Error, "schema-type", at, "there is no type "+one.String(), "no value fits", "use one of "+strings.Join(known, ", "))
		}
	}
}

// property checks a declared member of an object.
func (t *tree) property(at, name string, v *doc.Value, depth int) {
	if t.declared++; !t.input {
		return
	}
	if !apiProperty.MatchString(name) {
		t.add(Error, "argument-name-form", at, fmt.Sprintf("the name of argument %q", name), "APIs of models refuse names that do not match ^[a-zA-Z0-9_.-]{1,64}$", "rename the argument")
	}
	if v.Kind() != doc.Object {
		return
	}
	if depth == 0 {
		t.argument(at, name, described(t.root, v))
	}
	typed := false
	for _, keyword := range []string{"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"} {
		typed = typed || v.Get(keyword) != nil
	}
	if !typed {
		t.add(Warning, "argument-untyped", at, "argument "+name+" has no type", "models guess one, and some APIs refuse it", "give it a type")
	}
}

// described returns the schema with the description of a property: its own, or that which a
// reference leads to.
func described(root, v *doc.Value) *doc.Value {
	if text := schema.New(root).Resolve(v.Get("$ref").Str()); v.Get("description") == nil && text != nil && v.Get("$ref") != nil {
		return text
	}
	return v
}

// reference checks where a $ref leads.
func (t *tree) reference(at string, v *doc.Value) {
	ref := v.Get("$ref")
	switch {
	case ref == nil:
	case !strings.HasPrefix(ref.Str(), "#"):
		t.add(Error, "ref-remote", at+"/$ref", "a reference to another document: "+ref.Str(), "clients do not fetch it", "copy the definition into $defs")
	case schema.New(t.root).Resolve(ref.Str()) == nil:
		t.add(Error, "ref-unresolved", at+"/$ref", "a reference to nothing: "+ref.Str(), "clients cannot check values with the schema", "correct the reference")
	}
}

// values checks defaults, examples and enumerations.
func (t *tree) values(at string, v *doc.Value) {
	given := map[string][]*doc.Value{"examples": v.Get("examples").Items()}
	if standard := v.Get("default"); standard != nil {
		given["default"] = []*doc.Value{standard}
	}
	for _, keyword := range []string{"default", "examples"} {
		for _, value := range given[keyword] {
			if value.Kind() == doc.String && mcperrors.Redact(value.Str()) != value.Str() {
				t.add(Warning, "secret", at+"/"+keyword, "the "+strings.TrimSuffix(keyword, "s")+" looks like a secret", "everybody who lists the tools gets it", "remove it, and change the secret")
			}
			// A null default means that the argument may be left out.
			if value.Kind() == doc.Null && keyword == "default" {
				continue
			}
			judge, err := t.judge(v)
			if err == nil && !judge.Fits(value) {
				t.add(Warning, "default-misfit", at+"/"+keyword, "the "+strings.TrimSuffix(keyword, "s")+" "+schema.Brief(value)+" does not fit its own schema", "models copy it into calls, which are then refused", "correct it or the schema")
			}
		}
	}
	list := v.Get("enum")
	for i, value := range list.Items() {
		for _, other := range list.Items()[:i] {
			if doc.Equal(value, other) {
				t.add(Warning, "enum-doubled", at+"/enum", schema.Brief(value)+" is there twice", "some APIs of models refuse it", "remove one")
			}
		}
	}
	if list.Kind() == doc.Array && len(list.Items()) == 0 {
		t.add(Error, "enum-empty", at+"/enum", "an enumeration without values", "no value fits", "add values, or remove it")
	}
}

// judge returns a validator of a part of the schema, with the definitions of the whole.
func (t *tree) judge(v *doc.Value) (*schema.Judge, error) {
	if strings.Contains(v.String(), `"$ref"`) && v != t.root {
		alone := doc.NewObject()
		for _, m := range v.Members() {
			alone.Set(m.Name, m.Value)
		}
		for _, name := range []string{"$defs", "definitions"} {
			if shared := t.root.Get(name); shared != nil {
				alone.Set(name, shared)
			}
		}
		v = alone
	}
	if strings.Contains(v.String(), `"$ref":"#"`) {
		return nil, errors.New("it refers to the whole schema")
	}
	return schema.NewJudge(v)
}

// bounds checks limits that nothing can meet.
func (t *tree) bounds(at string, v *doc.Value) {
	for _, pair := range [][2]string{
		{"minimum", "maximum"},
		{"minLength", "maxLength"},
		{"minItems", "maxItems"},
		{"minProperties", "maxProperties"},
	} {
		least, most := v.Get(pair[0]), v.Get(pair[1])
		if least.Kind() == doc.Number && most.Kind() == doc.Number && least.Float() > most.Float() {
			t.add(Error, "limits-impossible", at+"/"+pair[0], fmt.Sprintf("%s %s is more than %s %s", pair[0], least, pair[1], most), "no value fits", "correct the limits")
		}
	}
}

// escaped is a name in a JSON pointer.
func escaped(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
