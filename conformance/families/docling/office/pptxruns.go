package office

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// runs reads the runs of a paragraph of a drawing.
func (x *pptx) runs(p *element) []document.Run {
	var list []document.Run
	for _, kid := range p.children() {
		switch kid.name {
		case "r", "fld":
			props := kid.child("rPr")
			to := ""
			if r := x.slide.rels[props.child("hlinkClick").rel("id")]; r.external {
				to = link(r.target)
			}
			if text := kid.child("t"); text != nil {
				list = append(list, document.Run{Text: text.text, Formatting: drawnLook(props, to != ""), Hyperlink: to})
			}
		case "br":
			list = append(list, document.Run{Text: "\n"})
		case "m", "oMathPara", "oMath":
			if text := formulaText(kid); text != "" {
				list = append(list, document.Run{Text: text, Label: document.Formula})
			}
		}
	}
	return list
}

func drawnLook(props *element, linked bool) *document.Formatting {
	set := func(name string) bool { v := props.attr(name); return v == "1" || v == "true" }
	f := document.Formatting{Bold: set("b"), Italic: set("i")}
	f.Underline = props.attr("u") != "" && props.attr("u") != "none" && !linked
	f.Strikethrough = props.attr("strike") != "" && props.attr("strike") != "noStrike"
	switch baseline := number(props.attr("baseline"), 0); {
	case baseline > 0:
		f.Script = document.Superscript
	case baseline < 0:
		f.Script = document.Subscript
	}
	return f.Normal()
}

// autoNumber writes "3." or "c)" for types such as arabicPeriod, alphaLcParenR.
func autoNumber(kind string, n int) string {
	end := numberEnd(kind)
	text := numeral(strings.TrimSuffix(kind, end), n)
	switch end {
	case "ParenBoth":
		return "(" + text + ")"
	case "ParenR":
		return text + ")"
	case "Plain":
		return text
	}
	return text + "."
}

func numberEnd(kind string) string {
	for _, end := range []string{"ParenBoth", "ParenR", "Period", "Plain"} {
		if strings.HasSuffix(kind, end) {
			return end
		}
	}
	return ""
}
