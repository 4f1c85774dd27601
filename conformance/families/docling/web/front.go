package web

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// moveFront makes furniture of what stands before the first heading, if there
// is one: it is what sites put on every page. Most of a text is not, and the
// headings in minor are none of the text's.
func moveFront(doc *document.Document, minor map[*document.Text]bool) {
	nodes := doc.Lookup()
	var headed func(document.Ref) bool
	headed = func(r document.Ref) bool {
		n := nodes(r)
		t, ok := n.(*document.Text)
		return ok && !minor[t] && t.Layer == document.LayerBody && (t.Label == document.TitleLabel || t.Label == document.SectionHeader) ||
			slices.ContainsFunc(n.Base().Children, headed)
	}
	var move func(document.Ref)
	move = func(r document.Ref) {
		n := nodes(r).Base()
		n.Layer = document.LayerFurniture
		for _, c := range n.Children {
			move(c)
		}
	}
	first := slices.IndexFunc(doc.Body.Children, headed)
	if first < 0 {
		return
	}
	front, rest := doc.Body.Children[:first], doc.Body.Children[first:]
	if n := prose(nodes, front); n > maxFront && n > prose(nodes, rest) {
		return
	}
	for _, c := range front {
		move(c)
	}
}

// maxFront is how much prose always counts as front matter.
const maxFront = 200

// prose counts the characters that are no links.
func prose(nodes func(document.Ref) document.Parent, refs []document.Ref) int {
	total := 0
	for _, r := range refs {
		n := nodes(r)
		switch n := n.(type) {
		case *document.Text:
			if n.Hyperlink == "" {
				total += utf8.RuneCountInString(n.Text)
			}
		case *document.Table:
			for _, c := range n.Data.Cells {
				total += utf8.RuneCountInString(c.Text)
			}
		}
		total += prose(nodes, n.Base().Children)
	}
	return total
}

// inAside says whether n stands in something that is not the main content.
func inAside(n *html.Node) bool {
	for outer := range n.Ancestors() {
		if outer.DataAtom != atom.Header && aside(outer) {
			return true
		}
	}
	return false
}
