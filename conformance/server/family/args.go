package family

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// Args are the arguments of a call, still undecoded.
type Args map[string]json.RawMessage

// ParseArgs decodes raw as a JSON object and refuses members that are not in
// known. Absent arguments and null are the empty object.
func ParseArgs(raw json.RawMessage, known ...string) (Args, error) {
	var args Args
	if len(raw) == 0 {
		return Args{}, nil
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, Invalid("arguments", "type", "arguments must be an object")
	}
	// In order, so that two unknown members always give the same answer.
	for _, name := range sortedNames(args) {
		if !slices.Contains(known, name) {
			return nil, Invalid(clip(name), "unknown", "Unknown argument: %s", clip(name))
		}
	}
	return args, nil
}

// String returns the required string argument name. Its length, counted in
// Unicode code points, must lie between least and most; most 0 is no limit.
func (a Args) String(name string, least, most int) (string, error) {
	raw, ok := a[name]
	if !ok {
		return "", Invalid(name, "missing", "Missing required argument: %s", name)
	}
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		return "", Invalid(name, "type", "%s must be a string", name)
	}
	n := utf8.RuneCountInString(*s)
	switch {
	case n == 0 && least > 0:
		return "", Invalid(name, "length", "%s must not be empty", name)
	case n < least:
		return "", Invalid(name, "length", "%s must be at least %d characters", name, least)
	case most > 0 && n > most:
		return "", Invalid(name, "length", "%s must be at most %d characters", name, most)
	}
	return *s, nil
}

// peekString returns the string argument name of raw, or "" when there is
// none: the log of a call names its task even when the arguments are wrong.
func peekString(raw json.RawMessage, name string, most int) string {
	var args Args
	if json.Unmarshal(raw, &args) != nil {
		return ""
	}
	var s string
	if json.Unmarshal(args[name], &s) != nil || utf8.RuneCountInString(s) > most {
		return ""
	}
	return s
}

// clip shortens text from a caller to what an error message may carry and
// removes control characters from it.
func clip(s string) string {
	const most = 64
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

func sortedNames(a Args) []string {
	names := make([]string, 0, len(a))
	for name := range a {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Encode returns v as JSON without HTML escaping, as both halves of a tool
// result carry it.
func Encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}
