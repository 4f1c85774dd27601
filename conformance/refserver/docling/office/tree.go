package office

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

// Limits of the XML of a file.
const (
	maxXML      = 32 << 20 // bytes of one part; a tree takes many times that
	maxElements = 1_000_000
	maxNesting  = 256
)

// An element is one of a part's XML. Prefixes differ between writers and
// namespaces between the strict and the transitional form, so names are local.
type element struct {
	name  string
	attrs []xml.Attr
	kids  []*element
	text  string // of text elements
}

// xml unpacks a part that is to be parsed.
func (p *parts) xml(name string) ([]byte, error) {
	data, err := p.part(name)
	if len(data) > maxXML {
		return nil, failf(StageParse, TooLarge, "%s: over %d bytes of XML", name, maxXML)
	}
	return data, err
}

// tree parses a part; nil without an error when there is none.
func (p *parts) tree(name string) (*element, error) {
	data, err := p.xml(name)
	if err != nil || data == nil {
		return nil, err
	}
	d := xml.NewDecoder(bytes.NewReader(data))
	root := &element{}
	stack := []*element{root}
	var text strings.Builder
	for count := 0; ; count++ {
		if count%4096 == 0 && p.ctx.Err() != nil {
			return nil, p.ctx.Err()
		}
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, failf(StageParse, Corrupt, "%s: %w", name, err)
		}
		top := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			if len(stack) > maxNesting {
				return nil, failf(StageParse, TooLarge, "%s: nested deeper than %d", name, maxNesting)
			}
			if p.nodes++; p.nodes > maxElements {
				return nil, failf(StageParse, TooLarge, "over %d XML elements", maxElements)
			}
			e := &element{name: token.Name.Local, attrs: token.Attr}
			top.kids = append(top.kids, e)
			stack = append(stack, e)
			text.Reset()
		case xml.CharData:
			text.Write(token)
		case xml.EndElement:
			if len(top.kids) == 0 {
				top.text = text.String()
			}
			text.Reset()
			stack = stack[:len(stack)-1]
			choose(stack[len(stack)-1], top)
		case xml.Directive:
			// OOXML has no DTDs; one is there to declare entities that expand.
			return nil, failf(StageParse, Corrupt, "%s: has a DTD", name)
		}
	}
	if len(root.kids) == 0 {
		return nil, failf(StageParse, Corrupt, "%s: no XML", name)
	}
	return root.kids[0], nil
}

// scan gives the elements of a part without keeping them.
func (p *parts) scan(name string, visit func(xml.StartElement)) error {
	data, err := p.xml(name)
	if err != nil {
		return err
	}
	d := xml.NewDecoder(bytes.NewReader(data))
	for count := 0; ; count++ {
		if count%4096 == 0 && p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return failf(StageParse, Corrupt, "%s: %w", name, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			visit(token)
		case xml.Directive:
			return failf(StageParse, Corrupt, "%s: has a DTD", name)
		}
	}
}

// choose puts what stands in the first branch of an AlternateContent in its
// place: the others say the same for older readers.
func choose(parent, e *element) {
	if e.name != "AlternateContent" {
		return
	}
	parent.kids = parent.kids[:len(parent.kids)-1]
	branch := e.child("Choice")
	if branch == nil {
		branch = e.child("Fallback")
	}
	if branch != nil {
		parent.kids = append(parent.kids, branch.kids...)
	}
}

// attr is an attribute's value. Of two with one local name the relation's id is
// found by rel.
func (e *element) attr(name string) string {
	if e == nil {
		return ""
	}
	for _, a := range e.attrs {
		if a.Name.Local == name && !strings.HasSuffix(a.Name.Space, "/relationships") {
			return a.Value
		}
	}
	return ""
}

// rel is an attribute that names a relation: r:id, r:embed.
func (e *element) rel(name string) string {
	if e == nil {
		return ""
	}
	for _, a := range e.attrs {
		if a.Name.Local == name && strings.HasSuffix(a.Name.Space, "/relationships") {
			return a.Value
		}
	}
	return ""
}

// child is the first child of that name, or the end of a path of children. A
// nil element has none.
func (e *element) child(path ...string) *element {
	for _, name := range path {
		var next *element
		for _, kid := range e.children() {
			if kid.name == name {
				next = kid
				break
			}
		}
		if e = next; e == nil {
			return nil
		}
	}
	return e
}

func (e *element) children() []*element {
	if e == nil {
		return nil
	}
	return e.kids
}

// all are the children of that name.
func (e *element) all(name string) []*element {
	var found []*element
	for _, kid := range e.children() {
		if kid.name == name {
			found = append(found, kid)
		}
	}
	return found
}

// find gives the elements of a name at any depth, in order.
func (e *element) find(name string, visit func(*element)) {
	for _, kid := range e.children() {
		if kid.name == name {
			visit(kid)
		}
		kid.find(name, visit)
	}
}

// on reads a switch: <w:b/> and <w:b w:val="true"/> are on.
func (e *element) on() bool {
	if e == nil {
		return false
	}
	switch e.attr("val") {
	case "0", "false", "off", "none":
		return false
	}
	return true
}
