package office

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// A placed table is where on its sheet a table stands.
type placed struct {
	block
	item *document.Item
}

// readComments adds the comments of a sheet. Of a thread, the older list of
// comments holds a copy, which is left out.
func (x *xlsx) readComments(sheet string, rels map[string]relation, tables []placed) error {
	root, err := x.tree(related(rels, "comments"))
	if err != nil {
		return err
	}
	threads, err := x.tree(related(rels, "threadedComment"))
	if err != nil {
		return err
	}
	authors := root.child("authors").all("author")
	for _, e := range root.child("commentList").all("comment") {
		author := ""
		if i := number(e.attr("authorId"), -1); 0 <= i && i < len(authors) {
			author = authors[i].text
		}
		if threads == nil || !strings.HasPrefix(author, "tc=") {
			x.commentAt(sheet, e, tables, remark{author: author, text: richText(e.child("text"))})
		}
	}
	for _, e := range threads.all("threadedComment") {
		text := ""
		if said := e.child("text"); said != nil {
			text = said.text
		}
		x.commentAt(sheet, e, tables, remark{author: x.people[e.attr("personId")], time: e.attr("dT"), text: text})
	}
	return nil
}

// commentAt adds a comment on the cell that e names.
func (x *xlsx) commentAt(sheet string, e *element, tables []placed, r remark) {
	r.name, r.text = "comment-"+sheet+"-"+e.attr("ref"), strings.TrimSpace(r.text)
	var about []*document.Item
	if at, ok := cellOf(e.attr("ref")); ok {
		for _, t := range tables {
			if t.from.row <= at.row && at.row < t.to.row && t.from.col <= at.col && at.col < t.to.col {
				about = append(about, t.item)
			}
		}
	}
	comment(x.Builder, r, about)
}

// persons are the names of those who wrote threads, by their ids.
func (p *parts) persons(name string) (map[string]string, error) {
	root, err := p.tree(name)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, e := range root.all("person") {
		names[e.attr("id")] = e.attr("displayName")
	}
	return names, nil
}
