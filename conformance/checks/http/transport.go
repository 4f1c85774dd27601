package http

import (
	"net/http"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func httpScenarios() []engine.Scenario {
	needs := engine.Needs{Transport: conformance.TransportHTTP}
	return []engine.Scenario{
		{ID: "X-HTTP-01", Gentle: true, Needs: needs, Run: runHTTPAnswers},
		{ID: "HTTP-07", Gentle: true, Needs: needs, Run: runRedirect},
		{ID: "HTTP-19", Gentle: true, Needs: needs, Run: runHTTPGet},
		{ID: "HTTP-15", Needs: needs, Run: runHTTPVersion},
		{ID: "X-SEC-02", Needs: needs, Run: runHTTPOrigin},
	}
}

func runHTTPAnswers(t *engine.Trial) {
	s := t.Shared()
	// One that every server has to accept: what nobody knows may be refused.
	note := wire.Message("", mcp.MethodCancelled, map[string]any{"requestId": "never-sent", "reason": "the suite looks at the answer"})
	if t.MayProvoke("HTTP-04/accepted", "HTTP-04/no-body") {
		a, err := talk.ExchangeHTTP(t, s, http.MethodPost, note, nil)
		t.Check("HTTP-04/accepted", a.Is(err, http.StatusAccepted), "202", "%s", a.Describe(err))
		if a.Is(err, http.StatusAccepted) {
			t.Check("HTTP-04/no-body", len(a.Body) == 0, "no body", "%s", a.Describe(err))
		} else {
			t.Skip("HTTP-04/no-body", conformance.SkipPrerequisite, "not accepted")
		}
	}
	a, err := talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), nil)
	t.Check("HTTP-03/request", a.Served(err) && wire.IsAnswerType(a.Header.Get("Content-Type")), "200 with JSON or an event stream", "%s", a.Describe(err))
	a, err = talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), http.Header{"Content-Type": {wire.MediaJSON + "; charset=utf-8"}})
	t.Check("HTTP-03/parameters", a.Served(err), "200 with a response", "%s", a.Describe(err))
	if !t.MayProvoke() {
		return
	}
	w, err := talk.HTTPOf(s)
	t.NoError(err)
	lower := http.Header{"content-type": {wire.MediaJSON}, "accept": {wire.AcceptBoth}}
	if id := w.SessionID(); id != "" {
		lower["mcp-session-id"] = []string{id}
	}
	a, err = talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), lower)
	t.Check("HTTP-11/case", a.Served(err), "200 with a response", "%s", a.Describe(err))
}

// runRedirect is a warning only: no page speaks of redirects, but clients need
// not follow one, and after 301 to 303 many would send a GET.
func runRedirect(t *engine.Trial) {
	s := t.Raw()
	a, err := talk.ExchangeHTTP(t, s, http.MethodPost, wire.Message(s.NewID(), mcp.MethodInitialize, s.InitializeParams(t.Rev.Asked)), nil)
	t.NoError(err)
	t.Check("HTTP-07/redirect", a.Status/100 != 3, "an answer", "%d to %s", a.Status, rawjson.Clip(a.Header.Get("Location"), 120))
	if w, err := talk.HTTPOf(s); err == nil && a.Status < 300 {
		w.SetSession(a.Header.Get(wire.HeaderSession)) // which close ends
		s.Begun(wire.ToAnswer(wire.Received(a.Body, nil)))
	}
}

func runHTTPGet(t *engine.Trial) {
	s := t.Fresh()
	a, err := talk.ExchangeHTTP(t, s, http.MethodGet, nil, nil)
	ok := a.Is(err, http.StatusMethodNotAllowed) || a.Is(err, http.StatusOK) && wire.MediaType(a.Header) == wire.MediaStream
	t.Check("HTTP-19/get", ok, "an event stream or 405", "%s", a.Describe(err))
}

func runHTTPVersion(t *engine.Trial) {
	s := t.Shared()
	a, err := talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), http.Header{wire.HeaderRevision: {string(fixture.NoVersion)}})
	t.Check("HTTP-15/invalid", a.Is(err, http.StatusBadRequest), "400", "%s", a.Describe(err))
	a, err = talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), http.Header{wire.HeaderRevision: {}})
	t.Check("HTTP-15/missing", a.Served(err), "200 with a response", "%s", a.Describe(err))
}

func runHTTPOrigin(t *engine.Trial) {
	s := t.Shared()
	a, err := talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), http.Header{"Origin": {"http://evil.example"}})
	refused := a.Is(err, http.StatusForbidden)
	if !s.Opened.Revision.AtLeast(mcp.Version2025_11_25) {
		// The status is prescribed since that revision, the refusal before.
		refused = err == nil && a.Status >= 400 && a.Status < 500
	}
	t.Check("X-SEC-02/foreign", refused, "403", "%s", a.Describe(err))
	a, err = talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), nil)
	t.Check("X-SEC-02/none", a.Served(err), "200 with a response", "%s", a.Describe(err))
}
