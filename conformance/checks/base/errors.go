package base

import (
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/nosuch"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func errorScenarios() []conformance.Scenario {
	return []conformance.Scenario{
		{ID: "X-WIRE-03", Run: runUnknownMethod},
		{ID: "X-WIRE-03-TOOL", Needs: conformance.Needs{Capability: "tools"}, Run: runUnknownTool},
		{ID: "LC-11", Run: runUndeclared},
	}
}

func runUnknownMethod(t *conformance.Trial) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	for _, each := range [][2]string{{"X-WIRE-03/method", nosuch.Method}, {"X-WIRE-03/case", "Ping"}} {
		id, method := each[0], each[1]
		t.Step(s)
		a, err := s.Request(t.Ctx, method, struct{}{})
		t.Check(id, a.HasCode(err, wire.CodeMethodNotFound), "error -32601", a.OrError(err))
		if err != nil {
			return err
		}
	}
	return nil
}

func runUnknownTool(t *conformance.Trial) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	a, err := s.Request(t.Ctx, mcp.MethodToolsCall, conformance.CallParams(nosuch.Tool, nil))
	if t.Rev.House {
		t.Check("X-WIRE-03/tool", a.HasCode(err, wire.CodeInvalidParams), "error -32602", a.OrError(err))
	} else {
		t.Check("X-WIRE-03/tool", a.HasCode(err, wire.CodeInvalidParams, wire.CodeMethodNotFound), "error -32602 (or -32601)", a.OrError(err))
	}
	if t.ForHouse("X-WIRE-03/tool-data") {
		data, _ := rawjson.Object(a.ErrorData())
		t.Check("X-WIRE-03/tool-data", rawjson.Text(data["tool"]) == nosuch.Tool, `data.tool "`+nosuch.Tool+`"`, a.OrError(err))
	}
	return err
}

func runUndeclared(t *conformance.Trial) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	for _, c := range []struct{ id, capability, method string }{
		{"LC-11/resources", "resources", mcp.MethodResourcesList},
		{"LC-11/prompts", "prompts", mcp.MethodPromptsList},
	} {
		if t.Rev.Capabilities.Has(c.capability) {
			t.Skip(c.id, conformance.SkipNotDeclared, "capabilities."+c.capability+" is declared")
			continue
		}
		t.Step(s)
		a, err := s.Request(t.Ctx, c.method, nil)
		t.Check(c.id, a.HasCode(err, wire.CodeMethodNotFound), "error -32601", a.OrError(err))
		if err != nil {
			return err
		}
	}
	return nil
}
