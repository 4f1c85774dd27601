package adr

import (
	"regexp"
	"strings"
	"time"
)

// A Record is one ADR: the complete snapshot of the architecture as it stands
// with it, and the decision itself.
type Record struct {
	UID      UID
	Title    string
	Previous UID // empty for the first ADR
	Changes  []string
	Snapshot Snapshot

	Context      string
	Decision     string
	Rationale    string
	Alternatives []string // at least one
	Consequences string
}

// The headings of an ADR.
const (
	partOne        = "PART 1: ARCHITECTURE SNAPSHOT"
	partTwo        = "PART 2: DECISION DETAILS"
	headChanges    = "Changes in this version"
	headState      = "CURRENT ARCHITECTURE STATE"
	headContext    = "Context"
	headDecision   = "Decision"
	headRationale  = "Rationale"
	headOptions    = "Alternatives Considered"
	headResult     = "Consequences"
	labelUID       = "**UID:** "
	labelDate      = "**Date (UTC):** "
	labelPrevious  = "**Previous UID:** "
	none           = "None"
	separator      = "---"
	dateLayout     = "2006-01-02T15:04:05.000Z"
	maxTitle       = 120
	maxAlternative = 500
	maxChange      = 2 * (maxField + maxValue) // a field with what it was
)

// Format returns the text of r. Its UID must be valid.
func (r *Record) Format() string {
	var b strings.Builder
	line := func(parts ...string) {
		for _, p := range parts {
			b.WriteString(p)
		}
		b.WriteByte('\n')
	}
	line("# ADR ", string(r.UID), ": ", Line(r.Title, maxTitle))
	line()
	line(separator)
	line()
	line("# ", partOne)
	line()
	line(labelUID, string(r.UID), "  ")
	line(labelDate, date(r.UID), "  ")
	line(labelPrevious, orNone(r.Previous))
	line()
	line("## ", headChanges)
	line()
	for _, change := range r.Changes {
		line("- ", Line(change, maxChange))
	}
	line()
	line("## ", headState)
	line()
	for _, category := range r.Snapshot.Order() {
		line("### ", category)
		line()
		for _, field := range fieldOrder(category, r.Snapshot[category]) {
			line("- ", field, ": ", r.Snapshot[category][field].cited())
		}
		line()
	}
	line(separator)
	line()
	line("# ", partTwo)
	for _, s := range []struct{ head, text string }{
		{headContext, r.Context},
		{headDecision, r.Decision},
		{headRationale, r.Rationale},
		{headOptions, bullets(r.Alternatives)},
		{headResult, r.Consequences},
	} {
		line()
		line("## ", s.head)
		line()
		if s.head != headOptions {
			s.text = Block(s.text)
		}
		line(s.text)
	}
	return b.String()
}

// Projection returns the text of ARCHITECTURE_STATE.md: part 1 of r as a
// document of its own, a function of r alone (S3-PROJ-01).
func (r *Record) Projection() string {
	var b strings.Builder
	b.WriteString("<!-- UID: " + string(r.UID) + " -->\n<!-- Schema: v1 -->\n\n# Architecture State\n\n## Categories\n")
	for _, category := range r.Snapshot.Order() {
		b.WriteString("\n### " + category + "\n\n")
		for _, field := range fieldOrder(category, r.Snapshot[category]) {
			b.WriteString("- **" + field + "**: " + r.Snapshot[category][field].cited() + "\n")
		}
	}
	return b.String()
}

var projectionLine = regexp.MustCompile(`^(?:\x{FEFF})?<!-- UID: (\S+) -->`)

// ProjectionUID returns which ADR the beginning of a projection says it shows;
// empty when it does not say.
func ProjectionUID(head string) UID {
	if m := projectionLine.FindStringSubmatch(head); m != nil && UID(m[1]).Valid() {
		return UID(m[1])
	}
	return ""
}

func (v Value) cited() string { return Line(v.Text, maxValue) + " (ADR " + string(v.Ref) + ")" }

func bullets(items []string) string {
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = "- " + Line(item, maxAlternative)
	}
	return strings.Join(lines, "\n")
}

func date(uid UID) string {
	at, err := uid.Time()
	if err != nil {
		at = time.Time{}
	}
	return at.Format(dateLayout)
}

func orNone(uid UID) string {
	if uid == "" {
		return none
	}
	return string(uid)
}
