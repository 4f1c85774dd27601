package artifact

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An openMarker is a marker for an open question, such as [REQUIRES SPIKE],
// with the sub-fields written in the lines under it.
type openMarker struct {
	name   string
	line   int
	fields map[string]string // by lower-case name
}

var (
	markerStart = regexp.MustCompile(`\[((?:REQUIRES [A-Z][A-Z ]*|BLOCKED BY)[^\]]*)\]`)
	subField    = regexp.MustCompile(`^\s*(?:[-*+]\s+)?\*{0,2}([A-Za-z][A-Za-z ]*?)(?::\*{0,2}|\*{0,2}:)\s*(.*)$`)
	markerName  = regexp.MustCompile(`^(?:REQUIRES [A-Z]+(?: [A-Z]+)*|BLOCKED BY)`)
)

// openMarkers yields the markers of a document. The fields of a marker end at
// the next marker, heading or blank line.
func openMarkers(d *document) iter.Seq[*openMarker] {
	return func(yield func(*openMarker) bool) {
		last, more := eachMarker(d, yield)
		if more && last != nil {
			yield(last)
		}
	}
}

// eachMarker yields all markers but the last, which it returns.
func eachMarker(d *document, yield func(*openMarker) bool) (last *openMarker, more bool) {
	var cur *openMarker // whose fields may follow
	numbers := counter{text: d.text}
	for offset, l := range prose(d.text) {
		var at []int
		if strings.Contains(l, "[REQUIRES ") || strings.Contains(l, "[BLOCKED BY") {
			d.work += len(l)
			at = markerStart.FindStringSubmatchIndex(l)
		}
		switch {
		case at != nil:
			if last != nil && !yield(last) {
				return nil, false
			}
			last = &openMarker{name: markerName.FindString(l[at[2]:at[3]]), line: numbers.line(offset), fields: map[string]string{}}
			cur = last
		case cur == nil:
		case strings.TrimSpace(l) == "":
			cur = nil
		default:
			if level, _ := parseHeading(l); level > 0 {
				cur = nil
				continue
			}
			d.work += len(l)
			if m := subField.FindStringSubmatch(l); m != nil {
				cur.fields[strings.ToLower(m[1])] = strings.TrimSpace(strings.Trim(m[2], "* "))
			}
		}
	}
	return last, true
}

// checkMarkers checks that every marker is one the checklist allows, has its
// sub-fields, and that restricted fields have one of their values.
func checkMarkers(d *document, cr *criterion) (bool, string) {
	if len(cr.prohibited) > 0 {
		var bad findings
		numbers := counter{text: d.text}
		wanted := cr.prohibitedIn(d)
		for at, l := range prose(d.text) {
			for _, p := range wanted {
				bad.add(p.all(d, l), &numbers, at)
			}
		}
		if bad.total > 0 {
			return false, cr.message("prohibited", "Prohibited text: {names}", "{names}", bad.named())
		}
	}
	total := 0
	for m := range openMarkers(d) {
		total++
		line := strconv.Itoa(m.line)
		if !slices.ContainsFunc(cr.AllowedMarkers, func(a string) bool { return bare(a) == m.name }) {
			return false, cr.message("unknown_marker", "Unknown marker: {marker} (line {line})", "{marker}", "["+m.name+"]", "{line}", line)
		}
		for _, f := range slices.Concat(cr.MarkerSubFields[m.name], cr.MarkerSubFields["["+m.name+"]"]) {
			if m.fields[strings.ToLower(f)] == "" {
				return false, cr.message("missing_field", "Marker {marker} (line {line}) lacks {field}", "{marker}", "["+m.name+"]", "{field}", f, "{line}", line)
			}
		}
		for _, s := range cr.SpecialValidations {
			value := m.fields[strings.ToLower(s.Field)]
			if bare(s.Marker) == m.name && !slices.ContainsFunc(s.ValidValues, func(v string) bool { return strings.EqualFold(v, value) }) {
				return false, cr.message("invalid_value", "Marker {marker} (line {line}): {field} must be one of {values}",
					"{marker}", "["+m.name+"]", "{field}", s.Field, "{values}", strings.Join(s.ValidValues, ", "), "{line}", line)
			}
		}
	}
	return true, fmt.Sprintf("All %d markers valid", total)
}

// bare returns a marker's name as a checklist may write it, with or without
// brackets.
func bare(name string) string { return strings.Trim(name, "[]") }
