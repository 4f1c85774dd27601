package http

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func httpStreamScenarios() []engine.Scenario {
	needs := func(tools ...string) engine.Needs {
		return engine.Needs{Transport: conformance.TransportHTTP, Tools: tools, SideEffects: conformance.SideEffectsReadOnly}
	}
	return []engine.Scenario{
		{ID: "HTTP-21", Needs: needs(fixture.ToolChangeTools), Run: runOwnStream},
		{ID: "HTTP-23", Needs: needs(fixture.ToolProgress), Run: runResume},
		{ID: "HTTP-24", Needs: needs(fixture.ToolReconnect), Run: runHangUp},
	}
}

// eventsOf collects what comes in one answer until its end, or until enough says
// so.
func eventsOf(t *engine.Trial, s *wire.Session, token string, enough func(in wire.Inbound) bool) ([]wire.Inbound, error) {
	var all []wire.Inbound
	_, err := s.Next(t.Ctx, func(in wire.Inbound) bool {
		if in.To != token {
			return false
		}
		if !in.Ended {
			all = append(all, in)
		}
		return in.Ended || enough != nil && enough(in)
	})
	return all, err
}

func runOwnStream(t *engine.Trial) {
	s := t.Fresh()
	w, err := talk.HTTPOf(s)
	t.NoError(err)
	stream, err := w.Listen(t.Ctx, "")
	if !stream.Is(err, http.StatusOK) || wire.MediaType(stream.Header) != wire.MediaStream {
		for _, c := range t.Scenario.Checks {
			t.Skip(c.ID, conformance.SkipNotDeclared, "the server offers no stream of its own")
		}
		return
	}
	second, err := w.Listen(t.Ctx, "")
	t.Check("HTTP-19/second", second.Is(err, http.StatusOK) || refusedOnly(second, err), "an event stream or a 4xx status", "%s", second.Describe(err))

	t.Step(s)
	change := func() {
		_, err := s.Request(t.Ctx, mcp.MethodToolsCall, engine.CallParams(fixture.ToolChangeTools, struct{}{}))
		t.NoError(err)
	}
	change()
	wait := s.Timeout
	s.Timeout = min(wait, 2*wire.Lag)
	_, err = s.AwaitUnsolicited(t.Ctx, func(in wire.Inbound) bool { return in.Method() == mcp.MethodToolsListChanged })
	if err != nil {
		s.Timeout = wait
		t.Skip("HTTP-21/once", conformance.SkipNotDeclared, "the server sends nothing of its own")
	} else {
		s.Timeout = min(wait, wire.Lag/2)
		before := len(s.Notifications(mcp.MethodToolsListChanged))
		_, _ = s.Next(t.Ctx, func(in wire.Inbound) bool { // silence is what has to come
			return in.Method() == mcp.MethodToolsListChanged
		})
		s.Timeout = wait
		t.Check("HTTP-21/once", before == 1 && len(s.Notifications(mcp.MethodToolsListChanged)) == 1, "one notification", "%d", len(s.Notifications(mcp.MethodToolsListChanged)))
	}
	change() // as it was
	astray := ""
	for _, in := range slices.Concat(s.Unclaimed, s.Unsolicited) {
		if in.IsResponse() && (in.To == stream.Token || second.Is(nil, http.StatusOK) && in.To == second.Token) {
			astray = rawjson.Clip(string(in.Data), 160)
		}
	}
	t.Check("HTTP-21/no-response", astray == "", "requests and notifications alone", "%s", astray)
}

// resume listens for what came after an event. A server that has not noticed yet
// that the stream before is gone may say 409 for a while.
func resume(t *engine.Trial, w *wire.HTTPConn, last string) (*wire.HTTPAnswer, error) {
	limit := time.After(t.Rev.Opts.Answer)
	for {
		back, err := w.Listen(t.Ctx, last)
		if !back.Is(err, http.StatusConflict) {
			return back, err
		}
		select {
		case <-time.After(wire.Lag / 10):
		case <-limit:
			return back, err
		case <-t.Ctx.Done():
			return back, t.Ctx.Err()
		}
	}
}

func runResume(t *engine.Trial) {
	s := t.Fresh()
	w, err := talk.HTTPOf(s)
	t.NoError(err)
	id, err := talk.Progressing(t, s, "whole")
	t.NoError(err)
	whole, err := eventsOf(t, s, id, nil)
	if err != nil {
		t.Check("HTTP-03/ends", false, "the end of the stream", "%v", err)
		return
	}
	if len(whole) == 0 || wire.MediaType(http.Header{"Content-Type": {whole[0].HTTP.ContentType}}) != wire.MediaStream {
		for _, c := range t.Scenario.Checks {
			t.Skip(c.ID, conformance.SkipNotDeclared, "the server answers without a stream")
		}
		return
	}
	t.Check("HTTP-03/ends", whole[len(whole)-1].IsResponse(), "the end of the stream after the response", "more after it, or no response")
	if t.Rev.Revision.AtLeast(mcp.Version2025_11_25) {
		t.Check("HTTP-26/priming", whole[0].Priming && whole[0].Event != "", "an event with an id and no data", "%s", rawjson.Clip(string(whole[0].Data), 120))
	}
	if whole[0].Event == "" {
		for _, c := range t.Scenario.Checks {
			t.Skip(c.ID, conformance.SkipNotDeclared, "the server's events have no ids")
		}
		return
	}
	// The second call is left after its first progress; a third one runs beside it.
	id, err = talk.Progressing(t, s, "left")
	t.NoError(err)
	first, err := eventsOf(t, s, id, func(in wire.Inbound) bool { return in.Method() == mcp.MethodProgress })
	if err != nil || len(first) == 0 {
		t.Stop(fmt.Errorf("the call that is left: %d events, %w", len(first), err))
	}
	w.Abandon(id)
	beside, err := talk.Progressing(t, s, "beside")
	t.NoError(err)
	last := first[len(first)-1]
	back, err := resume(t, w, last.Event)
	var rest []wire.Inbound
	if back.Is(err, http.StatusOK) {
		rest, err = eventsOf(t, s, back.Token, func(in wire.Inbound) bool { return in.IsResponse() })
	}
	response := slices.ContainsFunc(rest, func(in wire.Inbound) bool { return in.IsResponse() && in.ID() == id })
	t.Check("HTTP-23/rest", response, "the response to the call that was left", "%s, %d events, %v", back.Describe(nil), len(rest), err)
	if !response {
		t.Skip("HTTP-23/again", conformance.SkipNotDeclared, "streams are not taken up again")
		t.Skip("HTTP-23/only", conformance.SkipNotDeclared, "streams are not taken up again")
	}
	side, err := eventsOf(t, s, beside, nil)
	t.NoError(err)
	repeated, foreign, seen := "", "", map[string]string{}
	for _, in := range rest {
		if slices.ContainsFunc(first, func(f wire.Inbound) bool { return f.Event == in.Event && in.Event != "" }) {
			repeated = rawjson.Clip(string(in.Data), 160)
		}
		if token := wire.ProgressToken(in); token != "" && token != `"left"` || in.IsResponse() && in.ID() != id {
			foreign = rawjson.Clip(string(in.Data), 160)
		}
	}
	if response {
		t.Check("HTTP-23/again", repeated == "", "what came after "+last.Event, "%s", repeated)
		t.Check("HTTP-23/only", foreign == "", "messages of the call that was left", "%s", foreign)
	}
	twice := ""
	for _, in := range slices.Concat(whole, first, rest, side) {
		if before, there := seen[in.Event]; in.Event != "" && there && before != string(in.Data) {
			twice = in.Event
		}
		seen[in.Event] = string(in.Data)
	}
	t.Check("HTTP-23/unique", twice == "", "ids of their own", "two events with the id %s", twice)
	t.Step(s)
	a, err := w.Listen(t.Ctx, "mainstay-no-such-event")
	t.Check("HTTP-23/unknown", noCrash(a, err), wantNoCrash, "%s", a.Describe(err))
}

func runHangUp(t *engine.Trial) {
	s := t.Fresh()
	w, err := talk.HTTPOf(s)
	t.NoError(err)
	t.Calls++
	id, err := s.Post(t.Ctx, mcp.MethodToolsCall, engine.CallParams(fixture.ToolReconnect, struct{}{}))
	t.NoError(err)
	events, err := eventsOf(t, s, id, nil)
	t.NoError(err)
	if slices.ContainsFunc(events, func(in wire.Inbound) bool { return in.IsResponse() }) {
		for _, c := range t.Scenario.Checks {
			t.Skip(c.ID, conformance.SkipNotDeclared, "the server does not hang up")
		}
		return
	}
	last := ""
	waits := slices.ContainsFunc(events, func(in wire.Inbound) bool { return in.Retry })
	t.Check("HTTP-24/retry", waits, "an event with a retry field", "%d events without one", len(events))
	for _, in := range events {
		if in.Event != "" {
			last = in.Event
		}
	}
	if !t.Check("HTTP-24/event", last != "", "an event with an id", "%d events without one", len(events)) {
		t.Skip("HTTP-24/answer", conformance.SkipPrerequisite, "HTTP-24/event")
		return
	}
	t.Step(s)
	back, err := resume(t, w, last)
	var rest []wire.Inbound
	if back.Is(err, http.StatusOK) {
		rest, err = eventsOf(t, s, back.Token, func(in wire.Inbound) bool { return in.IsResponse() })
	}
	ok := slices.ContainsFunc(rest, func(in wire.Inbound) bool { return in.IsResponse() && in.ID() == id })
	t.Check("HTTP-24/answer", ok, "the response to the call", "%s, %d events, %v", back.Describe(nil), len(rest), err)
}
