package clientsuite

import (
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// annotationScenarios are tools whose x-mcp-header stands where it must not, or
// says what it must not.
func annotationScenarios() []scenario {
	section := "basic/transports/streamable-http#schema-extension"
	misplaced := map[string]string{
		"oneOf": `"oneOf":[{"properties":{"a":A}}]`, "anyOf": `"anyOf":[{"properties":{"a":A}}]`, "allOf": `"allOf":[{"properties":{"a":A}}]`,
		"not": `"not":{"properties":{"a":A}}`, "if": `"if":{"properties":{"a":A}}`, "then": `"if":{},"then":{"properties":{"a":A}}`, "else": `"if":{},"else":{"properties":{"a":A}}`,
		"ref": `"properties":{"b":{"$ref":"#/$defs/a"}},"$defs":{"a":A}`, "items": `"properties":{"b":{"type":"array","items":{"type":"object","properties":{"a":A}}}}`,
		"within": `"properties":{"b":{"type":"object","anyOf":[{"properties":{"a":A}}]}}`,
	}
	values := map[string]string{"paren": `"a(b)"`, "comma": `"a,b"`, "umlaut": `"Größe"`, "slash": `"a/b"`, "tab": `"a\tb"`}
	return []scenario{{
		id: "C-ANNOTATIONS", area: httpArea, title: "annotations in places and with names that are not allowed", since: mcp.Version2026_07_28, transport: conformance.TransportHTTP,
		checks: []check{
			must("C-HDR-06/place", "a tool with an annotation that is not reached by properties alone is left out", spec(section, "MUST only be applied to properties that are statically reachable from the schema root: reachable via a chain consisting solely of properties keys.")).official("http-invalid-tool-headers"),
			must("C-HDR-06/token", "a tool with a name that is no token is left out", spec(section, "MUST match HTTP field-name token syntax (1*tchar, RFC 9110 Section 5.1)")).official("http-invalid-tool-headers"),
			advised("C-HDR-06/named", "a parameter of that name, and a value that holds it, are no annotations", row("HDR-08")),
		},
		play: func(t *trial) {
			var defs []string
			add := func(name, schema string) {
				defs = append(defs, `{"name":"`+name+`","inputSchema":{"type":"object",`+schema+`}}`)
			}
			for name, schema := range misplaced {
				add("place-"+name, strings.ReplaceAll(schema, ":A", `:{"type":"string","x-mcp-header":"Here"}`))
			}
			for name, value := range values {
				add("token-"+name, `"properties":{"a":{"type":"string","x-mcp-header":`+value+`}}`)
			}
			add("named", `"properties":{"x-mcp-header":{"type":"string"}}`)
			add("value", `"properties":{"a":{"type":"object","default":{"x-mcp-header":"No"}}}`)
			t.peer.tools = "[" + strings.Join(defs, ",") + "]"
			t.do(listTools())
			without := func(prefix string) func(Line) bool {
				return func(l Line) bool {
					return l.Outcome == OutcomeResult && !slices.ContainsFunc(listed(l), func(name string) bool { return strings.HasPrefix(name, prefix) })
				}
			}
			t.told("C-HDR-06/place", 0, without("place-"), "no tool of those")
			t.told("C-HDR-06/token", 0, without("token-"), "no tool of those")
			t.told("C-HDR-06/named", 0, func(l Line) bool { return slices.Contains(listed(l), "named") && slices.Contains(listed(l), "value") }, "named and value")
		},
	}}
}
