package office

import (
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// A placeholder is the part that a shape plays on its slide.
type placeholder struct {
	kind  string // title, body, ftr, …; empty for a shape of its own
	index string
}

// placeholderOf reads a shape's placeholder. One without a type is the body.
func placeholderOf(shape *element) placeholder {
	e := shape.child("nvSpPr", "nvPr", "ph")
	if e == nil {
		return placeholder{}
	}
	p := placeholder{e.attr("type"), e.attr("idx")}
	if p.kind == "" || p.kind == "obj" {
		p.kind = "body"
	}
	return p
}

// maxPlaceholders bounds what is looked through for every paragraph.
const maxPlaceholders = 100

// A layout is what slides take from their layout and its master.
type layout struct {
	shapes []*element // placeholders, those of the layout before the master's
	styles *element   // the master's text styles
}

// layout reads a layout and its master.
func (p *parts) layout(name string) (*layout, error) {
	l := &layout{}
	for _, next := range []string{"slideMaster", ""} {
		root, err := p.tree(name)
		if err != nil || root == nil {
			return l, err
		}
		shapes := root.child("cSld", "spTree").all("sp")
		l.shapes = append(l.shapes, shapes[:min(len(shapes), maxPlaceholders)]...)
		if styles := root.child("txStyles"); styles != nil {
			l.styles = styles
		}
		rels, err := p.relations(name)
		if err != nil || next == "" {
			return l, err
		}
		name = related(rels, next)
	}
	return l, nil
}

// same finds the shapes that a slide's placeholder takes from: of the same
// index, else of the same kind.
func (l *layout) same(holder placeholder) []*element {
	if holder.kind == "" {
		return nil
	}
	var byIndex, byKind []*element
	for _, shape := range l.shapes {
		switch other := placeholderOf(shape); {
		case other.kind == "":
		case holder.index != "" && other.index == holder.index:
			byIndex = append(byIndex, shape)
		case other.kind == holder.kind || other.kind == "title" && holder.kind == "ctrTitle":
			byKind = append(byKind, shape)
		}
	}
	return append(byIndex, byKind...)
}

// frame is where a placeholder stands when its slide does not say.
func (l *layout) frame(holder placeholder) *element {
	for _, shape := range l.same(holder) {
		if frame := shape.child("spPr", "xfrm"); frame != nil {
			return frame
		}
	}
	return nil
}

// bullet is the element that says which bullet a paragraph has: its own, that
// of the shape's list style, of the placeholders above, of the master. nil is none.
func (l *layout) bullet(p, body *element, holder placeholder, level int) *element {
	name := fmt.Sprintf("lvl%dpPr", level+1)
	from := []*element{p.child("pPr"), body.child("lstStyle", name)}
	for _, shape := range l.same(holder) {
		from = append(from, shape.child("txBody", "lstStyle", name))
	}
	if holder.kind == "body" {
		from = append(from, l.styles.child("bodyStyle", name))
	}
	for _, props := range from {
		for _, kid := range props.children() {
			switch kid.name {
			case "buNone", "buChar", "buAutoNum", "buBlip":
				return kid
			}
		}
	}
	return nil
}

// A transform takes coordinates of a group's inside to the slide's.
type transform struct{ scaleX, scaleY, offX, offY float64 }

var identity = transform{1, 1, 0, 0}

// within is the transform inside a group of that frame.
func (t transform) within(frame *element) transform {
	off, ext := frame.child("off"), frame.child("ext")
	inner, innerExt := frame.child("chOff"), frame.child("chExt")
	if off == nil || ext == nil || inner == nil || innerExt == nil {
		return t
	}
	scale := func(outer, inside string) float64 {
		if in := number(inside, 0); in > 0 {
			return float64(number(outer, 0)) / float64(in)
		}
		return 1
	}
	x, y := scale(ext.attr("cx"), innerExt.attr("cx")), scale(ext.attr("cy"), innerExt.attr("cy"))
	return transform{
		t.scaleX * x, t.scaleY * y,
		t.offX + t.scaleX*(emu(off, "x")-x*emu(inner, "x")),
		t.offY + t.scaleY*(emu(off, "y")-y*emu(inner, "y")),
	}
}

// box is the place of a frame on the slide, in EMU from its top left.
func (t transform) box(frame *element) document.BBox {
	off, ext := frame.child("off"), frame.child("ext")
	l, top := t.offX+t.scaleX*emu(off, "x"), t.offY+t.scaleY*emu(off, "y")
	return document.BBox{
		L: l, T: top, R: l + t.scaleX*emu(ext, "cx"), B: top + t.scaleY*emu(ext, "cy"), Origin: document.TopLeft,
	}
}

func emu(e *element, name string) float64 { return float64(number(e.attr(name), 0)) }
