// Package inputschema compiles the JSON Schemas of tools so that judging a
// value by them is safe: they come from servers, and a schema is a program.
package inputschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// ErrUnusable is matched by every error of [Compile]: the schema cannot judge
// anything, which is its author's fault and no reason not to call the tool.
var ErrUnusable = errors.New("the schema cannot be used to check values")

// Schema is a compiled schema. Safe for concurrent use.
type Schema struct {
	// Root is the schema as it was read; it must not be changed.
	Root     *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// Compile reads a schema of draft-07 or 2020-12. It refuses what is no schema,
// what refers to other documents (they are never fetched, TOOL-08), dialects
// the validator does not speak (TOOL-06), and schemas that apply themselves to
// the same value without end, which would end the process.
func Compile(text json.RawMessage) (*Schema, error) {
	var document any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // limits keep their digits
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	exactKeywords(document)
	if reason := unsafe(document); reason != "" {
		return nil, fmt.Errorf("%w: %s", ErrUnusable, reason)
	}
	clean, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	s := &Schema{Root: &jsonschema.Schema{}}
	if err := json.Unmarshal(clean, s.Root); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	if s.resolved, err = s.Root.Resolve(nil); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	// An unknown dialect shows only when something is judged.
	if err := s.resolved.Validate(map[string]any{}); err != nil && strings.HasPrefix(err.Error(), "cannot validate version") {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	return s, nil
}

// Validate judges a decoded JSON value, whose numbers must be float64 or
// integers: the validator takes a json.Number for a string. nil means it fits.
func (s *Schema) Validate(value any) error { return s.resolved.Validate(value) }
