package artifact

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/family"
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

var (
	// **Key:** value, perhaps as a list item; the colon may stand outside.
	metadataLine = regexp.MustCompile(`^\s*(?:[-*+]\s+)?\*\*([A-Za-z][A-Za-z ]*?)\s*(?::\*\*|\*\*\s*:)[ \t]*(.*)$`)
	sectionLevel = regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]`)
	parenthesis  = regexp.MustCompile(`\s*\([^()]*\)\s*$`)
	parentKey    = regexp.MustCompile(`^parent(?: [a-z ]+)?$`)
	idKey        = regexp.MustCompile(`^[a-z]+(?: [a-z]+)* id$`)
)

// metadataFields reads the values of the first "## Metadata" section, by the
// names artifact_id, title, status, parent and version. Of a key that repeats
// the first counts; an absent or empty value is absent.
func metadataFields(text string) map[string]string {
	fields := make(map[string]string)
	for _, f := range metadataSection(text) {
		if _, dup := fields[f.name]; !dup && f.value != "" {
			fields[f.name] = f.value
		}
	}
	return fields
}

// A metadataField is one line of the Metadata section; start and end are the
// offsets of what stands after the key.
type metadataField struct {
	name, value string
	start, end  int
}

func metadataSection(text string) (found []metadataField) {
	inside := false
	for at, l := range prose(text) {
		if m := heading.FindStringSubmatch(l); m != nil {
			level := len(sectionLevel.FindStringSubmatch(l)[1])
			if inside && level <= 2 {
				break
			}
			inside = inside || level == 2 && normalHeading(m[1]) == "metadata"
			continue
		}
		if !inside {
			continue
		}
		m := metadataLine.FindStringSubmatchIndex(l)
		if m == nil {
			continue
		}
		if name := fieldName(strings.ToLower(l[m[2]:m[3]])); name != "" {
			found = append(found, metadataField{name, fieldValue(name, l[m[4]:m[5]]), at + m[4], at + m[5]})
		}
	}
	return found
}

// withStatus returns text with another status in its Metadata section. Of the
// line only the word changes, so that quotes and remarks stay.
func withStatus(text, from, to string) string {
	for _, f := range metadataSection(text) {
		if f.name != "status" || f.value == "" {
			continue
		}
		// Not by strings.ToLower: it changes the length of invalid UTF-8.
		word := regexp.MustCompile("(?i)" + regexp.QuoteMeta(from))
		if at := word.FindStringIndex(text[f.start:f.end]); at != nil {
			return text[:f.start+at[0]] + to + text[f.start+at[1]:]
		}
		return text[:f.start] + to + text[f.end:]
	}
	return text
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
	fields := metadataFields(text)
	id := fields["artifact_id"]
	for _, name := range []string{"artifact_id", "status", "title"} {
		if fields[name] == "" {
			return nil, family.Invalid(name, "missing", "Missing required metadata field: %s", name)
		}
	}
	t, err := parseID("artifact_id", id)
	if err != nil {
		return nil, err
	}
	m := &metadata{ID: id, Type: t, Version: 1, Status: fields["status"], Title: fields["title"]}
	if v, ok := fields["version"]; ok {
		if m.Version, err = strconv.Atoi(strings.TrimPrefix(strings.ToLower(v), "v")); err != nil || m.Version < 1 || m.Version > maxVersion {
			return nil, badField("version", fmt.Sprintf("must be a whole number from 1 to %d", maxVersion))
		}
	}
	if !slices.Contains(statuses, m.Status) {
		return nil, badField("status", "must be one of "+strings.Join(statuses, ", "))
	}
	if n := utf8.RuneCountInString(m.Title); n < 5 || n > 200 {
		return nil, badField("title", "must be 5 to 200 characters")
	}
	m.ParentID, err = parentID(fields["parent"])
	return m, err
}

// parentID accepts no parent in the words people use for it.
func parentID(v string) (*string, error) {
	switch strings.ToLower(v) {
	case "", "none", "n/a", "na", "-", "–", "—", "null":
		return nil, nil
	}
	v, _, _ = strings.Cut(v, " ") // "EPIC-006 - Agent tools"
	if !idPattern.MatchString(v) || len(v) > maxID {
		return nil, badField("parent_id", `must match ^[A-Z]+-\d{3,}$`)
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
