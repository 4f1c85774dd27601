package calls

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	// mostOfTool is how many calls of one tool are made to see what it asks, and mostOfReader of one
	// that only reads.
	mostOfTool, mostOfReader = 10, 4
	// mostRounds is how often one call may ask in the stateless era.
	mostRounds = 5
)

// asking calls tools with a client that declares all that a server may ask for.
type asking struct {
	verdicts
	t *engine.Trial
	s *wire.Session
	// refuses: the user declines.
	refuses bool
	// forms: the last call asked the user to fill in a form. elsewhere: it sent the user to a URL, where
	// the suite does not go.
	forms, elsewhere bool
}

// runAsks calls tools, answers what they ask, and then calls those with a form once more and declines.
func runAsks(t *engine.Trial) {
	all := swift(t, tools(t))
	if len(all) == 0 {
		t.SkipRest(conformance.SkipNoFixture, "only tools that are slow")
		return
	}
	q := &asking{verdicts: verdicts{}, t: t}
	q.open()
	over := budget(t)
	var asked []call
	for _, c := range askingCalls(t, all) {
		if over() {
			break
		}
		if q.call(c); q.forms {
			asked = append(asked, c)
		}
	}
	q.refuses = true
	seen := map[string]bool{}
	for _, c := range asked {
		if !over() && !seen[c.tool.Name] {
			seen[c.tool.Name] = true
			q.call(c)
		}
	}
	q.decide(t, "no tool asked for anything")
}

// askingCalls are some calls of each tool, those of tools that destroy something at the end.
func askingCalls(t *engine.Trial, all []wire.Tool) []call {
	var calm, rest []call
	for _, tool := range all {
		most := mostOfTool
		if tool.Annotations.ReadOnlyHint {
			most = mostOfReader
		}
		arguments := t.Rev.ArgumentsOf(tool)
		if len(arguments) > 0 {
			arguments = slices.Concat(first(t.Rev.Guesses(tool), most/3), first(t.Rev.Variants(tool, arguments[0]), most/3), arguments)
		}
		for _, with := range first(arguments, most) {
			if c := (call{tool: tool, args: with}); destroys(tool) {
				rest = append(rest, c)
			} else {
				calm = append(calm, c)
			}
		}
	}
	return append(calm, rest...)
}

// open replaces the session.
func (q *asking) open() {
	s := q.t.Raw()
	s.Declares = talk.Everything()
	s.Answers = map[string]func(wire.Inbound) (any, *wire.RPCError){}
	for _, method := range []string{mcp.MethodElicitationCreate, mcp.MethodSamplingCreateMessage, mcp.MethodRootsList} {
		s.Answers[method] = func(in wire.Inbound) (any, *wire.RPCError) { return q.reply(method, in.Members["params"]), nil }
	}
	q.t.NoError(s.Handshake(q.t.Ctx, q.t.Rev.Asked))
	q.t.Step(s)
	if !q.t.Rev.Stateless() {
		listenOnGet(q.t, s) // a server may ask there
	}
	q.s = s
}

// reply is what the client says to a question.
func (q *asking) reply(method string, params json.RawMessage) any {
	if q.refuses && method == mcp.MethodElicitationCreate {
		return map[string]any{"action": "decline"}
	}
	request := rawjson.Encode(map[string]any{"method": method, "params": params})
	return talk.Asked{Requests: map[string]json.RawMessage{"one": request}}.Responses()["one"]
}

// call makes a call and answers what it asks.
func (q *asking) call(c call) {
	had, asked := len(q.s.Unsolicited), false
	q.forms, q.elsewhere = false, false
	a, err := ask(q.t, q.s, c, "asks-"+strconv.Itoa(q.t.Calls)) // progress makes the wait longer
	for range mostRounds {
		if err != nil || !a.IsInputRequired() {
			break
		}
		asked = true
		result, _ := rawjson.Object(a.Result)
		requests, _ := rawjson.Object(result["inputRequests"])
		for _, key := range rawjson.SortedKeys(requests) {
			request, _ := rawjson.Object(requests[key])
			q.question(c, rawjson.Text(request["method"]), request["params"])
		}
		a, err = q.again(c, requests, result["requestState"])
	}
	for _, in := range q.s.Unsolicited[min(had, len(q.s.Unsolicited)):] {
		if !in.IsResponse() && in.ID() != "" && in.Method() != mcp.MethodPing {
			asked = true
			q.question(c, in.Method(), in.Members["params"])
		}
	}
	id, after := "CALL-11/answered", "answered what it asked"
	if q.refuses {
		id, after = "CALL-11/refused", "declined what it asked"
	}
	if asked && !q.elsewhere {
		q.see(q.t, id, err == nil, "an answer", "%s: the client has %s, and then: %s", c, after, a.OrError(err))
	}
	if err != nil { // of a call that asked nothing, another check judges it
		q.open()
	}
}

// again makes a call once more, with answers to what it asked.
func (q *asking) again(c call, requests map[string]json.RawMessage, state json.RawMessage) (wire.Answer, error) {
	responses := map[string]any{}
	for key, raw := range requests {
		request, _ := rawjson.Object(raw)
		responses[key] = q.reply(rawjson.Text(request["method"]), request["params"])
	}
	q.t.Step(q.s)
	return q.s.Request(q.t.Ctx, mcp.MethodToolsCall, talk.Asked{State: state}.Again(c.params(nil), responses))
}

// question judges what a server asks.
func (q *asking) question(c call, method string, raw json.RawMessage) {
	params, _ := rawjson.Object(raw)
	switch method {
	case mcp.MethodElicitationCreate:
		if rawjson.Text(params["mode"]) == "url" {
			q.elsewhere = true
		} else {
			q.forms = true
		}
		fault := talk.ElicitationFault(params)
		q.see(q.t, "CALL-11/form", fault == "", "a message, and a flat form of texts, numbers, booleans and choices", "%s asks: %s", c.tool.Name, fault)
	case mcp.MethodSamplingCreateMessage:
		fault := talk.SamplingFault(params)
		q.see(q.t, "CALL-11/model", fault == "", "messages of user and assistant, and maxTokens", "%s asks: %s", c.tool.Name, fault)
	}
}
