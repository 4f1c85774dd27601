package artifact

import (
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// A document is a markdown text read once for all checks. Fenced code and
// comments are not prose: headings and placeholders in them do not count.
type document struct {
	text string
	// body is the text with its comments as blanks.
	body string
	// lower is the body in lower case, where s and k are also what folds to them.
	// Its offsets are others.
	lower string
	// id is the one the document was said to have; empty is none.
	id       string
	sections map[string]*section // by normalised heading
	title    section             // the first heading of the first level
	metadata metadataPart
	draft    bool
	version  int
	// breakdown is read when it is first needed.
	breakdown *breakdown
	// work is how many bytes regular expressions have read for the checks. They
	// are slow, so it is what a large document costs.
	work int
}

// section returns the section of a name, or the one whose heading has more after
// it: "Risks and Mitigations" are the risks.
func (d *document) section(name string) *section {
	key := normalHeading(name)
	if s := d.sections[key]; s != nil {
		return s
	}
	var first *section
	for other, s := range d.sections {
		rest, more := strings.CutPrefix(other, key+" ")
		if more && (strings.HasPrefix(rest, "and ") || strings.HasPrefix(rest, "& ")) && (first == nil || s.line < first.line) {
			first = s
		}
	}
	return first
}

// A section is what stands below a heading, that of lower headings included.
type section struct {
	name   string
	line   int // of the heading; 0 is no section
	level  int
	filled bool // something is said below
}

// contentOf returns the document that a call brought, without the byte order mark
// that some editors put before it.
func contentOf(args family.Args, least int) (string, error) {
	content, err := args.String("artifact_content", least, 0)
	return strings.TrimPrefix(content, "\ufeff"), err
}

func newDocument(text, id string) *document {
	d := &document{text: text, body: withoutComments(text), id: id, sections: make(map[string]*section), version: 1}
	d.lower = strings.ReplaceAll(strings.ToLower(d.body), "ſ", "s")
	d.readSections()
	d.metadata = readMetadataPart(text)
	d.draft = strings.EqualFold(d.metadata.value("status"), statusDraft)
	if v, err := readVersion(d.metadata.value("version")); err == nil {
		d.version = v
	}
	return d
}

// readSections finds the headings, and which of them have something below.
func (d *document) readSections() {
	var open []*section // from the highest level to the lowest, without those that are filled
	numbers := counter{text: d.text}
	for at, l := range readable(d.text) {
		level, name := 0, ""
		if !l.fenced {
			level, name = parseHeading(l.text)
		}
		if level == 0 {
			if len(open) > 0 && saysSomething(l) {
				for _, s := range open {
					s.filled = true
				}
				open = open[:0]
			}
			continue
		}
		for len(open) > 0 && open[len(open)-1].level >= level {
			open = open[:len(open)-1]
		}
		s := &section{name: name, line: numbers.line(at), level: level}
		if level == 1 && d.title.line == 0 {
			d.title = *s
		}
		key := normalHeading(name)
		if old := d.sections[key]; old != nil {
			if old.filled {
				continue
			}
			s.line = old.line
		}
		d.sections[key] = s
		open = append(open, s)
	}
}

// parseHeading returns the level and the text of a heading, or 0 for a line that
// is none.
func parseHeading(l string) (level int, name string) {
	rest := strings.TrimLeft(l, " ")
	if len(l)-len(rest) > 3 || !strings.HasPrefix(rest, "#") {
		return 0, ""
	}
	name = strings.TrimLeft(rest, "#")
	level = len(rest) - len(name)
	if level > 6 || name == "" || name[0] != ' ' && name[0] != '\t' {
		return 0, ""
	}
	if name = strings.Trim(name, " \t"); name == "" {
		return 0, ""
	}
	if closed := strings.TrimRight(strings.TrimRight(name, "#"), " \t"); closed != "" {
		name = closed
	}
	return level, name
}

// parseFence returns the fence that a line begins with, or "".
func parseFence(l string) string {
	rest := strings.TrimLeft(l, " ")
	if len(l)-len(rest) > 3 || rest == "" || rest[0] != '`' && rest[0] != '~' {
		return ""
	}
	if n := len(rest) - len(strings.TrimLeft(rest, rest[:1])); n >= 3 {
		return rest[:n]
	}
	return ""
}

// withoutComments returns a text with its comments as blanks.
func withoutComments(text string) string {
	if !strings.Contains(text, "<!--") {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	for at, l := range readable(text) {
		out.WriteString(text[out.Len():at]) // the end of the line before
		out.WriteString(l.text)
	}
	out.WriteString(text[out.Len():])
	return out.String()
}

// prose yields the lines of text that are not fenced code, with the offset at
// which each begins. Comments in them are blanks. A fence that is never closed
// hides the rest, as it does when rendered.
func prose(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for at, l := range readable(text) {
			if !l.fenced && !yield(at, l.text) {
				return
			}
		}
	}
}

// withoutBlocks yields the lines of prose that are not indented code either: four
// blanks after an empty line, and not below an item of a list.
func withoutBlocks(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		afterBlank, inList := true, false
		for at, l := range prose(text) {
			rest := strings.TrimLeft(l, " \t")
			switch {
			case rest == "":
				afterBlank = true
				continue
			case afterBlank && !inList && indentation(text[at:]) >= 4: // comments indent nothing
				continue
			}
			if _, item := listItem(l); item != "" {
				inList = true
			} else if afterBlank && len(rest) == len(l) {
				inList = false
			}
			if level, _ := parseHeading(l); level > 0 {
				afterBlank, inList = true, false
			} else {
				afterBlank = false
			}
			if !yield(at, l) {
				return
			}
		}
	}
}

// A textLine is a line without its end. The comments in it are blanks, so that
// offsets stay.
type textLine struct {
	text   string
	fenced bool // a line of fenced code, or one that opens or closes it
}

// readable yields all lines of a text, with the offset at which each begins.
func readable(text string) iter.Seq2[int, textLine] {
	return func(yield func(int, textLine) bool) {
		open, next := "", 0
		hidden := comments{text: text}
		for l := range strings.Lines(text) {
			at := next
			next += len(l)
			l = strings.TrimRight(l, "\r\n")
			if open == "" {
				l = hidden.blank(l, at)
			}
			mark := parseFence(l)
			fenced := open != "" || mark != ""
			switch {
			case mark == "":
			case open == "":
				open = mark
			case strings.HasPrefix(mark, open) && strings.TrimSpace(l) == mark:
				open = ""
			}
			if !yield(at, textLine{l, fenced}) {
				return
			}
		}
	}
}

// comments finds the HTML comments of a text, line by line.
type comments struct {
	text string
	// until is where the comment ends that was found last.
	until int
	// endless: no comment that begins later ends.
	endless bool
}

// blank returns the line that begins at an offset with its comments as blanks.
func (c *comments) blank(l string, at int) string {
	from := max(c.until-at, 0)
	if from == 0 && !strings.Contains(l, "<!--") {
		return l
	}
	out := []byte(l)
	erase := func(from, to int) {
		for i := from; i < min(to, len(out)); i++ {
			out[i] = ' '
		}
	}
	erase(0, from)
	inCode := false
	for !c.endless && from < len(l) {
		i := strings.Index(l[from:], "<!--")
		if i < 0 {
			break
		}
		start := from + i
		inCode = inCode != (strings.Count(l[from:start], "`")%2 == 1)
		if inCode {
			from = start + len("<!--")
			continue
		}
		end := strings.Index(c.text[at+start+len("<!--"):], "-->")
		if end < 0 {
			c.endless = true
			break
		}
		c.until = at + start + len("<!--") + end + len("-->")
		erase(start, c.until-at)
		from = c.until - at
	}
	return string(out)
}

// normalHeading makes "## 3. **Risks:** ##", "⚠️ Risks" and "risks" the same
// section.
func normalHeading(s string) string {
	s = strings.TrimLeftFunc(s, func(r rune) bool { return !isText(r) })
	s = withoutNumber(strings.TrimRight(s, " \t:*_`"))
	return strings.ToLower(strings.Join(strings.Fields(strings.Trim(s, "*_`")), " "))
}

// withoutNumber returns a heading without a number such as "3.1", "3.1." or
// "3)" before it.
func withoutNumber(s string) string {
	rest := strings.TrimLeft(s, "0123456789.")
	number := s[:len(s)-len(rest)]
	if number == "" || !isDigit(number[0]) || strings.Contains(number, "..") {
		return s
	}
	rest = strings.TrimPrefix(rest, ")")
	if r, n := utf8.DecodeRuneInString(rest); n == 0 || r != ' ' && r != '\t' {
		return s
	}
	return strings.TrimLeft(rest, " \t")
}
