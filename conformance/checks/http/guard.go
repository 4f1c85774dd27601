package http

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func httpGuardScenarios() []engine.Scenario {
	needs := engine.Needs{Transport: conformance.TransportHTTP}
	return []engine.Scenario{
		{ID: "X-SEC-02-VARIANTS", Needs: needs, Run: runForeignPages},
		{ID: "HTTP-15-VARIANTS", Needs: needs, Run: runOddVersionHeaders},
	}
}

func runForeignPages(t *engine.Trial) {
	s := t.Fresh()
	w, err := talk.HTTPOf(s)
	t.NoError(err)
	u, err := url.Parse(w.At.URL)
	t.NoError(engine.SuiteError(err))
	from := func(origin string) http.Header { return http.Header{"Origin": {origin}} }
	a, err := talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), from(u.Scheme+"://"+u.Host))
	t.Check("X-SEC-02/own", a.Served(err), wantServed, "%s", a.Describe(err))
	a, err = talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), from("null"))
	t.Check("X-SEC-02/null", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))

	const evil = "http://evil.example"
	if a, err = talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), from(evil)); !refusedOnly(a, err) {
		for _, word := range []string{"prefix", "localhost", "userinfo", "get", "delete", "initialize"} {
			t.Skip("X-SEC-02/"+word, conformance.SkipPrerequisite, "X-SEC-02/foreign: it is not refused at all")
		}
	} else {
		a, err = talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), from(u.Scheme+"://"+u.Hostname()+".evil.example"))
		t.Check("X-SEC-02/prefix", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
		a, err = talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), from(u.Scheme+"://localhost.evil.example"))
		t.Check("X-SEC-02/localhost", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
		a, err = talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), from(u.Scheme+"://"+u.Hostname()+"@evil.example"))
		t.Check("X-SEC-02/userinfo", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
		a, err = talk.ExchangeHTTP(t, s, http.MethodGet, nil, from(evil))
		t.Check("X-SEC-02/get", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
		initialize := wire.Message(s.NewID(), mcp.MethodInitialize, s.InitializeParams(t.Rev.Asked))
		a, err = talk.ExchangeHTTP(t, s, http.MethodPost, initialize, http.Header{"Origin": {evil}, wire.HeaderSession: {}, wire.HeaderRevision: {}})
		opened := ""
		if talk.HeaderOf(a, wire.HeaderSession) != "" {
			opened = ", with a session id"
		}
		t.Check("X-SEC-02/initialize", refusedOnly(a, err) && opened == "", wantRefused+" and no session", "%s%s", a.Describe(err), opened)
		a, err = talk.ExchangeHTTP(t, s, http.MethodDelete, nil, from(evil))
		after, afterErr := talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), nil)
		t.Check("X-SEC-02/delete", refusedOnly(a, err) && after.Served(afterErr), "a 4xx status, and a session that goes on", "%s, then %s", a.Describe(err), after.Describe(afterErr))
	}
	// What a name far away stands for, a server there may know better.
	if !talk.OnThisMachine(u) {
		t.Skip("X-SEC-02/host", conformance.SkipControl, "needs a server on this machine")
		return
	}
	a, err = talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), http.Header{"Host": {"evil.example"}})
	t.Check("X-SEC-02/host", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
}

func runOddVersionHeaders(t *engine.Trial) {
	s := t.Fresh()
	named := func(v string) http.Header { return http.Header{wire.HeaderRevision: {v}} }
	if t.Rev.Revision.AtLeast(mcp.Version2025_06_18) {
		a, err := talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), named(strings.Repeat("v", 2000)))
		t.Check("HTTP-15/garbage", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
		a, err = talk.ExchangeHTTP(t, s, http.MethodGet, nil, named(string(fixture.NoVersion)))
		t.Check("HTTP-15/get", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
		other := mcp.Version2025_06_18
		if s.Opened.Revision == other {
			other = mcp.LatestSession
		}
		a, err = talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), named(string(other)))
		t.Check("HTTP-15/other", eitherWay(a, err), wantEither, "%s", a.Describe(err))
		a, err = talk.ExchangeHTTP(t, s, http.MethodDelete, nil, named(string(fixture.NoVersion)))
		after, afterErr := talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), nil)
		t.Check("HTTP-15/delete", refusedOnly(a, err) && after.Served(afterErr), "a 4xx status, and a session that goes on", "%s, then %s", a.Describe(err), after.Describe(afterErr))
		return
	}
	a, err := talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), http.Header{wire.HeaderRevision: {}})
	t.Check("HTTP-14/none", a.Served(err), wantServed, "%s", a.Describe(err))
}
