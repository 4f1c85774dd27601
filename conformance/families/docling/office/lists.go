package office

import (
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// listItem says how a paragraph stands in a list.
type listItem struct {
	list       string // items of one list have one name
	level      int
	enumerated bool
	marker     string
}

// lists nests consecutive list items by their level.
type lists struct {
	*document.Builder
	open []openList
}

type openList struct {
	name  string
	level int
	group *document.Group
	last  *document.Text
}

// end closes all lists: something else comes.
func (l *lists) end() { l.open = nil }

// item adds an item: to the list it belongs to, or to a new one below the item
// before.
func (l *lists) item(parent document.Parent, item listItem, runs []document.Run) {
	for len(l.open) > 0 {
		top := l.open[len(l.open)-1]
		if top.level < item.level || top.level == item.level && top.name == item.list {
			break
		}
		l.open = l.open[:len(l.open)-1]
	}
	if n := len(l.open); n == 0 || l.open[n-1].level < item.level {
		if n > 0 {
			parent = l.open[n-1].last
		}
		l.open = append(l.open, openList{item.list, item.level, l.List(parent), nil})
	}
	top := &l.open[len(l.open)-1]
	top.last = l.ListItem(top.group, "", item.enumerated, item.marker)
	l.Fill(top.last, runs)
}
