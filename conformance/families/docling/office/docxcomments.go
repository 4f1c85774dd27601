package office

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// remarks are the comments of a document by what they are about.
type remarks struct {
	met   []string // ids that were met since the last item
	about map[string][]*document.Item
}

// meet notes a comment that begins or is referred to here.
func (r *remarks) meet(id string) {
	for _, known := range r.met {
		if known == id {
			return
		}
	}
	if id != "" {
		r.met = append(r.met, id)
	}
}

// settle makes the comments that were met be about these items.
func (r *remarks) settle(items ...*document.Item) {
	for _, id := range r.met {
		for _, item := range items {
			if r.about == nil {
				r.about = map[string][]*document.Item{}
			}
			r.about[id] = append(r.about[id], item)
		}
	}
	if len(items) > 0 {
		r.met = nil
	}
}

// readComments adds the comments in the order of their part.
func (d *docx) readComments() error {
	root, err := d.tree(d.beside("comments"))
	if err != nil {
		return err
	}
	for _, e := range root.all("comment") {
		id := e.attr("id")
		comment(d.Builder, remark{
			name: "comment-" + id, author: e.attr("author"), initials: e.attr("initials"), time: e.attr("date"),
			text: strings.Join(d.paragraphs(e), "\n"),
		}, d.remarks.about[id])
	}
	return nil
}
