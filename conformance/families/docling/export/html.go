package export

import (
	"html"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// HTML exports the body as a page. Text is escaped, links that could run code
// are left out.
func HTML(d *document.Document, o Options) (string, error) {
	if err := document.CheckStructure(d); err != nil {
		return "", err
	}
	p := &page{Options: o, find: d.Lookup()}
	p.put("<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"UTF-8\">\n<title>", plain(oneLine(d.Name)), "</title>\n</head>\n<body>\n<div class='page'>\n")
	for _, root := range o.roots(d) {
		p.children(root, nil)
	}
	p.put("</div>\n</body>\n</html>\n")
	if p.full() {
		return "", tooLong()
	}
	return p.out.String(), nil
}

type page struct {
	Options
	find func(document.Ref) document.Parent
	out  strings.Builder
}

// put stops writing when there is too much; HTML then fails.
func (p *page) put(parts ...string) {
	for _, part := range parts {
		if !p.full() {
			p.out.WriteString(part)
		}
	}
}

func (p *page) full() bool { return p.out.Len() > MaxBytes }

func (p *page) children(node document.Parent, except map[document.Ref]bool) {
	for _, ref := range node.Base().Children {
		if !except[ref] && !p.full() {
			p.node(p.find(ref))
		}
	}
}

func (p *page) node(node document.Parent) {
	shown := p.shows(node.Base().Layer)
	switch n := node.(type) {
	case *document.Group:
		p.group(n, shown)
	case *document.Text:
		p.text(n, shown)
	case *document.Table:
		if shown {
			p.table(n)
		}
	case *document.Picture:
		if shown {
			p.put("<figure>")
			p.captions("figcaption", n.Captions)
			if uri := p.embedded(n.Image); uri != "" {
				p.put(`<img src="`, uri, `" alt="">`)
			}
			p.put("</figure>\n")
		}
	case *document.Region:
		p.children(n, nil)
	}
}

func (p *page) group(g *document.Group, shown bool) {
	switch {
	case g.Label == document.Inline && shown:
		p.put("<p>", p.inline(g), "</p>\n")
	case (g.Label == document.List || g.Label == document.OrderedList) && shown && len(g.Children) > 0:
		tag := "ul"
		if first, ok := p.find(g.Children[0]).(*document.Text); ok && first.Enumerated {
			tag = "ol"
		}
		p.put("<", tag, ">\n")
		p.items(g)
		p.put("</", tag, ">\n")
	default:
		p.children(g, nil)
	}
}

// items writes the children of a list; what is no item gets one around it.
func (p *page) items(g *document.Group) {
	expected := 1
	for _, ref := range g.Children {
		node := p.find(ref)
		t, ok := node.(*document.Text)
		if !ok || t.Label != document.ListItem {
			p.put("<li>")
			p.node(node)
			p.put("</li>\n")
			continue
		}
		if !p.shows(t.Layer) {
			continue
		}
		p.put("<li", itemAttribute(t, &expected), ">", p.content(t))
		p.below(t)
		p.put("</li>\n")
	}
}

func (p *page) below(t *document.Text) { p.children(t, ownText(t, p.find)) }

func (p *page) text(t *document.Text, shown bool) {
	switch {
	case !shown:
	case t.Label == document.TitleLabel:
		p.heading("h1", t)
	case t.Label == document.SectionHeader || t.Label == document.FieldHeading:
		p.heading("h"+itoa(min(max(t.Level, 1)+1, 6)), t)
	case t.Label == document.ListItem:
		p.put("<ul>\n<li>", p.content(t), "</li>\n</ul>\n")
	case t.Label == document.Code:
		p.put("<pre><code>", html.EscapeString(t.Text), "</code></pre>\n")
	case t.Label == document.Formula:
		p.put(`<div class="formula">`, plain(t.Text), "</div>\n")
	case t.Label == document.CheckboxSelected:
		p.put(`<p><input type="checkbox" checked disabled> `, p.content(t), "</p>\n")
	case t.Label == document.CheckboxUnselected:
		p.put(`<p><input type="checkbox" disabled> `, p.content(t), "</p>\n")
	default:
		if text := p.content(t); text != "" {
			p.put("<p>", text, "</p>\n")
		}
	}
	p.below(t)
}

func (p *page) heading(tag string, t *document.Text) {
	p.put("<", tag, ">", p.content(t), "</", tag, ">\n")
}

func (p *page) captions(tag string, refs []document.Ref) {
	for _, ref := range refs {
		if t, ok := p.find(ref).(*document.Text); ok && p.shows(t.Layer) {
			p.put("<", tag, `><div class="caption">`, p.content(t), "</div></", tag, ">")
			return // HTML takes one
		}
	}
}

// table writes each cell once, with its spans (S2-EXP-03). Every row is
// written, also one that cells from above fill.
func (p *page) table(t *document.Table) {
	p.put("<table>")
	p.captions("caption", t.Captions)
	p.put("<tbody>")
	nesting := nestingCells(t, p.find)
	for row, cells := range t.Data.Grid() {
		p.put("<tr>")
		for col, c := range cells {
			if c.StartRow != row || c.StartCol != col {
				continue
			}
			tag := "td"
			if c.ColumnHeader || c.RowHeader {
				tag = "th"
			}
			p.put("<", tag, span("rowspan", c.EndRow-c.StartRow), span("colspan", c.EndCol-c.StartCol), ">")
			if n, ok := nesting[[2]int{row, col}]; ok {
				p.put(plain(n.text), "\n")
				for _, inner := range n.tables {
					p.table(inner)
				}
			} else {
				p.put(plain(c.Text))
			}
			p.put("</", tag, ">")
		}
		p.put("</tr>")
	}
	p.put("</tbody></table>\n")
}

func span(name string, n int) string {
	if n <= 1 {
		return ""
	}
	return " " + name + `="` + itoa(n) + `"`
}
