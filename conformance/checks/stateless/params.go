package stateless

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rule"
	"github.com/mainstay-mcp/mainstay/conformance/internal/sample"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statelessParamScenarios are about arguments that a call repeats in headers.
func statelessParamScenarios() []conformance.Scenario {
	const (
		custom  = "basic/transports/streamable-http#server-behavior-for-custom-headers"
		compare = "Any server that processes the message body MUST validate that encoded header values, after decoding if Base64-encoded, match the corresponding values in the request body."
		absent  = "Parameter not in arguments: Client MUST omit the header, Server MUST NOT expect the header"
		integer = "When validating integer parameter values, servers SHOULD compare the header value and the body value numerically rather than as strings"
	)
	checks := []conformance.Check{
		rule.Quoted(conformance.Must, "HDR-11/equal", "a header that is equal to the argument is taken", custom, compare),
		rule.Quoted(conformance.Must, "HDR-11/other", "one that is not is refused with -32020", custom, compare),
		rule.Quoted(conformance.Must, "HDR-11/case", "one in another case is refused with -32020", "basic/transports/streamable-http#case-sensitivity", "Header values (such as method names) are case-sensitive."),
		rule.Quoted(conformance.Must, "HDR-11/missing", "an argument without its header is refused with -32020", custom, "Client omits header but value is in body … Server MUST reject the request"),
		rule.Quoted(conformance.Must, "HDR-11/absent", "no header is asked for where there is no argument", custom, absent),
		rule.Quoted(conformance.Must, "HDR-11/null", "no header is asked for where the argument is null", custom, "Parameter value is null: Client MUST omit the header, Server MUST NOT expect the header"),
		rule.Quoted(conformance.Must, "HDR-11/base64", "a header in base64 is decoded before it is compared", serverValidation, headersDecode),
		rule.Quoted(conformance.Must, "HDR-11/base64-other", "one in base64 that is another value is refused with -32020", serverValidation, headersDecode),
		rule.Quoted(conformance.Must, "HDR-11/base64-bad", "one that is no base64 is refused with -32020", custom, "Servers MUST reject requests with a recognized Mcp-Param-{Name} header that contains invalid characters"),
		rule.Quoted(conformance.Must, "HDR-11/unicode", "a value with other letters is taken in base64", valueEncoding, "When a value cannot be safely represented as a plain ASCII header value …, clients MUST use Base64 encoding of the UTF-8"),
		rule.Quoted(conformance.Must, "HDR-11/sentinel", "a value that looks like base64 is taken in base64", valueEncoding, "To avoid ambiguity, clients MUST also Base64-encode any plain-ASCII value that matches the sentinel pattern"),
		rule.Quoted(conformance.Must, "HDR-11/name-case", "the name of the header in lower case is taken", "basic/transports/streamable-http#case-sensitivity", "Clients and servers MUST use case-insensitive comparisons for header names."),
		rule.Quoted(conformance.Must, "HDR-11/status", "those are refused with status 400", custom, "Servers MUST reject requests with a 400 Bad Request HTTP status and JSON-RPC error code -32020 (HeaderMismatch) if any validation fails."),
	}
	typed := []conformance.Check{
		rule.Quoted(conformance.Must, "HDR-11/integer", "an integer is taken in decimal", valueEncoding, "integer: Convert to decimal string representation"),
		rule.Quoted(conformance.Should, "HDR-11/integer-numeric", "42.0 is as good as 42", serverValidation, integer),
		rule.Quoted(conformance.Must, "HDR-11/integer-other", "another integer is refused with -32020", custom, compare),
		rule.Quoted(conformance.Must, "HDR-11/integer-text", "a text for an integer is refused with -32020", custom, compare),
		rule.Quoted(conformance.Must, "HDR-11/boolean", "a boolean is taken as true or false", valueEncoding, "boolean: Convert to lowercase true or false"),
		rule.Quoted(conformance.Must, "HDR-11/boolean-other", "the other boolean is refused with -32020", custom, compare),
		rule.Quoted(conformance.Must, "HDR-11/typed-missing", "an integer without its header is refused with -32020", custom, "Client omits header but value is in body … Server MUST reject the request"),
	}
	needs := conformance.Needs{Transport: wire.TransportHTTP, Capability: "tools"}
	return []conformance.Scenario{
		{ID: "HDR-11", Area: "http", Title: "texts that are repeated in headers", Since: mcp.Version2026_07_28, Needs: needs, Checks: checks, Run: runMirroredText},
		{ID: "HDR-11-TYPES", Area: "http", Title: "integers and booleans that are repeated in headers", Since: mcp.Version2026_07_28, Needs: needs, Checks: typed, Run: runMirroredTypes},
	}
}

// mirrored returns a tool that may be called and repeats an argument of the
// type in a header, and asks for no other argument.
func mirrored(l *conformance.RevisionRun, kind string) (string, wire.Mirror, bool) {
	for _, tool := range l.Tools {
		if !l.MayCall(tool.Name) {
			continue
		}
		required := sample.Read(tool.InputSchema).Required
		for _, m := range wire.MirrorsOf(tool.InputSchema) {
			alone := len(required) == 0 || len(required) == 1 && required[0] == m.Path[0]
			if m.Kind == kind && len(m.Path) == 1 && alone {
				return tool.Name, m, true
			}
		}
	}
	return "", wire.Mirror{}, false
}

// InBase64 is a text as headers carry it when it is not plain.
func InBase64(text string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

func runMirroredText(t *conformance.Trial) error {
	name, m, ok := mirrored(t.Rev, "string")
	if !ok {
		rule.SkipAll(t, conformance.SkipNoFixture, "no tool that may be called repeats a text in a header")
		return nil
	}
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	const value = "Eu-West-1"
	header := wire.HeaderParam + m.Header
	params := func(value any) any { return conformance.CallParams(name, map[string]any{m.Path[0]: value}) }
	as := func(value string) http.Header { return http.Header{header: {value}} }
	err = headerCases(t, s, mcp.MethodToolsCall, params(value), "HDR-11/status",
		headerCase{id: "HDR-11/equal", served: true},
		headerCase{id: "HDR-11/other", with: as("Eu-West-2")},
		headerCase{id: "HDR-11/case", with: as(strings.ToLower(value))},
		headerCase{id: "HDR-11/missing", with: http.Header{header: {}}},
		headerCase{id: "HDR-11/base64", with: as(InBase64(value)), served: true},
		headerCase{id: "HDR-11/base64-other", with: as(InBase64("Eu-West-2"))},
		headerCase{id: "HDR-11/base64-bad", with: as("=?base64?%%%?=")},
		headerCase{id: "HDR-11/name-case", with: http.Header{header: {}, strings.ToLower(header): {value}}, served: true},
	)
	if err != nil {
		return err
	}
	for id, value := range rule.Pairs("HDR-11/unicode", "Hello, 世界", "HDR-11/sentinel", "=?base64?literal?=") {
		if err := headerCases(t, s, mcp.MethodToolsCall, params(value), "", headerCase{id: id, served: true}); err != nil {
			return err
		}
	}
	if err := headerCases(t, s, mcp.MethodToolsCall, params(nil), "", headerCase{id: "HDR-11/null", served: true}); err != nil {
		return err
	}
	return headerCases(t, s, mcp.MethodToolsCall, conformance.CallParams(name, struct{}{}), "", headerCase{id: "HDR-11/absent", served: true})
}

func runMirroredTypes(t *conformance.Trial) error {
	integer, n, ok := mirrored(t.Rev, "integer")
	flag, b, also := mirrored(t.Rev, "boolean")
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	is := func(m wire.Mirror, value string) http.Header {
		return http.Header{wire.HeaderParam + m.Header: {value}}
	}
	if ok {
		err := headerCases(t, s, mcp.MethodToolsCall, conformance.CallParams(integer, map[string]any{n.Path[0]: json.RawMessage("42")}), "",
			headerCase{id: "HDR-11/integer", served: true},
			headerCase{id: "HDR-11/integer-numeric", with: is(n, "42.0"), served: true},
			headerCase{id: "HDR-11/integer-other", with: is(n, "43")},
			headerCase{id: "HDR-11/integer-text", with: is(n, "forty-two")},
			headerCase{id: "HDR-11/typed-missing", with: http.Header{wire.HeaderParam + n.Header: {}}},
		)
		if err != nil {
			return err
		}
	}
	if also {
		err := headerCases(t, s, mcp.MethodToolsCall, conformance.CallParams(flag, map[string]any{b.Path[0]: true}), "",
			headerCase{id: "HDR-11/boolean", served: true},
			headerCase{id: "HDR-11/boolean-other", with: is(b, "false")},
		)
		if err != nil {
			return err
		}
	}
	rule.SkipAll(t, conformance.SkipNoFixture, "no tool that may be called repeats one in a header") // what is left
	return nil
}
