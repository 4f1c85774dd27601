package document

import (
	"fmt"
	"iter"
)

// nodes gives every group and item with the reference it must have, roots first.
func (d *Document) nodes() iter.Seq2[string, Parent] {
	return func(yield func(string, Parent) bool) {
		if d.Body != nil && !yield("#/body", d.Body) || d.Furniture != nil && !yield("#/furniture", d.Furniture) {
			return
		}
		_ = each("groups", d.Groups, yield) && each("texts", d.Texts, yield) && each("pictures", d.Pictures, yield) &&
			each("tables", d.Tables, yield) && each("key_value_items", d.KeyValueItems, yield) &&
			each("form_items", d.FormItems, yield) && each("field_regions", d.FieldRegions, yield) &&
			each("field_items", d.FieldItems, yield)
	}
}

func each[T Parent](kind string, list []T, yield func(string, Parent) bool) bool {
	for i, node := range list {
		if !yield(fmt.Sprintf("#/%s/%d", kind, i), node) {
			return false
		}
	}
	return true
}

// items gives the part that all items share.
func (d *Document) items() iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		for _, node := range d.nodes() {
			var item *Item
			switch n := node.(type) {
			case *Text:
				item = &n.Item
			case *Table:
				item = &n.Item
			case *Picture:
				item = &n.Item
			case *Region:
				item = &n.Item
			default:
				continue
			}
			if !yield(item) {
				return
			}
		}
	}
}

func (d *Document) index() map[string]Parent {
	nodes := make(map[string]Parent)
	for ref, node := range d.nodes() {
		nodes[ref] = node
	}
	return nodes
}

// checkTree proves that the references make a tree: each resolves, each node
// stands once and where it says, parents and children agree, nothing circles.
func checkTree(d *Document) error {
	if d.Body == nil || d.Furniture == nil {
		return invalidf("no body or no furniture")
	}
	nodes := d.index()
	if len(nodes) > MaxNodes {
		return tooLargef("over %d groups and items", MaxNodes)
	}
	for ref, node := range d.nodes() {
		if node.Base().SelfRef != ref {
			return invalidf("%s calls itself %q", ref, node.Base().SelfRef)
		}
		for _, to := range references(node) {
			if nodes[to.Ref] == nil {
				return invalidf("%s refers to %q, which is not there", ref, to.Ref)
			}
		}
	}
	if d.Body.Parent != nil || d.Furniture.Parent != nil {
		return invalidf("a root has a parent")
	}
	return checkFamily(d, nodes)
}

// checkFamily compares parents with children, then walks down from the roots:
// what has one parent and is not reached stands in a cycle.
func checkFamily(d *Document, nodes map[string]Parent) error {
	parents := make(map[string]string, len(nodes))
	for ref, node := range d.nodes() {
		for _, child := range node.Base().Children {
			n := nodes[child.Ref]
			if n == nil {
				return invalidf("%s has a child %q, which is not there", ref, child.Ref)
			}
			if _, twice := parents[child.Ref]; twice {
				return invalidf("%s is a child more than once", child.Ref)
			}
			if n.Base().Parent == nil || n.Base().Parent.Ref != ref {
				return invalidf("%s is a child of %s and names another parent", child.Ref, ref)
			}
			parents[child.Ref] = ref
		}
	}
	var level []Parent
	for ref, node := range d.nodes() {
		switch _, child := parents[ref]; {
		case child:
		case node.Base().Parent != nil:
			return invalidf("%s is no child of %q, its parent", ref, node.Base().Parent.Ref)
		case ref != "#/body" && ref != "#/furniture":
			return invalidf("%s has no parent", ref)
		default:
			level = append(level, node)
		}
	}
	reached := 0
	for depth := 0; len(level) > 0; depth++ {
		if depth > MaxDepth {
			return tooLargef("nested deeper than %d", MaxDepth)
		}
		reached += len(level)
		var below []Parent
		for _, node := range level {
			for _, child := range node.Base().Children {
				below = append(below, nodes[child.Ref])
			}
		}
		level = below
	}
	if reached != len(nodes) {
		return invalidf("%d groups or items stand in a cycle", len(nodes)-reached)
	}
	return nil
}

// references are the ways from a node to another one besides the tree.
func references(node Parent) []Ref {
	var refs []Ref
	add := func(f Floating) {
		refs = append(append(append(refs, f.Captions...), f.References...), f.Footnotes...)
	}
	switch n := node.(type) {
	case *Text:
		add(n.Floating)
	case *Picture:
		add(n.Floating)
	case *Region:
		add(Floating{Captions: n.Captions, References: n.References, Footnotes: n.Footnotes})
	case *Table:
		add(n.Floating)
		for _, c := range n.Data.Cells {
			if c.Ref != nil {
				refs = append(refs, *c.Ref)
			}
		}
	}
	return refs
}

// Lookup finds nodes by reference.
func (d *Document) Lookup() func(Ref) Parent {
	nodes := d.index()
	return func(r Ref) Parent { return nodes[r.Ref] }
}
