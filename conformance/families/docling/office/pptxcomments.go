package office

import (
	"fmt"
	"strings"
)

// authors are those of comments by their ids, of both forms of comments.
func (p *parts) authors(rels map[string]relation) (map[string]remark, error) {
	found := map[string]remark{}
	for _, kind := range []string{"commentAuthors", "authors"} {
		root, err := p.tree(related(rels, kind))
		if err != nil {
			return nil, err
		}
		for _, e := range root.children() {
			found[e.attr("id")] = remark{author: e.attr("name"), initials: e.attr("initials")}
		}
	}
	return found, nil
}

// comments adds the comments of a slide, with the replies to them.
func (x *pptx) comments(name string) error {
	root, err := x.tree(name)
	if err != nil {
		return err
	}
	no := 0
	var add func(e *element)
	add = func(e *element) {
		no++
		r := x.authors[e.attr("authorId")]
		r.name, r.time = fmt.Sprintf("comment-slide%d-%d", x.slide.no, no), e.attr("dt")+e.attr("created")
		if text := e.child("text"); text != nil {
			r.text = strings.TrimSpace(text.text)
		} else {
			r.text = strings.Join(drawnText(e.child("txBody")), "\n")
		}
		comment(x.Builder, r, nil)
		for _, reply := range e.child("replyLst").all("reply") {
			add(reply)
		}
	}
	for _, e := range root.all("cm") {
		add(e)
	}
	return nil
}
