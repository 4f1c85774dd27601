package wire

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// Mirror is an argument that a call also sends as a header.
type Mirror struct {
	Path   []string // of property names, from the root of the arguments
	Header string   // the name after Mcp-Param-
	Kind   string   // the type in the schema
}

// value returns the argument as a header value. Absent and null have none.
func (m Mirror) value(arguments json.RawMessage) (string, bool) {
	for _, name := range m.Path {
		members, _ := rawjson.Object(arguments)
		arguments = members[name]
	}
	switch {
	case len(arguments) == 0 || string(arguments) == "null":
		return "", false
	case rawjson.IsString(arguments):
		return headerValue(rawjson.Text(arguments)), true
	default:
		return string(arguments), true
	}
}

// MirrorsOf returns the mirrors in the schema of a tool: annotated properties of a
// primitive type, on a path of properties only.
func MirrorsOf(schema json.RawMessage, path ...string) []Mirror {
	root, _ := rawjson.Object(schema)
	properties, _ := rawjson.Object(root["properties"])
	var out []Mirror
	for _, name := range rawjson.SortedKeys(properties) {
		here := append(path[:len(path):len(path)], name)
		property, _ := rawjson.Object(properties[name])
		if header := rawjson.Text(property["x-mcp-header"]); header != "" {
			out = append(out, Mirror{Path: here, Header: header, Kind: rawjson.Text(property["type"])})
		}
		out = append(out, MirrorsOf(properties[name], here...)...)
	}
	return out
}
