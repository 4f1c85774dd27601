package artifact

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// An openMarker is a marker for an open question, such as [REQUIRES SPIKE],
// with the sub-fields written in the lines under it.
type openMarker struct {
	name   string
	fields map[string]string // by lower-case name
}

var (
	markerStart = regexp.MustCompile(`\[((?:REQUIRES [A-Z][A-Z ]*|BLOCKED BY)[^\]]*)\]`)
	subField    = regexp.MustCompile(`^\s*(?:[-*+]\s+)?\*{0,2}([A-Za-z][A-Za-z ]*?)(?::\*{0,2}|\*{0,2}:)\s*(.*)$`)
	markerName  = regexp.MustCompile(`^(?:REQUIRES [A-Z]+(?: [A-Z]+)*|BLOCKED BY)`)
)

// openMarkers finds the markers of a document. The fields of a marker end at
// the next marker, heading or blank line.
func openMarkers(d *document) []openMarker {
	var out []openMarker
	var cur *openMarker
	for _, l := range d.prose {
		at := markerStart.FindStringSubmatchIndex(l)
		switch {
		case at != nil:
			inner := l[at[2]:at[3]]
			out = append(out, openMarker{name: markerName.FindString(inner), fields: map[string]string{}})
			cur = &out[len(out)-1]
		case strings.TrimSpace(l) == "" || heading.MatchString(l):
			cur = nil
		case cur != nil:
			if m := subField.FindStringSubmatch(l); m != nil {
				cur.fields[strings.ToLower(m[1])] = strings.TrimSpace(strings.Trim(m[2], "* "))
			}
		}
	}
	return out
}

// checkMarkers checks that every marker is one the checklist allows, has its
// sub-fields, and that restricted fields have one of their values.
func checkMarkers(d *document, cr *criterion) (bool, string) {
	var bad []string
	if len(cr.prohibited) > 0 {
		text := strings.Join(d.prose, "\n")
		for _, p := range cr.prohibited {
			bad = append(bad, p.all(text)...)
		}
	}
	if len(bad) > 0 {
		return false, cr.message("prohibited", "Prohibited text: {names}", "{names}", named(bad))
	}
	markers := openMarkers(d)
	for _, m := range markers {
		if !slices.ContainsFunc(cr.AllowedMarkers, func(a string) bool { return bare(a) == m.name }) {
			return false, cr.message("unknown_marker", "Unknown marker: {marker}", "{marker}", "["+m.name+"]")
		}
		for _, f := range slices.Concat(cr.MarkerSubFields[m.name], cr.MarkerSubFields["["+m.name+"]"]) {
			if m.fields[strings.ToLower(f)] == "" {
				return false, cr.message("missing_field", "Marker {marker} lacks {field}", "{marker}", "["+m.name+"]", "{field}", f)
			}
		}
		for _, s := range cr.SpecialValidations {
			value := m.fields[strings.ToLower(s.Field)]
			if bare(s.Marker) == m.name && !slices.ContainsFunc(s.ValidValues, func(v string) bool { return strings.EqualFold(v, value) }) {
				return false, cr.message("invalid_value", "Marker {marker}: {field} must be one of {values}",
					"{marker}", "["+m.name+"]", "{field}", s.Field, "{values}", strings.Join(s.ValidValues, ", "))
			}
		}
	}
	return true, fmt.Sprintf("All %d markers valid", len(markers))
}

// bare returns a marker's name as a checklist may write it, with or without
// brackets.
func bare(name string) string { return strings.Trim(name, "[]") }
