package docling

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// losses are the remarks of an encoded document about what its conversion left out.
func losses(doc json.RawMessage) []string {
	if !bytes.Contains(doc, []byte(`"`+document.LossesName+`"`)) {
		return nil // of most documents the rest of this would read all
	}
	var d struct {
		Groups []struct {
			Ref   string         `json:"self_ref"`
			Name  string         `json:"name"`
			Layer document.Layer `json:"content_layer"`
		} `json:"groups"`
		Texts []struct {
			Parent document.Ref `json:"parent"`
			Text   string       `json:"text"`
		} `json:"texts"`
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil // the client gets what the converter wrote
	}
	var groups, out []string
	for _, g := range d.Groups {
		if g.Name == document.LossesName && g.Layer == document.LayerNotes {
			groups = append(groups, g.Ref)
		}
	}
	for _, t := range d.Texts {
		if slices.Contains(groups, t.Parent.Ref) {
			out = append(out, t.Text)
		}
	}
	return out
}
