package artifact

import (
	"encoding/json"
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/profile"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// validateWireScenarios judge rules of the protocol by calls of validate_artifact,
// whose answers are known.
func validateWireScenarios() []engine.Scenario {
	return []engine.Scenario{
		{
			ID:    "X-WIRE-12-CALLS",
			Needs: engine.Needs{Capability: "tools", Profile: profile.Artifact, Tools: []string{ToolValidate}, SideEffects: conformance.SideEffectsReadOnly},
			Run:   runManyCalls,
		},
		{
			ID:    "X-WIRE-13",
			Needs: engine.Needs{Capability: "tools", Profile: profile.Artifact, Tools: []string{ToolValidate}, SideEffects: conformance.SideEffectsReadOnly},
			Run:   runOldRevision,
		},
	}
}

// runManyCalls mixes artifacts that pass with ones that do not: an answer at
// the wrong call shows.
func runManyCalls(t *engine.Trial) {
	s := t.Shared()
	type call struct {
		id   string
		pass bool
	}
	var calls []call
	var messages [][]byte
	for i := range talk.InFlight {
		arguments := validateArguments(prd(), idPRD)
		good := i%3 != 0
		if !good {
			arguments["artifact_content"] = prdWithout(PRDSection)
		}
		c := call{s.NewID(), good}
		calls, messages = append(calls, c), append(messages, s.Message(c.id, mcp.MethodToolsCall, engine.CallParams(ToolValidate, arguments)))
	}
	if err := talk.Volley(t.Ctx, s, messages); err != nil {
		t.Fail("X-WIRE-12/calls", "200 answers", "not all could be sent: %v", err)
		t.Stop(err)
	}
	mixed := ""
	for i, c := range calls {
		a, err := s.Await(t.Ctx, c.id)
		if err != nil || a.Err != nil {
			t.Fail("X-WIRE-12/calls", "200 results", "call %d: %s", i+1, a.OrError(err))
			t.NoError(err)
			return
		}
		got, err := a.Payload()
		t.NoError(err)
		var passed bool
		if json.Unmarshal(got["passed"], &passed) != nil || passed != c.pass {
			mixed = fmt.Sprintf("call %d: passed %s", i+1, rawjson.OrAbsent(got["passed"]))
		}
	}
	t.Pass("X-WIRE-12/calls")
	t.Check("X-WIRE-12/cross-talk", mixed == "", "the verdict of its own text", mixed)
}

func runOldRevision(t *engine.Trial) {
	s := t.Raw()
	t.NoError(s.Handshake(t.Ctx, mcp.Version2024_11_05))
	if s.Opened.Revision.AtLeast(mcp.Version2025_06_18) {
		t.Skip("X-WIRE-13", conformance.SkipNotInRevision, "the server does not speak "+string(mcp.Version2024_11_05))
		return
	}
	t.Step(s)
	_, a, err := validate(t, s, prd(), idPRD)
	t.NoError(err)
	result, _ := rawjson.Object(a.Result)
	structured, there := result["structuredContent"]
	t.Check("X-WIRE-13", !there, "no structuredContent", "%s", rawjson.Clip(string(structured), 120))
}
