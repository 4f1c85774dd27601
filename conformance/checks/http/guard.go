package http

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/nosuch"
	"github.com/mainstay-mcp/mainstay/conformance/internal/overhttp"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rule"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func httpGuardScenarios() []conformance.Scenario {
	needs := conformance.Needs{Transport: wire.TransportHTTP}
	origin := conformance.Spec{Section: "basic/transports#security-warning", Quote: "Servers MUST validate the Origin header on all incoming connections to prevent DNS rebinding attacks."}
	version := conformance.Spec{Section: "basic/transports#protocol-version-header", Quote: "If the server receives a request with an invalid or unsupported MCP-Protocol-Version, it MUST respond with 400 Bad Request."}
	return []conformance.Scenario{
		{
			ID: "X-SEC-02-VARIANTS", Area: "http", Title: "foreign pages in disguise", Needs: needs,
			Checks: []conformance.Check{
				rule.Must("X-SEC-02/prefix", "a host that begins with the name of an allowed one is foreign", origin),
				rule.Must("X-SEC-02/userinfo", "a user name that looks like an allowed host is foreign", origin),
				rule.Must("X-SEC-02/get", "a foreign Origin is refused on GET, too", origin),
				rule.Must("X-SEC-02/delete", "a foreign Origin is refused on DELETE, too, and ends nothing", origin),
				rule.Must("X-SEC-02/initialize", "a foreign Origin opens no session", origin),
				rule.House("X-SEC-02/null", "the Origin null, of a page in a sandbox, is refused", origin),
				rule.House("X-SEC-02/own", "the server's own Origin is served", origin),
				rule.House("X-SEC-02/host", "a server on this machine refuses a Host of elsewhere", origin),
			},
			Run: runForeignPages,
		},
		{
			ID: "HTTP-15-VARIANTS", Area: "http", Title: "odd protocol version headers", Needs: needs,
			Checks: []conformance.Check{
				{ID: "HTTP-15/garbage", Title: "a version of 2,000 letters is answered with 4xx", Level: conformance.Must, Spec: version, Since: mcp.Version2025_06_18},
				{ID: "HTTP-15/get", Title: "an invalid version on GET is refused", Level: conformance.Must, Spec: version, Since: mcp.Version2025_06_18},
				{ID: "HTTP-15/delete", Title: "an invalid version on DELETE ends nothing", Level: conformance.Must, Spec: version, Since: mcp.Version2025_06_18},
				{ID: "HTTP-15/other", Title: "another revision than was agreed on is served or refused with 4xx", Level: conformance.Must, Spec: version, Since: mcp.Version2025_06_18},
				{ID: "HTTP-14/none", Title: "a session of a revision without the header is served without it", Level: conformance.Advice, Until: mcp.Version2025_03_26, Spec: conformance.Spec{Seed: "HTTP-14"}},
			},
			Run: runOddVersionHeaders,
		},
	}
}

func runForeignPages(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	w, err := overhttp.Of(s)
	if err != nil {
		return err
	}
	u, err := url.Parse(w.At.URL)
	if err != nil {
		return conformance.Ours(err)
	}
	from := func(origin string) http.Header { return http.Header{"Origin": {origin}} }
	a, err := overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), from(u.Scheme+"://"+u.Host))
	t.Check("X-SEC-02/own", a.Served(err), wantServed, "%s", a.Describe(err))
	a, err = overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), from("null"))
	t.Check("X-SEC-02/null", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))

	const evil = "http://evil.example"
	if a, err = overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), from(evil)); !refusedOnly(a, err) {
		for _, word := range []string{"prefix", "userinfo", "get", "delete", "initialize"} {
			t.Skip("X-SEC-02/"+word, conformance.SkipPrerequisite, "X-SEC-02/foreign: it is not refused at all")
		}
	} else {
		a, err = overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), from(u.Scheme+"://"+u.Hostname()+".evil.example"))
		t.Check("X-SEC-02/prefix", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
		a, err = overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), from(u.Scheme+"://"+u.Hostname()+"@evil.example"))
		t.Check("X-SEC-02/userinfo", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
		a, err = overhttp.Exchange(t, s, http.MethodGet, nil, from(evil))
		t.Check("X-SEC-02/get", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
		initialize := wire.Message(s.NewID(), mcp.MethodInitialize, s.InitializeParams(t.Rev.Asked))
		a, err = overhttp.Exchange(t, s, http.MethodPost, initialize, http.Header{"Origin": {evil}, wire.HeaderSession: {}, wire.HeaderRevision: {}})
		t.Check("X-SEC-02/initialize", refusedOnly(a, err) && overhttp.Header(a, wire.HeaderSession) == "", wantRefused, "%s", a.Describe(err))
		a, err = overhttp.Exchange(t, s, http.MethodDelete, nil, from(evil))
		after, afterErr := overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), nil)
		t.Check("X-SEC-02/delete", refusedOnly(a, err) && after.Served(afterErr), "a 4xx status, and a session that goes on", "%s, then %s", a.Describe(err), after.Describe(afterErr))
	}
	// What a name far away stands for, a server there may know better.
	if !overhttp.OnThisMachine(u) {
		t.Skip("X-SEC-02/host", conformance.SkipControl, "needs a server on this machine")
		return nil
	}
	a, err = overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), http.Header{"Host": {"evil.example"}})
	t.Check("X-SEC-02/host", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
	return nil
}

func runOddVersionHeaders(t *conformance.Trial) error {
	s, err := t.Fresh()
	if err != nil {
		return err
	}
	named := func(v string) http.Header { return http.Header{wire.HeaderRevision: {v}} }
	if t.Rev.Revision.AtLeast(mcp.Version2025_06_18) {
		a, err := overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), named(strings.Repeat("v", 2000)))
		t.Check("HTTP-15/garbage", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
		a, err = overhttp.Exchange(t, s, http.MethodGet, nil, named(string(nosuch.Version)))
		t.Check("HTTP-15/get", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
		other := mcp.Version2025_06_18
		if s.Opened.Revision == other {
			other = mcp.LatestSession
		}
		a, err = overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), named(string(other)))
		t.Check("HTTP-15/other", eitherWay(a, err), wantEither, "%s", a.Describe(err))
		a, err = overhttp.Exchange(t, s, http.MethodDelete, nil, named(string(nosuch.Version)))
		after, afterErr := overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), nil)
		t.Check("HTTP-15/delete", refusedOnly(a, err) && after.Served(afterErr), "a 4xx status, and a session that goes on", "%s, then %s", a.Describe(err), after.Describe(afterErr))
		return nil
	}
	a, err := overhttp.Exchange(t, s, http.MethodPost, overhttp.Ping(s), http.Header{wire.HeaderRevision: {}})
	t.Check("HTTP-14/none", a.Served(err), wantServed, "%s", a.Describe(err))
	return nil
}
