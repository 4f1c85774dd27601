package artifact

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// breakdownNames are headings of sections that say what becomes of a document,
// for people.
const breakdownNames = "Decomposition, Breakdown, User Stories, Tasks, Specifications, Zerlegung, Décomposition or 分解"

var (
	// beginning is how an item begins with an id, perhaps after "3.", "Story 1:" or
	// "**Story ID:**".
	beginning = regexp.MustCompile(`^(?:\[[ xX]\][ \t]+)?` +
		`(?:\d+(?:\.\d+)*[.)]?[ \t]+)?(?:[*_]*(?:[A-Za-z-]+[ \t]+){0,3}(?i:story|task|prd|spec|specification|id)(?:[ \t]*#?\d+)?[*_]*[ \t]*[:.–—-]?[*_]*[ \t]*)?` +
		"([*_`~\\[(\"]*)([A-Z]+-[A-Z]{3})([*_`~\\])\"]*)([ \\t]*)(.*)$")
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

// breakdownWords are the words of such headings, in lower case.
var breakdownWords = []string{
	"decomposition", "breakdown", "subartifact", "subartifacts", "stories", "tasks", "specs", "specifications", "prds",
	"zerlegung", "aufteilung", "aufgaben", "décomposition", "découpage", "tâches",
}

// isBreakdown reports whether a heading says that what follows is a breakdown.
func isBreakdown(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "sub-artifact", "subartifact")
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if slices.Contains(breakdownWords, word) {
			return true
		}
	}
	// Chinese has no blanks.
	return strings.Contains(name, "分解") || strings.Contains(name, "拆分") || strings.Contains(name, "任务")
}

// A definition is what the items say that begin with an id.
type definition struct {
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

// breakdown reads the sections that say what becomes of a document.
//
// An item of them defines the id that it begins with: a heading, an item of a list
// that is in no other, or a row of a table, in the column whose head says so. It
// stands directly below a heading of the breakdown. Below a heading that says
// something else (Constraints), or that is an item itself, nothing is defined.
type breakdown struct {
	defined map[string]*definition
	level   int // of the heading we are below; 0 is none
	aside   int // the level of a heading below it that is not about items; 0 is none
	list    int // how far the items of the list are indented; -1 is no list
	// row is the line before, if it is one of a table; head is that of the table we
	// are in, and column the one of the ids, or -1.
	row, head string
	column    int
}

// definedIDs returns the ids that the breakdown of a document defines.
func definedIDs(text string) map[string]*definition {
	b := breakdown{defined: make(map[string]*definition), list: -1, column: -1}
	numbers := counter{text: text}
	for at, l := range withoutBlocks(text) {
		kind, id, says := b.item(l)
		if id != "" {
			b.define(kind, id, says, numbers.line(at))
		}
	}
	return b.defined
}

func (b *breakdown) define(kind, id, says string, line int) {
	d := b.defined[id]
	if d == nil {
		d = &definition{said: make(map[string]saying)}
		b.defined[id] = d
	}
	if strings.HasSuffix(id, anyNumber) {
		kind = anyNumber // each is meant to be another one
	}
	says = strings.Trim(says, cellMarkup+":–—-|")
	first, known := d.said[kind]
	switch {
	case !known || first.text == "" && kind != anyNumber:
		d.said[kind] = saying{says, line}
	case d.clash == nil && (kind == anyNumber || says != "" && says != first.text):
		d.clash = []int{first.line, line}
	}
}

// item returns the id that a line defines, if it does, with the kind of the item
// and what it says.
func (b *breakdown) item(l string) (kind, id, says string) {
	if level, name := parseHeading(l); level > 0 {
		b.row, b.head, b.column, b.list = "", "", -1, -1
		id, says = b.heading(level, name)
		return "heading", id, says
	}
	if b.level == 0 || b.aside > 0 {
		return "", "", ""
	}
	if rest := strings.TrimLeft(l, " \t"); strings.HasPrefix(rest, "|") {
		return b.cell(rest)
	}
	b.row, b.head, b.column = "", "", -1
	indent, text := listItem(l)
	if text == "" {
		return "", "", ""
	}
	if b.list < 0 || indent < b.list {
		b.list = indent
	}
	if indent >= b.list+2 {
		return "", "", ""
	}
	id, says = begins(text)
	return "list", id, says
}

// heading enters and leaves sections, and returns the id that a heading defines.
func (b *breakdown) heading(level int, name string) (id, says string) {
	if level <= b.level {
		b.level, b.aside = 0, 0
	}
	if level <= b.aside {
		b.aside = 0
	}
	about := isBreakdown(name)
	switch {
	case b.level == 0:
		if about {
			b.level = level
		}
		return "", ""
	case b.aside > 0 && !about:
		return "", ""
	case b.aside == 0:
		id, says = begins(name)
	}
	if b.aside = level; id == "" && about {
		b.aside = 0
	}
	return id, says
}

// cell returns the id that a row of a table defines.
func (b *breakdown) cell(l string) (kind, id, says string) {
	before := b.row
	b.row = l
	if strings.Trim(l, "|-: \t") == "" && strings.Contains(l, "-") {
		if before != "" {
			b.head, b.column = before, idColumn(before)
		}
		return "", "", ""
	}
	if b.column < 0 || !hasIDForm(l) {
		return "", "", ""
	}
	cells := strings.SplitN(l, "|", b.column+2)
	if len(cells) <= b.column {
		return "", "", ""
	}
	cell := strings.Trim(cells[b.column], cellMarkup)
	if !idForm.MatchString(cell) {
		return "", "", ""
	}
	if len(cells) > b.column+1 {
		says = cells[b.column+1]
	}
	return b.head, cell, says
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

// begins returns the id that an item begins with, and what it says. The id ends
// with a colon, a dash or a parenthesis, or it is emphasised, or it is all.
func begins(text string) (id, says string) {
	if !hasIDForm(text) {
		return "", ""
	}
	m := beginning.FindStringSubmatch(text)
	if m == nil {
		return "", ""
	}
	marked := strings.ContainsAny(m[1], "*_") && strings.ContainsAny(m[3], "*_") && m[4] != ""
	if !marked && !separator.MatchString(m[5]) {
		return "", ""
	}
	return m[2], m[5]
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
