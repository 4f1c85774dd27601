package stateless

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statelessParamScenarios are about arguments that a call repeats in headers.
func statelessParamScenarios() []engine.Scenario {
	needs := engine.Needs{Transport: conformance.TransportHTTP, Capability: "tools"}
	return []engine.Scenario{
		{ID: "HDR-11", Needs: needs, Run: runMirroredText},
		{ID: "HDR-11-TYPES", Needs: needs, Run: runMirroredTypes},
	}
}

// mirrored returns a tool that may be called and repeats an argument of the
// type in a header, and asks for no other argument.
func mirrored(l *engine.RevisionRun, kind string) (string, wire.Mirror, bool) {
	for _, tool := range l.Tools {
		if !l.MayCall(tool.Name) {
			continue
		}
		required := fixture.ReadSchema(tool.InputSchema).Required
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

func runMirroredText(t *engine.Trial) {
	name, m, ok := mirrored(t.Rev, "string")
	if !ok {
		t.SkipRest(conformance.SkipNoFixture, "no tool that may be called repeats a text in a header")
		return
	}
	s := t.Fresh()
	const value = "Eu-West-1"
	header := wire.HeaderParam + m.Header
	params := func(value any) any { return engine.CallParams(name, map[string]any{m.Path[0]: value}) }
	as := func(value string) http.Header { return http.Header{header: {value}} }
	headerCases(t, s, mcp.MethodToolsCall, params(value), "HDR-11/status",
		headerCase{id: "HDR-11/equal", served: true},
		headerCase{id: "HDR-11/other", with: as("Eu-West-2")},
		headerCase{id: "HDR-11/case", with: as(strings.ToLower(value))},
		headerCase{id: "HDR-11/missing", with: http.Header{header: {}}},
		headerCase{id: "HDR-11/base64", with: as(InBase64(value)), served: true},
		headerCase{id: "HDR-11/base64-other", with: as(InBase64("Eu-West-2"))},
		headerCase{id: "HDR-11/base64-bad", with: as("=?base64?%%%?=")},
		headerCase{id: "HDR-11/name-case", with: http.Header{header: {}, strings.ToLower(header): {value}}, served: true},
	)
	for _, each := range [][2]string{{"HDR-11/unicode", "Hello, 世界"}, {"HDR-11/sentinel", "=?base64?literal?="}} {
		id, value := each[0], each[1]
		headerCases(t, s, mcp.MethodToolsCall, params(value), "", headerCase{id: id, served: true})
	}
	headerCases(t, s, mcp.MethodToolsCall, params(nil), "", headerCase{id: "HDR-11/null", served: true})
	headerCases(t, s, mcp.MethodToolsCall, engine.CallParams(name, struct{}{}), "", headerCase{id: "HDR-11/absent", served: true})
}

func runMirroredTypes(t *engine.Trial) {
	integer, n, ok := mirrored(t.Rev, "integer")
	flag, b, also := mirrored(t.Rev, "boolean")
	s := t.Fresh()
	is := func(m wire.Mirror, value string) http.Header {
		return http.Header{wire.HeaderParam + m.Header: {value}}
	}
	if ok {
		headerCases(t, s, mcp.MethodToolsCall, engine.CallParams(integer, map[string]any{n.Path[0]: json.RawMessage("42")}), "",
			headerCase{id: "HDR-11/integer", served: true},
			headerCase{id: "HDR-11/integer-numeric", with: is(n, "42.0"), served: true},
			headerCase{id: "HDR-11/integer-other", with: is(n, "43")},
			headerCase{id: "HDR-11/integer-text", with: is(n, "forty-two")},
			headerCase{id: "HDR-11/typed-missing", with: http.Header{wire.HeaderParam + n.Header: {}}},
		)
	}
	if also {
		headerCases(t, s, mcp.MethodToolsCall, engine.CallParams(flag, map[string]any{b.Path[0]: true}), "",
			headerCase{id: "HDR-11/boolean", served: true},
			headerCase{id: "HDR-11/boolean-other", with: is(b, "false")},
		)
	}
	t.SkipRest(conformance.SkipNoFixture, "no tool that may be called repeats one in a header") // what is left
}
