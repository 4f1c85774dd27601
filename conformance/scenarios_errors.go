package conformance

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Names no server has.
const (
	unknownMethod = "com.example.mainstay/no-such-method"
	unknownTool   = "mainstay-no-such-tool"
)

func errorScenarios() []Scenario {
	return []Scenario{
		{
			ID: "X-WIRE-03", Area: "errors", Title: "what does not exist",
			Checks: []Check{
				{ID: "X-WIRE-03/method", Title: "an unknown method is answered with -32601", Level: Must, Spec: Spec{Section: "basic#responses", Quote: "All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification."}},
				{ID: "X-WIRE-03/case", Title: "method names are matched exactly", Level: Must, Spec: Spec{Section: "basic#responses", Quote: "All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification."}},
			},
			run: runUnknownMethod,
		},
		{
			ID: "X-WIRE-03-TOOL", Area: "tools", Title: "a tool that does not exist",
			Needs: Needs{Capability: "tools"},
			Checks: []Check{
				{ID: "X-WIRE-03/tool", Title: "an unknown tool is answered with error -32602", Level: Advice, House: Must, Spec: Spec{Section: "server/tools#error-handling", Quote: "Protocol Errors: Standard JSON-RPC errors for issues like: - Unknown tools"}},
				{ID: "X-WIRE-03/tool-data", Title: "the error names the tool in data.tool", Level: Advice, House: Must, Spec: Spec{Seed: "X-WIRE-03"}},
			},
			run: runUnknownTool,
		},
		{
			ID: "LC-11", Area: "errors", Title: "methods behind capabilities that were not declared",
			Checks: []Check{
				{ID: "LC-11/resources", Title: "resources/list without the capability is answered with -32601", Level: Advice, Spec: Spec{Section: "basic/lifecycle#operation", Quote: "Only use capabilities that were successfully negotiated"}},
				{ID: "LC-11/prompts", Title: "prompts/list without the capability is answered with -32601", Level: Advice, Spec: Spec{Section: "basic/lifecycle#operation", Quote: "Only use capabilities that were successfully negotiated"}},
			},
			run: runUndeclared,
		},
	}
}

func runUnknownMethod(t *trial) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	for id, method := range pairs("X-WIRE-03/method", unknownMethod, "X-WIRE-03/case", "Ping") {
		t.step(s)
		a, err := s.Request(t.ctx, method, struct{}{})
		t.check(id, a.HasCode(err, wire.CodeMethodNotFound), "error -32601", a.OrError(err))
		if err != nil {
			return err
		}
	}
	return nil
}

func runUnknownTool(t *trial) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	a, err := s.Request(t.ctx, mcp.MethodToolsCall, callParams(unknownTool, nil))
	if t.leg.house {
		t.check("X-WIRE-03/tool", a.HasCode(err, wire.CodeInvalidParams), "error -32602", a.OrError(err))
	} else {
		t.check("X-WIRE-03/tool", a.HasCode(err, wire.CodeInvalidParams, wire.CodeMethodNotFound), "error -32602 (or -32601)", a.OrError(err))
	}
	if t.forHouse("X-WIRE-03/tool-data") {
		data, _ := rawjson.Object(a.ErrorData())
		t.check("X-WIRE-03/tool-data", rawjson.Text(data["tool"]) == unknownTool, `data.tool "`+unknownTool+`"`, a.OrError(err))
	}
	return err
}

func runUndeclared(t *trial) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	for _, c := range []struct{ id, capability, method string }{
		{"LC-11/resources", "resources", mcp.MethodResourcesList},
		{"LC-11/prompts", "prompts", mcp.MethodPromptsList},
	} {
		if t.leg.capabilities.has(c.capability) {
			t.skip(c.id, SkipNotDeclared, "capabilities."+c.capability+" is declared")
			continue
		}
		t.step(s)
		a, err := s.Request(t.ctx, c.method, nil)
		t.check(c.id, a.HasCode(err, wire.CodeMethodNotFound), "error -32601", a.OrError(err))
		if err != nil {
			return err
		}
	}
	return nil
}
