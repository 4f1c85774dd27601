package conformance

import (
	"encoding/json"
	"strings"
)

// mirror is an argument that a call repeats in a header (HDR-01).
type mirror struct {
	path   []string // of property names, from the root of the arguments
	header string   // the name after Mcp-Param-
	kind   string   // the type in the schema
}

// value returns the argument as the header has it. Absent and null have none
// (HDR-02).
func (m mirror) value(arguments json.RawMessage) (string, bool) {
	for _, name := range m.path {
		members, _ := object(arguments)
		arguments = members[name]
	}
	switch {
	case len(arguments) == 0 || string(arguments) == "null":
		return "", false
	case isString(arguments):
		return headerValue(text(arguments)), true
	default:
		return string(arguments), true
	}
}

// mirrorsOf returns what the schema of a tool has repeated: annotated properties
// of a primitive type, reached through properties alone (HDR-06).
func mirrorsOf(schema json.RawMessage, path ...string) []mirror {
	root, _ := object(schema)
	properties, _ := object(root["properties"])
	var out []mirror
	for _, name := range sortedKeys(properties) {
		here := append(path[:len(path):len(path)], name)
		property, _ := object(properties[name])
		if header := text(property["x-mcp-header"]); header != "" {
			out = append(out, mirror{path: here, header: header, kind: text(property["type"])})
		}
		out = append(out, mirrorsOf(properties[name], here...)...)
	}
	return out
}

// mirror has a session repeat what the tools of the server ask for.
func (l *leg) mirror(s *session) {
	w, ok := s.wire.(*httpWire)
	if !ok || !l.stateless() {
		return
	}
	mirrors := map[string][]mirror{}
	for _, t := range l.tools {
		if strings.Contains(string(t.InputSchema), "x-mcp-header") {
			mirrors[t.Name] = mirrorsOf(t.InputSchema)
		}
	}
	w.mirroring(mirrors)
}
