package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// The official fixtures that make a stream worth looking at.
const (
	toolProgress  = "test_tool_with_progress"
	toolLogging   = "test_tool_with_logging"
	toolReconnect = "test_reconnection"
	toolChange    = "test_trigger_tool_change"
)

func httpStreamScenarios() []Scenario {
	const (
		sending   = "basic/transports#sending-messages-to-the-server"
		listening = "basic/transports#listening-for-messages-from-the-server"
		resuming  = "basic/transports#resumability-and-redelivery"
	)
	needs := func(tools ...string) Needs {
		return Needs{Transport: TransportHTTP, Tools: tools, SideEffects: SideEffectsReadOnly}
	}
	return []Scenario{
		{
			ID: "HTTP-21", Area: "http", Title: "the stream of the server's own", Needs: needs(toolChange), Since: mcp.Version2025_03_26,
			Checks: []Check{
				rule("HTTP-19/second", "a second stream is opened or refused with 4xx", Spec{Section: "basic/transports#listening-for-messages-from-the-server", Quote: "The server MUST either return Content-Type: text/event-stream in response to this HTTP GET, or else return HTTP 405 Method Not Allowed"}),
				rule("HTTP-21/once", "what the server sends of its own arrives once", Spec{Section: "basic/transports#multiple-connections", Quote: "The server MUST send each of its JSON-RPC messages on only one of the connected streams; that is, it MUST NOT broadcast the same message across multiple streams."}),
				rule("HTTP-21/no-response", "that stream carries no response", Spec{Section: listening, Quote: "The server MUST NOT send a JSON-RPC response on the stream unless resuming a stream associated with a previous client request."}),
			},
			run: runOwnStream,
		},
		{
			ID: "HTTP-23", Area: "http", Title: "the stream of an answer, and coming back to it", Needs: needs(toolProgress), Since: mcp.Version2025_03_26,
			Checks: []Check{
				recommended("HTTP-03/ends", "the stream ends after the response", Spec{Section: sending, Quote: "After the JSON-RPC response has been sent, the server SHOULD close the SSE stream."}),
				{ID: "HTTP-26/priming", Title: "it begins with an event that has an id and no data", Level: Should, Since: mcp.Version2025_11_25, Spec: Spec{Section: sending, Quote: "The server SHOULD immediately send an SSE event consisting of an event ID and an empty data field in order to prime the client to reconnect"}},
				rule("HTTP-23/unique", "no two events of a session have the same id", Spec{Section: resuming, Quote: "If present, the ID MUST be globally unique across all streams within that session"}),
				advised("HTTP-23/rest", "who comes back with Last-Event-ID gets the rest, response included", Spec{Section: resuming, Quote: "The server MAY use this header to replay messages that would have been sent after the last event ID, on the stream that was disconnected"}),
				advised("HTTP-23/again", "and nothing that came before", Spec{Section: resuming, Quote: "The server MAY use this header to replay messages that would have been sent after the last event ID, on the stream that was disconnected"}),
				rule("HTTP-23/only", "and nothing of another stream", Spec{Section: resuming, Quote: "The server MUST NOT replay messages that would have been delivered on a different stream."}),
				advised("HTTP-23/unknown", "a Last-Event-ID never given is answered without a 5xx", Spec{Section: resuming, Quote: "If the client wishes to resume after a disconnection (whether due to network failure or server-initiated closure), it SHOULD issue an HTTP GET"}),
			},
			run: runResume,
		},
		{
			ID: "HTTP-24", Area: "http", Title: "a server that hangs up", Needs: needs(toolReconnect), Since: mcp.Version2025_11_25,
			Checks: []Check{
				advised("HTTP-24/event", "before it closes the stream it has sent an event id", Spec{Section: sending, Quote: "After the server has sent an SSE event with an event ID to the client, the server MAY close the connection (without terminating the SSE stream) at any time"}),
				recommended("HTTP-24/retry", "and how long to wait, in a retry field", Spec{Section: sending, Quote: "If the server does close the connection prior to terminating the SSE stream, it SHOULD send an SSE event with a standard retry field before closing the connection."}),
				houseRule("HTTP-24/answer", "the response waits for who comes back", Spec{Section: resuming, Quote: "Resumption is always via HTTP GET with Last-Event-ID."}),
			},
			run: runHangUp,
		},
	}
}

// events collects what comes in one answer until its end, or until enough says
// so.
func (t *trial) events(s *session, token string, enough func(in inbound) bool) ([]inbound, error) {
	var all []inbound
	_, err := s.next1(t.ctx, func(in inbound) bool {
		if in.to != token {
			return false
		}
		if !in.ended {
			all = append(all, in)
		}
		return in.ended || enough != nil && enough(in)
	})
	return all, err
}

func runOwnStream(t *trial) error {
	s, err := t.fresh()
	if err != nil {
		return err
	}
	w, err := s.http()
	if err != nil {
		return err
	}
	stream, err := w.listen(t.ctx, "")
	if !stream.is(err, http.StatusOK) || mediaType(stream.header) != mediaStream {
		for _, c := range t.scenario.Checks {
			t.skip(c.ID, SkipNotDeclared, "the server offers no stream of its own")
		}
		return nil
	}
	second, err := w.listen(t.ctx, "")
	t.check("HTTP-19/second", second.is(err, http.StatusOK) || refusedOnly(second, err), "an event stream or a 4xx status", "%s", second.describe(err))

	t.step(s)
	change := func() error {
		_, err := s.request(t.ctx, mcp.MethodToolsCall, callParams(toolChange, struct{}{}))
		return err
	}
	if err := change(); err != nil {
		return err
	}
	wait := s.wait
	s.wait = min(wait, 2*grace)
	_, err = s.note(t.ctx, func(in inbound) bool { return in.method() == mcp.MethodToolsListChanged })
	if err != nil {
		s.wait = wait
		t.skip("HTTP-21/once", SkipNotDeclared, "the server sends nothing of its own")
	} else {
		s.wait = min(wait, grace/2)
		before := len(s.noted(mcp.MethodToolsListChanged))
		_, _ = s.next1(t.ctx, func(in inbound) bool { // silence is what has to come
			return in.method() == mcp.MethodToolsListChanged
		})
		s.wait = wait
		t.check("HTTP-21/once", before == 1 && len(s.noted(mcp.MethodToolsListChanged)) == 1, "one notification", "%d", len(s.noted(mcp.MethodToolsListChanged)))
	}
	if err := change(); err != nil { // as it was
		return err
	}
	astray := ""
	for _, in := range slices.Concat(s.stash, s.notes) {
		if in.isResponse() && (in.to == stream.token || second.is(nil, http.StatusOK) && in.to == second.token) {
			astray = clip(string(in.data), 160)
		}
	}
	t.check("HTTP-21/no-response", astray == "", "requests and notifications alone", "%s", astray)
	return nil
}

// progressing starts a call that takes a moment and reports progress.
func (t *trial) progressing(s *session, token any) (string, error) {
	params := callParams(toolProgress, struct{}{})
	params["_meta"] = map[string]any{"progressToken": token}
	t.calls++
	return s.post(t.ctx, mcp.MethodToolsCall, params)
}

// resume listens for what came after an event. A server that has not noticed yet
// that the stream before is gone may say 409 for a while.
func (t *trial) resume(w *httpWire, last string) (*httpAnswer, error) {
	limit := time.After(t.leg.opts.Answer)
	for {
		back, err := w.listen(t.ctx, last)
		if !back.is(err, http.StatusConflict) {
			return back, err
		}
		select {
		case <-time.After(grace / 10):
		case <-limit:
			return back, err
		case <-t.ctx.Done():
			return back, t.ctx.Err()
		}
	}
}

func runResume(t *trial) error {
	s, err := t.fresh()
	if err != nil {
		return err
	}
	w, err := s.http()
	if err != nil {
		return err
	}
	id, err := t.progressing(s, "whole")
	if err != nil {
		return err
	}
	whole, err := t.events(s, id, nil)
	if err != nil {
		t.check("HTTP-03/ends", false, "the end of the stream", "%v", err)
		return nil
	}
	if len(whole) == 0 || mediaType(http.Header{"Content-Type": {whole[0].http.ContentType}}) != mediaStream {
		for _, c := range t.scenario.Checks {
			t.skip(c.ID, SkipNotDeclared, "the server answers without a stream")
		}
		return nil
	}
	t.check("HTTP-03/ends", whole[len(whole)-1].isResponse(), "the end of the stream after the response", "more after it, or no response")
	if t.leg.revision.AtLeast(mcp.Version2025_11_25) {
		t.check("HTTP-26/priming", whole[0].priming && whole[0].event != "", "an event with an id and no data", "%s", clip(string(whole[0].data), 120))
	}
	if whole[0].event == "" {
		for _, c := range t.scenario.Checks {
			t.skip(c.ID, SkipNotDeclared, "the server's events have no ids")
		}
		return nil
	}
	// The second call is left after its first progress; a third one runs beside it.
	id, err = t.progressing(s, "left")
	if err != nil {
		return err
	}
	first, err := t.events(s, id, func(in inbound) bool { return in.method() == mcp.MethodProgress })
	if err != nil || len(first) == 0 {
		return fmt.Errorf("the call that is left: %d events, %w", len(first), err)
	}
	w.abandon(id)
	beside, err := t.progressing(s, "beside")
	if err != nil {
		return err
	}
	last := first[len(first)-1]
	back, err := t.resume(w, last.event)
	var rest []inbound
	if back.is(err, http.StatusOK) {
		rest, err = t.events(s, back.token, func(in inbound) bool { return in.isResponse() })
	}
	response := slices.ContainsFunc(rest, func(in inbound) bool { return in.isResponse() && in.id() == id })
	t.check("HTTP-23/rest", response, "the response to the call that was left", "%s, %d events, %v", back.describe(nil), len(rest), err)
	if !response {
		t.skip("HTTP-23/again", SkipNotDeclared, "streams are not taken up again")
		t.skip("HTTP-23/only", SkipNotDeclared, "streams are not taken up again")
	}
	side, err := t.events(s, beside, nil)
	if err != nil {
		return err
	}
	repeated, foreign, seen := "", "", map[string]string{}
	for _, in := range rest {
		if slices.ContainsFunc(first, func(f inbound) bool { return f.event == in.event && in.event != "" }) {
			repeated = clip(string(in.data), 160)
		}
		if token := progressToken(in); token != "" && token != `"left"` || in.isResponse() && in.id() != id {
			foreign = clip(string(in.data), 160)
		}
	}
	if response {
		t.check("HTTP-23/again", repeated == "", "what came after "+last.event, "%s", repeated)
		t.check("HTTP-23/only", foreign == "", "messages of the call that was left", "%s", foreign)
	}
	twice := ""
	for _, in := range slices.Concat(whole, first, rest, side) {
		if before, there := seen[in.event]; in.event != "" && there && before != string(in.data) {
			twice = in.event
		}
		seen[in.event] = string(in.data)
	}
	t.check("HTTP-23/unique", twice == "", "ids of their own", "two events with the id %s", twice)
	t.step(s)
	a, err := w.listen(t.ctx, "mainstay-no-such-event")
	t.check("HTTP-23/unknown", noCrash(a, err), wantNoCrash, "%s", a.describe(err))
	return nil
}

// progressToken returns the token of a progress notification as JSON, "" for
// anything else.
func progressToken(in inbound) string {
	if in.method() != mcp.MethodProgress {
		return ""
	}
	params, _ := object(in.members["params"])
	return string(params["progressToken"])
}

func runHangUp(t *trial) error {
	s, err := t.fresh()
	if err != nil {
		return err
	}
	w, err := s.http()
	if err != nil {
		return err
	}
	t.calls++
	id, err := s.post(t.ctx, mcp.MethodToolsCall, callParams(toolReconnect, struct{}{}))
	if err != nil {
		return err
	}
	events, err := t.events(s, id, nil)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(events, func(in inbound) bool { return in.isResponse() }) {
		for _, c := range t.scenario.Checks {
			t.skip(c.ID, SkipNotDeclared, "the server does not hang up")
		}
		return nil
	}
	last := ""
	waits := slices.ContainsFunc(events, func(in inbound) bool { return in.retry })
	t.check("HTTP-24/retry", waits, "an event with a retry field", "%d events without one", len(events))
	for _, in := range events {
		if in.event != "" {
			last = in.event
		}
	}
	if !t.check("HTTP-24/event", last != "", "an event with an id", "%d events without one", len(events)) {
		t.skip("HTTP-24/answer", SkipPrerequisite, "HTTP-24/event")
		return nil
	}
	t.step(s)
	back, err := t.resume(w, last)
	var rest []inbound
	if back.is(err, http.StatusOK) {
		rest, err = t.events(s, back.token, func(in inbound) bool { return in.isResponse() })
	}
	ok := slices.ContainsFunc(rest, func(in inbound) bool { return in.isResponse() && in.id() == id })
	t.check("HTTP-24/answer", ok, "the response to the call", "%s, %d events, %v", back.describe(nil), len(rest), err)
	return nil
}
