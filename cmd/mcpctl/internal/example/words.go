package example

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// formats has a value for each format of JSON Schema 2020-12 section 7.3.
var formats = map[string]string{
	"date-time":             "2026-01-31T12:00:00Z",
	"date":                  "2026-01-31",
	"time":                  "12:00:00Z",
	"duration":              "PT1H",
	"email":                 "user@example.com",
	"idn-email":             "user@example.com",
	"hostname":              "example.com",
	"idn-hostname":          "example.com",
	"ipv4":                  "192.0.2.1",
	"ipv6":                  "2001:db8::1",
	"uri":                   "https://example.com/",
	"url":                   "https://example.com/",
	"uri-reference":         "/example",
	"iri":                   "https://example.com/",
	"iri-reference":         "/example",
	"uuid":                  "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
	"uri-template":          "/example/{id}",
	"json-pointer":          "/example",
	"relative-json-pointer": "0",
	"regex":                 "^example$",
}

// byName returns a value that reads well beside the name of a property.
func byName(name string) string {
	lower := strings.ToLower(name)
	for _, known := range []struct{ part, value string }{
		{"message", "hi"},
		{"text", "hello"},
		{"prompt", "hello"},
		{"query", "hello"},
		{"url", "https://example.com/"},
		{"uri", "https://example.com/"},
		{"email", "user@example.com"},
		{"date", "2026-01-31"},
		{"path", "."},
		{"dir", "."},
	} {
		if strings.Contains(lower, known.part) {
			return known.value
		}
	}
	return "example"
}

// matching returns a string that a pattern matches, of a length within bounds.
// It knows what regular expressions of Go's syntax are made of; what it makes
// is checked, so a pattern that is too clever gets nothing.
func matching(pattern string, least, most int) (string, bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	check, err := regexp.Compile(pattern)
	if err != nil {
		return "", false
	}
	for _, repeat := range []int{0, 1, 2, 4, 8, 16, 32, 64, 128} {
		var b strings.Builder
		write(&b, re, repeat)
		s := b.String()
		if n := utf8.RuneCountInString(s); n < least && !strings.HasSuffix(pattern, "$") {
			s += strings.Repeat("x", least-n)
		}
		if n := utf8.RuneCountInString(s); n >= least && n <= most && check.MatchString(s) {
			return s, true
		}
	}
	return "", false
}

// write appends the plainest string of a pattern in which each open repetition
// runs repeat times, or as few more as it must.
func write(b *strings.Builder, re *syntax.Regexp, repeat int) {
	if b.Len() > maxText {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(plainest(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			write(b, sub, repeat)
		}
	case syntax.OpAlternate:
		write(b, re.Sub[0], repeat)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		n := repeat
		switch {
		case re.Op == syntax.OpQuest:
			n = min(n, 1)
		case re.Op == syntax.OpPlus:
			n = max(n, 1)
		case re.Op == syntax.OpRepeat && re.Max >= 0:
			n = max(re.Min, min(n, re.Max))
		case re.Op == syntax.OpRepeat:
			n = max(re.Min, n)
		}
		for range n {
			write(b, re.Sub[0], repeat)
		}
	}
}

// plainest returns a letter or digit of a class, else its first character that
// prints.
func plainest(ranges []rune) rune {
	in := func(r rune) bool {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= r && r <= ranges[i+1] {
				return true
			}
		}
		return false
	}
	for _, r := range "abcxyzABCXYZ123450 -_./" {
		if in(r) {
			return r
		}
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1] && r < ranges[i]+256; r++ {
			if unicode.IsPrint(r) {
				return r
			}
		}
	}
	if len(ranges) > 0 {
		return ranges[0]
	}
	return 'x'
}
