package clientsuite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// headerScenarios are what the stateless era mirrors into HTTP headers.
func headerScenarios() []scenario {
	page := "basic/transports/streamable-http#"
	mirror := spec(page+"custom-headers-from-tool-parameters", "conforming clients MUST mirror the designated parameter values into HTTP headers")
	encode := spec(page+"value-encoding", "Clients MUST encode parameter values before including them in HTTP headers")
	omit := spec(page+"server-behavior-for-custom-headers", "Parameter value is null: Client MUST omit the header. Parameter not in arguments: Client MUST omit the header")
	reject := spec(page+"schema-extension", "Clients using the Streamable HTTP transport MUST reject tool definitions")
	refresh := spec(page+"client-behavior", "the client SHOULD call tools/list to check for changes to the tool's inputSchema, then retry the original request with the appropriate headers.")
	all := []scenario{
		{
			id: "C-PARAM-HEADERS", area: httpArea, title: "parameters that are to be mirrored",
			checks: []check{
				must("C-HDR-01/mirrored", "a string goes into its header as it is", mirror).official("http-custom-headers"),
				must("C-HDR-03/primitive", "integers and booleans are written as in JSON", encode).official("http-custom-headers"),
				must("C-HDR-04/base64", "what is not plain ASCII is encoded", encode).official("http-custom-headers"),
				must("C-HDR-04/marker", "what looks encoded is encoded", encode).official("http-custom-headers"),
				must("C-HDR-01/nested", "a parameter below another is found", mirror),
				must("C-HDR-02/absent", "there is no header without a value", omit).official("http-custom-headers"),
				should("C-HDR-01/others", "parameters without the annotation are not mirrored", mirror).official("http-custom-headers"),
			},
			play: func(t *trial) {
				t.peer.tools = `[{"name":"echo","inputSchema":{"type":"object","properties":{` +
					`"region":{"type":"string","x-mcp-header":"Region"},"size":{"type":"integer","x-mcp-header":"Size"},"dry":{"type":"boolean","x-mcp-header":"Dry"},` +
					`"who":{"type":"string","x-mcp-header":"Who"},"odd":{"type":"string","x-mcp-header":"Odd"},"none":{"type":["string","null"],"x-mcp-header":"None"},` +
					`"unset":{"type":"string","x-mcp-header":"Unset"},"in":{"type":"object","properties":{"deep":{"type":"string","x-mcp-header":"Deep"}}},"text":{"type":"string"}}}}]`
				t.do(listTools(), call("echo", `{"region":"us west 1","size":42,"dry":false,"who":"Grüße, 世界 ","odd":"=?base64?literal?=","none":null,"in":{"deep":"down"},"text":"plain"}`))
				calls := t.calls("echo")
				if !t.needs(len(calls) > 0, "echo was not called") {
					return
				}
				h := calls[0].header
				is := func(id, name, want string) {
					got, ok := decodeHeader(h.Get("Mcp-Param-" + name))
					t.check(id, ok && got == want, fmt.Sprintf("Mcp-Param-%s for %q", name, want), "%q", h.Values("Mcp-Param-"+name))
				}
				is("C-HDR-01/mirrored", "Region", "us west 1")
				both := h.Get("Mcp-Param-Size") == "42" && h.Get("Mcp-Param-Dry") == "false"
				t.check("C-HDR-03/primitive", both, "Mcp-Param-Size: 42 and Mcp-Param-Dry: false", "%q and %q", h.Get("Mcp-Param-Size"), h.Get("Mcp-Param-Dry"))
				is("C-HDR-04/base64", "Who", "Grüße, 世界 ")
				is("C-HDR-04/marker", "Odd", "=?base64?literal?=")
				is("C-HDR-01/nested", "Deep", "down")
				absent := h["Mcp-Param-None"] == nil && h["Mcp-Param-Unset"] == nil
				t.check("C-HDR-02/absent", absent, "neither Mcp-Param-None nor Mcp-Param-Unset", "%q and %q", h["Mcp-Param-None"], h["Mcp-Param-Unset"])
				t.check("C-HDR-01/others", h["Mcp-Param-Text"] == nil, "no Mcp-Param-Text", "%q", h["Mcp-Param-Text"])
			},
		},
		{
			id: "C-PARAM-HEADERS-INVALID", area: httpArea, title: "tools whose annotations are invalid",
			checks: []check{
				must("C-HDR-07/dropped", "the caller does not get them", reject).official("http-invalid-tool-headers"),
				must("C-HDR-07/kept", "the caller gets the others", reject).official("http-invalid-tool-headers"),
			},
			play: func(t *trial) {
				var defs []string
				for name, property := range map[string]string{
					"empty": `{"type":"string","x-mcp-header":""}`, "number": `{"type":"number","x-mcp-header":"N"}`, "object": `{"type":"object","x-mcp-header":"O"}`,
					"token": `{"type":"string","x-mcp-header":"a b"}`, "break": `{"type":"string","x-mcp-header":"a\r\nb"}`, "good": `{"type":"string","x-mcp-header":"Good"}`,
					"items": `{"type":"array","items":{"type":"string","x-mcp-header":"I"}}`,
				} {
					defs = append(defs, `{"name":"`+name+`","inputSchema":{"type":"object","properties":{"a":`+property+`}}}`)
				}
				t.peer.tools = "[" + strings.Join(append(defs, `{"name":"plain","inputSchema":{"type":"object"}}`,
					`{"name":"double","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"D"},"b":{"type":"string","x-mcp-header":"d"}}}}`), ",") + "]"
				t.do(listTools())
				t.told("C-HDR-07/dropped", 0, func(l Line) bool {
					return !slices.ContainsFunc(listed(l), func(name string) bool { return name != "good" && name != "plain" })
				}, "good and plain alone")
				t.told("C-HDR-07/kept", 0, func(l Line) bool { return slices.Contains(listed(l), "good") && slices.Contains(listed(l), "plain") }, "good and plain")
			},
		},
		{
			id: "C-NAME-ENCODED", area: httpArea, title: "a resource whose URI is not ASCII",
			checks: []check{must("C-HDR-05/name", "Mcp-Name is encoded", spec(page+"standard-request-headers", "If the Mcp-Name source value cannot be safely represented as a plain ASCII header value, clients MUST encode it using the Base64 sentinel format"))},
			play: func(t *trial) {
				t.do(Step{Call: mcp.MethodResourcesRead, URI: "mem://資料/ä"})
				if sent := t.sent(mcp.MethodResourcesRead); t.needs(len(sent) > 0, "resources/read was not sent") {
					got, ok := decodeHeader(sent[0].header.Get("Mcp-Name"))
					t.check("C-HDR-05/name", ok && got == text(sent[0].param("uri")), "the URI, encoded", "%q", sent[0].header.Get("Mcp-Name"))
				}
			},
		},
		{
			id: "C-HEADER-MISMATCH", area: httpArea, title: "the tool's schema has changed: -32020",
			checks: []check{
				should("C-HDR-10/refresh", "tools/list is asked again", refresh),
				should("C-HDR-10/again", "the call is sent again with the header it lacked", refresh),
				advised("C-HDR-10/bounded", "the call is not sent again and again", row("HDR-10")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsList, func(x *exchange) {
					header := "Old"
					if len(t.calls("echo")) > 0 {
						header = "New"
					}
					x.result(`"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string","x-mcp-header":"` + header + `"}}}}]`)
				})
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					if x.header.Get("Mcp-Param-New") == "" || text(x.param("arguments", "text")) == "never" {
						x.fail(mcp.CodeHeaderMismatch, "Mcp-Param-New is missing", "")
						return
					}
					x.good()
				})
				t.do(listTools(), call("echo", `{"text":"v"}`), call("echo", `{"text":"never"}`))
				calls := t.calls("echo")
				if !t.needs(len(calls) > 0, "echo was not called") {
					return
				}
				lists := t.sent(mcp.MethodToolsList)
				refreshed := slices.ContainsFunc(lists, func(m *message) bool { return m.seq > calls[0].seq })
				t.check("C-HDR-10/refresh", refreshed, "tools/list after the refusal", "%d before it", len(lists))
				again := slices.ContainsFunc(calls, func(m *message) bool { return m.header.Get("Mcp-Param-New") == "v" })
				t.check("C-HDR-10/again", again, "tools/call with Mcp-Param-New: v", "%s", contents(calls[1:]))
				never := 0
				for _, m := range calls {
					if text(m.param("arguments", "text")) == "never" {
						never++
					}
				}
				t.check("C-HDR-10/bounded", never <= 3, "at most 3 requests", "%d", never)
			},
		},
	}
	for i := range all {
		all[i].since, all[i].transport = mcp.Version2026_07_28, conformance.TransportHTTP
	}
	return all
}
