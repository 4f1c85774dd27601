package http

import (
	"net/http"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/nosuch"
	"github.com/mainstay-mcp/mainstay/conformance/internal/overhttp"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rule"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func httpScenarios() []conformance.Scenario {
	needs := conformance.Needs{Transport: wire.TransportHTTP}
	const (
		sending   = "basic/transports#sending-messages-to-the-server"
		listening = "basic/transports#listening-for-messages-from-the-server"
	)
	return []conformance.Scenario{
		{
			ID: "X-HTTP-01", Area: "http", Title: "answers to a POST", Needs: needs,
			Checks: []conformance.Check{
				{ID: "HTTP-04/accepted", Title: "a notification is answered with 202", Level: conformance.Must, Spec: conformance.Spec{Section: sending, Quote: "If the server accepts the input, the server MUST return HTTP status code 202 Accepted with no body."}},
				{ID: "HTTP-04/no-body", Title: "that answer has no body", Level: conformance.Must, Spec: conformance.Spec{Section: sending, Quote: "If the server accepts the input, the server MUST return HTTP status code 202 Accepted with no body."}},
				{ID: "HTTP-03/request", Title: "a request is answered with 200 and JSON or an event stream", Level: conformance.Must, Spec: conformance.Spec{Section: sending, Quote: "If the input is a JSON-RPC request, the server MUST either return Content-Type: text/event-stream, to initiate an SSE stream, or Content-Type: application/json, to return one JSON object."}},
				{ID: "HTTP-03/parameters", Title: "a Content-Type with a charset is taken", Level: conformance.Must, Spec: conformance.Spec{Section: sending, Quote: "The body of the POST request MUST be a single JSON-RPC request, notification, or response."}},
				{ID: "HTTP-11/case", Title: "header names are compared without regard to case", Level: conformance.Must, Spec: conformance.Spec{Seed: "HTTP-11 (RFC 9110, 5.1)"}},
			},
			Run: runHTTPAnswers,
		},
		{
			ID: "HTTP-07", Area: "http", Title: "redirects", Needs: needs, Since: mcp.Version2025_03_26,
			Checks: []conformance.Check{rule.Advice("HTTP-07/redirect", "initialize is answered at the endpoint itself, not with a redirect", conformance.Spec{Section: sending, Quote: "If the input is a JSON-RPC request, the server MUST either return Content-Type: text/event-stream, to initiate an SSE stream, or Content-Type: application/json, to return one JSON object."})},
			Run:    runRedirect,
		},
		{
			ID: "HTTP-19", Area: "http", Title: "GET", Needs: needs,
			Checks: []conformance.Check{{ID: "HTTP-19/get", Title: "GET is answered with an event stream or 405", Level: conformance.Must, Spec: conformance.Spec{Section: listening, Quote: "The server MUST either return Content-Type: text/event-stream in response to this HTTP GET, or else return HTTP 405 Method Not Allowed"}}},
			Run:    runHTTPGet,
		},
		{
			ID: "HTTP-15", Area: "http", Title: "the protocol version header", Needs: needs, Since: mcp.Version2025_06_18,
			Checks: []conformance.Check{
				{ID: "HTTP-15/invalid", Title: "an invalid version is answered with 400", Level: conformance.Must, Spec: conformance.Spec{Section: "basic/transports#protocol-version-header", Quote: "If the server receives a request with an invalid or unsupported MCP-Protocol-Version, it MUST respond with 400 Bad Request."}},
				{ID: "HTTP-15/missing", Title: "a request without the header is served", Level: conformance.Should, Spec: conformance.Spec{Section: "basic/transports#protocol-version-header", Quote: "if the server does not receive an MCP-Protocol-Version header, and has no other way to identify the version …, the server SHOULD assume protocol version …"}},
			},
			Run: runHTTPVersion,
		},
		{
			ID: "X-SEC-02", Area: "http", Title: "the Origin header", Needs: needs,
			Checks: []conformance.Check{
				{ID: "X-SEC-02/foreign", Title: "a foreign Origin is refused with 403", Level: conformance.Must, Spec: conformance.Spec{Section: "basic/transports#security-warning", Quote: "Servers MUST validate the Origin header on all incoming connections to prevent DNS rebinding attacks."}},
				{ID: "X-SEC-02/none", Title: "a request without Origin is served", Level: conformance.Must, Spec: conformance.Spec{Section: "basic/transports#security-warning", Quote: "If the Origin header is present and invalid, servers MUST respond with HTTP 403 Forbidden."}},
			},
			Run: runHTTPOrigin,
		},
	}
}

func runHTTPAnswers(t *conformance.Trial) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	// One that every server has to accept: what nobody knows may be refused.
	note := wire.Message("", mcp.MethodCancelled, map[string]any{"requestId": "never-sent", "reason": "the suite looks at the answer"})
	a, err := overhttp.Exchange(t, s, http.MethodPost, note, nil)
	t.Check("HTTP-04/accepted", a.Is(err, http.StatusAccepted), "202", "%s", a.Describe(err))
	if a.Is(err, http.StatusAccepted) {
		t.Check("HTTP-04/no-body", len(a.Body) == 0, "no body", "%s", a.Describe(err))
	} else {
		t.Skip("HTTP-04/no-body", conformance.SkipPrerequisite, "not accepted")
	}
	a, err = overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), nil)
	t.Check("HTTP-03/request", a.Served(err) && wire.IsAnswerType(a.Header.Get("Content-Type")), "200 with JSON or an event stream", "%s", a.Describe(err))
	a, err = overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), http.Header{"Content-Type": {wire.MediaJSON + "; charset=utf-8"}})
	t.Check("HTTP-03/parameters", a.Served(err), "200 with a response", "%s", a.Describe(err))
	w, err := overhttp.Of(s)
	if err != nil {
		return err
	}
	lower := http.Header{"content-type": {wire.MediaJSON}, "accept": {wire.AcceptBoth}}
	if id := w.SessionID(); id != "" {
		lower["mcp-session-id"] = []string{id}
	}
	a, err = overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), lower)
	t.Check("HTTP-11/case", a.Served(err), "200 with a response", "%s", a.Describe(err))
	return nil
}

// runRedirect is a warning only: no page speaks of redirects, but clients need
// not follow one, and after 301 to 303 many would send a GET.
func runRedirect(t *conformance.Trial) error {
	s, err := t.Raw()
	if err != nil {
		return err
	}
	a, err := overhttp.Exchange(t, s, http.MethodPost, wire.Message(s.NewID(), mcp.MethodInitialize, s.InitializeParams(t.Rev.Asked)), nil)
	if err != nil {
		return err
	}
	t.Check("HTTP-07/redirect", a.Status/100 != 3, "an answer", "%d to %s", a.Status, rawjson.Clip(a.Header.Get("Location"), 120))
	if w, err := overhttp.Of(s); err == nil && a.Status < 300 {
		w.SetSession(a.Header.Get(wire.HeaderSession)) // which close ends
	}
	return nil
}

func runHTTPGet(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	a, err := overhttp.Exchange(t, s, http.MethodGet, nil, nil)
	ok := a.Is(err, http.StatusMethodNotAllowed) || a.Is(err, http.StatusOK) && wire.MediaType(a.Header) == wire.MediaStream
	t.Check("HTTP-19/get", ok, "an event stream or 405", "%s", a.Describe(err))
	return nil
}

func runHTTPVersion(t *conformance.Trial) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	a, err := overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), http.Header{wire.HeaderRevision: {string(nosuch.Version)}})
	t.Check("HTTP-15/invalid", a.Is(err, http.StatusBadRequest), "400", "%s", a.Describe(err))
	a, err = overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), http.Header{wire.HeaderRevision: {}})
	t.Check("HTTP-15/missing", a.Served(err), "200 with a response", "%s", a.Describe(err))
	return nil
}

func runHTTPOrigin(t *conformance.Trial) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	a, err := overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), http.Header{"Origin": {"http://evil.example"}})
	refused := a.Is(err, http.StatusForbidden)
	if !s.Opened.Revision.AtLeast(mcp.Version2025_11_25) {
		// The status is prescribed since that revision, the refusal before.
		refused = err == nil && a.Status >= 400 && a.Status < 500
	}
	t.Check("X-SEC-02/foreign", refused, "403", "%s", a.Describe(err))
	a, err = overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), nil)
	t.Check("X-SEC-02/none", a.Served(err), "200 with a response", "%s", a.Describe(err))
	return nil
}
