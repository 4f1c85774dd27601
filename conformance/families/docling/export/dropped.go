package export

import "strings"

// dropped writes at the end what the conversion left out.
func (m *markdown) dropped(sentences []string) {
	if len(sentences) == 0 {
		return
	}
	lines := []string{"**Dropped in the conversion:**", ""}
	for _, s := range sentences {
		lines = append(lines, "- "+escape(oneLine(s)))
	}
	m.block("---", nil, "")
	m.block(strings.Join(lines, "\n"), nil, "")
}
