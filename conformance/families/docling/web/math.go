package web

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// math adds a formula: to the text around it, or as a block if it asks for one.
func (w *walker) math(n *html.Node, s style) {
	if attr(n, "display") != "block" {
		w.formula(n, s)
		return
	}
	w.flush()
	w.formula(n, s)
	w.flush()
}

func (w *walker) formula(n *html.Node, s style) {
	if text := formula(n); text != "" {
		w.runs = append(w.runs, document.Run{Text: text, Hyperlink: s.link, Label: document.Formula})
	}
}

// formula is the source of a formula where the page has it, else its symbols.
func formula(n *html.Node) string {
	source := attr(n, "alttext")
	var symbols strings.Builder
	var gather func(*html.Node)
	gather = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type == html.TextNode:
				symbols.WriteString(c.Data)
			case c.Type != html.ElementNode || c.DataAtom == atom.AnnotationXml || hiddenSymbol(c):
			case c.DataAtom == atom.Annotation:
				if text := c.FirstChild; text != nil && text.Type == html.TextNode && attr(c, "encoding") == "application/x-tex" {
					source = text.Data
				}
			default:
				gather(c)
			}
		}
	}
	gather(n)
	if folded := strings.Join(strings.Fields(source), " "); folded != "" {
		return folded
	}
	return strings.Join(strings.Fields(symbols.String()), " ")
}

// hiddenSymbol says that an element below a formula is not shown: a page may put
// scripts there too.
func hiddenSymbol(n *html.Node) bool { return n.Namespace == "" && hidden(n) }
