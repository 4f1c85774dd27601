// Package web gets documents from the web: it fetches them past a guard and
// makes DoclingDocuments of HTML pages (tools.md §4.7).
package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// ErrEmpty says that a page has nothing to read.
var ErrEmpty = errors.New("the page has no content")

// Options are what a caller may choose about a page.
type Options struct {
	// Filename and URL say where the page is from; links are resolved against URL.
	Filename, URL string
	// ContentType is the header of that name, for its charset.
	ContentType string
	// MainContentOnly leaves out navigation, headers, footers and asides.
	MainContentOnly bool
	// KeepFront keeps in the body what stands before the first heading, which
	// goes to the furniture else.
	KeepFront bool
	// EmbedImages keeps the data of images that are in the page itself.
	EmbedImages bool
}

// Convert makes a document of an HTML page.
func Convert(data []byte, opts Options) (*document.Document, error) {
	if len(data) == 0 {
		return nil, ErrEmpty
	}
	text, err := charset.NewReader(bytes.NewReader(data), opts.ContentType)
	if err != nil {
		return nil, err
	}
	root, err := html.Parse(text)
	if err != nil { // elements nested too deep: all else is mended
		return nil, fmt.Errorf("%w: %v", document.ErrTooLarge, err)
	}
	origin := document.NewOrigin("text/html", opts.Filename, data)
	origin.URI = opts.URL
	b := document.NewBuilder(document.Stem(opts.Filename), origin)
	w := &walker{b: b, opts: opts, base: base(root, opts.URL), minor: map[*document.Text]bool{}}
	body := find(root, func(n *html.Node) bool { return n.DataAtom == atom.Body })
	if body == nil { // a frameset
		return nil, ErrEmpty
	}
	if opts.MainContentOnly {
		if main := mainContent(body); main != nil {
			body = main
		}
	}
	if title := find(root, func(n *html.Node) bool { return n.DataAtom == atom.Title && n.Namespace == "" }); title != nil {
		if s := plain(title); s != "" {
			b.Title(nil, s).Layer = document.LayerFurniture
		}
	}
	w.children(body, style{})
	w.flush()
	if b.Empty() {
		return nil, ErrEmpty
	}
	b.DropPictures()
	doc, err := b.Document()
	if err == nil && !opts.KeepFront {
		moveFront(doc, w.minor)
	}
	return doc, err
}

// find is the first node, in document order, that is what is wanted.
func find(n *html.Node, wanted func(*html.Node) bool) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && wanted(d) {
			return d
		}
	}
	return nil
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return true
		}
	}
	return false
}

// base is what links of the page are relative to, or nil.
func base(root *html.Node, pageURL string) *url.URL {
	page, err := url.Parse(pageURL)
	if err != nil || pageURL == "" {
		page = nil
	}
	if n := find(root, func(n *html.Node) bool { return n.DataAtom == atom.Base && has(n, "href") }); n != nil {
		if u, err := url.Parse(strings.TrimSpace(attr(n, "href"))); err == nil {
			if page != nil {
				return page.ResolveReference(u)
			}
			if u.IsAbs() {
				return u
			}
		}
	}
	return page
}

// mainContent is the part of the page that says itself that it is the main one.
func mainContent(body *html.Node) *html.Node {
	if n := find(body, func(n *html.Node) bool { return n.DataAtom == atom.Main || attr(n, "role") == "main" }); n != nil {
		return n
	}
	return find(body, func(n *html.Node) bool { return n.DataAtom == atom.Article })
}

// headingLevel is 1 to 6 for h1 to h6, else 0.
func headingLevel(n *html.Node) int {
	switch n.DataAtom {
	case atom.H1:
		return 1
	case atom.H2:
		return 2
	case atom.H3:
		return 3
	case atom.H4:
		return 4
	case atom.H5:
		return 5
	case atom.H6:
		return 6
	default:
		return 0
	}
}

// hidden says that a browser would not show the element as text.
func hidden(n *html.Node) bool {
	if n.Namespace != "" { // drawings are not text
		return n.DataAtom != atom.Math
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Head, atom.Title,
		atom.Link, atom.Meta, atom.Base, atom.Canvas, atom.Audio, atom.Video, atom.Select, atom.Textarea, atom.Datalist, atom.Dialog:
		return true
	case atom.Button:
		return !isLabel(n)
	default:
	}
	return unseen(n)
}

// unseen reports whether a page does not show an element.
func unseen(n *html.Node) bool {
	look := strings.ToLower(strings.Join(strings.Fields(attr(n, "style")), ""))
	return has(n, "hidden") || attr(n, "aria-hidden") == "true" ||
		strings.Contains(look, "display:none") || strings.Contains(look, "visibility:hidden")
}

// isLabel says whether a button is how a heading folds or a column is sorted: its
// text is theirs.
func isLabel(button *html.Node) bool {
	for n := range button.Ancestors() {
		switch n.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Th, atom.Dt, atom.Summary:
			return true
		default:
		}
	}
	return false
}

// aside says that an element is not the main content of a page.
func aside(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Header, atom.Footer, atom.Aside:
		return true
	default:
	}
	switch attr(n, "role") {
	case "navigation", "banner", "contentinfo", "complementary", "search":
		return true
	}
	return false
}

// plain is the text below n, in one line.
func plain(n *html.Node) string {
	var text strings.Builder
	var gather func(*html.Node)
	gather = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type == html.TextNode:
				text.WriteString(c.Data)
			case c.Type != html.ElementNode || hidden(c):
			case c.DataAtom == atom.Img:
				text.WriteString(attr(c, "alt"))
			case c.DataAtom == atom.Math:
				text.WriteString(formula(c))
			default:
				if isBlock(c) {
					text.WriteByte(' ')
				}
				gather(c)
				if isBlock(c) {
					text.WriteByte(' ')
				}
			}
		}
	}
	gather(n)
	return strings.Join(strings.Fields(text.String()), " ")
}

func isBlock(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Br, atom.Center, atom.Dd, atom.Details, atom.Div, atom.Dl,
		atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5,
		atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.Legend, atom.Li, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.P, atom.Pre,
		atom.Section, atom.Summary, atom.Table, atom.Td, atom.Th, atom.Tr, atom.Ul, atom.Caption, atom.Tbody, atom.Thead, atom.Tfoot:
		return true
	default:
		return false
	}
}
