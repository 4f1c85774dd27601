package conformance

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func runEchoState(t *trial) error {
	s, err := declaring(t)
	if err != nil {
		return err
	}
	params := callParams(inputRequired+"request_state", struct{}{})
	q, err := askedBy(t, s, mcp.MethodToolsCall, params)
	if err != nil {
		return err
	}
	a, err := s.Request(t.ctx, mcp.MethodToolsCall, q.again(params, q.responses()))
	t.check("MRTR-04/state", rawjson.IsString(q.state) && wire.ResultType(a) == mcp.ResultComplete, "a state, and a result for it", "requestState %s; %s", rawjson.OrAbsent(q.state), a.OrError(err))
	// Only where a state decides something must it be protected. The official
	// suite says of this tool that it does.
	t.step(s)
	const guarded = inputRequired + "tampered_state"
	if !lists(t.leg, guarded) {
		for _, id := range []string{"MRTR-13/tampered", "MRTR-13/invented", "MRTR-13/swapped"} {
			t.skip(id, SkipNoFixture, "no tool "+guarded)
		}
		return nil
	}
	params = callParams(guarded, struct{}{})
	a, err = s.Request(t.ctx, mcp.MethodToolsCall, q.again(params, q.responses()))
	t.check("MRTR-13/swapped", err == nil && refusedState(a), "a refusal", a.OrError(err))
	if q, err = askedBy(t, s, mcp.MethodToolsCall, params); err != nil {
		return err
	}
	for id, state := range pairs("MRTR-13/tampered", flipped(rawjson.Text(q.state)), "MRTR-13/invented", "mainstay-never-given") {
		t.step(s)
		retry := q.again(params, q.responses())
		retry["requestState"] = state
		a, err := s.Request(t.ctx, mcp.MethodToolsCall, retry)
		t.check(id, err == nil && refusedState(a), "a refusal", a.OrError(err))
	}
	return nil
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

// lists reports whether the server has a tool.
func lists(l *leg, name string) bool {
	for _, tool := range l.tools {
		if tool.Name == name {
			return true
		}
	}
	return false
}

func runAskThree(t *trial) error {
	s, err := declaring(t)
	if err != nil {
		return err
	}
	params := callParams(inputRequired+"multiple_inputs", struct{}{})
	q, err := askedBy(t, s, mcp.MethodToolsCall, params)
	kinds := q.kinds()
	three := kinds[mcp.MethodElicitationCreate] == 1 && kinds[mcp.MethodSamplingCreateMessage] == 1 && kinds[mcp.MethodRootsList] == 1
	if !t.check("MRTR-03/three", err == nil && three, "one request of each kind", q.OrError(err)) {
		return err
	}
	t.step(s)
	all := q.responses()
	a, err := s.Request(t.ctx, mcp.MethodToolsCall, q.again(params, all))
	t.check("MRTR-03/three-used", wire.ResultType(a) == mcp.ResultComplete && strings.Contains(string(a.Result), userSays), userSays+" in the result", a.OrError(err))
	t.step(s)
	part := map[string]any{}
	for _, key := range rawjson.SortedKeys(all)[:1] {
		part[key] = all[key]
	}
	a, err = s.Request(t.ctx, mcp.MethodToolsCall, q.again(params, part))
	t.check("MRTR-13/partial", err == nil && a.IsInputRequired(), "resultType input_required", a.OrError(err))
	return nil
}

func runAskTwice(t *trial) error {
	s, err := declaring(t)
	if err != nil {
		return err
	}
	params := callParams(inputRequired+"multi_round", struct{}{})
	q, err := askedBy(t, s, mcp.MethodToolsCall, params)
	if err != nil {
		return err
	}
	second, err := askedBy(t, s, mcp.MethodToolsCall, q.again(params, q.responses()))
	fresh := len(second.requests) > 0
	for key := range second.requests {
		if _, same := q.requests[key]; same {
			fresh = false
		}
	}
	t.check("MRTR-07/second", err == nil && second.IsInputRequired() && fresh, "other input requests", second.OrError(err))
	a, err := s.Request(t.ctx, mcp.MethodToolsCall, second.again(params, second.responses()))
	t.check("MRTR-07/complete", err == nil && wire.ResultType(a) == mcp.ResultComplete && !isFailedCall(a), "resultType complete", a.OrError(err))
	return nil
}

// isFailedCall reports whether a result says isError.
func isFailedCall(a wire.Answer) bool {
	result, _ := rawjson.Object(a.Result)
	return string(result["isError"]) == "true"
}

func runAskDeclared(t *trial) error {
	s, err := declaring(t)
	if err != nil {
		return err
	}
	s.Declares = map[string]any{"elicitation": map[string]any{"form": struct{}{}}}
	t.step(s)
	q, err := askedBy(t, s, mcp.MethodToolsCall, callParams(inputRequired+"capabilities", struct{}{}))
	kinds := q.kinds()
	only := kinds[mcp.MethodElicitationCreate] > 0 && len(kinds) == 1
	t.check("MRTR-13/only-declared", err == nil && only, "elicitation/create alone", q.OrError(err))
	return notAsked(t, s, "MRTR-13/nothing", "capabilities")
}

func runPromptAsks(t *trial) error {
	s, err := declaring(t)
	if err != nil {
		return err
	}
	const name = inputRequired + "prompt"
	prompts, err := walk(t.ctx, s, promptKind)
	if err != nil {
		return err
	}
	if !prompts.has(promptKind, name) {
		skipAll(t, SkipNoFixture, "no prompt "+name)
		return nil
	}
	t.step(s)
	params := map[string]any{"name": name}
	q, err := askedBy(t, s, mcp.MethodPromptsGet, params)
	if err != nil || !q.IsInputRequired() {
		t.fail("MRTR-01/prompt", "resultType input_required", "%s", q.OrError(err))
		return err
	}
	a, err := s.Request(t.ctx, mcp.MethodPromptsGet, q.again(params, q.responses()))
	t.check("MRTR-01/prompt", err == nil && strings.Contains(string(a.Result), userSays), userSays+" in the prompt", a.OrError(err))
	return nil
}
