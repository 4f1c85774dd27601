package skills

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// splitFrontMatter returns the YAML between the two lines of three hyphens at the
// beginning of a SKILL.md, and what follows it.
func splitFrontMatter(text []byte, limit int) (front, body []byte, err error) {
	if !utf8.Valid(text) {
		return nil, nil, errors.New("SKILL.md is not UTF-8 text")
	}
	rest := bytes.TrimPrefix(text, []byte("\uFEFF"))
	line, rest, _ := bytes.Cut(rest, []byte("\n"))
	if !isFence(line) {
		return nil, nil, errors.New("SKILL.md does not begin with front matter")
	}
	front = rest
	for len(rest) > 0 {
		at := len(front) - len(rest)
		if over(at, limit) {
			return nil, nil, fmt.Errorf("the front matter has more than %s", jsonrpc.Size(limit))
		}
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if isFence(line) {
			return front[:at], rest, nil
		}
	}
	return nil, nil, errors.New("the front matter of SKILL.md does not end")
}

func isFence(line []byte) bool { return string(bytes.TrimRight(line, " \t\r")) == "---" }

// sameFrontMatter compares the front matter of a file with that of its entry, field by
// field (SEP-2640, "Frontmatter Verification").
func sameFrontMatter(front, entry []byte) error {
	want, err := doc.Parse(entry)
	if err != nil {
		return errors.New("the front matter of the entry is not valid JSON")
	}
	var file, more yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(front))
	if err := documents.Decode(&file); errors.Is(err, io.EOF) {
		return errors.New("the front matter is empty")
	} else if err != nil || file.Kind != yaml.DocumentNode {
		return errors.New("the front matter is not valid YAML")
	}
	if !errors.Is(documents.Decode(&more), io.EOF) {
		return errors.New("the front matter is more than one YAML document")
	}
	return same(file.Content[0], want, "")
}

// same compares a YAML value with a JSON value. place names the value in errors. Each step
// takes one value of the entry, so aliases cannot make it longer than the entry is.
func same(file *yaml.Node, entry *doc.Value, place string) error {
	if file.Kind == yaml.AliasNode {
		file = file.Alias
	}
	switch {
	case file.Kind == yaml.MappingNode && entry.Kind() == doc.Object:
		return sameFields(file.Content, entry, place)
	case file.Kind == yaml.SequenceNode && entry.Kind() == doc.Array && len(file.Content) == len(entry.Items()):
		for i, item := range entry.Items() {
			if err := same(file.Content[i], item, below(place, strconv.Itoa(i))); err != nil {
				return err
			}
		}
		return nil
	case file.Kind == yaml.ScalarNode && sameScalar(file, entry):
		return nil
	case place == "":
		return errors.New("the front matter is not a mapping")
	}
	return fmt.Errorf("the field %s of the front matter differs from the entry", quoted(place))
}

// sameFields compares the keys and values of a YAML mapping, in turns in pairs, with a
// JSON object.
func sameFields(pairs []*yaml.Node, entry *doc.Value, place string) error {
	seen := map[string]bool{}
	for pair := range slices.Chunk(pairs, 2) {
		key := pair[0].Value // "" if it is no scalar: the entry has no such field
		inside := below(place, key)
		if seen[key] {
			return fmt.Errorf("the front matter has the field %s twice", quoted(inside))
		}
		seen[key] = true
		value := entry.Get(key)
		if value == nil || pair[0].Kind != yaml.ScalarNode {
			return fmt.Errorf("the entry lacks the field %s of the front matter", quoted(inside))
		}
		if err := same(pair[1], value, inside); err != nil {
			return err
		}
	}
	for _, m := range entry.Members() {
		if !seen[m.Name] {
			return fmt.Errorf("the front matter lacks the field %s of the entry", quoted(below(place, m.Name)))
		}
	}
	return nil
}

// below names a value inside another.
func below(place, name string) string {
	if place == "" {
		return name
	}
	return place + "." + name
}

// sameScalar compares a YAML scalar with a JSON value. Servers read YAML with different
// libraries, so an unquoted value may have become a string (1.0, 2026-01-01) or, as in YAML
// 1.1, a boolean (yes). All of these have the meaning of the same text; another text never
// passes.
func sameScalar(file *yaml.Node, entry *doc.Value) bool {
	tag := file.ShortTag()
	switch entry.Kind() {
	case doc.String:
		return entry.Str() == file.Value || (tag == "!!timestamp" && sameTime(file, entry.Str()))
	case doc.Number:
		return (tag == "!!int" || tag == "!!float") && sameNumber(file, entry)
	case doc.Bool:
		var b bool // Decode follows YAML 1.1 for a bool
		return tag != "!!null" && file.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 &&
			file.Decode(&b) == nil && b == entry.True()
	case doc.Null:
		return tag == "!!null"
	case doc.Array, doc.Object:
	}
	return false
}

func sameNumber(file *yaml.Node, entry *doc.Value) bool {
	if file.Value == entry.String() {
		return true
	}
	var i int64
	if want, ok := entry.Any().(int64); ok && file.Decode(&i) == nil {
		return i == want
	}
	var f float64
	return file.Decode(&f) == nil && !math.IsNaN(f) && f == entry.Float()
}

// sameTime compares a date or time with one that was read and written again.
func sameTime(file *yaml.Node, entry string) bool {
	var t time.Time
	if file.Decode(&t) != nil {
		return false
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateTime, time.DateOnly} {
		if want, err := time.Parse(form, entry); err == nil {
			return want.Equal(t)
		}
	}
	return false
}
