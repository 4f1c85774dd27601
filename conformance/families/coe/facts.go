package coe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/params"
)

// A fact is one value of a record with the path of names that leads to it.
type fact struct{ name, value string }

// documents are the arguments that quote files or other long texts. The log has
// only their length.
var documents = []string{"context", "context_summary", "context_bundle", "relevant_snippets"}

// facts returns the values of a JSON object in their order. With brief, of
// documents only how long they are.
func facts(body json.RawMessage, brief bool) []fact {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var out []fact
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return out
		}
		key := fmt.Sprint(name)
		if brief && slices.Contains(documents, key) {
			out = append(out, fact{key, fmt.Sprintf("(%d bytes)", len(value))})
			continue
		}
		out = append(out, factsOf(key, value, brief)...)
	}
	return out
}

// factsOf returns the values below a member.
func factsOf(name string, raw json.RawMessage, brief bool) []fact {
	switch raw[0] {
	case '{':
		inner := facts(raw, brief)
		for i := range inner {
			inner[i].name = name + "." + inner[i].name
		}
		return inner
	case '[':
		var list []json.RawMessage
		_ = json.Unmarshal(raw, &list) // it was a part of JSON
		var out []fact
		var words []string
		for i, item := range list {
			if item[0] == '{' || item[0] == '[' {
				out = append(out, factsOf(fmt.Sprintf("%s[%d]", name, i), item, brief)...)
			} else {
				words = append(words, scalar(item))
			}
		}
		if len(words) > 0 {
			out = append(out, fact{name, strings.Join(words, ", ")})
		}
		return out
	}
	return []fact{{name, scalar(raw)}}
}

func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && raw[0] == '"' {
		return params.Clean(s)
	}
	return string(raw)
}

// sentence writes facts as "name: value; …", each value and the whole bounded in
// characters.
func sentence(fs []fact, value, whole int) string {
	var b strings.Builder
	for i, f := range fs {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.name + ": " + cut(f.value, value))
		if b.Len() > 4*whole { // the rest would be cut anyway
			break
		}
	}
	return cut(b.String(), whole)
}

// cut shortens a text to so many characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	if r := []rune(s[:min(len(s), 4*most+4)]); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// secrets is what looks like a credential: after a name of one, after a scheme of
// HTTP, in the user part of a URL, or by its shape.
var secrets = regexp.MustCompile(`(?i)` +
	`((?:api[-_ ]?key|access[-_ ]?key|token|secret|passw(?:or)?d|authorization|credentials?|cookie)["']?\s*[:=]\s*)(?:"[^"]*"|'[^']*'|(?:(?:bearer|basic)\s+)?[^\s;,]+)` +
	`|(\b(?:bearer|basic)\s+)[-\w.~+/=]{8,}` +
	`|(://)[^/\s@]+@` +
	`|()\b(?:(?:sk|pk|rk|gh[opsur]|glpat|xox[abposr]|AKIA|ASIA|AIza)[-_]?[-\w]{16,}|eyJ[-\w]{8,}\.[-\w.]{8,})` +
	`|()-----BEGIN [A-Z ]*PRIVATE KEY-----`)

// redact replaces what looks like a credential. In doubt it replaces too much.
func redact(s string) string { return secrets.ReplaceAllString(s, "$1$2$3$4$5[redacted]") }
