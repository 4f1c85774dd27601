package export

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// A nestingCell is a cell that holds tables: its own text, and the tables.
type nestingCell struct {
	text   string
	tables []*document.Table
}

// nestingCells are the cells of a table that refer to tables below it, by the place
// where they begin. The text of such a cell repeats that of its tables.
func nestingCells(t *document.Table, find func(document.Ref) document.Parent) map[[2]int]nestingCell {
	var found map[[2]int]nestingCell
	for _, c := range t.Data.Cells {
		if c.Ref == nil {
			continue
		}
		// Only what is below the table: other references could lead in a circle.
		content := find(*c.Ref)
		if content == nil || content.Base().Parent == nil || content.Base().Parent.Ref != t.SelfRef {
			continue
		}
		var texts []string
		n := nestingCell{}
		n.gather(content, find, &texts)
		if len(n.tables) == 0 {
			continue
		}
		if found == nil {
			found = make(map[[2]int]nestingCell)
		}
		n.text = strings.Join(texts, "\n")
		found[[2]int{c.StartRow, c.StartCol}] = n
	}
	return found
}

// gather collects the tables and the texts beside them.
func (n *nestingCell) gather(node document.Parent, find func(document.Ref) document.Parent, texts *[]string) {
	switch node := node.(type) {
	case *document.Table:
		n.tables = append(n.tables, node)
		return
	case *document.Text:
		if node.Text != "" {
			*texts = append(*texts, node.Text)
		}
	}
	for _, ref := range node.Base().Children {
		n.gather(find(ref), find, texts)
	}
}
