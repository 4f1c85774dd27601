package office

import "strings"

// diagram is the text of a diagram (SmartArt), a paragraph each, in the order of
// its data.
func (p *parts) diagram(name string) ([]string, error) {
	root, err := p.tree(name)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, point := range root.child("ptLst").all("pt") {
		texts = append(texts, drawnText(point.child("t"))...)
	}
	return texts, nil
}

// drawnText are the paragraphs of a text in a drawing that have text.
func drawnText(body *element) []string {
	var texts []string
	for _, para := range body.all("p") {
		var text strings.Builder
		for _, run := range para.children() {
			switch t := run.child("t"); {
			case run.name == "br":
				text.WriteByte('\n')
			case run.name == "m":
				text.WriteString(formulaText(run))
			case t != nil:
				text.WriteString(t.text)
			}
		}
		if trimmed := strings.TrimSpace(text.String()); trimmed != "" {
			texts = append(texts, trimmed)
		}
	}
	return texts
}
