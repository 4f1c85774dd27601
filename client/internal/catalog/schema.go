package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mainstay-mcp/mainstay/internal/inputschema"
)

// maxTools limits the tools whose compiled schemas and annotations are cached.
const maxTools = 1024

// Schemas caches one compiled schema per tool until its text changes. The zero value is ready for
// use. Its methods may be called from many goroutines at once.
type Schemas struct {
	make  sync.Once
	cache *lru.Cache[string, *Schema]
}

// Get returns the compiled schema of a tool. first is true if its text is new.
func (s *Schemas) Get(tool string, text json.RawMessage) (c *Schema, first bool) {
	s.make.Do(func() {
		s.cache, _ = lru.New[string, *Schema](maxTools) // fails only for a negative size
	})
	if c, ok := s.cache.Get(tool); ok && bytes.Equal(c.text, text) {
		return c, false
	}
	c = Compile(text)
	s.cache.Add(tool, c)
	return c, true
}

// Schema is a compiled JSON Schema of arguments, of a result or of a form.
type Schema struct {
	text   json.RawMessage
	schema *inputschema.Schema
	flat   *flatSchema // nil if the schema is not that simple
	err    error

	reported atomic.Bool // a mismatch was logged
}

// Compile compiles a schema. If that fails, its [Schema.Err] is not nil.
func Compile(text json.RawMessage) *Schema {
	s := &Schema{text: text}
	if s.schema, s.err = inputschema.Compile(text); s.err == nil {
		s.flat = flatten(s.schema.Root)
	}
	return s
}

// Err returns why the schema cannot be used, nil if it can.
func (s *Schema) Err() error { return s.err }

// Judge validates a value against the schema, whose Err must be nil. The error is the validator's
// and contains values: [Schema.Explain] describes it without them.
func (s *Schema) Judge(value json.RawMessage) error {
	if value = orEmpty(value); s.flat != nil && s.flat.fits(value) {
		return nil
	}
	return s.schema.Judge(value)
}

// Check is Judge with an explained error.
func (s *Schema) Check(value json.RawMessage) error {
	if verdict := s.Judge(value); verdict != nil {
		return errors.New(s.Explain(value, verdict))
	}
	return nil
}

// orEmpty returns an empty object for missing arguments, as servers do.
func orEmpty(args json.RawMessage) json.RawMessage {
	if len(args) == 0 {
		return json.RawMessage(`{}`)
	}
	return args
}

// Checker returns a function that validates a value against schema, nil if the schema cannot be
// used.
func Checker(schema json.RawMessage) func(json.RawMessage) error {
	if s := Compile(schema); s.Err() == nil {
		return s.Check
	}
	return nil
}
