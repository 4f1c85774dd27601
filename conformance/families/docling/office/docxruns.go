package office

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// runs is the content of one paragraph.
type runs struct {
	d      *docx
	list   []document.Run
	hidden strings.Builder
	ticks  []document.Label // checkboxes
	field  field

	images   []string   // parts of pictures
	diagrams []string   // parts of diagrams
	charts   []string   // parts of charts
	boxes    []*element // text boxes
}

// A field is what Word computes: its instruction, then its result. Only a link
// changes how the result is read.
type field struct {
	depth       int
	instruction bool
	code        strings.Builder
	link        string
}

func (d *docx) runs(p *element) *runs {
	r := &runs{d: d}
	r.walk(p, "")
	return r
}

func (r *runs) walk(e *element, to string) {
	for _, kid := range e.children() {
		if r.d.ctx.Err() != nil {
			return // the next block reports it
		}
		switch kid.name {
		case "r":
			r.run(kid, to)
		case "hyperlink":
			r.walk(kid, r.target(kid))
		case "fldSimple":
			r.walk(kid, linkOf(kid.attr("instr"), to))
		case "sdt":
			if box := kid.child("sdtPr", "checkbox"); box != nil {
				r.ticks = append(r.ticks, ticked(box.child("checked").on()))
			}
			r.walk(kid.child("sdtContent"), to)
		case "oMath":
			r.add(document.Run{Text: formulaText(kid), Label: document.Formula})
			if e.name == "oMathPara" {
				r.add(document.Run{Text: " "}) // formulas of their own
			}
		case "commentRangeStart":
			r.d.remarks.meet(kid.attr("id"))
		case "ins", "moveTo", "smartTag", "customXml", "oMathPara", "dir", "bdo":
			r.walk(kid, to)
		}
	}
}

// target is where a hyperlink leads: an address, or a bookmark of the document.
func (r *runs) target(e *element) string {
	if to := r.d.rels[e.rel("id")]; to.external && to.target != "" {
		return link(to.target)
	}
	if anchor := e.attr("anchor"); anchor != "" {
		return link("#" + anchor)
	}
	return ""
}

func (r *runs) run(e *element, to string) {
	if to == "" {
		to = r.field.link
	}
	look, hidden := r.d.styles.look(e.child("rPr"), to != "")
	for _, kid := range e.kids {
		text := ""
		switch kid.name {
		case "t":
			text = kid.text
		case "tab", "ptab":
			text = "\t"
		case "br", "cr":
			if kid.attr("type") == "" {
				text = "\n"
			}
		case "sym":
			text = symbol(kid.attr("font"), kid.attr("char"))
		case "ruby": // its reading, in small above it, is dropped
			kid.child("rt").find("t", func(t *element) {
				if t.text != "" {
					r.d.readings[kid] = true
				}
			})
			r.walk(kid.child("rubyBase"), to)
		case "noBreakHyphen":
			text = "-"
		case "fldChar":
			r.field.step(kid.attr("fldCharType"))
			r.formField(kid.child("ffData"), look, to)
		case "instrText":
			if r.field.instruction {
				r.field.code.WriteString(kid.text)
			}
		case "commentReference":
			r.d.remarks.meet(kid.attr("id"))
		case "footnoteReference", "endnoteReference":
			r.d.notes = append(r.d.notes, note{strings.TrimSuffix(kid.name, "Reference"), kid.attr("id")})
		case "drawing", "pict", "object":
			r.graphic(kid)
		}
		switch {
		case r.field.instruction:
		case hidden:
			r.hidden.WriteString(text)
		default:
			r.add(document.Run{Text: text, Formatting: look, Hyperlink: to})
		}
	}
}

func (r *runs) add(run document.Run) {
	if run.Text != "" {
		r.list = append(r.list, run)
	}
}

// graphic collects what a drawing holds: pictures, diagrams, charts and text boxes.
func (r *runs) graphic(e *element) {
	e.find("blip", func(blip *element) { r.images = append(r.images, r.d.picture(blip.rel("embed"))) })
	e.find("imagedata", func(data *element) { r.images = append(r.images, r.d.picture(data.rel("id"))) })
	e.find("relIds", func(ids *element) { r.diagrams = append(r.diagrams, r.d.picture(ids.rel("dm"))) })
	e.find("chart", func(chart *element) { r.charts = append(r.charts, r.d.picture(chart.rel("id"))) })
	e.find("txbxContent", func(box *element) { r.boxes = append(r.boxes, box) })
}

// maxLink bounds an address, which stands in every run of its link.
const maxLink = 2048

// link is an address, unless it is longer than any that works.
func link(address string) string {
	if len(address) > maxLink {
		return ""
	}
	return address
}

// step follows a field from its begin over separate to its end. Fields nest;
// the outermost decides.
func (f *field) step(kind string) {
	switch kind {
	case "begin":
		if f.depth++; f.depth == 1 {
			f.instruction, f.link = true, ""
			f.code.Reset()
		}
	case "separate":
		if f.depth == 1 {
			f.instruction, f.link = false, linkOf(f.code.String(), "")
		}
	case "end":
		if f.depth = max(f.depth-1, 0); f.depth == 0 {
			f.instruction, f.link = false, ""
		}
	}
}

// linkOf is the address in a HYPERLINK instruction, or what was before.
func linkOf(instruction, before string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(instruction), "HYPERLINK")
	if !ok {
		return before
	}
	anchor := ""
	if strings.Contains(rest, `\l`) {
		anchor = "#"
	}
	if parts := strings.Split(rest, `"`); len(parts) >= 2 {
		return link(anchor + parts[1])
	}
	return before
}
