package skills

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxFrontMatter bounds the front matter of a SKILL.md.
const maxFrontMatter = 64 << 10

// maxNesting bounds lists and mappings inside each other.
const maxNesting = 32

// named are the rules of the Agent Skills specification for names.
var named = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

const maxName = 64

// readFrontMatter takes what a SKILL.md says about its skill.
func (k *skill) readFrontMatter(text []byte) error {
	front, err := frontMatter(text)
	if err != nil {
		return err
	}
	if k.front, err = toJSON(front); err != nil {
		return err
	}
	var fields map[string]any
	if json.Unmarshal(k.front, &fields) != nil || fields == nil {
		return errors.New("the front matter of SKILL.md is not a mapping")
	}
	k.name, _ = fields["name"].(string)
	k.description, _ = fields["description"].(string)
	switch {
	case k.name != path.Base(k.dir):
		return fmt.Errorf("the name in SKILL.md must be that of its folder, not %.80q", k.name)
	case len(k.name) > maxName || !named.MatchString(k.name):
		return fmt.Errorf("the name %.80q is not made of lowercase letters, digits and single hyphens, at most %d", k.name, maxName)
	case k.description == "":
		return errors.New("SKILL.md has no description")
	}
	return nil
}

// frontMatter returns the YAML between the two lines of three hyphens at the
// beginning of a SKILL.md.
func frontMatter(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("SKILL.md is not UTF-8 text")
	}
	line, rest, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("\uFEFF")), []byte("\n"))
	if !isFence(line) {
		return nil, errors.New("SKILL.md does not begin with front matter")
	}
	front := rest
	for len(rest) > 0 {
		at := len(front) - len(rest)
		if at > maxFrontMatter {
			return nil, fmt.Errorf("the front matter of SKILL.md has more than %d bytes", maxFrontMatter)
		}
		if line, rest, _ = bytes.Cut(rest, []byte("\n")); isFence(line) {
			return front[:at], nil
		}
	}
	return nil, errors.New("the front matter of SKILL.md does not end")
}

func isFence(line []byte) bool { return string(bytes.TrimRight(line, " \t\r")) == "---" }

// toJSON renders YAML as JSON, with the same content and order. What JSON cannot
// say, or two readers of YAML would read differently, is an error.
func toJSON(front []byte) (json.RawMessage, error) {
	var doc, more yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(front))
	if err := documents.Decode(&doc); err != nil || doc.Kind != yaml.DocumentNode {
		return nil, errors.New("the front matter of SKILL.md is not valid YAML")
	}
	if !errors.Is(documents.Decode(&more), io.EOF) {
		return nil, errors.New("the front matter of SKILL.md is more than one YAML document")
	}
	var out bytes.Buffer
	if err := write(&out, doc.Content[0], 0); err != nil {
		return nil, fmt.Errorf("the front matter of SKILL.md: line %d: %w", err.line, err)
	}
	return out.Bytes(), nil
}

// yamlError is about a line.
type yamlError struct {
	line int
	text string
}

func (e *yamlError) Error() string { return e.text }

func write(out *bytes.Buffer, n *yaml.Node, depth int) *yamlError {
	wrong := func(text string) *yamlError { return &yamlError{n.Line, text} }
	switch {
	case depth > maxNesting:
		return wrong(fmt.Sprintf("lists and mappings are nested deeper than %d", maxNesting))
	case n.Kind == yaml.SequenceNode:
		out.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := write(out, item, depth+1); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	case n.Kind == yaml.MappingNode:
		return writeMapping(out, n, depth)
	case n.Kind != yaml.ScalarNode:
		return wrong("anchors and aliases are not supported")
	}
	value, ok := scalar(n)
	if !ok {
		return wrong("the value cannot be written as JSON")
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return wrong("the value cannot be written as JSON")
	}
	out.Write(raw)
	return nil
}

func writeMapping(out *bytes.Buffer, n *yaml.Node, depth int) *yamlError {
	seen := map[string]bool{}
	out.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || seen[key.Value] {
			return &yamlError{key.Line, "a field must have a name that is text and unique"}
		}
		seen[key.Value] = true
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(key.Value)
		if err != nil {
			return &yamlError{key.Line, "the name cannot be written as JSON"}
		}
		out.Write(name)
		out.WriteByte(':')
		if err := write(out, n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

// scalar decodes a scalar by the rules of YAML 1.2. Times are text there.
func scalar(n *yaml.Node) (value any, ok bool) {
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return n.Value, true
	case "!!null":
		return nil, true
	case "!!bool":
		var b bool
		return &b, n.Decode(&b) == nil
	case "!!int":
		var i int64
		const most = 1 << 53 // beyond it readers of JSON differ
		return &i, n.Decode(&i) == nil && i >= -most && i <= most
	case "!!float":
		var f float64
		return &f, n.Decode(&f) == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	}
	return nil, false
}
