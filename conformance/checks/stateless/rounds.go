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

func runEchoState(t *engine.Trial) {
	s := declaring(t)
	params := engine.CallParams(fixture.InputRequired+"request_state", struct{}{})
	q, err := talk.AskedBy(t, s, mcp.MethodToolsCall, params)
	t.NoError(err)
	a, err := s.Request(t.Ctx, mcp.MethodToolsCall, q.Again(params, q.Responses()))
	t.Check("MRTR-04/state", rawjson.IsString(q.State) && wire.ResultType(a) == mcp.ResultComplete, "a state, and a result for it", "requestState %s; %s", rawjson.OrAbsent(q.State), a.OrError(err))
	// Only where a state decides something must it be protected. The official
	// suite says of this tool that it does.
	t.Step(s)
	const guarded = fixture.InputRequired + "tampered_state"
	if !talk.Offers(t.Rev, guarded) {
		for _, id := range []string{"MRTR-13/tampered", "MRTR-13/invented", "MRTR-13/swapped"} {
			t.Skip(id, conformance.SkipNoFixture, "no tool "+guarded)
		}
		return
	}
	params = engine.CallParams(guarded, struct{}{})
	a, err = s.Request(t.Ctx, mcp.MethodToolsCall, q.Again(params, q.Responses()))
	t.Check("MRTR-13/swapped", err == nil && refusedState(a), "a refusal", a.OrError(err))
	q, err = talk.AskedBy(t, s, mcp.MethodToolsCall, params)
	t.NoError(err)
	for _, each := range [][2]string{{"MRTR-13/tampered", flipped(rawjson.Text(q.State))}, {"MRTR-13/invented", "mainstay-never-given"}} {
		id, state := each[0], each[1]
		t.Step(s)
		retry := q.Again(params, q.Responses())
		retry["requestState"] = state
		a, err := s.Request(t.Ctx, mcp.MethodToolsCall, retry)
		t.Check(id, err == nil && refusedState(a), "a refusal", a.OrError(err))
	}
}

// refusedState reports whether a retry was refused: by an error, by a result
// that says so, or by beginning again.
func refusedState(a wire.Answer) bool {
	result, _ := rawjson.Object(a.Result)
	return a.Err != nil || string(result["isError"]) == "true" || a.IsInputRequired()
}

// flipped changes one character in the middle of a state.
func flipped(state string) string {
	if state == "" {
		return "x"
	}
	b := []byte(state)
	at := len(b) / 2
	if b[at] == 'A' {
		b[at] = 'B'
	} else {
		b[at] = 'A'
	}
	return string(b)
}

func runAskThree(t *engine.Trial) {
	s := declaring(t)
	params := engine.CallParams(fixture.InputRequired+"multiple_inputs", struct{}{})
	q, err := talk.AskedBy(t, s, mcp.MethodToolsCall, params)
	kinds := q.Kinds()
	three := kinds[mcp.MethodElicitationCreate] == 1 && kinds[mcp.MethodSamplingCreateMessage] == 1 && kinds[mcp.MethodRootsList] == 1
	if !t.Check("MRTR-03/three", err == nil && three, "one request of each kind", q.OrError(err)) {
		t.NoError(err)
		return
	}
	t.Step(s)
	all := q.Responses()
	a, err := s.Request(t.Ctx, mcp.MethodToolsCall, q.Again(params, all))
	t.Check("MRTR-03/three-used", wire.ResultType(a) == mcp.ResultComplete && strings.Contains(string(a.Result), talk.UserSays), talk.UserSays+" in the result", a.OrError(err))
	t.Step(s)
	part := map[string]any{}
	for _, key := range rawjson.SortedKeys(all)[:1] {
		part[key] = all[key]
	}
	a, err = s.Request(t.Ctx, mcp.MethodToolsCall, q.Again(params, part))
	t.Check("MRTR-13/partial", err == nil && a.IsInputRequired(), "resultType input_required", a.OrError(err))
}

func runAskTwice(t *engine.Trial) {
	s := declaring(t)
	params := engine.CallParams(fixture.InputRequired+"multi_round", struct{}{})
	q, err := talk.AskedBy(t, s, mcp.MethodToolsCall, params)
	t.NoError(err)
	second, err := talk.AskedBy(t, s, mcp.MethodToolsCall, q.Again(params, q.Responses()))
	fresh := len(second.Requests) > 0
	for key := range second.Requests {
		if _, same := q.Requests[key]; same {
			fresh = false
		}
	}
	t.Check("MRTR-07/second", err == nil && second.IsInputRequired() && fresh, "other input requests", second.OrError(err))
	a, err := s.Request(t.Ctx, mcp.MethodToolsCall, second.Again(params, second.Responses()))
	t.Check("MRTR-07/complete", err == nil && wire.ResultType(a) == mcp.ResultComplete && !isFailedCall(a), "resultType complete", a.OrError(err))
}

// isFailedCall reports whether a result says isError.
func isFailedCall(a wire.Answer) bool {
	result, _ := rawjson.Object(a.Result)
	return string(result["isError"]) == "true"
}

func runAskDeclared(t *engine.Trial) {
	s := declaring(t)
	s.Declares = map[string]any{"elicitation": map[string]any{"form": struct{}{}}}
	t.Step(s)
	q, err := talk.AskedBy(t, s, mcp.MethodToolsCall, engine.CallParams(fixture.InputRequired+"capabilities", struct{}{}))
	kinds := q.Kinds()
	only := kinds[mcp.MethodElicitationCreate] > 0 && len(kinds) == 1
	t.Check("MRTR-13/only-declared", err == nil && only, "elicitation/create alone", q.OrError(err))
	notAsked(t, s, "MRTR-13/nothing", "capabilities")
}

func runPromptAsks(t *engine.Trial) {
	s := declaring(t)
	const name = fixture.InputRequired + "prompt"
	prompts, err := wire.WalkList(t.Ctx, s, wire.PromptList)
	t.NoError(err)
	if !prompts.Has(wire.PromptList, name) {
		t.SkipRest(conformance.SkipNoFixture, "no prompt "+name)
		return
	}
	t.Step(s)
	params := map[string]any{"name": name}
	q, err := talk.AskedBy(t, s, mcp.MethodPromptsGet, params)
	if err != nil || !q.IsInputRequired() {
		t.Fail("MRTR-01/prompt", "resultType input_required", "%s", q.OrError(err))
		t.NoError(err)
		return
	}
	a, err := s.Request(t.Ctx, mcp.MethodPromptsGet, q.Again(params, q.Responses()))
	t.Check("MRTR-01/prompt", err == nil && strings.Contains(string(a.Result), talk.UserSays), talk.UserSays+" in the prompt", a.OrError(err))
}
