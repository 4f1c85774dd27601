package gen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
)

const rawMessage = "json.RawMessage"

// document is a schema while its types are found.
type document struct {
	file         *file
	schema       schema.Schema
	name         string            // of the type of the whole document
	paths        []string          // of the declarations after the first
	short        map[string]string // the names of declarations by path, nil while they are found
	root         *doc.Value
	declarations []*declaration
	named        map[*doc.Value]string // the nodes that have a type of their own
	active       map[*doc.Value]bool   // the nodes that contain the current one
}

// declaration is a type with a name: a struct, an enumeration, or another type.
type declaration struct {
	name, about string
	description string
	note        string
	text        string
	structure   bool
	fields      []field
	values      []string
}

type field struct {
	name, text, tag string
	about           []string
}

// goType is the type of one place.
type goType struct {
	text string
	// nilable is set if nil is a value of the type, which is then not sent.
	nilable bool
	// nullable is set if the schema allows null, beside what the type says.
	nullable bool
	// recursive is set if the place contains the struct that it is in.
	recursive bool
	note      string
}

// newDocument returns the declarations of a schema. The first is that of the whole. The
// names of the others depend on all of their paths, which a first round finds.
func newDocument(f *file, name string, root *doc.Value) *document {
	draft := &file{imports: map[string]bool{}, names: map[string]bool{name: true}}
	found := readDocument(draft, name, root, nil)
	return readDocument(f, name, root, shortNames(name, found.paths))
}

func readDocument(f *file, name string, root *doc.Value, short map[string]string) *document {
	d := &document{
		file: f, schema: schema.New(root), name: name, root: root, short: short,
		named: map[*doc.Value]string{}, active: map[*doc.Value]bool{},
	}
	t := d.typeOf(root, name)
	if t.text != name {
		own := &declaration{name: name, description: root.Get("description").Str(), note: t.note, text: t.text}
		d.declarations = append([]*declaration{own}, d.declarations...)
	}
	return d
}

// raw is the type of what Go cannot express.
func (d *document) raw(format string, args ...any) goType {
	d.file.imports[jsonImport] = true
	return goType{text: rawMessage, nilable: true, note: "It is raw JSON: " + fmt.Sprintf(format, args...) + "."}
}

func anything() goType { return goType{text: "any", nilable: true} }

// typeOf returns the type of a node. name is the path to it, with a dot between its parts,
// and gives a declared type its name.
func (d *document) typeOf(node *doc.Value, name string) goType {
	if node.Kind() == doc.Bool && !node.True() {
		return d.raw("the schema accepts no value")
	}
	if node.Kind() != doc.Object {
		return anything()
	}
	if known := d.named[node]; known != "" {
		return goType{text: known, recursive: d.active[node]}
	}
	if d.active[node] {
		return d.raw("the schema contains itself, and not as a member of an object")
	}
	d.active[node] = true
	defer delete(d.active, node)
	if to, alone := soleReference(node); alone {
		return d.reference(to, name)
	}
	all, reason := d.merge(node)
	if reason != "" {
		return d.raw("%s", reason)
	}
	return d.merged(node, all, name)
}

// reference returns the type of the target of a reference. The types of a document share
// the name of their target, because many places may refer to it.
func (d *document) reference(to *doc.Value, name string) goType {
	ref := to.Get("$ref").Str()
	if to.Get("$ref") == nil {
		return d.typeOf(to, name)
	}
	target := d.schema.Resolve(ref)
	if target == nil {
		return d.raw("its schema refers to %s, which is not in the document", ref)
	}
	if name != d.name {
		name = d.name + "." + goName(ref[strings.LastIndexAny(ref, "/#")+1:])
	}
	return d.typeOf(target, name)
}

// merged returns the type of everything that holds at a node.
func (d *document) merged(node *doc.Value, all facts, name string) goType {
	if len(all.branches) > 0 {
		t, done := d.union(&all, name)
		if done {
			return t
		}
	}
	t := d.single(node, all, name)
	t.nullable = t.nullable || all.null
	return t
}

// union returns the type of alternatives. done is false if they do not matter, or if they are
// now among the facts.
func (d *document) union(all *facts, name string) (t goType, done bool) {
	branches := slices.DeleteFunc(slices.Clone(all.branches), isNull)
	null := len(branches) < len(all.branches)
	if len(all.properties) > 0 {
		if slices.ContainsFunc(branches, func(b *doc.Value) bool { return !onlyRequires(b) }) {
			return d.raw("it has one of several forms"), true
		}
		return t, false
	}
	if len(branches) == 1 {
		t = d.typeOf(branches[0], name)
		t.nullable = t.nullable || null
		return t, true
	}
	var kinds []string
	var values []*doc.Value
	for _, b := range branches {
		one, reason := d.merge(b)
		if reason != "" || len(one.branches) > 0 {
			return d.raw("it has one of several types"), true
		}
		null = null || one.null
		kinds = append(kinds, one.kinds...)
		values = append(values, one.values...)
		if len(one.values) == 0 != (len(values) == 0) || one.kinds == nil && one.values == nil {
			return d.raw("it has one of several types"), true
		}
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	if len(values) == 0 && (len(kinds) != 1 || kinds[0] == "object" || kinds[0] == "array") {
		return d.raw("it has one of several types"), true
	}
	all.kinds, all.values, all.null = kinds, values, all.null || null
	return t, false
}

// single returns the type of a node without alternatives.
func (d *document) single(node *doc.Value, all facts, name string) goType {
	if len(all.values) > 0 {
		return d.enumeration(node, all, name)
	}
	kinds := all.kinds
	if slices.Contains(kinds, "number") {
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return k == "integer" })
	}
	switch {
	case len(kinds) > 1:
		return d.raw("it may be %s", strings.Join(kinds, " or "))
	case len(kinds) == 0:
		return anything()
	}
	switch kinds[0] {
	case "string":
		return goType{text: "string"}
	case "integer":
		return goType{text: "int64"}
	case "number":
		return goType{text: "float64"}
	case "boolean":
		return goType{text: "bool"}
	case "array":
		if all.tuple {
			return d.raw("each item of the array has a type of its own")
		}
		return d.many("[]", all.items, name+"."+partItem)
	case "object":
		return d.object(node, all, name)
	}
	return d.raw("its type %s is unknown", schema.Brief(doc.Text(kinds[0])))
}

// many returns the type of a list or a map of values.
func (d *document) many(of string, node *doc.Value, name string) goType {
	t := d.typeOf(node, name)
	if t.nullable && !t.nilable {
		t.text = "*" + t.text
	}
	return goType{text: of + t.text, nilable: true, note: strings.Replace(t.note, "It is", "Each is", 1)}
}

// enumeration returns the type of listed values: strings are constants of a type.
func (d *document) enumeration(node *doc.Value, all facts, name string) goType {
	var texts, shown []string
	kinds := map[string]bool{}
	for _, v := range all.values {
		switch {
		case v.Kind() == doc.String:
			texts = append(texts, v.Str())
			kinds["string"] = true
		case v.Kind() == doc.Number && v.IsInteger():
			kinds["int64"] = true
		case v.Kind() == doc.Number:
			kinds["float64"] = true
		case v.Kind() == doc.Bool:
			kinds["bool"] = true
		default:
			return d.raw("it has one of several listed values")
		}
		shown = append(shown, schema.Brief(v))
	}
	if kinds["float64"] {
		delete(kinds, "int64")
	}
	if len(kinds) > 1 {
		return d.raw("it has one of several listed values, of different types")
	}
	if kinds["string"] {
		slices.Sort(texts)
		own := d.declare(node, name)
		own.values = slices.Compact(texts)
		return goType{text: own.name}
	}
	for kind := range kinds {
		return goType{text: kind, note: "One of " + strings.Join(shown, ", ") + "."}
	}
	return anything()
}

// object returns the type of an object: a struct for declared members, else a map.
func (d *document) object(node *doc.Value, all facts, name string) goType {
	whole := name == d.name && d.file.names[name] && len(d.declarations) == 0
	switch {
	case len(all.properties) > 0:
		if reason := all.unsayable(); reason != "" {
			return d.raw("%s", reason)
		}
	case all.closed, whole && all.declares && all.others == nil && !all.open && len(all.patterns) == 0:
	case all.others != nil && len(all.patterns) == 0:
		return d.many("map[string]", all.others, name+"."+partValue)
	case all.others == nil && len(all.patterns) == 1:
		return d.many("map[string]", all.patterns[0], name+"."+partValue)
	default:
		return goType{text: "map[string]any", nilable: true}
	}
	own := d.declare(node, name)
	own.structure = true
	var members []string
	for _, p := range all.properties {
		members = append(members, p.Name)
	}
	for i, fieldName := range goNames(members) {
		p := all.properties[i]
		t := d.typeOf(p.Value, name+"."+fieldName)
		own.fields = append(own.fields, member(fieldName, p, t, all.required[p.Name]))
	}
	return goType{text: own.name}
}

func member(name string, p doc.Member, t goType, required bool) field {
	f := field{name: name, text: t.text, tag: p.Name}
	if !t.nilable && (!required || t.nullable || t.recursive) {
		f.text = "*" + t.text
	}
	if f.tag == "-" {
		f.tag = "-,"
	}
	if !required {
		f.tag = strings.TrimSuffix(f.tag, ",") + ",omitzero"
	}
	f.about = []string{p.Value.Get("description").Str(), t.note}
	if format := p.Value.Get("format").Str(); format != "" {
		f.about = append(f.about, "Format: "+format+".")
	}
	if v := p.Value.Get("default"); v != nil {
		f.about = append(f.about, "Default: "+schema.Brief(v)+".")
	}
	return f
}

// declare adds the type of a node. What it contains is declared after it.
func (d *document) declare(node *doc.Value, name string) *declaration {
	if name != d.name || len(d.declarations) > 0 {
		d.paths = append(d.paths, name)
		name = d.file.declare(cmp.Or(d.short[name], strings.ReplaceAll(name, ".", "")))
	}
	own := &declaration{name: name, about: "is a part of " + d.name + ".", text: name, description: node.Get("description").Str()}
	d.declarations = append(d.declarations, own)
	d.named[node] = name
	return own
}
