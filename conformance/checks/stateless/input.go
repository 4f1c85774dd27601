package stateless

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statelessInputScenarios are about results that ask the client for more before
// the work is done (MRTR).
func statelessInputScenarios() []engine.Scenario {
	fixture := func(id, name string, run func(*engine.Trial)) engine.Scenario {
		return engine.Scenario{ID: id, Needs: engine.Needs{Tools: []string{fixture.InputRequired + name}, SideEffects: conformance.SideEffectsReadOnly}, Run: run}
	}
	return []engine.Scenario{
		fixture("MRTR-02", "elicitation", runAskUser),
		fixture("MRTR-03-SAMPLING", "sampling", runAskModel),
		fixture("MRTR-03-ROOTS", "list_roots", runAskRoots),
		fixture("MRTR-04-STATE", "request_state", runEchoState),
		fixture("MRTR-03-THREE", "multiple_inputs", runAskThree),
		fixture("MRTR-07", "multi_round", runAskTwice),
		fixture("MRTR-13", "capabilities", runAskDeclared),
		{ID: "MRTR-01", Needs: engine.Needs{Capability: "prompts"}, Run: runPromptAsks},
	}
}

// clientEverything declares all a server may ask of a client.
func clientEverything() map[string]any {
	return map[string]any{"elicitation": map[string]any{"form": struct{}{}}, "sampling": struct{}{}, "roots": struct{}{}}
}

// notAsked decides a check that a client which declares nothing is not asked.
func notAsked(t *engine.Trial, s *wire.Session, id, name string) {
	s.Declares = nil
	defer func() { s.Declares = clientEverything() }()
	t.Step(s)
	q, err := talk.AskedBy(t, s, mcp.MethodToolsCall, engine.CallParams(fixture.InputRequired+name, struct{}{}))
	t.Check(id, err == nil && len(q.Requests) == 0, "no input requests", q.OrError(err))
	t.NoError(err)
}

// declaring opens a session that declares all a server may ask for.
func declaring(t *engine.Trial) *wire.Session {
	s := t.Raw()
	s.Declares = clientEverything()
	t.NoError(s.Handshake(t.Ctx, t.Rev.Asked))
	return s
}

func runAskUser(t *engine.Trial) {
	const name = "elicitation"
	s := declaring(t)
	t.Step(s)
	params := engine.CallParams(fixture.InputRequired+name, struct{}{})
	q, err := talk.AskedBy(t, s, mcp.MethodToolsCall, params)
	asks := err == nil && q.IsInputRequired() && (len(q.Requests) > 0 || rawjson.IsString(q.State))
	if !t.Check("MRTR-02/asks", asks, "resultType input_required", q.OrError(err)) {
		t.NoError(err)
		return
	}
	t.Check("MRTR-02/kind", q.KindFault() == "", "one of the three", "%s", q.KindFault())
	fault := talk.ElicitationFault(q.One(mcp.MethodElicitationCreate))
	t.Check("MRTR-02/elicitation", fault == "", "a message and a form", "%s", fault)
	result, _ := rawjson.Object(q.Result)
	_, ttl := result["ttlMs"]
	_, scope := result["cacheScope"]
	t.Check("MRTR-02/hints", !ttl && !scope, "neither ttlMs nor cacheScope", q.Describe())

	retry := func(s *wire.Session, responses map[string]any) (wire.Answer, error) {
		t.Step(s)
		return s.Request(t.Ctx, mcp.MethodToolsCall, q.Again(params, responses))
	}
	a, err := retry(s, q.Responses())
	t.Check("MRTR-04/complete", err == nil && wire.ResultType(a) == mcp.ResultComplete, "resultType complete", a.OrError(err))
	t.Check("MRTR-04/used", strings.Contains(string(a.Result), talk.UserSays), talk.UserSays+" in the result", a.OrError(err))
	a, err = retry(s, map[string]any{"mainstay-another-key": map[string]any{"action": "accept", "content": map[string]any{}}})
	t.Check("MRTR-13/missing", err == nil && a.IsInputRequired(), "resultType input_required", a.OrError(err))
	more := q.Responses()
	more["mainstay-another-key"] = map[string]any{"action": "accept", "content": map[string]any{"x": 1}}
	a, err = retry(s, more)
	t.Check("MRTR-13/extra", err == nil && wire.ResultType(a) == mcp.ResultComplete, "resultType complete", a.OrError(err))
	numbers := map[string]any{}
	for key := range q.Requests {
		numbers[key] = 12345
	}
	a, err = retry(s, numbers)
	t.Check("MRTR-13/malformed", err == nil && wire.ResultType(a) != mcp.ResultComplete, "an error, or the same question", a.OrError(err))
	a, err = retry(s, nil)
	t.Check("MRTR-13/null", err == nil && wire.ResultType(a) != mcp.ResultComplete, "an error, or the same question", a.OrError(err))
	declined := map[string]any{}
	for key := range q.Requests {
		declined[key] = map[string]any{"action": "decline"}
	}
	a, err = retry(s, declined)
	t.Check("MRTR-13/decline", err == nil, "an answer", a.OrError(err))
	other := declaring(t)
	a, err = retry(other, q.Responses())
	t.Check("MRTR-13/anywhere", err == nil && wire.ResultType(a) == mcp.ResultComplete, "resultType complete", a.OrError(err))
	notAsked(t, s, "MRTR-13/undeclared", name)
}

func runAskModel(t *engine.Trial) {
	s := declaring(t)
	params := engine.CallParams(fixture.InputRequired+"sampling", struct{}{})
	q, err := talk.AskedBy(t, s, mcp.MethodToolsCall, params)
	fault := talk.SamplingFault(q.One(mcp.MethodSamplingCreateMessage))
	t.Check("MRTR-03/sampling", err == nil && fault == "", "messages and maxTokens", "%s %s", fault, q.OrError(err))
	a, err := s.Request(t.Ctx, mcp.MethodToolsCall, q.Again(params, q.Responses()))
	t.Check("MRTR-03/sampling-used", strings.Contains(string(a.Result), talk.ModelSaid), talk.ModelSaid+" in the result", a.OrError(err))
	notAsked(t, s, "MRTR-13/sampling-undeclared", "sampling")
}

func runAskRoots(t *engine.Trial) {
	s := declaring(t)
	params := engine.CallParams(fixture.InputRequired+"list_roots", struct{}{})
	q, err := talk.AskedBy(t, s, mcp.MethodToolsCall, params)
	t.Check("MRTR-03/roots", err == nil && q.Kinds()[mcp.MethodRootsList] == 1, "roots/list", q.OrError(err))
	a, err := s.Request(t.Ctx, mcp.MethodToolsCall, q.Again(params, q.Responses()))
	t.Check("MRTR-03/roots-used", err == nil && wire.ResultType(a) == mcp.ResultComplete, "a result", a.OrError(err))
	notAsked(t, s, "MRTR-13/roots-undeclared", "list_roots")
}
