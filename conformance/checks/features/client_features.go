package features

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// clientFeatureScenarios are about what a server asks of a client in a session.
func clientFeatureScenarios() []engine.Scenario {
	one := func(id, tool string, run func(*engine.Trial)) engine.Scenario {
		return engine.Scenario{ID: id, Needs: engine.Needs{Tools: []string{tool}, SideEffects: conformance.SideEffectsReadOnly}, Run: run}
	}
	return []engine.Scenario{
		one("SAMP-01", fixture.ToolSampling, runSampling),
		one("ELIC-01", fixture.ToolElicitation, runElicitation),
		one("ELIC-04", fixture.ToolDefaults, runDefaults),
		one("ELIC-03", fixture.ToolEnums, runEnums),
	}
}

// exchangeOfFeature is a call during which the server asked the client.
type exchangeOfFeature struct {
	wire.Answer
	asked []wire.Inbound
	s     *wire.Session // nil when none was opened
}

// judgeAnswered decides that a call of a client that will not has an answer, whatever
// it is. Silence counts while the server answers other requests.
func judgeAnswered(t *engine.Trial, id string, x exchangeOfFeature, err error) {
	if x.s == nil || talk.Unheard(t, x.s, err) {
		t.Inconclusive(id, fmt.Sprint(err))
		return
	}
	t.Check(id, err == nil, "an answer", x.OrError(err))
}

// askFeature opens a session that declares capabilities and answers one method with
// what reply says, and calls a tool on it.
func askFeature(t *engine.Trial, declares map[string]any, method string, reply func(wire.Inbound) (any, *wire.RPCError), tool string, arguments any) (exchangeOfFeature, error) {
	s, err := t.TryOpen()
	if err != nil {
		return exchangeOfFeature{}, err
	}
	s.Declares = declares
	s.Answers = map[string]func(wire.Inbound) (any, *wire.RPCError){method: reply}
	if err := s.Handshake(t.Ctx, t.Rev.Asked); err != nil {
		return exchangeOfFeature{s: s}, err
	}
	t.Step(s)
	if w, ok := s.Conn.(*wire.HTTPConn); ok {
		if w.SessionID() == "" {
			return exchangeOfFeature{}, errNoSession
		}
		// A server may ask on the stream of a GET, too, if it has one.
		ctx, cancel := context.WithTimeout(t.Ctx, wire.Lag)
		_, _ = w.Listen(ctx, "") // what comes of it is HTTP-19's
		cancel()
	}
	a, err := callListening(t, s, tool, arguments)
	return exchangeOfFeature{a, s.Notifications(method), s}, err
}

// callListening calls a tool and answers what the server asks from the first
// moment: it may ask elsewhere before it says how the call's own answer begins.
func callListening(t *engine.Trial, s *wire.Session, tool string, arguments any) (wire.Answer, error) {
	id := s.NewID()
	data := s.Message(id, mcp.MethodToolsCall, engine.CallParams(tool, arguments))
	end := talk.Start(t.Ctx, s, s.Timeout, data)
	a, err := s.Await(t.Ctx, id) // which has a limit of its own
	end()
	if err == nil && s.Opened != nil {
		t.Rev.Seen.CallResult(a, s.Opened.Revision)
	}
	return a, err
}

// errNoSession: over HTTP, where a server gives no session id, nothing says
// whose question the client's answer belongs to.
var errNoSession = errors.New("the server gives no session over HTTP, so that no answer of the client finds its question")

// unobserved reports whether an error says nothing about the server's asking.
func unobserved(err error) bool {
	return errors.Is(err, errNoSession) || errors.Is(err, wire.ErrLate) || errors.Is(err, context.DeadlineExceeded)
}

// cannotAsk ends a scenario of which no call came back: skipped where a server
// cannot ask, inconclusive where nothing came in time.
func cannotAsk(t *engine.Trial, err error) {
	if !errors.Is(err, errNoSession) {
		t.NoError(err)
		return
	}
	t.SkipRest(conformance.SkipTransport, err.Error())
}

func (x exchangeOfFeature) params() map[string]json.RawMessage {
	if len(x.asked) == 0 {
		return nil
	}
	params, _ := rawjson.Object(x.asked[0].Members["params"])
	return params
}

// userRefuses is a client that will not.
func userRefuses(wire.Inbound) (any, *wire.RPCError) {
	return nil, &wire.RPCError{Code: mcp.CodeUserRejected, Message: "User rejected the request"}
}

func runSampling(t *engine.Trial) {
	const method = mcp.MethodSamplingCreateMessage
	declared := map[string]any{"sampling": struct{}{}}
	arguments := map[string]any{"prompt": "What is the capital of France?"}
	x, err := askFeature(t, declared, method, func(wire.Inbound) (any, *wire.RPCError) { return talk.ModelSays, nil }, fixture.ToolSampling, arguments)
	if len(x.asked) == 0 && unobserved(err) {
		cannotAsk(t, err)
		return
	}
	t.Check("SAMP-01/asks", len(x.asked) > 0, method, "%s", x.OrError(err))
	if len(x.asked) == 0 {
		t.Skip("SAMP-01/shape", conformance.SkipPrerequisite, "it does not ask")
		t.Skip("SAMP-01/used", conformance.SkipPrerequisite, "it does not ask")
	}
	fault := talk.SamplingFault(x.params())
	t.Check("SAMP-01/shape", fault == "", "messages and maxTokens", "%s", fault)
	t.Check("SAMP-01/used", err == nil && strings.Contains(string(x.Result), talk.ModelSaid), talk.ModelSaid+" in the result", x.OrError(err))
	x, err = askFeature(t, declared, method, userRefuses, fixture.ToolSampling, arguments)
	judgeAnswered(t, "SAMP-01/refused", x, err)
	x, err = askFeature(t, nil, method, userRefuses, fixture.ToolSampling, arguments)
	if err != nil && len(x.asked) == 0 {
		t.Stop(err)
	}
	t.Check("SAMP-01/undeclared", len(x.asked) == 0, "no "+method, "%d of them", len(x.asked))
}

func runElicitation(t *engine.Trial) {
	const method = mcp.MethodElicitationCreate
	declared := map[string]any{"elicitation": struct{}{}}
	arguments := map[string]any{"message": "Who are you?"}
	accept := func(in wire.Inbound) (any, *wire.RPCError) {
		return map[string]any{"action": "accept", "content": talk.Asked{}.Form(in.Members["params"])}, nil
	}
	x, err := askFeature(t, declared, method, accept, fixture.ToolElicitation, arguments)
	if len(x.asked) == 0 && unobserved(err) {
		cannotAsk(t, err)
		return
	}
	t.Check("ELIC-01/asks", len(x.asked) > 0, method, "%s", x.OrError(err))
	if len(x.asked) == 0 {
		t.Skip("ELIC-01/shape", conformance.SkipPrerequisite, "it does not ask")
		t.Skip("ELIC-01/used", conformance.SkipPrerequisite, "it does not ask")
	}
	fault := talk.ElicitationFault(x.params())
	t.Check("ELIC-01/shape", fault == "", "a message and a flat form", "%s", fault)
	t.Check("ELIC-01/used", err == nil && strings.Contains(string(x.Result), talk.UserSays), talk.UserSays+" in the result", x.OrError(err))
	decline := func(wire.Inbound) (any, *wire.RPCError) { return map[string]any{"action": "decline"}, nil }
	x, err = askFeature(t, declared, method, decline, fixture.ToolElicitation, arguments)
	judgeAnswered(t, "ELIC-01/declined", x, err)
	x, err = askFeature(t, declared, method, userRefuses, fixture.ToolElicitation, arguments)
	judgeAnswered(t, "ELIC-01/refused", x, err)
	x, err = askFeature(t, nil, method, userRefuses, fixture.ToolElicitation, arguments)
	if err != nil && len(x.asked) == 0 {
		t.Stop(err)
	}
	t.Check("ELIC-01/undeclared", len(x.asked) == 0, "no "+method, "%d of them", len(x.asked))
}

// formOf has a tool show its form and returns the properties.
func formOf(t *engine.Trial, tool string) (map[string]json.RawMessage, exchangeOfFeature, error) {
	accept := func(in wire.Inbound) (any, *wire.RPCError) {
		return map[string]any{"action": "accept", "content": talk.Asked{}.Form(in.Members["params"])}, nil
	}
	x, err := askFeature(t, map[string]any{"elicitation": struct{}{}}, mcp.MethodElicitationCreate, accept, tool, struct{}{})
	return fixture.ReadSchema(x.params()["requestedSchema"]).Properties, x, err
}

func runDefaults(t *engine.Trial) {
	properties, x, err := formOf(t, fixture.ToolDefaults)
	fault := ""
	for _, name := range rawjson.SortedKeys(properties) {
		s := fixture.ReadSchema(properties[name])
		fits := map[string]bool{
			"string": rawjson.IsString(s.Default), "integer": rawjson.IsInteger(s.Default), "boolean": string(s.Default) == "true" || string(s.Default) == "false",
			"number": len(s.Default) > 0 && !rawjson.IsString(s.Default) && !rawjson.IsObject(s.Default),
		}
		if !fits[s.Typed()] {
			fault = name + ": default " + rawjson.OrAbsent(s.Default)
		}
	}
	if len(properties) == 0 && unobserved(err) {
		cannotAsk(t, err)
		return
	}
	t.Check("ELIC-04/defaults", len(properties) > 0 && fault == "", "a default for each", "%s %s", fault, x.OrError(err))
}

func runEnums(t *engine.Trial) {
	properties, x, err := formOf(t, fixture.ToolEnums)
	fault := ""
	for _, name := range rawjson.SortedKeys(properties) {
		members, _ := rawjson.Object(properties[name])
		if items, there := members["items"]; there {
			members, _ = rawjson.Object(items)
		}
		choices := 0
		for _, keyword := range []string{"enum", "oneOf", "anyOf"} {
			if rawjson.IsArray(members[keyword]) {
				choices++
			}
		}
		if choices == 0 {
			fault = name + " is no choice: " + rawjson.Clip(string(properties[name]), 100)
		}
	}
	if len(properties) == 0 && unobserved(err) {
		cannotAsk(t, err)
		return
	}
	t.Check("ELIC-03/enums", len(properties) > 0 && fault == "", "a choice for each", "%s %s", fault, x.OrError(err))
}
