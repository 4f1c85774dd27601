package office

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"unicode/utf16"

	"golang.org/x/net/html/charset"
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
	if err != nil {
		return nil, err
	}
	return utf8Text(data), nil
}

// utf8Text turns XML in UTF-16, which begins with a mark or with a bracket, into
// UTF-8. Other XML stays as it is.
func utf8Text(data []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte("<\x00")):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}), bytes.HasPrefix(data, []byte("\x00<")):
		order = binary.BigEndian
	default:
		return data
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

// decoder parses XML in UTF-8, or in the encoding that it names.
func decoder(data []byte) *xml.Decoder {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		if strings.HasPrefix(strings.ToLower(label), "utf-16") {
			return in, nil // it is turned into UTF-8 already
		}
		return charset.NewReaderLabel(label, in)
	}
	return d
}

// tree parses a part; nil without an error when there is none.
func (p *parts) tree(name string) (*element, error) {
	data, err := p.xml(name)
	if err != nil || data == nil {
		return nil, err
	}
	var root *element
	err = p.parse(name, data, func(*element) bool { return root == nil }, func(e *element) { root = e })
	if err == nil && root == nil {
		err = failf(StageParse, Corrupt, "%s: no XML", name)
	}
	return root, err
}

// scan gives the elements of a part that keep wants, one after the other, and
// forgets each when the next comes. keep sees the elements that no other one
// around them was kept with, before their children are read.
func (p *parts) scan(name string, keep func(*element) bool, visit func(*element)) error {
	data, err := p.xml(name)
	if err != nil || data == nil {
		return err
	}
	before := p.nodes
	return p.parse(name, data, keep, func(e *element) {
		visit(e)
		p.nodes = before
	})
}

func (p *parts) parse(name string, data []byte, keep func(*element) bool, visit func(*element)) error {
	d := decoder(data)
	var kept []*element // the open ones, outermost first
	var text strings.Builder
	depth := 0
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
			if depth++; depth > maxNesting {
				return failf(StageParse, TooLarge, "%s: nested deeper than %d", name, maxNesting)
			}
			e := &element{name: token.Name.Local, attrs: token.Attr}
			if len(kept) == 0 && !keep(e) {
				continue
			}
			if p.nodes++; p.nodes > maxElements {
				return failf(StageParse, TooLarge, "over %d XML elements", maxElements)
			}
			if len(kept) > 0 {
				top := kept[len(kept)-1]
				top.kids = append(top.kids, e)
			}
			kept = append(kept, e)
			text.Reset()
		case xml.CharData:
			if len(kept) > 0 {
				text.Write(token)
			}
		case xml.EndElement:
			depth--
			if len(kept) == 0 {
				continue
			}
			top := kept[len(kept)-1]
			if len(top.kids) == 0 {
				top.text = text.String()
			}
			text.Reset()
			if kept = kept[:len(kept)-1]; len(kept) > 0 {
				choose(kept[len(kept)-1], top)
			} else {
				visit(top)
			}
		case xml.Directive:
			// OOXML has no DTDs; one is there to declare entities that expand.
			return failf(StageParse, Corrupt, "%s: has a DTD", name)
		}
	}
}

// choose puts what stands in the first branch of an AlternateContent in its
// place: the others say the same for older readers. Only where the text of a box
// is missing in the first is it taken from them.
func choose(parent, e *element) {
	if e.name != "AlternateContent" {
		return
	}
	parent.kids = parent.kids[:len(parent.kids)-1]
	branch, older := e.child("Choice"), e.child("Fallback")
	if branch == nil || !branch.holds("txbxContent") && older.holds("txbxContent") {
		branch = older
	}
	if branch != nil {
		parent.kids = append(parent.kids, branch.kids...)
	}
}

// holds reports whether an element of that name is somewhere within.
func (e *element) holds(name string) bool {
	for _, kid := range e.children() {
		if kid.name == name || kid.holds(name) {
			return true
		}
	}
	return false
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

// yes reads a switch that is an attribute, which is off when it is not there.
func (e *element) yes(name string) bool {
	value := e.attr(name)
	return value == "1" || value == "true" || value == "on"
}
