package document

import "fmt"

// LossesName is the name of the group that Lost makes.
const LossesName = "losses"

// Lost adds a remark about something that the conversion left out: what it is and how
// much, but none of its words, because remarks are logged. Remarks are texts of one group
// in the layer of notes.
func (b *Builder) Lost(format string, args ...any) {
	if b.losses == nil {
		b.losses = b.Group(nil, Unspecified, LossesName)
		b.losses.Layer = LayerNotes
	}
	b.Paragraph(b.losses, fmt.Sprintf(format, args...))
}

// Losses returns the remarks about what the conversion of a document left out.
func (d *Document) Losses() []string {
	var out []string
	find := d.Lookup()
	for _, g := range d.Groups {
		if g.Name != LossesName || g.Layer != LayerNotes {
			continue
		}
		for _, ref := range g.Children {
			if t, ok := find(ref).(*Text); ok {
				out = append(out, t.Text)
			}
		}
	}
	return out
}
