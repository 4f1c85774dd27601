package artifact

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// beginning is how an item begins with an id, perhaps after "3.", "Story 1:" or
	// "**Story ID:**".
	beginning = regexp.MustCompile(`^(?:\[[ xX]\][ \t]+)?` +
		`(?:\d+(?:\.\d+)*[.)]?[ \t]+)?((?:[*_]*(?:[A-Za-z-]+[ \t]+){0,3}(?i:story|task|prd|spec|specification|id)(?:[ \t]*#?\d+)?[*_]*[ \t]*[:.–—-]?[*_]*[ \t]*)?)` +
		"([*_`~\\[(\"]*)([A-Z]+-[A-Z]{3})([*_`~\\])\"]*)([ \\t]*)(.*)$")
	// kindOnly is a beginning with no more than the kind of the item: the sentence
	// "Depends on story US-AAB" has more.
	kindOnly = regexp.MustCompile(`^(?i:[*_]*(?:(?:high-level[ \t]+)?user[ \t]+|backlog[ \t]+|tech(?:nical)?[ \t]+)?[a-z]+(?:[ \t]*#?\d+)?[*_]*[ \t]*)?$|[:.–—-][*_]*[ \t]*$`)
	// separator is what parts an id from what its item says.
	separator = regexp.MustCompile(`^(?:[:–—(|]|-[ \t]|$)`)
	idForm    = regexp.MustCompile(`^[A-Z]+-[A-Z]{3}$`)
	// Heads of the column of a table that has the ids, the surest first.
	idHeads = []*regexp.Regexp{
		regexp.MustCompile(`\b(?:ids?|key|kennung|identifiant)\b|编号`),
		regexp.MustCompile(`\b(?:story|stories|tasks?|specs?|specifications?|prds?|hls|us|sub-?artifacts?|items?|placeholders?|aufgaben?)\b|任务`),
	}
)

const cellMarkup = " \t*_`~[]()\""

// A clarity is how sure it is that an item is about the id that it begins with.
// What is surer counts alone: "- US-AAB: Refund" is an item, and "- US-AAB comes
// first" is then a remark about it.
type clarity int

const (
	noItem     clarity = iota
	nestedItem         // within another item, or below a heading that groups items
	plainItem          // US-AAB Refund
	markedItem         // US-AAB: Refund, **US-AAB** Refund, a row of a table
)

// A definition is what the items say that begin with an id.
type definition struct {
	clarity clarity
	// said is what the first item says, by kind: a list item, a heading, or a row
	// of tables with the same head. A list may say the titles, a table more.
	said map[string]saying
	// clash has the lines of two items that mean different things.
	clash []int
}

type saying struct {
	text string
	line int
}

func (d *definition) several() bool { return len(d.clash) > 0 }

// breakdown reads the sections that break a document down.
//
// An item of them defines the id that it begins with: a heading, an item of a list,
// or a row of a table, in the column whose head names ids. It is below a heading of
// the breakdown or one that groups its items (Payments). Below a heading of
// something else (Constraints), or that is an item itself, nothing is defined.
type breakdown struct {
	defined map[string]*definition
	// holds are the ids of the documented shape in these sections, and those that an
	// item of another section begins with; names are the prefixes of the ids in these
	// sections, final ones too.
	holds, names map[string]bool

	level   int // of the heading we are below; 0 is none
	aside   int // the level of a heading below it that is not about items; 0 is none
	grouped int // the level of a heading below it that groups items; 0 is none
	list    int // how far the items of the list are indented; -1 is no list
	lists   int // how many lists there were
	// row is the line before, if it is one of a table; head is that of the table we
	// are in, and column the one of the ids, or -1.
	row, head string
	column    int
}

// readBreakdown reads the sections of a document that break it down.
func readBreakdown(text string) *breakdown {
	b := &breakdown{
		defined: make(map[string]*definition), holds: make(map[string]bool), names: make(map[string]bool), list: -1, column: -1,
	}
	numbers := counter{text: text}
	for at, l := range withoutBlocks(text) {
		found := b.item(l)
		if found.id != "" {
			b.define(found, numbers.line(at))
		}
		if b.level > 0 {
			b.mention(l)
		} else if id := opening(l); isPlaceholder(id) {
			b.holds[id] = true
		}
	}
	return b
}

// opening returns the id that an item of any section begins with, or that is a
// cell of a table.
func opening(l string) string {
	if !hasIDForm(l) {
		return ""
	}
	if level, name := parseHeading(l); level > 0 {
		return begins(name).id
	}
	if row := strings.TrimLeft(l, " \t"); strings.HasPrefix(row, "|") {
		for cell := range strings.SplitSeq(row, "|") {
			if cell = strings.Trim(cell, cellMarkup); idForm.MatchString(cell) {
				return cell
			}
		}
	}
	_, text := listItem(l)
	return begins(text).id
}

// has reports whether an id is one of the breakdown.
func (b *breakdown) has(id string) bool { return b.defined[id] != nil || b.holds[id] }

// remains reports whether a word of the documented shape is no placeholder: the
// breakdown has ids of its type, and this is none of them.
func (b *breakdown) remains(id string) bool {
	prefix, _, _ := strings.Cut(id, "-")
	return b.names[prefix] && !b.has(id)
}

// mention notes the ids on a line of the breakdown, but for those in code.
func (b *breakdown) mention(l string) {
	spans := codeSpans{line: l}
	for at, id := range references(l) {
		switch prefix, _, _ := strings.Cut(id, "-"); {
		case spans.have(at):
		case isPlaceholder(id):
			b.holds[id], b.names[prefix] = true, true
		case idPattern.MatchString(id):
			b.names[prefix] = true
		}
	}
}

// An item begins with an id; kind is a list, a heading, or the head of a table.
type item struct {
	kind, id, says string
	clarity        clarity
}

func (b *breakdown) define(found item, line int) {
	d := b.defined[found.id]
	if d == nil || d.clarity < found.clarity {
		d = &definition{clarity: found.clarity, said: make(map[string]saying)}
		b.defined[found.id] = d
		prefix, _, _ := strings.Cut(found.id, "-")
		b.names[prefix] = true
	}
	if d.clarity > found.clarity {
		return
	}
	kind := found.kind
	if strings.HasSuffix(found.id, anyNumber) {
		kind = anyNumber // each is meant to be another one
	}
	says := strings.Trim(found.says, cellMarkup+":–—-|")
	first, known := d.said[kind]
	switch {
	case !known || first.text == "" && kind != anyNumber:
		d.said[kind] = saying{says, line}
	case d.clash == nil && (kind == anyNumber || says != "" && says != first.text):
		d.clash = []int{first.line, line}
	}
}

// item returns the item that a line is, without an id if it defines none.
func (b *breakdown) item(l string) item {
	if level, name := parseHeading(l); level > 0 {
		b.row, b.head, b.column, b.list = "", "", -1, -1
		b.lists++
		return b.heading(level, name)
	}
	if b.level == 0 || b.aside > 0 {
		return item{}
	}
	if rest := strings.TrimLeft(l, " \t"); strings.HasPrefix(rest, "|") {
		return b.cell(rest)
	}
	b.row, b.head, b.column = "", "", -1
	indent, text := listItem(l)
	if text == "" {
		if indent == 0 {
			b.lists++ // a paragraph parts two lists
		}
		return item{}
	}
	if b.list < 0 || indent < b.list {
		b.list = indent
	}
	found := begins(text)
	found.kind = "list"
	switch {
	case indent >= b.list+2 || b.grouped > 0 && found.clarity == plainItem:
		found.clarity = min(found.clarity, nestedItem)
	case found.clarity == plainItem: // another list may be about the same items
		found.kind = fmt.Sprintf("list %d", b.lists)
	}
	return found
}

// heading enters and leaves sections, and returns the item that a heading is.
func (b *breakdown) heading(level int, name string) (found item) {
	if level <= b.level {
		b.level, b.aside, b.grouped = 0, 0, 0
	}
	if level <= b.aside {
		b.aside = 0
	}
	if level <= b.grouped {
		b.grouped = 0
	}
	about := isBreakdown(name)
	switch {
	case b.level == 0:
		if about {
			b.level = level
		}
		return item{}
	case b.aside > 0 && !about:
		return item{}
	case b.aside == 0:
		found = begins(name)
		found.kind = "heading"
	}
	switch {
	case found.id != "":
		b.aside = level
	case about:
		b.aside = 0
	case b.level == 1 || isAside(name): // a title is about the whole document
		b.aside = level
	case b.grouped == 0:
		b.grouped = level
	}
	return found
}

// cell returns the item that a row of a table is.
func (b *breakdown) cell(l string) item {
	before := b.row
	b.row = l
	if strings.Trim(l, "|-: \t") == "" && strings.Contains(l, "-") {
		if before != "" {
			b.head, b.column = before, idColumn(before)
		}
		return item{}
	}
	if b.column < 0 || !hasIDForm(l) {
		return item{}
	}
	cells := strings.SplitN(l, "|", b.column+2)
	if len(cells) <= b.column {
		return item{}
	}
	found := item{kind: b.head, id: strings.Trim(cells[b.column], cellMarkup), clarity: markedItem}
	if !idForm.MatchString(found.id) {
		return item{}
	}
	if len(cells) > b.column+1 {
		found.says = cells[b.column+1]
	}
	return found
}

// idColumn returns the column of the ids by the head of a table, or -1.
func idColumn(head string) int {
	for _, re := range idHeads {
		for i, cell := range strings.Split(head, "|") {
			if re.MatchString(normalHeading(cell)) {
				return i
			}
		}
	}
	return -1
}

// hasIDForm reports whether a line has a word that could be defined.
func hasIDForm(l string) (found bool) {
	eachPlaceholder(l, func(int, int) { found = true })
	return found
}

// begins returns the id that an item begins with, and the text after it. The item is
// marked if a colon, a dash, a parenthesis or nothing follows the id, or if the id is
// emphasised. It is plain if a blank follows, unless the id is in code.
func begins(text string) item {
	if !hasIDForm(text) {
		return item{}
	}
	m := beginning.FindStringSubmatch(text)
	if m == nil {
		return item{}
	}
	before, opened, id, closed, blank, rest := m[1], m[2], m[3], m[4], m[5], m[6]
	switch {
	case separator.MatchString(rest), blank != "" && strings.ContainsAny(opened, "*_") && strings.ContainsAny(closed, "*_"):
		return item{id: id, says: rest, clarity: markedItem}
	case blank != "" && !strings.Contains(opened, "`") && kindOnly.MatchString(before):
		return item{id: id, says: rest, clarity: plainItem}
	}
	return item{}
}

// listItem returns how far an item of a list is indented, and its text; the text
// of any other line is empty.
func listItem(l string) (indent int, text string) {
	rest := strings.TrimLeft(l, " \t")
	indent = indentation(l)
	mark := strings.TrimLeft(rest, "0123456789")
	switch digits := len(rest) - len(mark); {
	case mark == "":
		return indent, ""
	case digits == 0 && strings.IndexByte("-*+", mark[0]) >= 0, digits > 0 && digits < 10 && (mark[0] == '.' || mark[0] == ')'):
		if text = strings.TrimLeft(mark[1:], " \t"); len(text) == len(mark)-1 {
			return indent, ""
		}
	}
	return indent, text
}

// indentation is the width of what a line begins with; a tab counts as four.
func indentation(l string) (width int) {
	for i := range len(l) {
		switch l[i] {
		case ' ':
			width++
		case '\t':
			width += 4
		default:
			return width
		}
	}
	return width
}
