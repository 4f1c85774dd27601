package web

import (
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// losses are the elements that a page shows and that are not read.
var losses = map[atom.Atom]document.Loss{
	atom.Iframe: document.LostFrames, atom.Video: document.LostMedia, atom.Audio: document.LostMedia,
	atom.Object: document.LostObjects, atom.Embed: document.LostObjects, atom.Canvas: document.LostDrawings,
}

// drop notes an element that is passed over, if there was something to see. Of
// drawings in the page only those with text count: most are icons.
func (w *walker) drop(n *html.Node) {
	what, lost := losses[n.DataAtom]
	if n.Namespace == "svg" {
		drawn := find(n, func(d *html.Node) bool { return d.Data == "text" })
		what, lost = document.LostDrawings, drawn != nil && plain(drawn) != ""
	}
	if lost && !unseen(n) {
		w.b.Drop(what, 1)
	}
}
