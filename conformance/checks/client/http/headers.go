package http

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// headers returns the scenarios of what the stateless era repeats in HTTP headers.
func headers() []trial.Scenario {
	return []trial.Scenario{
		{ID: "C-PARAM-HEADERS", Play: playParamHeaders},
		{ID: "C-PARAM-HEADERS-INVALID", Play: playInvalidAnnotations},
		{ID: "C-ANNOTATIONS", Play: playAnnotations},
		{ID: "C-NAME-ENCODED", Play: playNameEncoded},
		{ID: "C-HEADER-MISMATCH", Play: playMismatch},
	}
}

// paramTools is a tool with parameters that are repeated in headers.
const paramTools = `[{"name":"echo","inputSchema":{"type":"object","properties":{` +
	`"region":{"type":"string","x-mcp-header":"Region"},"size":{"type":"integer","x-mcp-header":"Size"},"dry":{"type":"boolean","x-mcp-header":"Dry"},` +
	`"who":{"type":"string","x-mcp-header":"Who"},"odd":{"type":"string","x-mcp-header":"Odd"},` +
	`"unset":{"type":"string","x-mcp-header":"Unset"},"in":{"type":"object","properties":{"deep":{"type":"string","x-mcp-header":"Deep"}}},"text":{"type":"string"}}}},` +
	// Alone: some clients cannot read a schema with a list of types.
	`{"name":"write","inputSchema":{"type":"object","properties":{"none":{"type":["string","null"],"x-mcp-header":"None"}}}}]`

func playParamHeaders(t *trial.Trial) {
	t.Peer.Tools = paramTools
	t.Do(trial.ListTools(), trial.Call("echo",
		`{"region":"us west 1","size":42,"dry":false,"who":"Grüße, 世界 ","odd":"=?base64?literal?=","in":{"deep":"down"},"text":"plain"}`),
		trial.Call("write", `{"none":null}`))
	calls := t.Called("echo")
	if len(calls) == 0 {
		return
	}
	h := calls[0].Header
	for _, c := range []struct{ id, name, want string }{
		{"C-HDR-01/mirrored", "Region", "us west 1"},
		{"C-HDR-04/base64", "Who", "Grüße, 世界 "},
		{"C-HDR-04/marker", "Odd", "=?base64?literal?="},
		{"C-HDR-01/nested", "Deep", "down"},
	} {
		got, ok := peer.DecodeHeader(h.Get("Mcp-Param-" + c.name))
		t.Check(c.id, ok && got == c.want, fmt.Sprintf("Mcp-Param-%s for %q", c.name, c.want), "%q", h.Values("Mcp-Param-"+c.name))
	}
	both := h.Get("Mcp-Param-Size") == "42" && h.Get("Mcp-Param-Dry") == "false"
	t.Check("C-HDR-03/primitive", both, "Mcp-Param-Size: 42 and Mcp-Param-Dry: false", "%q and %q", h.Get("Mcp-Param-Size"), h.Get("Mcp-Param-Dry"))
	t.Check("C-HDR-01/others", h["Mcp-Param-Text"] == nil, "no Mcp-Param-Text", "%q", h["Mcp-Param-Text"])
	if calls := t.Called("write"); len(calls) > 0 {
		none := calls[0].Header["Mcp-Param-None"]
		t.Check("C-HDR-02/absent", none == nil && h["Mcp-Param-Unset"] == nil, "neither Mcp-Param-None nor Mcp-Param-Unset", "%q and %q", none, h["Mcp-Param-Unset"])
	}
}

// toolset returns tools by their schemas, as JSON.
func toolset(schemas map[string]string) string {
	var out []string
	for name, schema := range schemas {
		out = append(out, `{"name":"`+name+`","inputSchema":{"type":"object",`+schema+`}}`)
	}
	return "[" + strings.Join(out, ",") + "]"
}

// lists wants all of these tools in the list.
func lists(names ...string) trial.Want {
	return trial.Want{Text: strings.Join(names, " and "), Ok: func(l trial.Line) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(l.Tools(), name) })
	}}
}

func playInvalidAnnotations(t *trial.Trial) {
	schemas := map[string]string{
		"plain":  `"properties":{}`,
		"double": `"properties":{"a":{"type":"string","x-mcp-header":"D"},"b":{"type":"string","x-mcp-header":"d"}}`,
	}
	for name, property := range map[string]string{
		"empty": `{"type":"string","x-mcp-header":""}`, "number": `{"type":"number","x-mcp-header":"N"}`, "object": `{"type":"object","x-mcp-header":"O"}`,
		"token": `{"type":"string","x-mcp-header":"a b"}`, "break": `{"type":"string","x-mcp-header":"a\r\nb"}`, "good": `{"type":"string","x-mcp-header":"Good"}`,
		"items": `{"type":"array","items":{"type":"string","x-mcp-header":"I"}}`,
	} {
		schemas[name] = `"properties":{"a":` + property + `}`
	}
	t.Peer.Tools = toolset(schemas)
	t.Do(trial.ListTools())
	t.Reported("C-HDR-07/dropped", 0, trial.Want{Text: "only good and plain", Ok: func(l trial.Line) bool {
		return !slices.ContainsFunc(l.Tools(), func(name string) bool { return name != "good" && name != "plain" })
	}})
	t.Reported("C-HDR-07/kept", 0, lists("good", "plain"))
}

// misplaced are schemas with an annotation on A where none is allowed.
var misplaced = map[string]string{
	"oneOf": `"oneOf":[{"properties":{"a":A}}]`, "anyOf": `"anyOf":[{"properties":{"a":A}}]`, "allOf": `"allOf":[{"properties":{"a":A}}]`,
	"not": `"not":{"properties":{"a":A}}`, "if": `"if":{"properties":{"a":A}}`, "then": `"if":{},"then":{"properties":{"a":A}}`, "else": `"if":{},"else":{"properties":{"a":A}}`,
	"ref": `"properties":{"b":{"$ref":"#/$defs/a"}},"$defs":{"a":A}`, "items": `"properties":{"b":{"type":"array","items":{"type":"object","properties":{"a":A}}}}`,
	"within": `"properties":{"b":{"type":"object","anyOf":[{"properties":{"a":A}}]}}`,
}

// playAnnotations has annotations in wrong places, and with names that are no tokens.
func playAnnotations(t *trial.Trial) {
	schemas := map[string]string{
		"named": `"properties":{"x-mcp-header":{"type":"string"}}`,
		"value": `"properties":{"a":{"type":"object","default":{"x-mcp-header":"No"}}}`,
	}
	for name, schema := range misplaced {
		schemas["place-"+name] = strings.ReplaceAll(schema, ":A", `:{"type":"string","x-mcp-header":"Here"}`)
	}
	for name, value := range map[string]string{"paren": `"a(b)"`, "comma": `"a,b"`, "umlaut": `"Größe"`, "slash": `"a/b"`, "tab": `"a\tb"`} {
		schemas["token-"+name] = `"properties":{"a":{"type":"string","x-mcp-header":` + value + `}}`
	}
	t.Peer.Tools = toolset(schemas)
	t.Do(trial.ListTools())
	without := func(prefix string) trial.Want {
		return trial.Want{Text: "none of these tools", Ok: func(l trial.Line) bool {
			return l.Outcome == trial.OutcomeResult && !slices.ContainsFunc(l.Tools(), func(name string) bool { return strings.HasPrefix(name, prefix) })
		}}
	}
	t.Reported("C-HDR-06/place", 0, without("place-"))
	t.Reported("C-HDR-06/token", 0, without("token-"))
	t.Reported("C-HDR-06/named", 0, lists("named", "value"))
}

func playNameEncoded(t *trial.Trial) {
	t.Do(trial.Step{Call: mcp.MethodResourcesRead, URI: "mem://資料/ä"})
	if sent := t.HasSent(mcp.MethodResourcesRead); len(sent) > 0 {
		got, ok := peer.DecodeHeader(sent[0].Header.Get("Mcp-Name"))
		t.Check("C-HDR-05/name", ok && got == rawjson.Text(sent[0].Param("uri")), "the URI, encoded", "%q", sent[0].Header.Get("Mcp-Name"))
	}
}

// playMismatch changes the header that a parameter is repeated in after the first call.
func playMismatch(t *trial.Trial) {
	t.On(mcp.MethodToolsList, func(x *peer.Exchange) {
		header := "Old"
		if len(t.Calls("echo")) > 0 {
			header = "New"
		}
		x.Result(`"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string","x-mcp-header":"` + header + `"}}}}]`)
	})
	never := func(m *peer.Message) bool { return rawjson.Text(m.Param("arguments", "text")) == "never" }
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		if x.Header.Get("Mcp-Param-New") == "" || never(x.Message) {
			x.Fail(mcp.CodeHeaderMismatch, "Mcp-Param-New is missing", "")
			return
		}
		x.Default()
	})
	t.Do(trial.ListTools(), trial.Call("echo", `{"text":"v"}`), trial.Call("echo", `{"text":"never"}`))
	calls := t.Called("echo")
	if len(calls) == 0 {
		return
	}
	lists := t.Sent(mcp.MethodToolsList)
	refreshed := slices.ContainsFunc(lists, func(m *peer.Message) bool { return m.Seq > calls[0].Seq })
	t.Check("C-HDR-10/refresh", refreshed, "tools/list after the refusal", "%d before it", len(lists))
	again := slices.ContainsFunc(calls, func(m *peer.Message) bool { return m.Header.Get("Mcp-Param-New") == "v" })
	t.Check("C-HDR-10/again", again, "tools/call with Mcp-Param-New: v", "%s", trial.Contents(calls[1:]))
	refused := 0
	for _, m := range calls {
		if never(m) {
			refused++
		}
	}
	t.Check("C-HDR-10/bounded", refused <= 3, "at most 3 requests", "%d", refused)
}
