package office

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// styles are the style definitions of a document by id.
type styles map[string]*element

// style is a style and what it is based on, nearest first.
type style []*element

// maxBasedOn bounds a chain of styles, which may be a circle.
const maxBasedOn = 16

func newStyles(root *element) styles {
	s := styles{}
	for _, e := range root.all("style") {
		s[e.attr("styleId")] = e
	}
	return s
}

func (s styles) chain(id string) style {
	var chain style
	for e := s[id]; e != nil && len(chain) < maxBasedOn; e = s[e.child("basedOn").attr("val")] {
		chain = append(chain, e)
	}
	return chain
}

var headingName = regexp.MustCompile(`^heading ([1-9])$`)

func (s style) name() string {
	if len(s) == 0 {
		return ""
	}
	return strings.ToLower(s[0].child("name").attr("val"))
}

func (s style) title() bool { return s.name() == "title" }

// heading is the level of a heading, 0 for none: by the name of the style or of
// one it is based on, else by the outline level.
func (s style) heading(props *element) int {
	for i := range s {
		if m := headingName.FindStringSubmatch(s[i:].name()); m != nil {
			return number(m[1], 1)
		}
	}
	outline := props.child("outlineLvl")
	for i := 0; outline == nil && i < len(s); i++ {
		outline = s[i].child("pPr", "outlineLvl")
	}
	if level := number(outline.attr("val"), 9); outline != nil && 0 <= level && level < 9 {
		return level + 1
	}
	return 0
}

// numPr is the numbering of a paragraph: its own, else that of its style.
func (s style) numPr(props *element) *element {
	if own := props.child("numPr"); own != nil {
		return own
	}
	for _, e := range s {
		if of := e.child("pPr", "numPr"); of != nil {
			return of
		}
	}
	return nil
}

// look is the formatting of a run: its own, over that of its character style.
// The underline of a link is the link's. A paragraph's style is not looked at:
// that a heading is bold goes without saying. Hidden text is shown nowhere.
func (s styles) look(props *element, link bool) (look *document.Formatting, hidden bool) {
	var f document.Formatting
	chain := s.chain(props.child("rStyle").attr("val"))
	levels := []*element{props}
	for _, e := range chain {
		levels = append(levels, e.child("rPr"))
	}
	set := func(to *bool, names ...string) {
		for _, level := range levels {
			for _, name := range names {
				if e := level.child(name); e != nil {
					*to = e.on()
					return
				}
			}
		}
	}
	set(&f.Bold, "b")
	set(&f.Italic, "i")
	set(&f.Underline, "u")
	set(&f.Strikethrough, "strike", "dstrike")
	f.Underline = f.Underline && !link
	f.Script = script(levels)
	set(&hidden, "vanish")
	return f.Normal(), hidden
}

// script is the place of a run relative to its line. LibreOffice writes it as a
// position, in half points.
func script(levels []*element) document.Script {
	for _, level := range levels {
		if e := level.child("vertAlign"); e != nil {
			switch e.attr("val") {
			case "superscript":
				return document.Superscript
			case "subscript":
				return document.Subscript
			}
			return document.Baseline
		}
		switch position := number(level.child("position").attr("val"), 0); {
		case position > 0:
			return document.Superscript
		case position < 0:
			return document.Subscript
		}
	}
	return document.Baseline
}

// number reads a small number of an attribute.
func number(text string, fallback int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < -1<<30 || n > 1<<30 {
		return fallback
	}
	return n
}
