package export

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// Markdown exports the body as GitHub's Markdown.
func Markdown(d *document.Document, o Options) (string, error) {
	if err := document.CheckStructure(d); err != nil {
		return "", err
	}
	m := &markdown{Options: o, find: d.Lookup(), step: o.indent(4), numbered: map[document.Ref]int{}}
	for _, root := range o.roots(d) {
		m.children(root, nil)
	}
	m.dropped(d.Dropped)
	if m.full {
		return "", tooLong()
	}
	return m.out.String(), nil
}

// markdown writes blocks, each line behind the prefix of the lists it is in.
type markdown struct {
	Options
	find   func(document.Ref) document.Parent
	step   int
	out    strings.Builder
	prefix string
	mark   string          // in place of the prefix of the next line: the marker of an item without text
	list   *document.Group // the outermost list that the last block was an item of
	page   int             // of the last block
	full   bool

	numbered map[document.Ref]int // items of a list that got their number here
}

// block writes one block after a blank line; items of one list have none between.
func (m *markdown) block(text string, list *document.Group, lead string) {
	if m.full || text == "" && lead == "" {
		return
	}
	if m.out.Len() > 0 {
		m.out.WriteString("\n")
		if list == nil || list != m.list {
			m.out.WriteString("\n")
		}
	}
	m.list = list
	begin, rest := m.prefix, m.prefix+strings.Repeat(" ", len(lead))
	if m.mark != "" {
		begin, m.mark = m.mark, ""
	}
	first := true
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case first:
			m.out.WriteString(begin + lead + line)
		case line == "":
			m.out.WriteString("\n")
		default:
			m.out.WriteString("\n" + rest + line)
		}
		first = false
		if m.out.Len() > MaxBytes {
			m.full = true
			return
		}
	}
}

// turn writes the page break when prov is on another page than the last block.
func (m *markdown) turn(prov []document.Prov) {
	if len(prov) == 0 {
		return
	}
	if m.PageBreak != "" && m.page != 0 && m.page != prov[0].PageNo {
		m.block(m.PageBreak, nil, "")
	}
	m.page = prov[0].PageNo
}

// children walks what is below node. list is the outermost list it stands in.
func (m *markdown) children(node document.Parent, list *document.Group) {
	for _, ref := range node.Base().Children {
		if m.full {
			return
		}
		m.node(m.find(ref), list)
	}
}

func (m *markdown) node(node document.Parent, list *document.Group) {
	shown := m.shows(node.Base().Layer)
	switch n := node.(type) {
	case *document.Group:
		if n.Label == document.Inline && shown {
			m.block(blockText(m.inline(n)), nil, "")
			return
		}
		if list == nil && (n.Label == document.List || n.Label == document.OrderedList) {
			list = n
		}
		m.children(n, list)
	case *document.Text:
		m.text(n, list, shown)
	case *document.Table:
		if shown {
			m.turn(n.Prov)
			m.table(n)
		}
	case *document.Picture:
		if shown {
			m.turn(n.Prov)
			m.captions(n.Captions)
			m.block(m.image(n.Image), nil, "")
		}
	case *document.Region:
		if shown {
			m.turn(n.Prov)
			m.block(placeholders[n.Label], nil, "")
		}
		m.children(n, list)
	}
}

// table writes a table, and below it those in its cells: Markdown has no tables
// within tables.
func (m *markdown) table(t *document.Table) {
	m.captions(t.Captions)
	grid := t.Data.Grid()
	nesting := nestingCells(t, m.find)
	for _, row := range grid {
		for i, c := range row {
			if n, ok := nesting[[2]int{c.StartRow, c.StartCol}]; ok {
				row[i].Text = n.text
			}
		}
	}
	m.block(pipeTable(grid), nil, "")
	for _, c := range t.Data.Cells { // in their order
		for _, inner := range nesting[[2]int{c.StartRow, c.StartCol}].tables {
			if !m.full {
				m.table(inner)
			}
		}
	}
}

// placeholders stand for what Markdown has no words for.
var placeholders = map[document.Label]string{
	"key_value_region": "<!-- missing-key-value-item -->",
	"form":             "<!-- missing-form-item -->",
}

func (m *markdown) image(image *document.Image) string {
	if uri := m.embedded(image); uri != "" {
		return "![Image](" + uri + ")"
	}
	return "<!-- image -->"
}

func (m *markdown) captions(refs []document.Ref) {
	for _, ref := range refs {
		if t, ok := m.find(ref).(*document.Text); ok && m.shows(t.Layer) && !m.full {
			m.block(blockText(m.content(t)), nil, "")
		}
	}
}

func (m *markdown) text(t *document.Text, list *document.Group, shown bool) {
	if shown {
		m.turn(t.Prov)
	}
	switch {
	case t.Label == document.ListItem:
		m.item(t, list, shown)
		return
	case !shown:
	case t.Label == document.TitleLabel:
		m.heading(1, t)
	case t.Label == document.SectionHeader || t.Label == document.FieldHeading:
		m.heading(t.Level+1, t)
	case t.Label == document.Code:
		m.captions(t.Floating.Captions)
		m.block(fenced(t.Text), nil, "")
	case t.Label == document.Formula:
		m.block(formula(t, "$$"), nil, "")
	case t.Label == document.CheckboxSelected:
		m.block(oneLine(m.content(t)), nil, "- [x] ")
	case t.Label == document.CheckboxUnselected:
		m.block(oneLine(m.content(t)), nil, "- [ ] ")
	default:
		m.block(blockText(m.content(t)), nil, "")
	}
	m.below(t, list)
}

// below walks the children of t that are not part of its own text.
func (m *markdown) below(t *document.Text, list *document.Group) {
	skip := ownText(t, m.find)
	for _, ref := range t.Children {
		if m.full {
			return
		}
		if !skip[ref] {
			m.node(m.find(ref), list)
		}
	}
}

// heading writes as many hashes as the level says; Markdown reads up to six.
func (m *markdown) heading(level int, t *document.Text) {
	text := oneLine(m.content(t))
	if strings.HasSuffix(text, "#") {
		text = text[:len(text)-1] + `\#` // else it closes the heading
	}
	m.block(text, nil, strings.Repeat("#", min(max(level, 1), 6))+" ")
}

// item writes a list item, and what is below it indented under its text.
func (m *markdown) item(t *document.Text, list *document.Group, shown bool) {
	if !shown {
		m.below(t, list)
		return
	}
	marker := m.marker(t)
	text := oneLine(m.content(t))
	if original := t.Marker; original != marker && alphanumeric.MatchString(original) {
		text = escape(original) + " " + text
	}
	if text != "" {
		m.block(blockText(text), list, marker+" ")
	}
	outer, mark := m.prefix, m.mark
	// What belongs to the item begins under its text, and less than four further:
	// beyond that Markdown sees code.
	width := len(marker) + 1
	m.prefix += strings.Repeat(" ", min(max(m.step, width), width+3))
	if text == "" { // what belongs to it begins on its line
		m.mark = cmp.Or(mark, outer) + marker + strings.Repeat(" ", len(m.prefix)-len(outer)-len(marker))
	}
	m.below(t, list)
	m.prefix = outer
	if m.mark != "" { // nothing did
		m.mark = mark
		m.block("", list, marker+" ")
	}
}

var (
	validMarker  = regexp.MustCompile(`^(?:[-*+]|\d{1,9}\.)$`)
	alphanumeric = regexp.MustCompile(`[a-zA-Z0-9]`)
)

// marker keeps one that Markdown reads; an enumerated list without markers is
// numbered by place.
func (m *markdown) marker(t *document.Text) string {
	if validMarker.MatchString(t.Marker) {
		return t.Marker
	}
	if t.Enumerated && t.Marker == "" && t.Parent != nil {
		m.numbered[*t.Parent]++
		return itoa(m.numbered[*t.Parent]) + "."
	}
	return "-"
}
