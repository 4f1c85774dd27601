package stateless

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/asked"
	"github.com/mainstay-mcp/mainstay/conformance/internal/official"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rule"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statelessInputScenarios are about results that ask the client for more before
// the work is done (MRTR).
func statelessInputScenarios() []conformance.Scenario {
	const (
		page       = "basic/patterns/mrtr"
		server     = page + "#server-requirements-basic-workflow"
		faults     = page + "#error-handling"
		one        = "Servers MUST include at least one of inputRequests or requestState in every InputRequiredResult response."
		values     = "inputRequests values are request objects that MUST be one of ElicitRequest, CreateMessageRequest, or ListRootsRequest"
		echoed     = "If an InputRequiredResult contains the requestState field, the client MUST echo back the exact value of that field when retrying the original request."
		undeclared = "Servers MUST NOT send an inputRequests that the client has not declared support for in its capabilities."
		parsed     = "Servers SHOULD validate that the data provided by the client is a valid InputResponses object and that the information inside can be correctly parsed."
		hostile    = "servers MUST protect its integrity (e.g. HMAC or AEAD) and MUST reject state that fails verification."
	)
	fixture := func(id, name, title string, run func(*conformance.Trial) error, checks ...conformance.Check) conformance.Scenario {
		return conformance.Scenario{
			ID: id, Area: "input", Title: title, Since: mcp.Version2026_07_28, Needs: conformance.Needs{Tools: []string{official.InputRequired + name}, SideEffects: conformance.SideEffectsReadOnly}, Checks: checks, Run: run,
		}
	}
	return []conformance.Scenario{
		fixture("MRTR-02", "elicitation", "a tool that asks the user", runAskUser,
			rule.Quoted(conformance.Must, "MRTR-02/asks", "the result says input_required and has inputRequests or requestState", server, one),
			rule.Quoted(conformance.Must, "MRTR-02/kind", "each input request is elicitation/create, sampling/createMessage or roots/list", server, values),
			rule.Quoted(conformance.Must, "MRTR-02/elicitation", "an elicitation has a message and a form of flat properties", "client/elicitation#form-mode-elicitation-requests", "Form mode elicitation requests MUST … include these additional parameters … requestedSchema"),
			rule.Quoted(conformance.Must, "MRTR-02/hints", "the interim result carries no hints for caches", "server/utilities/caching#cacheable-results", "Interim results with resultType: \"input_required\" … are not cacheable and carry no caching hints."),
			rule.Quoted(conformance.Must, "MRTR-04/complete", "the retry with the answer is completed", page, "Client gathers the requested information … then retries the original request including the additional requested information."),
			rule.Quoted(conformance.Must, "MRTR-04/used", "the result has what the user said", page, "Client gathers the requested information … then retries the original request including the additional requested information."),
			rule.Quoted(conformance.Should, "MRTR-13/missing", "an answer under another key leads to the same question", faults, "the server SHOULD respond with a new InputRequiredResult requesting the missing information again, rather than returning an error."),
			rule.Quoted(conformance.Should, "MRTR-13/extra", "an answer nobody asked for is passed over", faults, "If additional, unexpected parameters are provided in the InputResponses object, the server SHOULD ignore any information it does not recognize or need."),
			rule.Quoted(conformance.Should, "MRTR-13/malformed", "a number in place of the user's answer does not complete it", faults, parsed),
			rule.Quoted(conformance.Should, "MRTR-13/null", "nor do inputResponses that are null", faults, parsed),
			rule.Quoted(conformance.Must, "MRTR-13/decline", "a user who declines gets an answer", "client/elicitation#error-handling", "Servers … MUST handle cases where the user declines or cancels the elicitation, or where the client fails to process the request."),
			rule.Quoted(conformance.Should, "MRTR-13/anywhere", "the retry may come on another connection", "basic#statelessness", "Servers SHOULD NOT require that a client reuse the same connection or process to perform related operations."),
			rule.Quoted(conformance.Must, "MRTR-13/undeclared", "a client without elicitation is not asked", server, undeclared),
		),
		fixture("MRTR-03-SAMPLING", "sampling", "a tool that asks the model", runAskModel,
			rule.Quoted(conformance.Must, "MRTR-03/sampling", "the request for the model has messages and maxTokens", "schema#createmessagerequestparams", "The requested maximum number of tokens to sample (to prevent runaway completions)."),
			rule.Quoted(conformance.Must, "MRTR-03/sampling-used", "the result has what the model said", page, "Client gathers the requested information … then retries the original request including the additional requested information."),
			rule.Quoted(conformance.Must, "MRTR-13/sampling-undeclared", "a client without sampling is not asked", server, undeclared),
		),
		fixture("MRTR-03-ROOTS", "list_roots", "a tool that asks for roots", runAskRoots,
			rule.Quoted(conformance.Must, "MRTR-03/roots", "the request is roots/list", server, values),
			rule.Quoted(conformance.Must, "MRTR-03/roots-used", "the retry with the roots is completed", page, "Client gathers the requested information … then retries the original request including the additional requested information."),
			rule.Quoted(conformance.Must, "MRTR-13/roots-undeclared", "a client without roots is not asked", server, undeclared),
		),
		fixture("MRTR-04-STATE", "request_state", "a tool that hands out state", runEchoState,
			rule.Quoted(conformance.Must, "MRTR-04/state", "requestState is a string, taken back as it was", server, echoed),
			rule.Quoted(conformance.Must, "MRTR-13/tampered", "a state that was changed is refused", server, hostile),
			rule.Quoted(conformance.Must, "MRTR-13/invented", "a state the server never gave is refused", server, hostile),
			rule.Quoted(conformance.Should, "MRTR-13/swapped", "the state of one tool does not open another", server, "To prevent replay, servers SHOULD include the following inside the integrity-protected requestState payload and verify each on receipt"),
		),
		fixture("MRTR-03-THREE", "multiple_inputs", "a tool that asks three at once", runAskThree,
			rule.Quoted(conformance.Must, "MRTR-03/three", "it asks the user, the model and for roots in one result", server, "inputRequests keys are server assigned identifiers and MUST be unique within the scope of the request."),
			rule.Quoted(conformance.Must, "MRTR-03/three-used", "the retry with all answers is completed", page, "Client gathers the requested information … then retries the original request including the additional requested information."),
			rule.Quoted(conformance.Should, "MRTR-13/partial", "the retry with one answer of three is asked again", faults, "the server SHOULD respond with a new InputRequiredResult requesting the missing information again, rather than returning an error."),
		),
		fixture("MRTR-07", "multi_round", "a tool that asks twice", runAskTwice,
			rule.Quoted(conformance.Must, "MRTR-07/second", "the second round asks for something else", page, "Client gathers the requested information … then retries the original request including the additional requested information."),
			rule.Quoted(conformance.Must, "MRTR-07/complete", "the answers to the last round complete it", page, "Client gathers the requested information … then retries the original request including the additional requested information."),
		),
		fixture("MRTR-13", "capabilities", "a tool that asks for what there is", runAskDeclared,
			rule.Quoted(conformance.Must, "MRTR-13/only-declared", "of three kinds it asks for the declared one alone", server, undeclared),
			rule.Quoted(conformance.Must, "MRTR-13/nothing", "a client that declares nothing is asked nothing", server, undeclared),
		),
		{
			ID: "MRTR-01", Area: "input", Title: "a prompt that asks", Since: mcp.Version2026_07_28, Needs: conformance.Needs{Capability: "prompts"},
			Checks: []conformance.Check{
				{
					ID: "MRTR-01/prompt", Title: "prompts/get may ask, and is completed", Level: conformance.Must,
					Spec: conformance.Spec{Section: page, Quote: "Client gathers the requested information … then retries the original request including the additional requested information."},
				},
			},
			Run: runPromptAsks,
		},
	}
}

// clientEverything declares all a server may ask of a client.
func clientEverything() map[string]any {
	return map[string]any{"elicitation": map[string]any{"form": struct{}{}}, "sampling": struct{}{}, "roots": struct{}{}}
}

// notAsked decides a check that a client which declares nothing is not asked.
func notAsked(t *conformance.Trial, s *wire.Session, id, name string) error {
	s.Declares = nil
	defer func() { s.Declares = clientEverything() }()
	t.Step(s)
	q, err := asked.By(t, s, mcp.MethodToolsCall, conformance.CallParams(official.InputRequired+name, struct{}{}))
	t.Check(id, err == nil && len(q.Requests) == 0, "no input requests", q.OrError(err))
	return err
}

// declaring opens a session that declares all a server may ask for.
func declaring(t *conformance.Trial) (*wire.Session, error) {
	s, err := t.Raw()
	if err != nil {
		return nil, err
	}
	s.Declares = clientEverything()
	return s, s.Handshake(t.Ctx, t.Rev.Asked)
}

func runAskUser(t *conformance.Trial) error {
	const name = "elicitation"
	s, err := declaring(t)
	if err != nil {
		return err
	}
	t.Step(s)
	params := conformance.CallParams(official.InputRequired+name, struct{}{})
	q, err := asked.By(t, s, mcp.MethodToolsCall, params)
	asks := err == nil && q.IsInputRequired() && (len(q.Requests) > 0 || rawjson.IsString(q.State))
	if !t.Check("MRTR-02/asks", asks, "resultType input_required", q.OrError(err)) {
		return err
	}
	t.Check("MRTR-02/kind", q.KindFault() == "", "one of the three", "%s", q.KindFault())
	fault := asked.ElicitationFault(q.One(mcp.MethodElicitationCreate))
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
	t.Check("MRTR-04/used", strings.Contains(string(a.Result), asked.UserSays), asked.UserSays+" in the result", a.OrError(err))
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
	other, err := declaring(t)
	if err != nil {
		return err
	}
	a, err = retry(other, q.Responses())
	t.Check("MRTR-13/anywhere", err == nil && wire.ResultType(a) == mcp.ResultComplete, "resultType complete", a.OrError(err))
	return notAsked(t, s, "MRTR-13/undeclared", name)
}

func runAskModel(t *conformance.Trial) error {
	s, err := declaring(t)
	if err != nil {
		return err
	}
	params := conformance.CallParams(official.InputRequired+"sampling", struct{}{})
	q, err := asked.By(t, s, mcp.MethodToolsCall, params)
	fault := asked.SamplingFault(q.One(mcp.MethodSamplingCreateMessage))
	t.Check("MRTR-03/sampling", err == nil && fault == "", "messages and maxTokens", "%s %s", fault, q.OrError(err))
	a, err := s.Request(t.Ctx, mcp.MethodToolsCall, q.Again(params, q.Responses()))
	t.Check("MRTR-03/sampling-used", strings.Contains(string(a.Result), asked.ModelSaid), asked.ModelSaid+" in the result", a.OrError(err))
	return notAsked(t, s, "MRTR-13/sampling-undeclared", "sampling")
}

func runAskRoots(t *conformance.Trial) error {
	s, err := declaring(t)
	if err != nil {
		return err
	}
	params := conformance.CallParams(official.InputRequired+"list_roots", struct{}{})
	q, err := asked.By(t, s, mcp.MethodToolsCall, params)
	t.Check("MRTR-03/roots", err == nil && q.Kinds()[mcp.MethodRootsList] == 1, "roots/list", q.OrError(err))
	a, err := s.Request(t.Ctx, mcp.MethodToolsCall, q.Again(params, q.Responses()))
	t.Check("MRTR-03/roots-used", err == nil && wire.ResultType(a) == mcp.ResultComplete, "a result", a.OrError(err))
	return notAsked(t, s, "MRTR-13/roots-undeclared", "list_roots")
}
