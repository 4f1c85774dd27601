package artifact

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// metadata is what store_artifact reads from the document's own Metadata
// section.
type metadata struct {
	ID       string
	Type     artifactType
	Version  int
	Status   string
	ParentID *string
	Title    string
}

// The statuses the workflow itself gives or asks for.
const (
	statusDraft     = "Draft"
	statusApproved  = "Approved"
	statusFinalized = "Finalized" // of research documents, which nobody approves
)

var statuses = []string{statusDraft, "In Review", statusApproved, "Planned", "In Progress", "Completed"}

// metadataFields reads the values of the first "## Metadata" section, by the
// names artifact_id, title, status, parent and version. Of a key that repeats
// the first counts; an absent or empty value is absent.
func metadataFields(text string) map[string]string {
	fields := make(map[string]string)
	for name, f := range readMetadataPart(text).fields {
		fields[name] = f.value
	}
	return fields
}

// A metadataField is one line of the Metadata section; start and end are the
// offsets of what stands after the key.
type metadataField struct {
	key, name, value string // name is that of a field of ours, or empty
	start, end, line int
}

// metadataPart is the Metadata section of a document. Of keys and fields that
// repeat, the first with a value counts.
type metadataPart struct {
	line   int // of its heading; 0 is no section
	fields map[string]metadataField
	keys   map[string]metadataField
}

func (m *metadataPart) value(name string) string { return m.fields[name].value }

func readMetadataPart(text string) metadataPart {
	m := metadataPart{fields: make(map[string]metadataField), keys: make(map[string]metadataField)}
	numbers := counter{text: text}
	inside := false
	for at, l := range prose(text) {
		if level, name := parseHeading(l); level > 0 {
			if inside && level <= 2 {
				break
			}
			if !inside && level == 2 && normalHeading(name) == "metadata" {
				inside, m.line = true, numbers.line(at)
			}
			continue
		}
		if !inside {
			continue
		}
		key, from := parseKey(l)
		if key == "" {
			continue
		}
		if _, known := m.keys[key]; known {
			continue
		}
		name := fieldName(key)
		f := metadataField{key: key, name: name, value: fieldValue(name, l[from:]), start: at + from, end: at + len(l)}
		if f.value == "" {
			continue
		}
		f.line = numbers.line(at)
		m.keys[key] = f
		if _, known := m.fields[name]; name != "" && !known {
			m.fields[name] = f
		}
	}
	return m
}

// parseKey reads the key of a line such as "- **Key:** value", in lower case, and
// where its value begins. The colon may stand outside of the bold text, there need
// be no list, and in a list nothing need be bold.
func parseKey(l string) (key string, value int) {
	rest := strings.TrimLeft(l, " \t")
	listed := false
	if bullet := strings.TrimLeft(rest, "-*+"); len(rest)-len(bullet) == 1 && strings.TrimLeft(bullet, " \t") != bullet {
		rest, listed = strings.TrimLeft(bullet, " \t"), true
	}
	bold := ""
	for _, mark := range []string{"**", "__"} {
		if strings.HasPrefix(rest, mark) {
			rest, bold = rest[len(mark):], mark
		}
	}
	if bold == "" && !listed {
		return "", 0
	}
	n := 0
	for n < len(rest) && (isLetter(rest[n]) || n > 0 && (rest[n] == ' ' || rest[n] == '-')) {
		n++
	}
	key = strings.ToLower(strings.TrimRight(rest[:n], " "))
	rest, inside := strings.CutPrefix(rest[n:], ":"+bold)
	if !inside {
		var closed, colon bool
		rest, closed = strings.CutPrefix(rest, bold)
		rest, colon = strings.CutPrefix(strings.TrimLeft(rest, " \t"), ":")
		if !closed || !colon {
			return "", 0
		}
	}
	if key == "" {
		return "", 0
	}
	return key, len(l) - len(strings.TrimLeft(rest, " \t"))
}

func isLetter(b byte) bool { return b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' }

var (
	parenthesis = regexp.MustCompile(`\s*\([^()]*\)\s*$`)
	parentKey   = regexp.MustCompile(`^parent(?: [a-z -]+)?$`)
	idKey       = regexp.MustCompile(`^[a-z]+(?:[ -][a-z]+)* id$`)
)

// withStatus returns text with another status in its Metadata section. Of the
// line only the word changes, so that quotes and remarks stay.
func withStatus(text, from, to string) string {
	f, ok := readMetadataPart(text).fields["status"]
	if !ok {
		return text
	}
	// Not by strings.ToLower: it changes the length of invalid UTF-8.
	word := regexp.MustCompile("(?i)" + regexp.QuoteMeta(from))
	if at := word.FindStringIndex(text[f.start:f.end]); at != nil {
		return text[:f.start+at[0]] + to + text[f.start+at[1]:]
	}
	return text[:f.start] + to + text[f.end:]
}

// fieldName maps the keys of the templates (Story ID, Epic ID, PRD ID …;
// Parent PRD, Parent Epic …) to ours.
func fieldName(key string) string {
	switch {
	case key == "title" || key == "status" || key == "version":
		return key
	case parentKey.MatchString(key): // before the ids: "Parent PRD ID"
		return "parent"
	case idKey.MatchString(key):
		return "artifact_id"
	}
	return ""
}

// fieldValue cleans a value: quotes come off, and so does a trailing
// parenthesis such as in "Draft (v3)" — but not that of a title without
// quotes, where it is part of the name.
func fieldValue(name, raw string) string {
	v := strings.Trim(strings.TrimSpace(raw), "`")
	if inner, ok := unquote(v); ok {
		return inner
	}
	if name != "title" {
		v = parenthesis.ReplaceAllString(v, "")
	}
	return strings.TrimSpace(v)
}

// unquote returns what stands between a leading quote and the last one.
func unquote(v string) (string, bool) {
	for _, q := range [][2]string{{`"`, `"`}, {"“", "”"}, {"'", "'"}} {
		rest, ok := strings.CutPrefix(v, q[0])
		if end := strings.LastIndex(rest, q[1]); ok && end >= 0 {
			return strings.TrimSpace(rest[:end]), true
		}
	}
	return "", false
}

// maxVersion is the highest version of an artifact.
const maxVersion = 999

// parseMetadata extracts and checks the metadata of a document that a call
// brought. An id that traverses is refused first, and logged.
func parseMetadata(ctx context.Context, call *family.Call, text string) (*metadata, error) {
	if id := metadataFields(text)["artifact_id"]; traverses(id) {
		_, err := checkID(ctx, call, "artifact_id", id)
		return nil, err
	}
	return readSection(text)
}

// readSection reads the Metadata section of a document. The order of the
// checks is fixed, so that a document with several faults always gives the
// same error.
func readSection(text string) (*metadata, error) {
	part := readMetadataPart(text)
	for _, name := range []string{"artifact_id", "status", "title"} {
		if part.value(name) == "" {
			return nil, part.missingField(name)
		}
	}
	for _, name := range []string{"artifact_id", "version", "status", "title", "parent"} {
		if err := part.checkField(name); err != nil {
			return nil, part.placed(name, err)
		}
	}
	m := &metadata{ID: part.value("artifact_id"), Status: part.value("status"), Title: part.value("title")}
	var err error
	if m.Type, err = typeOf(m.ID); err != nil {
		return nil, err
	}
	if m.Version, err = readVersion(part.value("version")); err != nil {
		return nil, err
	}
	m.ParentID, err = parentID(part.value("parent"))
	return m, err
}

// placed adds to an error about a field where it is, and what it says. That is
// for the caller alone: the message is logged, and documents are not.
func (m *metadataPart) placed(name string, err error) error {
	var e *family.Error
	if f, known := m.fields[name]; known && errors.As(err, &e) {
		e.Message += fmt.Sprintf(" (line %d)", f.line)
		e.Data["line"], e.Data["value"] = f.line, clipped(f.value)
	}
	return err
}

// checkField says what is wrong with a field of the Metadata section, as storing
// would.
func (m *metadataPart) checkField(name string) error {
	v := m.value(name)
	var err error
	switch name {
	case "artifact_id", "status", "title":
		if v == "" {
			return m.missingField(name)
		}
	}
	switch name {
	case "artifact_id":
		_, err = parseID(name, v)
	case "status":
		err = checkStatus(v)
	case "title":
		err = checkTitle(v)
	case "version":
		_, err = readVersion(v)
	case "parent":
		_, err = parentID(v)
	}
	return err
}

// readVersion reads a version; none is 1. "v2" and "2.0" are 2, and 2.5 is no
// version.
func readVersion(v string) (int, error) {
	if v == "" {
		return 1, nil
	}
	whole, rest, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(v), "v"), ".")
	n, err := strconv.Atoi(whole)
	if err != nil || strings.Trim(rest, "0.") != "" || n < 1 || n > maxVersion {
		return 0, badField("version", fmt.Sprintf("must be a whole number from 1 to %d", maxVersion))
	}
	return n, nil
}

func checkStatus(v string) error {
	if !slices.Contains(statuses, v) {
		return badField("status", "must be one of "+strings.Join(statuses, ", "))
	}
	return nil
}

func checkTitle(v string) error {
	if n := utf8.RuneCountInString(v); n < 5 || n > 200 {
		return badField("title", "must be 5 to 200 characters")
	}
	return nil
}

// fieldForms is how the fields are written that a document must have.
var fieldForms = map[string]string{"artifact_id": "- **Epic ID:** EPIC-006", "status": "- **Status:** Draft", "title": "- **Title:** The title"}

// missingField is the seed's error for a field that is not there; where there is a
// Metadata section, it says what is looked for.
func (m *metadataPart) missingField(name string) error {
	if m.line == 0 {
		return family.Invalid(name, "missing", "Missing required metadata field: %s", name)
	}
	return family.Invalid(name, "missing", "Missing required metadata field: %s. Write a line such as \"%s\"", name, fieldForms[name])
}

// parentID accepts no parent in the words people use for it.
func parentID(v string) (*string, error) {
	switch strings.ToLower(v) {
	case "", "none", "n/a", "na", "-", "–", "—", "null":
		return nil, nil
	}
	v, _, _ = strings.Cut(v, " ") // "EPIC-006 - Agent tools"
	if !idPattern.MatchString(v) || len(v) > maxID {
		return nil, badField("parent_id", "must be "+idForms)
	}
	if _, err := typeOf(v); err != nil {
		return nil, badField("parent_id", "has an unknown prefix")
	}
	return &v, nil
}

// badField is for a value that is there but wrong. S0 knows only the text for
// a missing one, which would send the author looking for the wrong fault.
func badField(field, why string) error {
	return family.Invalid(field, "invalid", "Invalid metadata field: %s %s", field, why)
}
