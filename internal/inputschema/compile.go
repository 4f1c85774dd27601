// Package inputschema compiles the JSON Schemas of tools so that validating values with them is
// safe: servers send them, and a schema is a program.
package inputschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// ErrUnusable matches every error of [Compile]: the schema cannot validate anything. That is an
// error of its author, and no reason not to call the tool.
var ErrUnusable = errors.New("the schema cannot be used to check values")

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	// Root is the parsed schema; it must not be changed.
	Root     *jsonschema.Schema
	resolved *jsonschema.Resolved
	extent   extent
	// fractions is set if a multipleOf in the schema is a fraction.
	fractions bool
}

// Compile reads a schema of draft-07 or 2020-12. It rejects invalid schemas, references to other
// documents (they are never fetched), and unknown dialects. It also rejects schemas that apply
// themselves to the same value endlessly, which would crash the process, and schemas that are so
// large or so intertwined that validation would take too much time or memory.
func Compile(text json.RawMessage) (*Schema, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("%w: it is longer than 1 MiB", ErrUnusable)
	}
	var document any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // keeps the digits of limits
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	if reason := oversized(document); reason != "" {
		return nil, fmt.Errorf("%w: %s", ErrUnusable, reason)
	}
	exactKeywords(document)
	most, reason := unsafe(document)
	if reason != "" {
		return nil, fmt.Errorf("%w: %s", ErrUnusable, reason)
	}
	clean, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	s := &Schema{Root: &jsonschema.Schema{}, extent: most, fractions: hasFractions(document)}
	if err := json.Unmarshal(clean, s.Root); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	if s.resolved, err = s.Root.Resolve(nil); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	// An unknown dialect is reported only by a validation.
	if err := s.resolved.Validate(map[string]any{}); err != nil && strings.HasPrefix(err.Error(), "cannot validate version") {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	return s, nil
}

// Validate validates a decoded JSON value, whose numbers must be float64 or integers: the
// validator treats a json.Number as a string. It returns nil if the value matches, or if
// [Schema.CanJudge] is false.
func (s *Schema) Validate(value any) error {
	if !s.CanJudge(value) {
		return nil
	}
	return s.resolved.Validate(value)
}

// CanJudge reports whether a value can be validated. Schemas that apply to the same value
// multiply with every level, so values that are very deep or very large for their schema are not
// validated: it could take forever.
func (s *Schema) CanJudge(value any) bool { return s.extent.affordable(value) }
