package http

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// nobody is a token that no server issued.
const nobody = "mainstay-conformance-nobody-issued-this"

// firstOf returns the scopes that a request seems to need.
func firstOf(supported []string, all []challenge) string {
	scope, _ := asked(all, "scope")
	return cmp.Or(scope, strings.Join(supported, " "))
}

// forged judges the answers to tokens that nobody issued: doc and scope make them look
// as if somebody had.
func (g *guarded) forged(doc *document, scope string) error {
	a, err := g.ask("Bearer " + nobody)
	if err != nil {
		return err
	}
	if g.refuses("AUTH-02/invalid", a, http.StatusUnauthorized) {
		all, _ := challenges(a.Header) // AUTH-03/syntax judges how it is spelled
		code, _ := asked(all, "error")
		g.Check("AUTH-02/code", code == "invalid_token", `error="invalid_token"`, "WWW-Authenticate is %q", a.Header.Values("WWW-Authenticate"))
	} else {
		g.Skip("AUTH-02/code", conformance.SkipPrerequisite, "not refused with 401")
	}
	for _, kind := range []struct{ id, algorithm string }{{"AUTH-02/unsigned", "none"}, {"AUTH-02/signature", "RS256"}} {
		a, err := g.ask("Bearer " + g.unissued(doc, scope, kind.algorithm))
		if err != nil {
			return err
		}
		g.refuses(kind.id, a, http.StatusUnauthorized)
	}
	return g.malformed()
}

// malformed judges the answers to Authorization headers that hold no token.
func (g *guarded) malformed() error {
	for _, given := range [][]string{
		{"Bearer"},
		{"Bearer " + nobody + " " + nobody},
		{`Bearer "` + nobody + `"`},
		{nobody},
		{"Basic bWFpbnN0YXk6bWFpbnN0YXk="},
		{"Bearer " + nobody, "Bearer " + nobody},
	} {
		a, err := g.ask(given...)
		if err != nil {
			return err
		}
		switch {
		case a.Is(nil, http.StatusUnauthorized, http.StatusBadRequest):
		case tooBusy(a):
			g.Inconclusive("AUTH-02/malformed", a.Describe(nil))
		default:
			g.Fail("AUTH-02/malformed", "401 or 400", "to %q: %s", given, a.Describe(nil))
		}
	}
	g.Pass("AUTH-02/malformed")
	return nil
}

// tooBusy reports whether a server has no time for tokens, or cannot ask anybody about
// them: that says nothing about the token that it was sent.
func tooBusy(a *wire.HTTPAnswer) bool {
	return a.Is(nil, http.StatusTooManyRequests, http.StatusServiceUnavailable)
}

// refuses decides a check by the status of an answer.
func (g *guarded) refuses(id string, a *wire.HTTPAnswer, statuses ...int) bool {
	if tooBusy(a) {
		g.Inconclusive(id, a.Describe(nil))
		return false
	}
	return g.Check(id, a.Is(nil, statuses...), strings.Trim(fmt.Sprint(statuses), "[]"), "%s", a.Describe(nil))
}

// unissued returns a JWT with the claims that a server may look for (RFC 9068), and
// without a signature, or with one that is none.
func (g *guarded) unissued(doc *document, scope, algorithm string) string {
	issuer, resource := "https://issuer.example", g.endpoint.String()
	if doc != nil {
		var servers []string
		if json.Unmarshal(doc.members["authorization_servers"], &servers) == nil && len(servers) > 0 {
			issuer = servers[0]
		}
		resource = cmp.Or(rawjson.Text(doc.members["resource"]), resource)
	}
	now := time.Now()
	header := map[string]any{"alg": algorithm, "typ": "at+jwt"}
	claims := map[string]any{
		"iss": issuer, "aud": resource, "sub": "mainstay-conformance", "client_id": "mainstay-conformance", "scope": scope,
		"jti": nobody, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	signature := ""
	if algorithm != "none" {
		signature = base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("mainstay", 32)))
	}
	return base64.RawURLEncoding.EncodeToString(rawjson.Encode(header)) + "." +
		base64.RawURLEncoding.EncodeToString(rawjson.Encode(claims)) + "." + signature
}

// runCredentials is about the token that the suite was given: how it may come, and what
// is open without it.
func runCredentials(t *engine.Trial) {
	g := guardedBy(t)
	if closed, err := g.closed(); err != nil || !closed {
		t.NoError(err)
		return
	}
	token, err := g.credential()
	t.NoError(err)
	if token == "" {
		t.SkipRest(conformance.SkipControl, "needs a Bearer token, such as -H 'Authorization: Bearer ${TOKEN}'")
		return
	}
	a, err := g.ask("bearer " + token)
	t.NoError(err)
	if t.Check("AUTH-02/case", a.Served(err), "200 with a response", "%s", a.Describe(err)) {
		g.w.SetSession(a.Header.Get(wire.HeaderSession)) // which close ends
	}
	t.NoError(g.inQuery(token))
	s := t.Fresh()
	a, err = talk.ExchangeHTTP(t, s, http.MethodGet, nil, g.with())
	t.Check("AUTH-02/get", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
	if !t.Decided("AUTH-02/session") && s.Stateless == "" {
		a, err = talk.ExchangeHTTP(t, s, http.MethodPost, talk.PingMessage(s), g.with())
		t.Check("AUTH-02/session", a.Is(err, http.StatusUnauthorized), "401", "%s", a.Describe(err))
	}
}

// inQuery sends the token where clients must not.
func (g *guarded) inQuery(token string) error {
	if !talk.OnThisMachine(g.endpoint) {
		g.Skip("AUTH-02/query", conformance.SkipControl, "needs a server on this machine: URLs with the token would stay in logs")
		return nil
	}
	to := *g.endpoint
	query := to.Query()
	query.Set("access_token", token)
	to.RawQuery = query.Encode()
	before := g.w.PostURL
	g.w.PostURL = to.String()
	a, err := g.ask()
	g.w.PostURL = before
	if err != nil {
		return err
	}
	g.Check("AUTH-02/query", refusedOnly(a, err), wantRefused, "%s", a.Describe(err))
	return nil
}

// runWrongAudience is about a token that the same authorization server issued for
// another server.
func runWrongAudience(t *engine.Trial) {
	g := guardedBy(t)
	token, _ := t.Rev.Opts.Fixtures[conformance.WrongAudienceToken].(string)
	if token == "" {
		t.SkipRest(conformance.SkipControl, "needs a token for another server: --wrong-audience-token")
		return
	}
	if closed, err := g.closed(); err != nil || !closed {
		t.NoError(err)
		return
	}
	a, err := g.ask("Bearer " + token)
	t.NoError(err)
	g.w.SetSession(a.Header.Get(wire.HeaderSession)) // which close ends
	if g.refuses("AUTH-21/audience", a, http.StatusUnauthorized, http.StatusForbidden) {
		g.refuses("AUTH-21/status", a, http.StatusUnauthorized)
	} else {
		t.Skip("AUTH-21/status", conformance.SkipPrerequisite, "not refused")
	}
}

// mostTools bounds how many tools are called to find one that a weak token may not.
const mostTools = 50

// runWeakToken is about a token without a scope that some request needs: the first
// message, the list of tools, or a call of a tool.
func runWeakToken(t *engine.Trial) {
	g := guardedBy(t)
	token, _ := t.Rev.Opts.Fixtures[conformance.WeakToken].(string)
	if token == "" {
		t.SkipRest(conformance.SkipControl, "needs a token without some scope: --weak-token")
		return
	}
	if closed, err := g.closed(); err != nil || !closed {
		t.NoError(err)
		return
	}
	a, asked, err := g.weakest("Bearer " + token)
	t.NoError(err)
	if !t.Check("AUTH-18/refused", a.Is(nil, http.StatusForbidden), "403", "to %s: %s", asked, a.Describe(nil)) {
		t.SkipRest(conformance.SkipPrerequisite, "not refused with 403")
		return
	}
	g.insufficient(a)
}

// insufficient judges what a 403 says.
func (g *guarded) insufficient(a *wire.HTTPAnswer) {
	given := a.Header.Values("WWW-Authenticate")
	all, _ := challenges(a.Header) // AUTH-03/syntax judges how it is spelled
	code, _ := asked(all, "error")
	g.Check("AUTH-18/code", code == "insufficient_scope", `error="insufficient_scope"`, "WWW-Authenticate is %q", given)
	scope, _ := asked(all, "scope")
	g.Check("AUTH-18/scope", scope != "", "scope", "WWW-Authenticate is %q", given)
	place, _ := asked(all, "resource_metadata")
	u, err := url.Parse(place)
	g.Check("AUTH-18/metadata", err == nil && u.Host != "", "resource_metadata", "WWW-Authenticate is %q", given)
}

// weakest returns the first answer that is no success, and to what. If there is none it
// returns the last answer.
func (g *guarded) weakest(authorization string) (*wire.HTTPAnswer, string, error) {
	with := g.with(authorization)
	send := func(message []byte) (*wire.HTTPAnswer, error) {
		return talk.ExchangeHTTP(g.Trial, g.s, http.MethodPost, message, with)
	}
	what := "the first message"
	a, err := send(g.first())
	if err != nil || !a.Served(nil) {
		return a, what, err
	}
	if g.s.Stateless == "" {
		g.w.SetSession(a.Header.Get(wire.HeaderSession))
		with[wire.HeaderRevision] = []string{string(g.Rev.Revision)}
		if _, err := send(wire.Message("", mcp.MethodInitialized, nil)); err != nil {
			return nil, "", err
		}
	}
	messages := []func() (string, []byte){func() (string, []byte) {
		return mcp.MethodToolsList, g.s.Message(g.s.NewID(), mcp.MethodToolsList, nil)
	}}
	for _, tool := range g.Rev.Tools {
		if g.Rev.MayCall(tool.Name) && len(messages) <= mostTools {
			messages = append(messages, func() (string, []byte) {
				return fmt.Sprintf("a call of %q", tool.Name), g.s.Message(g.s.NewID(), mcp.MethodToolsCall, engine.CallParams(tool.Name, map[string]any{}))
			})
		}
	}
	for _, message := range messages {
		var raw []byte
		what, raw = message()
		if a, err = send(raw); err != nil || a.Is(nil, http.StatusUnauthorized, http.StatusForbidden) {
			return a, what, err
		}
	}
	return a, what, nil
}
