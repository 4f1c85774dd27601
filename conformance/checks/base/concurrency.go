package base

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func concurrencyScenarios() []engine.Scenario {
	return []engine.Scenario{
		{ID: "X-WIRE-12", Run: runManyPings},
		{ID: "X-WIRE-12-MIXED", Run: runMixed},
	}
}

// refused reports whether a request got no message but an HTTP status by which a
// server, or what stands before it, turns it away: too many at once, say.
func refused(a wire.Answer) bool {
	return a.In.Ended && a.In.HTTP != nil && a.In.HTTP.Status >= http.StatusBadRequest && a.In.HTTP.Status < http.StatusInternalServerError
}

// overloaded reports whether an answer is an error of the server's own: too many at
// once is no error of JSON-RPC.
func overloaded(a wire.Answer) bool {
	return a.Err != nil && a.Err.Code <= -32000 && a.Err.Code >= -32099
}

func runManyPings(t *engine.Trial) {
	s := t.Shared()
	var ids []string
	var pings [][]byte
	for range talk.InFlight {
		id := s.NewID()
		ids, pings = append(ids, id), append(pings, s.Message(id, s.LifeSign(), nil))
	}
	if err := talk.Volley(t.Ctx, s, pings); err != nil {
		t.Fail("X-WIRE-12/pings", "200 answers", "not all could be sent: %v", err)
		t.Stop(err)
	}
	served := 0
	for i, id := range ids {
		a, err := s.Await(t.Ctx, id)
		switch {
		case err == nil && a.Err == nil:
			served++
		case err != nil && !refused(a) || err == nil && !overloaded(a):
			t.Fail("X-WIRE-12/pings", "200 answers", "request %d: %s", i+1, a.OrError(err))
			t.NoError(err)
			return
		}
	}
	if served == 0 {
		t.Inconclusive("X-WIRE-12/pings", "all were refused")
		return
	}
	t.Pass("X-WIRE-12/pings")
}

// kind is a sort of request, told by its answer.
type kind struct {
	method string
	params any
	is     func(a wire.Answer) bool
}

// kindsOf are those that the server has.
func kindsOf(t *engine.Trial, s *wire.Session) []kind {
	list := func(method, member string) kind {
		return kind{method, nil, func(a wire.Answer) bool {
			result, ok := rawjson.Object(a.Result)
			return a.Err != nil || ok && rawjson.IsArray(result[member])
		}}
	}
	all := []kind{
		{s.LifeSign(), nil, func(a wire.Answer) bool {
			return overloaded(a) || a.Err == nil && (t.Rev.Stateless() || wire.IsEmptyResult(a))
		}},
		{fixture.NoMethod, nil, func(a wire.Answer) bool { return a.Err != nil }},
	}
	if t.Rev.Capabilities.Has("tools") {
		all = append(all, list(mcp.MethodToolsList, "tools"), kind{mcp.MethodToolsCall, engine.CallParams(fixture.NoTool, struct{}{}), func(a wire.Answer) bool {
			result, _ := rawjson.Object(a.Result)
			return a.Err != nil || rawjson.IsArray(result["content"])
		}})
	}
	if t.Rev.Capabilities.Has("resources") {
		all = append(all, list(mcp.MethodResourcesList, "resources"))
	}
	if t.Rev.Capabilities.Has("prompts") {
		all = append(all, list(mcp.MethodPromptsList, "prompts"))
	}
	return all
}

// runMixed sends requests of all kinds by turns, without waiting, and between
// them cancellations that are about none of them.
func runMixed(t *engine.Trial) {
	s := t.Fresh()
	over := s.NewID()
	_, err := s.Ask(t.Ctx, over, s.Message(over, s.LifeSign(), nil))
	t.NoError(err)
	t.Step(s)
	kinds := kindsOf(t, s)
	const rounds = 20
	var ids []string
	var messages [][]byte
	for i := range rounds * len(kinds) {
		k, id := kinds[i%len(kinds)], s.NewID()
		ids, messages = append(ids, id), append(messages, s.Message(id, k.method, k.params))
		if i%5 == 4 {
			which := over
			if i%2 == 0 {
				which = `"never-sent"`
			}
			messages = append(messages, wire.Cancellation(which))
		}
	}
	if err := talk.Volley(t.Ctx, s, messages); err != nil {
		t.Fail("X-WIRE-12/mixed", "an answer to each", "not all could be sent: %v", err)
		return
	}
	strange, answered := "", 0
	var frames []conformance.Frame
	for i, id := range ids {
		k := kinds[i%len(kinds)]
		a, err := s.Await(t.Ctx, id)
		switch {
		case err == nil:
			answered++
			if !k.is(a) {
				strange, frames = k.method+": "+a.Describe(), []conformance.Frame{*s.Sent(id), a.In.Frame()}
			}
		case !refused(a): // a status may be all that HTTP says of a refusal
			if !errors.Is(err, wire.ErrClosed) { // else any of them may have ended it
				frames = []conformance.Frame{*s.Sent(id)}
			}
			t.FailBy("X-WIRE-12/mixed", frames, "an answer to each", fmt.Sprintf("request %d, %s: %v", i+1, k.method, err))
			return
		}
	}
	if answered == 0 {
		t.Inconclusive("X-WIRE-12/mixed", "all were refused")
		t.Inconclusive("X-WIRE-12/kinds", "all were refused")
		return
	}
	t.Pass("X-WIRE-12/mixed")
	if strange == "" {
		t.Pass("X-WIRE-12/kinds")
		return
	}
	t.FailBy("X-WIRE-12/kinds", frames, "what its method answers", strange)
}
