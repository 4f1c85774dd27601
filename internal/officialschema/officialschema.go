// Package officialschema validates messages in tests with the official JSON schemas, which may be
// beside a checkout.
package officialschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/jsonschema-go/jsonschema"
)

// Folder returns the folder of the schemas, for a package below folders below the root of the
// checkout, and whether it exists.
func Folder(below int) (string, bool) {
	folder := ".."
	for range below {
		folder = filepath.Join(folder, "..")
	}
	folder = filepath.Join(folder, "shared", "schemas")
	_, err := os.Stat(folder)
	return folder, err == nil
}

// Schema is the schema of one revision. It is safe for concurrent use.
type Schema struct {
	definitions map[string]*jsonschema.Schema // each as a member of one object
	resolved    *jsonschema.Resolved
}

// uri is the format of URIs in the schemas, which validators may ignore, as a pattern, which they
// must not.
var uri = []byte(`"pattern": "^[A-Za-z][A-Za-z0-9+.-]*:\\S*$", "format": "uri"`)

// New parses a schema.
func New(text []byte) (*Schema, error) {
	all := &jsonschema.Schema{}
	if err := json.Unmarshal(bytes.ReplaceAll(text, []byte(`"format": "uri"`), uri), all); err != nil {
		return nil, err
	}
	at, definitions := "$defs", all.Defs
	if definitions == nil {
		at, definitions = "definitions", all.Definitions
	}
	s := &Schema{definitions: map[string]*jsonschema.Schema{}}
	for name := range definitions {
		s.definitions[name] = &jsonschema.Schema{Ref: "#/" + at + "/" + name}
	}
	root := &jsonschema.Schema{Schema: all.Schema, Defs: all.Defs, Definitions: all.Definitions, Properties: s.definitions}
	var err error
	s.resolved, err = root.Resolve(nil)
	return s, err
}

// Validate validates a JSON text against a definition.
func (s *Schema) Validate(definition string, text []byte) error {
	if s.definitions[definition] == nil {
		return fmt.Errorf("the schema has no definition %q", definition)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	return s.resolved.Validate(map[string]any{definition: numbered(value)})
}

// numbered converts the numbers in a value to float64, as the validator expects.
func numbered(value any) any {
	switch value := value.(type) {
	case json.Number:
		n, _ := value.Float64() // infinite if out of range
		return n
	case []any:
		for i := range value {
			value[i] = numbered(value[i])
		}
	case map[string]any:
		for name := range value {
			value[name] = numbered(value[name])
		}
	}
	return value
}
