package http

import (
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/message"
	"github.com/mainstay-mcp/mainstay/conformance/internal/overhttp"
	"github.com/mainstay-mcp/mainstay/conformance/internal/probe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rule"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func httpSessionScenarios() []conformance.Scenario {
	needs := conformance.Needs{Transport: wire.TransportHTTP}
	const section = "basic/transports#session-management"
	ends := conformance.Spec{Section: section, Quote: "The server MAY terminate the session at any time, after which it MUST respond to requests containing that session ID with HTTP 404 Not Found."}
	unique := conformance.Spec{Section: section, Quote: "The session ID SHOULD be globally unique and cryptographically secure"}
	return []conformance.Scenario{{
		ID: "HTTP-12-IDS", Area: "http", Title: "what a session id is worth", Needs: needs, Since: mcp.Version2025_03_26,
		Checks: []conformance.Check{
			rule.Should("HTTP-12/unguessable", "session ids are long and have nothing in common", unique),
			rule.House("HTTP-12/stable", "later answers name no other session", conformance.Spec{Seed: "HTTP-13"}),
			rule.Promised("HTTP-12/fixation", "a session id the client made up is not taken over", unique),
			rule.Promised("HTTP-12/case", "session ids have a case", unique),
			rule.Should("HTTP-12/notification", "a notification without the session id is refused with 4xx", conformance.Spec{Section: section, Quote: "Servers that require a session ID SHOULD respond to requests without an Mcp-Session-Id header (other than initialization) with HTTP 400 Bad Request."}),
			rule.House("HTTP-16/get", "GET with a session id never given is refused", ends),
			rule.House("HTTP-18/unknown", "DELETE of a session that never was is refused", ends),
			rule.House("HTTP-18/none", "DELETE without a session id is refused", ends),
			rule.House("HTTP-18/again", "a session cannot be ended twice", ends),
			rule.House("HTTP-16/stream", "the stream of an ended session ends", ends),
		},
		Run: runSessionIDs,
	}, {
		ID: "HTTP-12", Area: "http", Title: "sessions", Needs: needs, Since: mcp.Version2025_03_26,
		Checks: []conformance.Check{
			{ID: "HTTP-12/visible", Title: "the session id is visible ASCII", Level: conformance.Must, Spec: conformance.Spec{Section: section, Quote: "The session ID MUST only contain visible ASCII characters (ranging from 0x21 to 0x7E)."}},
			{ID: "HTTP-12/distinct", Title: "two sessions have different ids", Level: conformance.Should, House: conformance.Must, Spec: conformance.Spec{Section: section, Quote: "The session ID SHOULD be globally unique and cryptographically secure"}},
			{ID: "HTTP-12/required", Title: "a request without the session id is answered with 400", Level: conformance.Should, Spec: conformance.Spec{Section: section, Quote: "Servers that require a session ID SHOULD respond to requests without an Mcp-Session-Id header (other than initialization) with HTTP 400 Bad Request."}},
			{ID: "HTTP-16/unknown", Title: "a session id never given is answered with 404", Level: conformance.Advice, House: conformance.Must, Spec: conformance.Spec{Section: section, Quote: "The server MAY terminate the session at any time, after which it MUST respond to requests containing that session ID with HTTP 404 Not Found."}},
			{ID: "HTTP-18/delete", Title: "DELETE ends the session, or is answered with 405", Level: conformance.Advice, Spec: conformance.Spec{Section: section, Quote: "The server MAY respond to this request with HTTP 405 Method Not Allowed, indicating that the server does not allow clients to terminate sessions."}},
			{ID: "HTTP-16/ended", Title: "an ended session is answered with 404", Level: conformance.Must, Spec: conformance.Spec{Section: section, Quote: "The server MAY terminate the session at any time, after which it MUST respond to requests containing that session ID with HTTP 404 Not Found."}},
			{ID: "HTTP-16/others", Title: "the end of one session leaves others alone", Level: conformance.Must, Spec: conformance.Spec{Section: section, Quote: "An MCP \"session\" consists of logically related interactions between a client and a server, beginning with the initialization phase."}},
		},
		Run: runHTTPSessions,
	}}
}

func runHTTPSessions(t *conformance.Trial) error {
	one, err := t.Fresh()
	if err != nil {
		return err
	}
	w, err := overhttp.Of(one)
	if err != nil {
		return err
	}
	id := w.SessionID()
	if id == "" {
		for _, c := range t.Scenario.Checks {
			t.Skip(c.ID, conformance.SkipNotDeclared, "the server gives no session id")
		}
		return nil
	}
	visible := strings.IndexFunc(id, func(c rune) bool { return c < 0x21 || c > 0x7E }) < 0
	t.Check("HTTP-12/visible", visible, "bytes from 0x21 to 0x7E", "an id with other bytes")
	two, err := t.Fresh()
	if err != nil {
		return err
	}
	if w, err = overhttp.Of(two); err != nil {
		return err
	}
	t.Check("HTTP-12/distinct", w.SessionID() != id, "another id", "the same id")

	a, err := overhttp.Exchange(t, one, http.MethodPost, overhttp.Ping(one), http.Header{wire.HeaderSession: {}})
	if a.Served(err) && !t.Rev.House {
		t.Skip("HTTP-12/required", conformance.SkipNotDeclared, "the server requires no session id")
	} else {
		t.Check("HTTP-12/required", a.Is(err, http.StatusBadRequest), "400", "%s", a.Describe(err))
	}
	a, err = overhttp.Exchange(t, one, http.MethodPost, overhttp.Ping(one), http.Header{wire.HeaderSession: {"mainstay-no-such-session"}})
	t.Check("HTTP-16/unknown", a.Is(err, http.StatusNotFound), "404", "%s", a.Describe(err))

	a, err = overhttp.Exchange(t, one, http.MethodDelete, nil, nil)
	refused := a.Is(err, http.StatusMethodNotAllowed)
	ended := err == nil && a.Status >= 200 && a.Status < 300
	t.Check("HTTP-18/delete", ended || refused, "a 2xx status or 405", "%s", a.Describe(err))
	if ended {
		a, err = overhttp.Exchange(t, one, http.MethodPost, overhttp.Ping(one), nil)
		t.Check("HTTP-16/ended", a.Is(err, http.StatusNotFound), "404", "%s", a.Describe(err))
	} else {
		t.Skip("HTTP-16/ended", conformance.SkipNotDeclared, "the server does not end sessions")
	}
	a, err = overhttp.Exchange(t, two, http.MethodPost, overhttp.Ping(two), nil)
	t.Check("HTTP-16/others", a.Served(err), "200 with a response", "%s", a.Describe(err))
	return nil
}

// sessions is how many ids are compared for what they have in common.
const sessions = 6

func runSessionIDs(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	w, err := overhttp.Of(s)
	if err != nil {
		return err
	}
	id := w.SessionID()
	if id == "" {
		for _, c := range t.Scenario.Checks {
			t.Skip(c.ID, conformance.SkipNotDeclared, "the server gives no session id")
		}
		return nil
	}
	ids := []string{id}
	for range sessions - 1 {
		other, _, err := probe.Offer(t, t.Rev.Asked)
		if err != nil {
			return err
		}
		if o, err := overhttp.Of(other); err == nil {
			ids = append(ids, o.SessionID())
		}
	}
	t.Step(s)
	fault := message.Guessable(ids)
	t.Check("HTTP-12/unguessable", fault == "", "ids of 16 bytes or more without a pattern", "%s", fault)

	a, err := overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), nil)
	later := overhttp.Header(a, wire.HeaderSession)
	t.Check("HTTP-12/stable", a.Served(err) && (later == "" || later == id), "no session id, or the same", "another one: %s", a.Describe(err))

	const made = "mainstay-made-this-up"
	initialize := wire.Message(s.NewID(), mcp.MethodInitialize, s.InitializeParams(t.Rev.Asked))
	a, err = overhttp.Exchange(t, s, http.MethodPost, initialize, http.Header{wire.HeaderSession: {made}, wire.HeaderRevision: {}})
	taken := overhttp.Header(a, wire.HeaderSession) == made
	if !taken && a.Served(err) { // it may take it over without a word
		b, err := overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), http.Header{wire.HeaderSession: {made}})
		taken = b.Served(err)
	}
	t.Check("HTTP-12/fixation", !taken, "a refusal, or a session id of the server's own", "%s", a.Describe(err))

	if flipped := strings.Map(flip, id); flipped == id {
		t.Skip("HTTP-12/case", conformance.SkipNotDeclared, "the ids have no letters")
	} else {
		a, err = overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), http.Header{wire.HeaderSession: {flipped}})
		t.Check("HTTP-12/case", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
	}
	a, err = overhttp.Exchange(t, s, http.MethodPost, wire.Message("", mcp.MethodInitialized, nil), http.Header{wire.HeaderSession: {}})
	t.Check("HTTP-12/notification", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
	never := http.Header{wire.HeaderSession: {"mainstay-no-such-session"}}
	a, err = overhttp.Exchange(t, s, http.MethodGet, nil, never)
	t.Check("HTTP-16/get", refusedOnly(a, err), "404 or 405", "%s", a.Describe(err))
	a, err = overhttp.Exchange(t, s, http.MethodDelete, nil, never)
	t.Check("HTTP-18/unknown", refusedOnly(a, err), "404 or 405", "%s", a.Describe(err))
	a, err = overhttp.Exchange(t, s, http.MethodDelete, nil, http.Header{wire.HeaderSession: {}})
	t.Check("HTTP-18/none", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))

	stream, err := w.Listen(t.Ctx, "")
	open := stream.Is(err, http.StatusOK)
	a, err = overhttp.Exchange(t, s, http.MethodDelete, nil, nil)
	if ended := err == nil && a.Status < 300; !ended {
		t.Skip("HTTP-18/again", conformance.SkipNotDeclared, "the server does not end sessions")
		t.Skip("HTTP-16/stream", conformance.SkipNotDeclared, "the server does not end sessions")
		return nil
	}
	a, err = overhttp.Exchange(t, s, http.MethodDelete, nil, nil)
	t.Check("HTTP-18/again", refusedOnly(a, err), "404", "%s", a.Describe(err))
	if !open {
		t.Skip("HTTP-16/stream", conformance.SkipNotDeclared, "the server offers no stream")
		return nil
	}
	s.Wait = min(s.Wait, wire.Lag)
	_, err = s.Next(t.Ctx, func(in wire.Inbound) bool { return in.To == stream.Token && in.Ended })
	t.Check("HTTP-16/stream", err == nil, "the end of the stream", "%v", err)
	return nil
}

// flip changes the case of an ASCII letter.
func flip(c rune) rune {
	if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		return c ^ 0x20
	}
	return c
}
