package client

import (
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mainstay-mcp/mainstay/client/internal/object"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// WithNullRepair leaves out arguments that are null where the tool's schema has
// the property, does not require it and does not take null: many models write null
// for what they leave out, and many servers refuse it. It changes only arguments
// that do not fit otherwise, at any depth of named properties, and does nothing
// under [ValidateOff]. The default is off.
func WithNullRepair() Option { return optionFunc(func(c *config) { c.nulls = true }) }

// repaired returns arguments without the nulls that their schema does not take,
// nil when they do not fit without them either.
func (s *compiled) repaired(args json.RawMessage) json.RawMessage {
	if s.err != nil || object.First(args) != '{' {
		return nil
	}
	if fixed := dropNulls(s.schema.Root, args); s.judge(fixed) == nil {
		return fixed
	}
	return nil
}

func dropNulls(s *jsonschema.Schema, object json.RawMessage) json.RawMessage {
	out := []byte{'{'}
	// It was checked: the arguments are valid JSON.
	_ = jsonrpc.Members(object, func(name, value []byte) bool {
		if p := s.Properties[string(name)]; p != nil {
			switch {
			case value[0] == 'n' && !slices.Contains(s.Required, string(name)) && !takesNull(p):
				return true
			case value[0] == '{':
				value = dropNulls(p, value)
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(jsonrpc.AppendString(out, string(name)), ':')
		out = append(out, value...)
		return true
	})
	return append(out, '}')
}

// takesNull reports whether null may fit a schema: false only where its types say
// that it does not.
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
