package corpus

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// Text is the text of a converted document: its text items and its table cells, each on
// a line. The package documentation says which layers count.
func Text(format string, d *document.Document) string {
	var out strings.Builder
	for _, t := range d.Texts {
		if !counts(format, t.Layer) {
			continue
		}
		if format == "pdf" && t.Marker != "" { // it stands on the page; office programs count
			out.WriteString(t.Marker + " ")
		}
		out.WriteString(t.Text + "\n")
	}
	for _, t := range d.Tables {
		if !counts(format, t.Layer) {
			continue
		}
		for _, cell := range t.Data.Cells {
			if cell.Ref == nil { // else its texts are items of their own
				out.WriteString(cell.Text + "\n")
			}
		}
	}
	return out.String()
}

func counts(format string, layer document.Layer) bool {
	switch format {
	case "pdf":
		return layer != document.LayerNotes
	case "docx":
		return layer != document.LayerFurniture
	default:
		return true
	}
}

// Ordered is the text of a converted document in reading order, with its tables in their
// places.
func Ordered(format string, d *document.Document) string {
	var out strings.Builder
	find := d.Lookup()
	var walk func(refs []document.Ref)
	walk = func(refs []document.Ref) {
		for _, ref := range refs {
			n := find(ref)
			if n == nil || !counts(format, n.Base().Layer) {
				continue
			}
			switch n := n.(type) {
			case *document.Text:
				if format == "pdf" && n.Marker != "" {
					out.WriteString(n.Marker + " ")
				}
				out.WriteString(n.Text + "\n")
			case *document.Table:
				for _, cell := range n.Data.Cells {
					if cell.Ref == nil {
						out.WriteString(cell.Text + "\n")
					}
				}
			}
			walk(n.Base().Children)
		}
	}
	walk(d.Body.Children)
	return out.String()
}
