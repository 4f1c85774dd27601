package artifact

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// maxNamed bounds how many findings the details of a criterion name.
const maxNamed = 5

// evaluate runs the automated check of cr. It is a pure function of its
// arguments: the same document and criterion always give the same verdict.
func evaluate(d *document, cr *criterion) (passed bool, details string) {
	if cr.AppliesTo == "v1" && d.version != 1 || cr.AppliesTo == "v2+" && d.version < 2 {
		return true, "Not applicable: applies to " + cr.AppliesTo + " only"
	}
	switch cr.CheckType {
	case "template_sections":
		return checkTemplateSections(d, cr)
	case "id_format":
		return checkIDFormat(d, cr)
	case "no_placeholders":
		return checkNoPlaceholders(d, cr)
	case "references_valid":
		return checkReferencesValid(d, cr)
	case "marker_validation":
		return checkMarkers(d, cr)
	}
	return false, "Unknown check type: " + cr.CheckType
}

func checkTemplateSections(d *document, cr *criterion) (bool, string) {
	var missing []string
	for _, s := range cr.RequiredSections {
		if !d.sections[normalHeading(s)] {
			missing = append(missing, s)
		}
	}
	n := len(cr.RequiredSections)
	if len(missing) > 0 {
		return false, cr.message("missing_sections", "Missing sections: {names}", "{names}", strings.Join(missing, ", "))
	}
	return true, fmt.Sprintf("Found %d/%d required sections", n, n)
}

func checkIDFormat(d *document, cr *criterion) (bool, string) {
	if !cr.pattern.in(d.text) {
		return false, cr.message("pattern_not_found", "Pattern not found: {names}", "{names}", cr.Pattern)
	}
	return true, "Pattern found"
}

var (
	code    = regexp.MustCompile("`[^`]*`")
	marker  = regexp.MustCompile(`^(REQUIRES [A-Z]|BLOCKED BY\b)`)
	numeric = regexp.MustCompile(`^\^?[0-9]+$|^\^`)
)

// checkNoPlaceholders finds fields of the template that were left open. Ids
// such as HLS-AAA are placeholders of another kind: they stand for ids that
// approval hands out, and are right for as long as the document is a draft
// (C-21).
func checkNoPlaceholders(d *document, cr *criterion) (bool, string) {
	var found []string
	for _, l := range d.prose {
		l = code.ReplaceAllStringFunc(l, func(s string) string { return strings.Repeat(" ", len(s)) })
		found = append(found, openFields(l)...)
		for _, p := range cr.prohibited {
			found = append(found, p.all(l)...)
		}
		if !d.draft {
			eachPlaceholder(l, func(start, end int) { found = append(found, l[start:end]) })
		}
	}
	if len(found) > 0 {
		return false, cr.message("placeholders_found", "Found {count} placeholders: {names}", "{count}", fmt.Sprint(len(found)), "{names}", named(found))
	}
	return true, "No placeholders found"
}

// openFields returns the bracketed parts of a line that are neither links nor
// checkboxes nor markers nor footnotes.
func openFields(l string) []string {
	var found []string
	text := len(l) - len(strings.TrimLeft(l, " \t"))
	for start, end := range brackets(l) {
		inner, before, rest := strings.TrimSpace(l[start+1:end-1]), l[:start], l[end:]
		switch {
		case inner == "" || strings.EqualFold(inner, "x"): // checkbox
		case strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, "[") || strings.HasSuffix(before, "]"): // link
		case strings.HasPrefix(rest, ":") && start == text: // link definition
		case marker.MatchString(inner):
		case numeric.MatchString(inner): // citation or footnote
		default:
			found = append(found, l[start:end])
		}
	}
	return found
}

// validReference is what a reference must be where a checklist says nothing else.
var validReference = &pattern{Regexp: regexp.MustCompile(`^[A-Z]+-[0-9]{3,}$`)}

func checkReferencesValid(d *document, cr *criterion) (bool, string) {
	valid := cmp.Or(cr.pattern, validReference)
	refs := references(d.text)
	var bad []string
	for _, r := range refs {
		if !valid.MatchString(r) && (!d.draft || !isPlaceholder(r)) {
			bad = append(bad, r)
		}
	}
	if len(bad) > 0 {
		return false, cr.message("invalid_references", "Invalid references: {names}", "{names}", named(bad))
	}
	return true, fmt.Sprintf("All %d references valid", len(refs))
}

// message fills the criterion's own template for a finding, else ours.
func (cr *criterion) message(kind, ours string, values ...string) string {
	return strings.NewReplacer(values...).Replace(cmp.Or(cr.ErrorMessages[kind], ours))
}

// named lists the first few distinct findings in the order they came.
func named(found []string) string {
	var out []string
	seen := make(map[string]bool)
	for _, f := range found {
		if !seen[f] {
			seen[f] = true
			if r := []rune(f); len(r) > maxID {
				f = string(r[:maxID]) + "…"
			}
			out = append(out, f)
		}
	}
	if more := len(out) - maxNamed; more > 0 {
		return strings.Join(out[:maxNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(out, ", ")
}
