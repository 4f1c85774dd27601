package catalog

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// flatSchema is the form of most input schemas: an object whose properties have only a type. It
// accepts arguments in one pass over their text, without allocations. The full validator, which
// needs them decoded, runs only if flatSchema does not accept.
type flatSchema struct {
	properties map[string]flatProperty
	required   uint64 // bits of the required properties
	closed     bool   // other properties are rejected
}

type flatProperty struct {
	kind string // "" for any type
	bit  uint64
}

// maxFlat is the number of properties that fit the bits.
const maxFlat = 64

// flatten returns the flat form of a schema, nil if it has other rules.
func flatten(s *jsonschema.Schema) *flatSchema {
	rest := *s
	rest.ID, rest.Schema, rest.Type, rest.Properties, rest.Required, rest.AdditionalProperties = "", "", "", nil, nil, nil
	rest.PropertyOrder = nil
	open, closed := additional(s.AdditionalProperties)
	if s.Type != "object" || !annotationsOnly(rest) || (!open && !closed) || len(s.Properties) > maxFlat {
		return nil
	}
	f := &flatSchema{properties: make(map[string]flatProperty, len(s.Properties)), closed: closed}
	for name, p := range s.Properties {
		if p == nil {
			return nil
		}
		rest := *p
		rest.Type = ""
		if !annotationsOnly(rest) {
			return nil
		}
		f.properties[name] = flatProperty{kind: p.Type, bit: 1 << len(f.properties)}
	}
	for _, name := range s.Required {
		p, ok := f.properties[name]
		if !ok {
			return nil
		}
		f.required |= p.bit
	}
	return f
}

// additional reports whether other properties are all allowed or all rejected; neither means that
// they have a schema.
func additional(s *jsonschema.Schema) (open, closed bool) {
	switch {
	case s == nil || reflect.ValueOf(*s).IsZero():
		return true, false
	case s.Not != nil && reflect.ValueOf(*s.Not).IsZero():
		rest := *s
		rest.Not = nil
		return false, reflect.ValueOf(rest).IsZero()
	}
	return false, false
}

// annotationsOnly reports whether s has no rules.
func annotationsOnly(s jsonschema.Schema) bool {
	s.Title, s.Description, s.Default, s.Examples, s.Comment = "", "", nil, nil, ""
	s.Deprecated, s.ReadOnly, s.WriteOnly = false, false, false
	return reflect.ValueOf(s).IsZero()
}

// fits reports whether args, which are valid JSON, match. false proves nothing.
func (f *flatSchema) fits(args json.RawMessage) bool {
	missing, ok := f.required, true
	err := jsonrpc.Walk(args, func(name, value []byte) bool {
		p, known := f.properties[string(name)]
		if known {
			missing &^= p.bit
			ok = hasKind(value, p.kind)
		} else {
			ok = !f.closed
		}
		return ok
	})
	return err == nil && ok && missing == 0
}

func hasKind(value []byte, kind string) bool {
	switch kind {
	case "":
		return true
	case "string":
		return value[0] == '"'
	case "object":
		return value[0] == '{'
	case "array":
		return value[0] == '['
	case "boolean":
		return value[0] == 't' || value[0] == 'f'
	case "null":
		return value[0] == 'n'
	case "number":
		return isNumber(value)
	case "integer":
		// 1.0 is an integer, too, but only the full validator accepts it.
		return isNumber(value) && !bytes.ContainsAny(value, ".eE")
	}
	return false
}

func isNumber(value []byte) bool { return value[0] == '-' || (value[0] >= '0' && value[0] <= '9') }
