package catalog

import (
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// WithoutNulls returns arguments without the nulls that the schema rejects, nil if they still do
// not match.
func (s *Schema) WithoutNulls(args json.RawMessage) json.RawMessage {
	if s.err != nil || doc.First(args) != '{' {
		return nil
	}
	if fixed := dropNulls(s.schema.Root, args); s.Judge(fixed) == nil {
		return fixed
	}
	return nil
}

func dropNulls(s *jsonschema.Schema, args json.RawMessage) json.RawMessage {
	out := []byte{'{'}
	// The arguments were checked: they are valid JSON.
	_ = jsonrpc.Members(args, func(name, value []byte) bool {
		if p := s.Properties[string(name)]; p != nil {
			switch {
			case value[0] == 'n' && !slices.Contains(s.Required, string(name)) && !takesNull(p):
				return true
			case value[0] == '{':
				value = dropNulls(p, value)
			}
		}
		out = doc.AppendMembers(out, doc.Pair(string(name), value))
		return true
	})
	return append(out, '}')
}

// takesNull reports whether null may match a schema. It returns false only if the types exclude
// null.
func takesNull(s *jsonschema.Schema) bool {
	switch {
	case s.Type != "":
		return s.Type == "null"
	case len(s.Types) > 0:
		return slices.Contains(s.Types, "null")
	case len(s.AnyOf) > 0:
		return slices.ContainsFunc(s.AnyOf, takesNull)
	case len(s.OneOf) > 0:
		return slices.ContainsFunc(s.OneOf, takesNull)
	}
	return true
}
