package office

import (
	"encoding/json"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// A remark is a comment of a reader, with who made it and when.
type remark struct {
	name             string // that its group begins with
	author, initials string
	time             string
	text             string
}

// comment adds a remark as a group in the layer of notes. The name of the group
// says who made it and when, its text is what was said. The items that it is
// about refer to the group.
func comment(b *document.Builder, r remark, about []*document.Item) {
	if r.text == "" {
		return
	}
	name := r.name
	if r.author != "" {
		name += ", " + r.author
		if r.initials != "" {
			name += " (" + r.initials + ")"
		}
	}
	if r.time != "" {
		name += ", " + when(r.time)
	}
	g := b.Group(nil, document.CommentSection, name)
	g.Layer = document.LayerNotes
	b.Paragraph(g, r.text)
	ref, err := json.Marshal(g.Ref())
	for _, item := range about {
		if err == nil {
			item.Comments = append(item.Comments, ref)
		}
	}
}

// when is a time in milliseconds; what is no time stays what it is.
func when(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		if at, err = time.Parse("2006-01-02T15:04:05.999999999", text); err != nil {
			return text
		}
		return at.Format("2006-01-02T15:04:05.000")
	}
	return at.Format("2006-01-02T15:04:05.000-07:00")
}
