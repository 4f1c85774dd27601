// Package params reads the arguments of the coe tools by ordered rules, so that
// the first thing wrong with a call is always the same one, and says it without
// committing to a form: S1 reports it as 400, as INVALID_PARAM or as -32602
// (tools.md §3.2, §3.3).
package params

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The reasons of a violation.
const (
	Required = "required"
	Type     = "type"
	Length   = "length"
	Enum     = "enum"
	Range    = "range"
	Unknown  = "unknown"
	Format   = "format"
	Twice    = "duplicate"
)

// A Violation is what is wrong with one argument.
type Violation struct {
	// Field is the argument, with dots and indexes for what is inside one.
	Field  string
	Reason string
	// Message is a sentence without the value, which may be anything.
	Message string
}

func (v *Violation) Error() string { return v.Message }

func violation(field, reason, format string, args ...any) *Violation {
	return &Violation{Field: field, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// maxID bounds the ids of tasks and the like, in characters.
const maxID = 128

// An Object reads the members of one JSON object. It keeps the first violation,
// of itself or of an object inside it; after that every getter returns zero
// values. An Object that is absent reads as one without members.
type Object struct {
	path    string
	members map[string]json.RawMessage
	first   **Violation
}

// Read returns the object raw, which may hold the members known alone, each
// once. Absent arguments and null are the empty object.
func Read(raw json.RawMessage, known ...string) *Object {
	o := Loose(raw)
	o.only(known)
	if name := twice(raw); name != "" {
		o.fail(name, Twice, "%s is there twice", name)
	}
	return o
}

// Loose returns the object raw with whatever members it has.
func Loose(raw json.RawMessage) *Object {
	var none *Violation
	o := &Object{first: &none}
	if len(raw) > 0 && json.Unmarshal(raw, &o.members) != nil {
		o.fail("arguments", Type, "arguments must be an object")
	}
	return o
}

// only refuses members that are not known, in order, so that two of them
// always give the same answer.
func (o *Object) only(known []string) {
	var found []string
	for name := range o.members {
		if !slices.Contains(known, name) {
			found = append(found, name)
		}
	}
	if len(found) > 0 {
		slices.Sort(found)
		name := clip(found[0])
		o.fail(name, Unknown, "unknown argument: %s", name)
	}
}

// Err returns the first violation, or nil.
func (o *Object) Err() error {
	if *o.first == nil {
		return nil
	}
	return *o.first
}

// Fail records a violation of a rule that only the tool knows, unless there is
// one already.
func (o *Object) Fail(field, reason, format string, args ...any) {
	o.fail(field, reason, format, args...)
}

func (o *Object) fail(name, reason, format string, args ...any) {
	if *o.first == nil {
		*o.first = violation(o.path+name, reason, format, args...)
	}
}

// Has says whether the member is there, be it null.
func (o *Object) Has(name string) bool {
	_, ok := o.members[name]
	return ok
}

// Raw returns the member as it was sent, or nil.
func (o *Object) Raw(name string) json.RawMessage { return o.members[name] }

// get decodes a member into v and says whether that worked. What is null, or
// of another type, is a violation.
func (o *Object) get(name, kind string, v any) bool {
	raw, ok := o.members[name]
	if !ok || *o.first != nil {
		return false
	}
	if isNull(raw) || json.Unmarshal(raw, v) != nil {
		o.fail(name, Type, "%s must be %s", o.path+name, kind)
		return false
	}
	return true
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

// Need makes members required. It is called first, in the order in which
// missing ones are reported.
func (o *Object) Need(names ...string) {
	for _, name := range names {
		if !o.Has(name) {
			o.fail(name, Required, "%s is required", o.path+name)
		}
	}
}

// Null says that the member is an explicit null, which some schemas allow.
func (o *Object) Null(name string) bool {
	raw, ok := o.members[name]
	return ok && isNull(raw)
}

// Text returns a string of at most most characters (0 is no limit), freed of
// control characters other than tab and newline: what a caller wrote is stored
// and echoed (S1-SEC-03).
func (o *Object) Text(name string, most int) string {
	var s string
	if !o.get(name, "a string", &s) {
		return ""
	}
	if most > 0 && utf8.RuneCountInString(s) > most {
		o.fail(name, Length, "%s must be at most %d characters", o.path+name, most)
		return ""
	}
	return Clean(s)
}

// Filled is [Object.Text] for a string that must say something when it is there.
func (o *Object) Filled(name string, most int) string {
	s := o.Text(name, most)
	if o.Has(name) && strings.TrimSpace(s) == "" {
		o.fail(name, Length, "%s must not be empty", o.path+name)
	}
	return s
}

// Enum returns a string out of values.
func (o *Object) Enum(name string, values ...string) string {
	var s string
	if !o.get(name, "a string", &s) {
		return ""
	}
	if !slices.Contains(values, s) {
		o.fail(name, Enum, "%s must be one of %s", o.path+name, strings.Join(values, ", "))
		return ""
	}
	return s
}

// Bool returns a boolean, or the given one when the member is absent.
func (o *Object) Bool(name string, absent bool) bool {
	b := absent
	if !o.get(name, "a boolean", &b) {
		return absent
	}
	return b
}

// Number returns a number from least to most.
func (o *Object) Number(name string, least, most float64) float64 {
	var f float64
	if !o.get(name, "a number", &f) {
		return 0
	}
	if f < least || f > most {
		o.fail(name, Range, "%s must be %s", o.path+name, between(least, most))
		return 0
	}
	return f
}

func between(least, most float64) string {
	switch {
	case math.IsInf(most, 1):
		return fmt.Sprintf("at least %v", least)
	case least == most:
		return fmt.Sprintf("%v", least)
	}
	return fmt.Sprintf("from %v to %v", least, most)
}

// Int returns an integer from least to most, or the given one when the member
// is absent. As in JSON Schema, 5.0 is an integer.
func (o *Object) Int(name string, least, most, absent int) int {
	if !o.Has(name) {
		return absent
	}
	var f float64
	if !o.get(name, "an integer", &f) {
		return absent
	}
	if f != math.Trunc(f) {
		o.fail(name, Type, "%s must be an integer", o.path+name)
		return absent
	}
	if f < float64(least) || f > float64(most) {
		o.fail(name, Range, "%s must be %s", o.path+name, between(float64(least), float64(most)))
		return absent
	}
	return int(f)
}

// Object returns the object inside, which may hold the members known alone.
func (o *Object) Object(name string, known ...string) *Object {
	in := o.Any(name)
	in.only(known)
	return in
}

// Any returns the object inside with whatever members it has.
func (o *Object) Any(name string) *Object {
	in := &Object{path: o.path + name + ".", first: o.first}
	o.get(name, "an object", &in.members)
	return in
}

// Members returns the names of the members, sorted.
func (o *Object) Members() []string {
	names := make([]string, 0, len(o.members))
	for name := range o.members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Texts returns an array of strings, cleaned as [Object.Text] does.
func (o *Object) Texts(name string) []string {
	var raw []json.RawMessage
	if !o.get(name, "an array of strings", &raw) {
		return nil
	}
	out := make([]string, len(raw))
	for i, r := range raw {
		var s *string
		if json.Unmarshal(r, &s) != nil || s == nil {
			o.fail(fmt.Sprintf("%s[%d]", name, i), Type, "%s must be an array of strings", o.path+name)
			return nil
		}
		out[i] = Clean(*s)
	}
	return out
}

// Objects returns an array of objects, each with the members known alone.
func (o *Object) Objects(name string, known ...string) []*Object {
	var raw []json.RawMessage
	if !o.get(name, "an array of objects", &raw) {
		return nil
	}
	out := make([]*Object, len(raw))
	for i, r := range raw {
		in := &Object{path: fmt.Sprintf("%s%s[%d].", o.path, name, i), first: o.first}
		if isNull(r) || json.Unmarshal(r, &in.members) != nil {
			o.fail(fmt.Sprintf("%s[%d]", name, i), Type, "%s must be an array of objects", o.path+name)
			return nil
		}
		in.only(known)
		out[i] = in
	}
	return out
}

// AtMost bounds an array whose elements each make the server keep something.
func (o *Object) AtMost(name string, most int) {
	var raw []json.RawMessage
	if o.get(name, "an array", &raw) && len(raw) > most {
		o.fail(name, Length, "%s must have at most %d elements", o.path+name, most)
	}
}

// Clean removes control characters other than tab and newline from s, and
// leaves everything else as it is (S1-SEC-03).
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// clip shortens a name from a caller to what a message may carry.
func clip(s string) string {
	const most = 64
	s = strings.NewReplacer("\n", "", "\t", "").Replace(Clean(s))
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
