package artifact

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

const (
	// maxNamed bounds how many findings the details of a criterion name.
	maxNamed = 5
	// maxFindings bounds how many a check looks for.
	maxFindings = 1000
)

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
	case "title_id":
		return checkTitleID(d, cr)
	case "metadata_field":
		return checkMetadataField(d, cr)
	case "phrases":
		return checkPhrases(d, cr)
	}
	return false, "Unknown check type: " + cr.CheckType
}

// checkTemplateSections checks that the sections are there, and say something.
func checkTemplateSections(d *document, cr *criterion) (bool, string) {
	var missing, empty []string
	for _, name := range cr.RequiredSections {
		switch s := d.section(name); {
		case s == nil:
			missing = append(missing, name)
		case !s.filled:
			empty = append(empty, fmt.Sprintf("%s (line %d)", name, s.line))
		}
	}
	var says []string
	if len(missing) > 0 {
		says = append(says, cr.message("missing_sections", "Missing sections: {names}", "{names}", strings.Join(missing, ", ")))
	}
	if len(empty) > 0 {
		says = append(says, cr.message("empty_sections", "Sections that say nothing: {names}", "{names}", strings.Join(empty, ", ")))
	}
	if len(says) > 0 {
		return false, strings.Join(says, ". ")
	}
	n := len(cr.RequiredSections)
	return true, fmt.Sprintf("Found %d/%d required sections", n, n)
}

// checkIDFormat looks for a pattern in the text without its comments. The details
// never show the pattern: they are for the document's author.
func checkIDFormat(d *document, cr *criterion) (bool, string) {
	if !cr.pattern.in(d, cr.then) {
		return false, cr.message("pattern_not_found", "Not found: {names}", "{names}", cr.Description) + d.place(cr.Section)
	}
	return true, "Pattern found"
}

// checkPhrases looks for words in their order, whatever is between them.
func checkPhrases(d *document, cr *criterion) (bool, string) {
	at := 0
	for _, words := range cr.Phrases {
		end := -1
		for _, w := range words {
			if e := phraseEnd(d.lower, at, strings.ToLower(w)); e >= 0 && (end < 0 || e < end) {
				end = e
			}
		}
		if end < 0 {
			return false, cr.message("pattern_not_found", "Not found: {names}. {phrase} is missing", "{names}", cr.Description,
				"{phrase}", strconv.Quote(words[0])) + d.place(cr.Section)
		}
		at = end
	}
	return true, "Pattern found"
}

// phraseEnd returns where the first whole occurrence of words from an offset on
// ends, or -1.
func phraseEnd(text string, at int, words string) int {
	for {
		i := strings.Index(text[at:], words)
		if i < 0 {
			return -1
		}
		start, end := at+i, at+i+len(words)
		if (start == 0 || !inWord(text[start-1])) && (end == len(text) || !inWord(text[end])) {
			return end
		}
		at = start + 1
	}
}

// place says where a section is that something belongs in.
func (d *document) place(name string) string {
	if name == "" {
		return ""
	}
	if s := d.section(name); s != nil {
		return fmt.Sprintf(" (section %q, line %d)", name, s.line)
	}
	return fmt.Sprintf(" (there is no section %q)", name)
}

// checkTitleID checks that the first heading is the id and a title.
func checkTitleID(d *document, cr *criterion) (bool, string) {
	want := cmp.Or(d.id, cr.Prefix+"-NNN")
	form := fmt.Sprintf(`the first heading must read "# %s: title"`, want)
	if d.title.line == 0 {
		return false, "There is no heading of the first level: " + form
	}
	id, title, ok := strings.Cut(strings.Trim(d.title.name, "*_`"), ":")
	id = strings.TrimSpace(id)
	switch prefix, _, _ := strings.Cut(id, "-"); {
	case !ok || !idPattern.MatchString(id) || prefix != cr.Prefix || strings.TrimSpace(title) == "":
		return false, fmt.Sprintf("Line %d: %s", d.title.line, form)
	case d.id != "" && id != d.id:
		return false, fmt.Sprintf("Line %d: the first heading names %s, and %s was asked for", d.title.line, id, d.id)
	}
	return true, "The first heading names " + id
}

// checkMetadataField checks fields of the Metadata section by the rules of
// store_artifact, and what the checklist asks of them besides.
func checkMetadataField(d *document, cr *criterion) (bool, string) {
	m := &d.metadata
	if m.line == 0 {
		return false, `There is no section "## Metadata"`
	}
	for _, name := range cr.Fields {
		if err := m.checkField(name); err != nil {
			return false, m.says(name, err)
		}
		f, known := m.fields[name]
		switch {
		case !known && cr.pattern == nil: // a default, or optional
		case !known:
			return false, cr.message("missing", "The Metadata section (line {line}) has no field for: {names}",
				"{names}", cr.Description, "{line}", strconv.Itoa(m.line))
		case cr.pattern != nil && !cr.pattern.MatchString(f.value):
			return false, cr.invalid(f)
		case name == "artifact_id" && d.id != "" && f.value != d.id:
			return false, fmt.Sprintf("Line %d: the Metadata section names %s, and %s was asked for", f.line, quoted(f.value), d.id)
		}
	}
	if len(cr.AnyOf) > 0 {
		return checkAnyOf(m, cr)
	}
	return true, "The metadata are as store_artifact reads them"
}

// checkAnyOf checks that one of several keys has a value, and the right one.
func checkAnyOf(m *metadataPart, cr *criterion) (bool, string) {
	for _, key := range cr.AnyOf {
		f, known := m.keys[strings.ToLower(key)]
		switch {
		case !known:
		case cr.pattern != nil && !cr.pattern.MatchString(f.value):
			return false, cr.invalid(f)
		default:
			return true, fmt.Sprintf("Line %d has it", f.line)
		}
	}
	var names []string
	for _, key := range cr.AnyOf {
		names = append(names, `"**`+key+`:**"`)
	}
	return false, cr.message("missing", "The Metadata section (line {line}) has no {names}",
		"{line}", strconv.Itoa(m.line), "{names}", strings.Join(names, " or "))
}

// invalid says that a field has a value which the checklist does not accept.
func (cr *criterion) invalid(f metadataField) string {
	return fmt.Sprintf("Line %d: ", f.line) + cr.message("invalid_value", "{value} does not fit: {names}", "{value}", strconv.Quote(clipped(f.value)), "{names}", cr.Description)
}

// says is the sentence of store_artifact about a field, with its line.
func (m *metadataPart) says(name string, err error) string {
	text := err.Error()
	var e *family.Error
	if errors.As(err, &e) {
		text = strings.TrimPrefix(e.Message, "Invalid params: ")
	}
	if f, known := m.fields[name]; known {
		return fmt.Sprintf("Line %d: %s, not %q", f.line, text, clipped(f.value))
	}
	return fmt.Sprintf("%s (section \"Metadata\", line %d)", text, m.line)
}

var (
	code   = regexp.MustCompile("``[^`]*``|`[^`]*`")
	marker = regexp.MustCompile(`^(REQUIRES [A-Z]|BLOCKED BY\b)`)
)

// citation is how a source is named: Smith 2020, Smith and Jones, 2020a.
var citation = regexp.MustCompile(`^\p{Lu}[\p{L}'-]+(?: (?:et al\.|and|&|\p{Lu}[\p{L}'-]+))*,? (?:1[89]|20)\d\d[a-z]?$`)

// cites reports whether the text of brackets is a citation, a footnote or numbers.
func cites(s string) bool {
	return strings.HasPrefix(s, "^") || strings.Trim(s, "0123456789.,;- ") == "" || len(s) <= maxID && citation.MatchString(s)
}

// isIndex reports whether brackets with a word in them follow a name, as in arr[i].
func isIndex(before, inner string) bool {
	if before == "" || strings.ContainsAny(inner, " \t") {
		return false
	}
	last := before[len(before)-1]
	return isLetter(last) || isDigit(last)
}

// checkNoPlaceholders finds fields of the template that were left open. Ids
// such as HLS-AAA are placeholders of another kind: they stand for ids that
// approval hands out, and are right for as long as the document is a draft
// (C-21). A word that only looks like one would stop the approval.
func checkNoPlaceholders(d *document, cr *criterion) (bool, string) {
	var found findings
	items := d.items()
	numbers := counter{text: d.text}
	prohibited := cr.prohibitedIn(d)
	for at, l := range prose(d.text) {
		if found.total >= maxFindings {
			break
		}
		l = d.withoutCode(l)
		if strings.IndexByte(l, '[') >= 0 {
			found.add(openFields(l), &numbers, at)
		}
		for _, p := range prohibited {
			found.add(p.all(d, l), &numbers, at)
		}
		if !d.draft && strings.IndexByte(l, '-') >= 0 {
			eachPlaceholder(l, func(start, end int) {
				if id := l[start:end]; isPlaceholder(id) && !items.remains(id) || items.has(id) {
					found.add([]string{id}, &numbers, at)
				}
			})
		}
	}
	if found.total > 0 {
		return false, cr.message("placeholders_found", "Found {count} placeholders: {names}", "{count}", found.count(), "{names}", found.named())
	}
	if alike := d.undefined(); len(alike) > 0 {
		return false, notDefined(alike)
	}
	return true, "No placeholders found"
}

// items returns the breakdown of a document that is no draft, where ids of the
// form of a placeholder are left over or prose. In a draft each may still become one.
func (d *document) items() *breakdown {
	if d.draft {
		return nil
	}
	if d.breakdown == nil {
		d.breakdown = readBreakdown(d.text)
	}
	return d.breakdown
}

// undefined returns what would stop the approval of a draft.
func (d *document) undefined() (alike []lookAlike) {
	t, err := typeOf(d.metadata.value("artifact_id"))
	if err != nil || !d.draft {
		return nil
	}
	for _, name := range children(t) {
		if child, ok := typeNamed(name); ok {
			_, more := placeholders(d.text, child.Prefix)
			alike = append(alike, more...)
		}
	}
	return alike
}

// withoutCode returns a line with its code spans as blanks.
func (d *document) withoutCode(l string) string {
	if strings.IndexByte(l, '`') < 0 {
		return l
	}
	d.work += len(l)
	return code.ReplaceAllStringFunc(l, func(s string) string { return strings.Repeat(" ", len(s)) })
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
		case isIndex(before, inner), cites(inner):
		case inner[0] == 'R' || inner[0] == 'B':
			if !marker.MatchString(inner) {
				found = append(found, l[start:end])
			}
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
	good := make(map[string]bool)
	var bad findings
	numbers := counter{text: d.body}
	total := 0
	for at, r := range references(d.body) {
		total++
		fits, known := good[r]
		if !known {
			fits = valid.MatchString(r) || isPlaceholder(r) && (d.draft || d.items().remains(r))
			good[r] = fits
		}
		if !fits {
			if bad.add([]string{r}, &numbers, at); bad.total >= maxFindings {
				break
			}
		}
	}
	if bad.total > 0 {
		return false, cr.message("invalid_references", "Invalid references: {names}", "{names}", bad.named())
	}
	return true, fmt.Sprintf("All %d references valid", total)
}

// message fills the criterion's own template for a finding, else ours.
func (cr *criterion) message(kind, ours string, values ...string) string {
	return strings.NewReplacer(values...).Replace(cmp.Or(cr.ErrorMessages[kind], ours))
}

// findings are what a check found, with the line of the first of each kind.
type findings struct {
	total int
	seen  []string
	lines []int
}

// add notes what was found at an offset.
func (f *findings) add(found []string, numbers *counter, at int) {
	for _, s := range found {
		s = strings.TrimSpace(s)
		if f.total >= maxFindings {
			return
		}
		if f.total++; !slices.Contains(f.seen, s) {
			f.seen, f.lines = append(f.seen, s), append(f.lines, numbers.line(at))
		}
	}
}

func (f *findings) count() string {
	if f.total >= maxFindings {
		return fmt.Sprintf("%d or more", maxFindings)
	}
	return strconv.Itoa(f.total)
}

// named lists the first few distinct findings with their lines.
func (f *findings) named() string {
	var out []string
	for i, s := range f.seen {
		out = append(out, fmt.Sprintf("%s (line %d)", clipped(s), f.lines[i]))
	}
	return fewOf(out)
}

// fewOf joins the first few of a list.
func fewOf(list []string) string {
	if more := len(list) - maxNamed; more > 0 {
		return strings.Join(list[:maxNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(list, ", ")
}

// clipped shortens what a document says for a sentence.
func clipped(s string) string {
	if r := []rune(s[:min(len(s), 4*maxID+4)]); len(r) > maxID {
		return string(r[:maxID]) + "…"
	}
	return s
}
