package utilities

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func utilityScenarios() []engine.Scenario {
	needs := engine.Needs{Tools: []string{fixture.ToolProgress}, SideEffects: conformance.SideEffectsReadOnly}
	return []engine.Scenario{
		{ID: "UTIL-08", Needs: needs, Run: runProgress},
		{ID: "UTIL-06", Needs: needs, Run: runCancel},
		{ID: "UTIL-01-SLOW", Needs: needs, Run: runSlow},
		{
			ID:    "X-ISO-01",
			Needs: engine.Needs{Tools: []string{fixture.ToolProgress, fixture.ToolLogging}, Capability: "logging", SideEffects: conformance.SideEffectsReadOnly},
			Run:   runTwoSessions,
		},
	}
}

// moment waits for a moment and returns nothing: what comes is in notes.
func moment(t *engine.Trial, s *wire.Session) {
	wait := s.Timeout
	s.Timeout = min(wait, wire.Lag/2)
	_, _ = s.Next(t.Ctx, func(wire.Inbound) bool { return false }) // silence ends it
	s.Timeout = wait
}

// progressOf returns the progress a session got for a token, as JSON.
func progressOf(s *wire.Session, token string) []map[string]json.RawMessage {
	var out []map[string]json.RawMessage
	for _, in := range s.Notifications(mcp.MethodProgress) {
		if params, ok := rawjson.Object(in.Members["params"]); ok && (token == "" || wire.SameID(params["progressToken"], token)) {
			out = append(out, params)
		}
	}
	return out
}

func runProgress(t *engine.Trial) {
	s := t.Fresh()
	run := func(token any) {
		s.Unsolicited = nil
		t.Step(s)
		id, err := talk.Progressing(t, s, token)
		t.NoError(err)
		_, err = s.Await(t.Ctx, id)
		t.NoError(err)
	}
	run("tok-1")
	if all := progressOf(s, ""); len(all) == 0 {
		t.Check("UTIL-08/some", false, "notifications/progress", "none")
		for _, c := range t.Scenario.Checks[1:] {
			t.Skip(c.ID, conformance.SkipNotDeclared, "the server reports no progress")
		}
		return
	}
	t.Pass("UTIL-08/some")
	progressShape(t, s)
	for _, c := range []struct {
		check string
		token any
	}{{"UTIL-08/string", "7"}, {"UTIL-08/integer", 7}, {"UTIL-08/zero", 0}, {"UTIL-08/unicode", "größe-日本-🦊"}} {
		run(c.token)
		want := string(rawjson.Encode(c.token))
		ok := len(progressOf(s, want)) > 0 && len(progressOf(s, want)) == len(progressOf(s, ""))
		t.Check(c.check, ok, "progress for "+want, "%s", progressText(s))
	}
	before := len(progressOf(s, ""))
	moment(t, s)
	t.Check("UTIL-08/after", len(progressOf(s, "")) == before, "silence after the answer", "%s", progressText(s))

	s.Unsolicited = nil
	t.Step(s)
	_, err := t.Call(s, fixture.ToolProgress, nil)
	t.NoError(err)
	t.Check("UTIL-08/none", len(progressOf(s, "")) == 0, "no notifications/progress", "%s", progressText(s))

	s.Unsolicited = nil
	t.Step(s)
	one, err := talk.Progressing(t, s, "one")
	t.NoError(err)
	two, err := talk.Progressing(t, s, 2)
	t.NoError(err)
	for _, id := range []string{one, two} {
		_, err := s.Await(t.Ctx, id)
		t.NoError(err)
	}
	ones, twos, all := len(progressOf(s, `"one"`)), len(progressOf(s, "2")), len(progressOf(s, ""))
	t.Check("UTIL-08/two", ones > 0 && twos > 0 && ones+twos == all, "progress for each of the two", "%s", progressText(s))
}

// progressShape judges the notifications of one call.
func progressShape(t *engine.Trial, s *wire.Session) {
	wrong, last := "", ""
	before, increases := math.Inf(-1), true
	for _, p := range progressOf(s, "") {
		value, err := strconv.ParseFloat(string(p["progress"]), 64)
		if err != nil {
			wrong = "progress is " + rawjson.OrAbsent(p["progress"])
		}
		if raw, there := p["total"]; there {
			if _, err := strconv.ParseFloat(string(raw), 64); err != nil {
				wrong = "total is " + rawjson.OrAbsent(raw)
			}
		}
		if raw, there := p["message"]; there && !rawjson.IsString(raw) {
			wrong = "message is " + rawjson.OrAbsent(raw)
		}
		if value <= before {
			increases, last = false, fmt.Sprintf("%v after %v", value, before)
		}
		before = value
	}
	t.Check("UTIL-08/numbers", wrong == "", "numbers, and a text", "%s", wrong)
	t.Check("UTIL-08/increases", increases, "each more than the one before", "%s", last)
}

func progressText(s *wire.Session) string {
	var tokens []string
	for _, p := range progressOf(s, "") {
		tokens = append(tokens, string(p["progressToken"]))
	}
	return fmt.Sprintf("%d notifications with the tokens %v", len(tokens), tokens)
}

// begun waits for the first progress of a call: it runs.
func begun(t *engine.Trial, s *wire.Session, token string) {
	_, err := s.AwaitUnsolicited(t.Ctx, func(in wire.Inbound) bool { return wire.ProgressToken(in) == token })
	t.NoError(err, "the first progress")
}

func cancelRequest(s *wire.Session, t *engine.Trial, id string) {
	_, err := s.Send(t.Ctx, wire.Cancellation(id))
	t.NoError(err)
}

// afterCancel waits a moment for the answer to a cancelled call. It reports whether its progress
// went on to the end.
func afterCancel(t *engine.Trial, s *wire.Session, id, token string) (a wire.Answer, done bool, err error) {
	wait := s.Timeout
	s.Timeout = min(wait, wire.Lag/2)
	a, err = s.Await(t.Ctx, id)
	s.Timeout = wait
	done = slices.ContainsFunc(progressOf(s, strconv.Quote(token)), func(p map[string]json.RawMessage) bool { return string(p["progress"]) == string(p["total"]) })
	return a, done, err
}

func runCancel(t *engine.Trial) {
	s := t.Fresh()
	gone, err := talk.Progressing(t, s, "gone")
	t.NoError(err)
	stays, err := talk.Progressing(t, s, "stays")
	t.NoError(err)
	begun(t, s, `"gone"`)
	cancelRequest(s, t, gone)
	a, err := s.Await(t.Ctx, stays)
	t.Check("UTIL-06/others", err == nil && a.Err == nil, "a result", "%s", a.OrError(err))
	a, done, err := afterCancel(t, s, gone, "gone")
	for _, token := range []string{"gone-2", "gone-3"} {
		if err != nil && !done {
			break
		}
		// The answer may have been on its way: a busy machine delivers the cancellation too late.
		t.Step(s)
		gone, err = talk.Progressing(t, s, token)
		t.NoError(err)
		begun(t, s, strconv.Quote(token))
		cancelRequest(s, t, gone)
		a, done, err = afterCancel(t, s, gone, token)
	}
	t.Check("UTIL-06/silent", err != nil, "no answer", "%s", a.OrError(err))
	t.Check("UTIL-06/stops", !done, "no progress to the end", "%s", progressText(s))

	t.Step(s)
	const number = "70001"
	params := engine.CallParams(fixture.ToolProgress, struct{}{})
	params["_meta"] = map[string]any{"progressToken": "typed"}
	t.Calls++
	_, err = s.Send(t.Ctx, s.Message(number, mcp.MethodToolsCall, params))
	t.NoError(err)
	begun(t, s, `"typed"`)
	cancelRequest(s, t, strconv.Quote(number))
	a, err = s.Await(t.Ctx, number)
	t.Check("UTIL-06/type", err == nil && a.Err == nil, "a result", "%s", a.OrError(err))

	t.Step(s)
	cancelRequest(s, t, number)
	stray, err := s.Settle(t.Ctx)
	t.Check("UTIL-06/late", err == nil && len(stray) == 0, "silence, and an answer to ping", "%s", talk.StrayOrSilence(stray, err))
	talk.Alive(t, "UTIL-06/alive", s)
}

func runSlow(t *engine.Trial) {
	s := t.Fresh()
	// The call takes a moment, and so does a ping on a busy machine: one that came
	// first in three calls is enough.
	passed := false
	for i := 0; i < 3 && !passed; i++ {
		token := fmt.Sprintf("slow-%d", i)
		id, err := talk.Progressing(t, s, token)
		t.NoError(err)
		begun(t, s, strconv.Quote(token))
		ping, err := s.Post(t.Ctx, s.LifeSign(), nil)
		t.NoError(err)
		in, err := s.Next(t.Ctx, func(in wire.Inbound) bool { return in.IsResponse() && (in.ID() == ping || in.ID() == id) })
		t.NoError(err)
		passed = in.ID() == ping
		rest := id
		if !passed {
			rest = ping
		}
		_, err = s.Await(t.Ctx, rest)
		t.NoError(err)
	}
	t.Check("UTIL-01/slow", passed, "the answer to ping before that to the call", "the answer to the call first, three times")

	if t.Rev.Stateless() {
		return
	}
	t.Step(s)
	twin, err := talk.Progressing(t, s, "twin")
	t.NoError(err)
	begun(t, s, `"twin"`)
	sent, err := s.Send(t.Ctx, s.Message(twin, s.LifeSign(), nil))
	t.NoError(err)
	// Two answers are due, a refusal and a result, in any order.
	var refused, served bool
	what := "nothing"
	for !refused || !served {
		in, err := s.Next(t.Ctx, func(in wire.Inbound) bool {
			refusal := sent != nil && in.Ended && in.To == twin && in.HTTP.Status >= 400
			return refusal || in.IsResponse() && (in.ID() == twin || in.ID() == "null")
		})
		if errors.Is(err, wire.ErrNoAnswer) {
			break
		}
		t.NoError(err)
		s.Pending[twin] = false // each of the two may have an answer
		a := wire.ToAnswer(in)
		refused = refused || in.Ended || a.Err != nil
		if a.Result != nil {
			if served {
				break // the second one, too
			}
			served = true
		}
		what = a.OrError(in.Err)
	}
	delete(s.Pending, twin)
	t.Check("RPC-03/duplicate", refused, "error -32600", "%s", what)
	t.Check("RPC-03/first", served, "a result", "%s", what)
}

func runTwoSessions(t *engine.Trial) {
	one := t.Fresh()
	two := t.Fresh()
	// The same id, and the answers tell which question they belong to.
	t.Step(one)
	const id = `"same"`
	for _, s := range []*wire.Session{one, two} {
		method := mcp.MethodPing
		if s == two {
			method = mcp.MethodToolsList
		}
		_, err := s.Send(t.Ctx, s.Message(id, method, nil))
		t.NoError(err)
	}
	a, err := one.Await(t.Ctx, id)
	b, errB := two.Await(t.Ctx, id)
	_, pinged := rawjson.Object(a.Result)
	listed, _ := rawjson.Object(b.Result)
	t.Check("X-ISO-01/ids", err == nil && pinged && errB == nil && rawjson.IsArray(listed["tools"]), "an answer to ping, and a list of tools in the other", "%s, %s", a.OrError(err), b.OrError(errB))

	t.Step(two)
	var calls []string
	for _, s := range []*wire.Session{one, two} {
		call, err := talk.Progressing(t, s, "same")
		t.NoError(err)
		calls = append(calls, call)
	}
	_, err = one.Await(t.Ctx, calls[0])
	_, errB = two.Await(t.Ctx, calls[1])
	t.NoError(errors.Join(err, errB))
	n, m := len(progressOf(one, `"same"`)), len(progressOf(two, `"same"`))
	// How much of it comes is the server's business; that it comes to both is ours.
	t.Check("X-ISO-01/progress", (n == 0) == (m == 0), "progress here as there", "%d and %d notifications", n, m)

	t.Step(one)
	for s, level := range map[*wire.Session]string{one: "emergency", two: "debug"} {
		if a, err := s.Request(t.Ctx, mcp.MethodLoggingSetLevel, map[string]any{"level": level}); err != nil || a.Err != nil {
			t.Stop(fmt.Errorf("logging/setLevel: %s", a.OrError(err)))
		}
	}
	one.Unsolicited, two.Unsolicited = nil, nil
	_, err = t.Call(two, fixture.ToolLogging, struct{}{})
	t.NoError(err)
	_, err = one.Settle(t.Ctx)
	t.NoError(err)
	heard, other := len(two.Notifications(mcp.MethodMessage)), len(one.Notifications(mcp.MethodMessage))
	t.Check("X-ISO-01/log", other == 0, "no log messages in the session that did not call", "%d", other)
	if heard == 0 {
		t.Skip("X-ISO-01/level", conformance.SkipNoFixture, "no log messages at debug")
		return
	}
	_, err = t.Call(one, fixture.ToolLogging, struct{}{})
	t.NoError(err)
	other = len(one.Notifications(mcp.MethodMessage))
	t.Check("X-ISO-01/level", other == 0, "none at emergency", "%d, with debug set in the other session", other)
}
