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
	extent   extent
	// fractions is true when multiples of a fraction are asked for somewhere.
	fractions bool
}

// Compile reads a schema of draft-07 or 2020-12. It refuses what is no schema,
// what refers to other documents (they are never fetched), dialects
// the validator does not speak, schemas that apply themselves to the
// same value without end, which would end the process, and schemas so large or
// so intertwined that judging by them would take for ever or fill memory.
func Compile(text json.RawMessage) (*Schema, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("%w: it is longer than 1 MiB", ErrUnusable)
	}
	var document any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // limits keep their digits
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
	// An unknown dialect shows only when something is judged.
	if err := s.resolved.Validate(map[string]any{}); err != nil && strings.HasPrefix(err.Error(), "cannot validate version") {
		return nil, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	return s, nil
}

// Validate judges a decoded JSON value, whose numbers must be float64 or
// integers: the validator takes a json.Number for a string. nil means that it
// fits, or that nothing can be said because of [Schema.CanJudge].
func (s *Schema) Validate(value any) error {
	if !s.CanJudge(value) {
		return nil
	}
	return s.resolved.Validate(value)
}

// CanJudge reports whether a value is judged at all. Schemas that apply to the
// same value multiply with every level of it, so values that are very deep or
// very large for their schema are not: it could take for ever.
func (s *Schema) CanJudge(value any) bool { return s.extent.affordable(value) }
