package adr

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A Value is what a field of the architecture is, and which ADR said so.
type Value struct {
	Text string
	Ref  UID
}

// A Snapshot is the whole architecture: category, field, value.
type Snapshot map[string]map[string]Value

// A Patch is what one decision says about the architecture: category, field,
// text.
type Patch map[string]map[string]string

// Other is the category of what fits in none of the named ones.
const Other = "Other"

// schema lists the categories and their known fields, in the order in which
// documents show them (U3). Those from Messaging on come from the vocabulary of
// requests. Further fields are allowed.
var schema = []struct {
	category string
	fields   []string
}{
	{"Frontend", []string{"Framework", "Routing", "Styling", "UI_Library", "State_Management"}},
	{"Backend", []string{"Language", "Framework", "API_Style", "Validation"}},
	{"Database", []string{"Type", "ORM", "Migrations"}},
	{"Authentication", []string{"Strategy", "Library", "Token_Storage"}},
	{"Infra", []string{"Hosting", "CI_CD", "Observability", "Caching"}},
	{"Messaging", []string{"Broker"}},
	{"Storage", []string{"Files"}},
	{"Search", []string{"Engine"}},
	{"Payments", []string{"Provider"}},
	{"Notifications", []string{"Provider"}},
	{"Security", []string{"Encryption", "Secrets", "Personal_Data", "Audit"}},
	{"Structure", []string{"Division", "Tenancy", "Offline"}},
	{"Analytics", []string{"Store"}},
	{"AI", []string{"Model"}},
	{Other, nil},
}

const (
	maxField = 64
	maxValue = 500
)

// Categories returns the named categories in the order of documents.
func Categories() []string {
	names := make([]string, len(schema))
	for i, c := range schema {
		names[i] = c.category
	}
	return names
}

// Field returns the name of a field in the form documents use, letters and digits
// of any script joined by underscores, or "" when nothing usable is in s.
func Field(s string) string {
	s = strings.Trim(notField.ReplaceAllString(norm.NFC.String(strings.ToValidUTF8(s, "")), "_"), "_")
	if runes := []rune(s); len(runes) > maxField {
		s = strings.TrimRight(string(runes[:maxField]), "_")
	}
	return s
}

// fieldWords is how many words of a request name a field.
const fieldWords = 6

// FieldOf returns the name of the field for a decision on request that belongs to no
// other field. Two requests share it only if they differ in nothing but white space
// or final punctuation: a name that leaves out more ends with a part of a digest.
func FieldOf(request string) string {
	words := strings.Fields(strings.TrimRight(norm.NFC.String(request), " .!?。！？"))
	plain := strings.Join(words, " ")
	name := Field(strings.Join(words[:min(len(words), fieldWords)], " "))
	if name != "" && strings.ReplaceAll(name, "_", " ") == plain {
		return name
	}
	if name == "" {
		name, plain = "Decision", request
	}
	sum := sha256.Sum256([]byte(plain))
	digest := "_" + hex.EncodeToString(sum[:3])
	runes := []rune(name)
	return string(runes[:min(len(runes), maxField-len(digest))]) + digest
}

var notField = regexp.MustCompile(`[^\p{L}\p{M}\p{N}_]+`)

// Clean returns what of p is usable: categories of the schema (what is in
// none goes to Other, under its own name), field names in the form of
// documents, values of one line that hold a letter or a digit.
func (p Patch) Clean() Patch {
	out := Patch{}
	for _, name := range sorted(p) {
		category, prefix := Other, Field(name)+"_"
		for _, c := range schema {
			if strings.EqualFold(c.category, name) {
				category, prefix = c.category, ""
			}
		}
		for _, field := range sorted(p[name]) {
			value := Line(p[name][field], maxValue)
			key := Field(prefix + field)
			if key == "" || !strings.ContainsFunc(value, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				continue
			}
			if out[category] == nil {
				out[category] = map[string]string{}
			}
			out[category][key] = value
		}
	}
	return out
}

// With returns s with p applied by the ADR uid. Nothing of s is lost; s is not
// changed.
func (s Snapshot) With(p Patch, uid UID) Snapshot {
	out := s.Merge(nil)
	for category, fields := range p {
		for field, text := range fields {
			out.set(category, field, Value{Text: text, Ref: uid})
		}
	}
	return out
}

// Merge returns the union of two snapshots. Where both have a field, what the
// later ADR said holds: that is how the decisions of two branches meet after
// their files have been merged.
func (s Snapshot) Merge(other Snapshot) Snapshot {
	out := Snapshot{}
	for _, from := range []Snapshot{s, other} {
		for category, fields := range from {
			for field, v := range fields {
				if old, ok := out[category][field]; !ok || v.Ref > old.Ref {
					out.set(category, field, v)
				}
			}
		}
	}
	return out
}

func (s Snapshot) set(category, field string, v Value) {
	if s[category] == nil {
		s[category] = map[string]Value{}
	}
	s[category][field] = v
}

// Missing returns the keys of earlier that s has lost: "Database" for a whole
// category, "Database.ORM" for a field of one that is still there. A complete
// snapshot has lost nothing (§5.1).
func (s Snapshot) Missing(earlier Snapshot) []string {
	var keys []string
	for _, category := range earlier.Order() {
		if len(s[category]) == 0 {
			keys = append(keys, category)
			continue
		}
		for _, field := range fieldOrder(category, earlier[category]) {
			if _, ok := s[category][field]; !ok {
				keys = append(keys, category+"."+field)
			}
		}
	}
	return keys
}

// Order returns the categories of s in the order of documents.
func (s Snapshot) Order() []string {
	var known []string
	for _, c := range schema {
		if len(s[c.category]) > 0 {
			known = append(known, c.category)
		}
	}
	for _, category := range sorted(s) {
		if len(s[category]) > 0 && !slices.Contains(known, category) {
			known = append(known, category)
		}
	}
	return known
}

// Texts returns the values without their references, as read_architecture
// shows them.
func (s Snapshot) Texts() map[string]map[string]string {
	out := make(map[string]map[string]string, len(s))
	for category, fields := range s {
		out[category] = make(map[string]string, len(fields))
		for field, v := range fields {
			out[category][field] = v.Text
		}
	}
	return out
}

// Changes returns what p makes of s as lines in the order of documents:
// "Category.Field: value", and what it replaces or confirms.
func (s Snapshot) Changes(p Patch) []string {
	var lines []string
	next := Snapshot{}.With(p, "")
	for _, category := range next.Order() {
		for _, field := range fieldOrder(category, next[category]) {
			line := category + "." + field + ": " + p[category][field]
			switch old, ok := s[category][field]; {
			case ok && old.Text == p[category][field]:
				line += ", as before (ADR " + string(old.Ref) + ")"
			case ok:
				line += ", replaces " + old.cited()
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func fieldOrder(category string, fields map[string]Value) []string {
	var names []string
	for _, c := range schema {
		if c.category != category {
			continue
		}
		for _, f := range c.fields {
			if _, ok := fields[f]; ok {
				names = append(names, f)
			}
		}
	}
	for _, f := range sorted(fields) {
		if !slices.Contains(names, f) {
			names = append(names, f)
		}
	}
	return names
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
