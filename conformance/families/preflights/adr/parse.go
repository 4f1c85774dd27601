package adr

import (
	"fmt"
	"regexp"
	"strings"
)

// A ParseError says what is wrong with a document, and on which line.
type ParseError struct {
	Line   int
	Reason string
}

func (e *ParseError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// parser walks over the lines of an ADR.
type parser struct {
	rec      *Record
	seen     map[string]int // the sections met, by heading
	section  string
	category string
	body     map[string][]string
	part     int
	date     bool
	previous bool
}

var (
	titleLine = regexp.MustCompile(`^# ADR \S+: (.*)$`)
	fieldLine = regexp.MustCompile(`^- ([\p{L}\p{M}\p{N}_]+): (.*) \(ADR (\S+)\)$`)
)

// Parse reads the text of an ADR. An error is a [*ParseError].
func Parse(text string) (*Record, error) {
	p := &parser{rec: &Record{Snapshot: Snapshot{}}, seen: map[string]int{}, body: map[string][]string{}}
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		if err := p.line(n, strings.TrimRight(line, " \t\r")); err != nil {
			return nil, err
		}
	}
	return p.end(n)
}

// heading reports whether line is the heading text, at any level or none:
// people reformat documents.
func heading(line, text string) bool { return strings.TrimLeft(line, "# ") == text }

func (p *parser) line(n int, line string) error {
	switch {
	case p.part == 0 && p.rec.Title == "" && strings.HasPrefix(line, "# ") && !isPart(line):
		p.rec.Title = strings.TrimPrefix(line, "# ")
		if m := titleLine.FindStringSubmatch(line); m != nil {
			p.rec.Title = m[1]
		}
		return nil
	case p.part == 0 && heading(line, partOne):
		p.part = 1
		return nil
	case p.part == 1 && heading(line, partTwo):
		p.part, p.section = 2, ""
		return nil
	case line == "", isSeparator(line) && p.part < 2:
		if p.part == 2 {
			p.body[p.section] = append(p.body[p.section], line)
		}
		return nil
	case p.part == 0:
		return &ParseError{n, "text before " + partOne}
	case p.part == 1:
		return p.snapshotLine(n, line)
	}
	return p.detailLine(n, line)
}

func (p *parser) snapshotLine(n int, line string) error {
	if p.section == "" {
		if done, err := p.identity(n, line); done || err != nil {
			return err
		}
	}
	if name, ok := strings.CutPrefix(line, "## "); ok {
		return p.enter(n, name, headChanges, headState)
	}
	switch p.section {
	case headChanges:
		change, ok := strings.CutPrefix(line, "- ")
		if !ok {
			return &ParseError{n, "a change is a line that begins with \"- \""}
		}
		p.rec.Changes = append(p.rec.Changes, change)
		return nil
	case headState:
		return p.stateLine(n, line)
	}
	return &ParseError{n, "unexpected text in part 1"}
}

// identity reads the lines that say which ADR this is.
func (p *parser) identity(n int, line string) (done bool, err error) {
	if value, ok := strings.CutPrefix(line, labelUID); ok {
		p.rec.UID = UID(value)
		if !p.rec.UID.Valid() {
			return true, &ParseError{n, "the UID is malformed"}
		}
		return true, nil
	}
	if _, ok := strings.CutPrefix(line, labelDate); ok {
		p.date = true
		return true, nil
	}
	value, ok := strings.CutPrefix(line, labelPrevious)
	if !ok {
		return false, nil
	}
	p.previous = true
	if value == none {
		return true, nil
	}
	p.rec.Previous = UID(value)
	if !p.rec.Previous.Valid() {
		return true, &ParseError{n, "the previous UID is malformed"}
	}
	return true, nil
}

func (p *parser) stateLine(n int, line string) error {
	if name, ok := strings.CutPrefix(line, "### "); ok {
		if Field(name) != name {
			return &ParseError{n, "the name of a category is malformed"}
		}
		if _, twice := p.rec.Snapshot[name]; twice {
			return &ParseError{n, "a category stands there twice"}
		}
		p.category = name
		p.rec.Snapshot[name] = map[string]Value{}
		return nil
	}
	m := fieldLine.FindStringSubmatch(line)
	switch {
	case p.category == "":
		return &ParseError{n, "a field outside a category"}
	case m == nil:
		return &ParseError{n, "a field is a line of the form \"- Field: value (ADR <UID>)\""}
	case !UID(m[3]).Valid():
		return &ParseError{n, "the ADR a field refers to is malformed"}
	}
	if _, twice := p.rec.Snapshot[p.category][m[1]]; twice {
		return &ParseError{n, "a field stands there twice"}
	}
	p.rec.Snapshot[p.category][m[1]] = Value{Text: m[2], Ref: UID(m[3])}
	return nil
}

func (p *parser) detailLine(n int, line string) error {
	if name, ok := strings.CutPrefix(line, "## "); ok {
		return p.enter(n, name, headContext, headDecision, headRationale, headOptions, headResult)
	}
	if p.section == "" {
		return &ParseError{n, "text before the first section of part 2"}
	}
	if p.section == headOptions {
		if item, ok := strings.CutPrefix(line, "- "); ok {
			p.rec.Alternatives = append(p.rec.Alternatives, item)
			return nil
		}
	}
	p.body[p.section] = append(p.body[p.section], line)
	return nil
}

// enter begins a section, which must be one of known and new.
func (p *parser) enter(n int, name string, known ...string) error {
	for _, k := range known {
		if name == k && p.seen[k] == 0 {
			p.seen[k], p.section = n, k
			return nil
		}
	}
	return &ParseError{n, "a section that does not belong here or stands there twice"}
}

func (p *parser) end(n int) (*Record, error) {
	for _, need := range []struct {
		ok   bool
		what string
	}{
		{p.rec.Title != "", "the title"},
		{p.part == 2, partTwo},
		{p.rec.UID != "", "the UID"},
		{p.date, "the date"},
		{p.previous, "the previous UID"},
		{len(p.rec.Alternatives) > 0, "an alternative considered"},
	} {
		if !need.ok {
			return nil, &ParseError{n, need.what + " is missing"}
		}
	}
	for _, head := range []string{headChanges, headState, headContext, headDecision, headRationale, headOptions, headResult} {
		if p.seen[head] == 0 {
			return nil, &ParseError{n, "the section " + head + " is missing"}
		}
	}
	text := func(head string) string { return strings.TrimSpace(strings.Join(p.body[head], "\n")) }
	p.rec.Context, p.rec.Decision = text(headContext), text(headDecision)
	p.rec.Rationale, p.rec.Consequences = text(headRationale), text(headResult)
	return p.rec, nil
}

var previousLine = regexp.MustCompile(`(?m)^\*\*Previous UID:\*\* (\S+)[ \t\r]*$`)

// PreviousOf returns which ADR the beginning of an ADR's text names as the one
// before it, without reading the rest; empty when there is none.
func PreviousOf(head string) UID {
	if m := previousLine.FindStringSubmatch(head); m != nil && UID(m[1]).Valid() {
		return UID(m[1])
	}
	return ""
}
