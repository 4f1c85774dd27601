package gen

import (
	"slices"
	"strconv"

	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// facts are the keywords that decide the type of a place, of a node, of the target of its
// reference, and of the parts of its allOf.
type facts struct {
	kinds    []string // without null
	null     bool
	values   []*doc.Value // of enum and const, without null
	branches []*doc.Value // of anyOf or oneOf
	items    *doc.Value
	tuple    bool // items have types of their own

	properties []doc.Member
	declared   map[string]*doc.Value
	declares   bool // there are properties, perhaps none
	required   map[string]bool
	others     *doc.Value // the schema of other members, nil for none
	open       bool       // other members may be anything
	closed     bool       // there are no other members
	patterns   []*doc.Value
}

// annotations do not change the type of a place.
var annotations = map[string]bool{
	"title": true, "description": true, "default": true, "examples": true, "deprecated": true, "readOnly": true, "writeOnly": true,
	"$comment": true, "$schema": true, "$id": true, "$defs": true, "definitions": true, "$anchor": true,
}

// soleReference returns the node that says everything about another: the node itself if it has
// a $ref, or the only part of its allOf.
func soleReference(node *doc.Value) (to *doc.Value, ok bool) {
	for _, m := range node.Members() {
		switch {
		case annotations[m.Name]:
		case to == nil && m.Name == "$ref" && m.Value.Kind() == doc.String:
			to = node
		case to == nil && m.Name == "allOf" && len(m.Value.Items()) == 1:
			to = m.Value.Items()[0]
		default:
			return nil, false
		}
	}
	return to, to != nil
}

// merge returns the facts of a node, or the reason why Go has no type for it.
func (d *document) merge(node *doc.Value) (all facts, reason string) {
	all.required, all.declared = map[string]bool{}, map[string]*doc.Value{}
	seen := map[*doc.Value]bool{}
	var add func(node *doc.Value) string
	add = func(node *doc.Value) string {
		if node.Kind() == doc.Bool && !node.True() {
			return "the schema accepts no value"
		}
		if seen[node] || node.Kind() != doc.Object {
			return ""
		}
		seen[node] = true
		if reason := all.add(node); reason != "" {
			return reason
		}
		if ref := node.Get("$ref"); ref.Kind() == doc.String {
			to := d.schema.Resolve(ref.Str())
			if to == nil {
				return "its schema refers to " + ref.Str() + ", which is not in the document"
			}
			if reason := add(to); reason != "" {
				return reason
			}
		}
		for _, part := range node.Get("allOf").Items() {
			if reason := add(part); reason != "" {
				return reason
			}
		}
		return ""
	}
	if reason := add(node); reason != "" {
		return all, reason
	}
	all.complete()
	return all, ""
}

// add adds the keywords of one node.
func (all *facts) add(node *doc.Value) (reason string) {
	if reason := all.addType(node); reason != "" {
		return reason
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		branches := node.Get(key).Items()
		if len(branches) > 0 && len(all.branches) > 0 {
			return "several choices hold at once"
		}
		all.branches = append(all.branches, branches...)
	}
	if items := node.Get("items"); items != nil && all.items == nil {
		all.items = items
	}
	all.tuple = all.tuple || node.Get("items").Kind() == doc.Array || node.Get("prefixItems") != nil
	return all.addMembers(node)
}

// addType adds what the type, the enum and the const of a node say.
func (all *facts) addType(node *doc.Value) (reason string) {
	var kinds []string
	null := false
	given := node.Get("type")
	for _, v := range append(given.Items(), given) {
		switch {
		case v.Str() == "null":
			null = true
		case v.Kind() == doc.String:
			kinds = append(kinds, v.Str())
		}
	}
	if len(kinds) > 0 && len(all.kinds) > 0 && !slices.Equal(kinds, all.kinds) {
		return "its parts have different types"
	}
	if len(kinds) > 0 {
		all.kinds = kinds
	}
	values := node.Get("enum").Items()
	if c := node.Get("const"); c != nil {
		values = []*doc.Value{c}
	}
	if len(values) > 0 && len(all.values) > 0 {
		return "several lists of values hold at once"
	}
	for _, v := range values {
		if v.Kind() == doc.Null {
			null = true
			continue
		}
		all.values = append(all.values, v)
	}
	all.null = all.null || null
	return ""
}

// addMembers adds what a node says about the members of an object.
func (all *facts) addMembers(node *doc.Value) (reason string) {
	for _, v := range node.Get("required").Items() {
		if v.Kind() == doc.String {
			all.required[v.Str()] = true
		}
	}
	properties := node.Get("properties")
	all.declares = all.declares || properties.Kind() == doc.Object
	for _, p := range properties.Members() {
		switch have := all.declared[p.Name]; {
		case have == nil:
			all.properties = append(all.properties, p)
			all.declared[p.Name] = p.Value
		case !doc.Equal(have, p.Value):
			return "several schemas hold for its member " + strconv.Quote(p.Name)
		}
	}
	switch others := node.Get("additionalProperties"); {
	case others.Kind() == doc.Bool && !others.True():
		all.closed = true
	case others.Kind() == doc.Object && !onlyAnnotated(others):
		all.others = others
	case others != nil:
		all.open = true
	}
	for _, p := range node.Get("patternProperties").Members() {
		all.patterns = append(all.patterns, p.Value)
	}
	return ""
}

// complete finds the type that is not given, and the members that are required only.
func (all *facts) complete() {
	if all.kinds == nil && all.values == nil {
		switch {
		case all.declares, len(all.required) > 0 && len(all.branches) == 0, all.others != nil, len(all.patterns) > 0:
			all.kinds = []string{"object"}
		case all.items != nil, all.tuple:
			all.kinds = []string{"array"}
		}
	}
	kept := all.properties[:0:0]
	for _, p := range all.properties {
		if p.Value.Kind() != doc.Bool || p.Value.True() || all.required[p.Name] { // else it must be absent
			kept = append(kept, p)
		}
	}
	all.properties = kept
}

// unsayable returns why no struct has the members, "" if one has.
func (all *facts) unsayable() string {
	switch {
	case all.others != nil, len(all.patterns) > 0:
		return "it has declared members and others that have a schema"
	}
	for _, p := range all.properties {
		if !inTag(p.Name) {
			return "a struct tag cannot hold the name of its member " + strconv.Quote(p.Name)
		}
	}
	for name := range all.required {
		if all.declared[name] == nil {
			return "it requires a member that it does not declare"
		}
	}
	return ""
}

func onlyAnnotated(node *doc.Value) bool {
	for _, m := range node.Members() {
		if !annotations[m.Name] {
			return false
		}
	}
	return true
}

// onlyRequires reports whether a branch of a union requires members and does not describe them.
func onlyRequires(node *doc.Value) bool {
	for _, m := range node.Members() {
		if !annotations[m.Name] && m.Name != "required" && m.Name != "type" && m.Name != "not" {
			return false
		}
	}
	return node.Kind() == doc.Object
}

func isNull(node *doc.Value) bool {
	c := node.Get("const")
	return node.Get("type").Str() == "null" || c.Kind() == doc.Null
}
