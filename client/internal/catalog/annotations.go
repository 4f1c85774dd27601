package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// headerAnnotation is the schema member that names the header for a property.
const headerAnnotation = "x-mcp-header"

// node is a position in a tool's arguments: the root, an annotated property, or one on the way to
// an annotated property.
type node struct {
	header   string
	children map[string]*node
}

// maxSearched limits the schemas that are searched: decoded, they are many times as large.
const maxSearched = 1 << 20

// mayAnnotate reports whether a text may have annotations, before it is decoded. It looks for the
// dash because dashes are rare.
func mayAnnotate(text json.RawMessage) bool {
	return bytes.Contains(text, []byte(headerAnnotation[1:])) || bytes.Contains(text, []byte(`\u`))
}

// search finds the annotations of an input schema, nil for none. It searches every subschema, so
// that it also finds annotations where they are not allowed.
func search(schema json.RawMessage) (*node, error) {
	if !mayAnnotate(schema) { // as most schemas
		return nil, nil
	}
	if len(schema) > maxSearched {
		return nil, fmt.Errorf("the schema is over %d bytes, too large to be searched for annotations", maxSearched)
	}
	var root any
	_ = jsonrpc.Unmarshal(schema, &root) // an invalid schema is reported elsewhere
	s := searching{used: map[string]bool{}}
	tree := &node{}
	if object, ok := root.(map[string]any); ok {
		if _, ok := object[headerAnnotation]; ok {
			return nil, errors.New("the schema itself is annotated: only its properties can be")
		}
		if err := s.within(object, tree); err != nil {
			return nil, err
		}
	}
	if len(s.used) == 0 {
		return nil, nil
	}
	return tree, nil
}

// searching is one walk through a schema.
type searching struct {
	used map[string]bool // header names, in lower case
}

// within searches the subschemas of a schema. place is the node for its properties, nil where
// annotations are not allowed. It visits keywords in sorted order, so that the same error is
// found every time.
func (s *searching) within(schema map[string]any, place *node) error {
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		var err error
		value := schema[keyword]
		switch keyword {
		case "properties":
			err = s.properties(value, place)
		case "items", "additionalItems", "prefixItems", "contains", "unevaluatedItems",
			"additionalProperties", "unevaluatedProperties", "propertyNames", "contentSchema",
			"allOf", "anyOf", "oneOf", "not", "if", "then", "else":
			err = s.elsewhere(keyword, value)
		case "$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies":
			if named, ok := value.(map[string]any); ok {
				for _, name := range slices.Sorted(maps.Keys(named)) {
					if err == nil {
						err = s.elsewhere(keyword, named[name])
					}
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// elsewhere searches subschemas where annotations are not allowed.
func (s *searching) elsewhere(keyword string, value any) error {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			if err := s.elsewhere(keyword, v); err != nil {
				return err
			}
		}
	case map[string]any:
		if _, ok := value[headerAnnotation]; ok {
			return fmt.Errorf("an annotation is below %s; only properties can be annotated", keyword)
		}
		return s.within(value, nil)
	}
	return nil
}

func (s *searching) properties(value any, place *node) error {
	named, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		schema, ok := named[name].(map[string]any)
		if !ok {
			continue // true and false are schemas, too
		}
		annotation, annotated := schema[headerAnnotation]
		var child *node
		if place != nil {
			child = &node{}
		}
		if annotated {
			if place == nil {
				return fmt.Errorf("property %s is annotated where annotations are not allowed: below a keyword other than properties", jsonrpc.Printable(name, 100))
			}
			header, err := s.header(annotation, schema["type"])
			if err != nil {
				return fmt.Errorf("property %s: %w", jsonrpc.Printable(name, 100), err)
			}
			child.header = header
		}
		if err := s.within(schema, child); err != nil {
			return err
		}
		if child != nil && (child.header != "" || child.children != nil) {
			if place.children == nil {
				place.children = map[string]*node{}
			}
			place.children[name] = child
		}
	}
	return nil
}

// header checks one annotation and the type of its property.
func (s *searching) header(annotation, kind any) (string, error) {
	header, ok := annotation.(string)
	if !ok || header == "" || strings.ContainsFunc(header, notToken) {
		return "", errors.New("the annotation is not a header name")
	}
	lower := strings.ToLower(header)
	if s.used[lower] {
		return "", fmt.Errorf("the header %s is used twice", header)
	}
	s.used[lower] = true
	if !isMirrored(kind) {
		return "", errors.New("only a string, an integer or a boolean can be annotated")
	}
	return header, nil
}

// isMirrored reports whether headers repeat values of a type, alone or with null.
func isMirrored(kind any) bool {
	switch kind := kind.(type) {
	case string:
		return kind == "string" || kind == "integer" || kind == "boolean"
	case []any:
		kinds := slices.DeleteFunc(slices.Clone(kind), func(k any) bool { return k == "null" })
		return len(kinds) == 1 && isMirrored(kinds[0])
	}
	return false
}

// notToken reports whether a character is not allowed in a header name (RFC 9110, section 5.6.2).
func notToken(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
