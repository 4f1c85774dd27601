package conformance

import (
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

func httpSessionScenarios() []Scenario {
	needs := Needs{Transport: TransportHTTP}
	const section = "basic/transports#session-management"
	return []Scenario{{
		ID: "HTTP-12", Area: "http", Title: "sessions", Needs: needs, Since: mcp.Version2025_03_26,
		Checks: []Check{
			{ID: "HTTP-12/visible", Title: "the session id is visible ASCII", Level: Must, Spec: Spec{Section: section, Quote: "The session ID MUST only contain visible ASCII characters (ranging from 0x21 to 0x7E)."}},
			{ID: "HTTP-12/distinct", Title: "two sessions have different ids", Level: Should, House: Must, Spec: Spec{Section: section, Quote: "The session ID SHOULD be globally unique and cryptographically secure"}},
			{ID: "HTTP-12/required", Title: "a request without the session id is answered with 400", Level: Should, Spec: Spec{Section: section, Quote: "Servers that require a session ID SHOULD respond to requests without an Mcp-Session-Id header (other than initialization) with HTTP 400 Bad Request."}},
			{ID: "HTTP-16/unknown", Title: "a session id never given is answered with 404", Level: Should, House: Must, Spec: Spec{Section: section, Quote: "The server MAY terminate the session at any time, after which it MUST respond to requests containing that session ID with HTTP 404 Not Found."}},
			{ID: "HTTP-18/delete", Title: "DELETE ends the session, or is answered with 405", Level: Must, Spec: Spec{Section: section, Quote: "The server MAY respond to this request with HTTP 405 Method Not Allowed, indicating that the server does not allow clients to terminate sessions."}},
			{ID: "HTTP-16/ended", Title: "an ended session is answered with 404", Level: Must, Spec: Spec{Section: section, Quote: "The server MAY terminate the session at any time, after which it MUST respond to requests containing that session ID with HTTP 404 Not Found."}},
			{ID: "HTTP-16/others", Title: "the end of one session leaves others alone", Level: Must, Spec: Spec{Section: section, Quote: "An MCP \"session\" consists of logically related interactions between a client and a server, beginning with the initialization phase."}},
		},
		run: runHTTPSessions,
	}}
}

func runHTTPSessions(t *trial) error {
	one, err := t.fresh()
	if err != nil {
		return err
	}
	w, err := one.http()
	if err != nil {
		return err
	}
	id := w.sessionID()
	if id == "" {
		for _, c := range t.scenario.Checks {
			t.skip(c.ID, SkipNotDeclared, "the server gives no session id")
		}
		return nil
	}
	visible := strings.IndexFunc(id, func(c rune) bool { return c < 0x21 || c > 0x7E }) < 0
	t.check("HTTP-12/visible", visible, "bytes from 0x21 to 0x7E", "an id with other bytes")
	two, err := t.fresh()
	if err != nil {
		return err
	}
	if w, err = two.http(); err != nil {
		return err
	}
	t.check("HTTP-12/distinct", w.sessionID() != id, "another id", "the same id")

	a, err := t.exchange(one, http.MethodPost, one.pingBody(), http.Header{headerSession: {}})
	t.check("HTTP-12/required", a.is(err, http.StatusBadRequest), "400", "%s", a.describe(err))
	a, err = t.exchange(one, http.MethodPost, one.pingBody(), http.Header{headerSession: {"mainstay-no-such-session"}})
	t.check("HTTP-16/unknown", a.is(err, http.StatusNotFound), "404", "%s", a.describe(err))

	a, err = t.exchange(one, http.MethodDelete, nil, nil)
	refused := a.is(err, http.StatusMethodNotAllowed)
	ended := err == nil && a.status >= 200 && a.status < 300
	t.check("HTTP-18/delete", ended || refused, "a 2xx status or 405", "%s", a.describe(err))
	if ended {
		a, err = t.exchange(one, http.MethodPost, one.pingBody(), nil)
		t.check("HTTP-16/ended", a.is(err, http.StatusNotFound), "404", "%s", a.describe(err))
	} else {
		t.skip("HTTP-16/ended", SkipNotDeclared, "the server does not end sessions")
	}
	a, err = t.exchange(two, http.MethodPost, two.pingBody(), nil)
	t.check("HTTP-16/others", a.served(err), "200 with a response", "%s", a.describe(err))
	return nil
}
