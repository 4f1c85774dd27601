package http

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/talk"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WellKnownResource is where the metadata of a protected resource are (RFC 9728).
const WellKnownResource = "/.well-known/oauth-protected-resource"

// mostMetadata bounds how much of a metadata document is read.
const mostMetadata = 1 << 20

// mostRedirects bounds the way to a metadata document, on the server itself.
const mostRedirects = 3

// resourceMetadata finds the URL of the metadata in a challenge, also in one that is
// misspelled.
var resourceMetadata = lazyregexp.New(`(?i)\bresource_metadata\s*=\s*(?:"([^"]*)"|([^\s,"]+))`)

// authorizationScenarios are about servers that ask for credentials over HTTP.
// Whether they do so the way of the specification is left to them; what they say
// then is not.
func authorizationScenarios() []engine.Scenario {
	needs := engine.Needs{Transport: conformance.TransportHTTP}
	return []engine.Scenario{
		{ID: "AUTH-03", Needs: needs, Run: runAuthorization},
		{ID: "AUTH-02", Needs: needs, Run: runCredentials},
		{ID: "AUTH-21", Needs: needs, Run: runWrongAudience},
		{ID: "AUTH-18", Needs: needs, Run: runWeakToken},
	}
}

// guarded is a server that may ask for credentials.
type guarded struct {
	*engine.Trial
	s        *wire.Session
	w        *wire.HTTPConn
	endpoint *url.URL
}

// guardedBy opens a connection of the scenario's own.
func guardedBy(t *engine.Trial) *guarded {
	s := t.Raw()
	w, err := talk.HTTPOf(s)
	t.NoError(err)
	endpoint, err := url.Parse(w.At.URL)
	if err != nil {
		t.NoError(engine.SuiteError(err))
		return nil
	}
	return &guarded{t, s, w, endpoint}
}

// first is a message that every server answers to those it lets in.
func (g *guarded) first() []byte {
	method, params := mcp.MethodInitialize, g.s.InitializeParams(g.Rev.Asked)
	if g.s.Stateless != "" {
		method, params = mcp.MethodDiscover, nil
	}
	return g.s.Message(g.s.NewID(), method, params)
}

// with is the header of a request with these values of Authorization, and no other
// credentials.
func (g *guarded) with(authorization ...string) http.Header {
	h := http.Header{}
	for name := range g.w.At.Header { // another key may be one of these
		h[name] = nil
	}
	h["Authorization"] = authorization
	return h
}

// ask sends the first message with these values of Authorization.
func (g *guarded) ask(authorization ...string) (*wire.HTTPAnswer, error) {
	return talk.ExchangeHTTP(g.Trial, g.s, http.MethodPost, g.first(), g.with(authorization...))
}

// closed reports whether the server answers 401 without credentials. If not, all of the
// scenario is decided.
func (g *guarded) closed() (bool, error) {
	a, err := g.ask()
	if err != nil {
		return false, err
	}
	if a.Status != http.StatusUnauthorized {
		g.SkipRest(conformance.SkipNotDeclared, "no 401 without credentials: "+a.Describe(nil))
	}
	return a.Status == http.StatusUnauthorized, nil
}

// credential returns the token that the suite was given, "" for none that is sent as a
// Bearer token.
func (g *guarded) credential() (string, error) {
	given := g.w.At.Header.Get("Authorization")
	if given == "" && g.w.At.Credentials != nil {
		h, err := g.w.At.Credentials(g.Ctx, http.MethodPost, g.endpoint)
		if err != nil {
			return "", err
		}
		given = h.Get("Authorization")
	}
	scheme, token, _ := strings.Cut(given, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", nil
	}
	return strings.TrimSpace(token), nil
}

func runAuthorization(t *engine.Trial) {
	g := guardedBy(t)
	a, err := g.ask()
	t.NoError(err)
	if a.Status != http.StatusUnauthorized {
		t.NoError(g.otherwise(a))
		return
	}
	t.Pass("AUTH-02/none")
	told := challenged(a.Header)
	all := g.challenges(a)
	if at, err := url.Parse(told); err == nil && at.Host != "" && (at.Host != g.endpoint.Host || at.Scheme != g.endpoint.Scheme) {
		// A server behind a proxy has another name: what is there is not read.
		t.Pass("AUTH-03/challenge")
		err := g.forged(nil, "")
		t.SkipRest(conformance.SkipControl, "the metadata are at "+rawjson.Clip(told, 200)+", and nothing is asked of another host")
		t.NoError(err)
		return
	}
	doc := g.metadata(told)
	t.Check("AUTH-04/metadata", doc != nil, "an object at the URL of the challenge or below "+WellKnownResource, "WWW-Authenticate %q, and none", a.Header.Values("WWW-Authenticate"))
	if doc == nil {
		if told != "" {
			t.Fail("AUTH-04/told", "an object at "+told, "none")
		}
		t.SkipRest(conformance.SkipNotDeclared, "credentials of another kind: no metadata of a protected resource")
		return
	}
	t.Check("AUTH-03/challenge", told != "", "resource_metadata", "WWW-Authenticate is %q", a.Header.Values("WWW-Authenticate"))
	if told == "" {
		t.Skip("AUTH-04/told", conformance.SkipNotDeclared, "the challenge names no URL: they are below "+WellKnownResource)
	} else {
		t.Check("AUTH-04/told", doc.told, "an object at "+told, "none: they are below %s only", WellKnownResource)
	}
	t.Check("AUTH-04/type", doc.media == wire.MediaJSON, wire.MediaJSON, "Content-Type is %q", doc.media)
	g.judge(doc, all)
	t.NoError(g.forged(doc, firstOf(doc.scopes(), all)))
}

// otherwise judges a server that answers something else than 401 to a request without
// credentials.
func (g *guarded) otherwise(a *wire.HTTPAnswer) error {
	token, err := g.credential()
	if err != nil {
		return err
	}
	refused := a.Status >= 400 && a.Status < 500 && a.Status != http.StatusTooManyRequests
	if token != "" && refused {
		served, err := g.ask("Bearer " + token)
		if err != nil {
			return err
		}
		if g.w.SetSession(served.Header.Get(wire.HeaderSession)); served.Served(nil) { // which close ends
			g.Fail("AUTH-02/none", "401", "%s, and with the token %s", a.Describe(nil), served.Describe(nil))
		}
	}
	g.SkipRest(conformance.SkipNotDeclared, "no 401 without credentials: "+a.Describe(nil))
	return nil
}

// challenges judges those of an answer to a request without a token.
func (g *guarded) challenges(a *wire.HTTPAnswer) []challenge {
	given := a.Header.Values("WWW-Authenticate")
	if !g.Check("AUTH-03/header", len(given) > 0, "WWW-Authenticate", "there is none") {
		for _, id := range []string{"AUTH-03/syntax", "AUTH-03/bearer", "AUTH-03/quiet", "AUTH-17/scope"} {
			g.Skip(id, conformance.SkipPrerequisite, "no challenge")
		}
		return nil
	}
	all, err := challenges(a.Header)
	fault := ""
	if err != nil {
		fault = err.Error()
	}
	bearer := false
	for _, c := range all {
		if bearer = bearer || c.is(); c.is() && fault == "" {
			fault = c.misspelled()
		}
	}
	g.Check("AUTH-03/syntax", fault == "", "challenges as RFC 9110 and RFC 6750 have them", "%s in %q", fault, given)
	g.Check("AUTH-03/bearer", bearer, "a challenge of the scheme Bearer or DPoP", "%q", given)
	code, there := asked(all, "error")
	g.Check("AUTH-03/quiet", !there, "no error: no token came that could be wrong", "error is %q", code)
	return all
}

// judge looks at what the metadata say.
func (g *guarded) judge(doc *document, all []challenge) {
	var servers []string
	_ = json.Unmarshal(doc.members["authorization_servers"], &servers) // not strings: none
	fault, plain := "", ""
	for _, server := range servers {
		u, err := url.Parse(server)
		if err != nil || u.Host == "" {
			fault = server + " is no URL"
			continue
		}
		// A login that is developed on one machine needs no certificate.
		if u.Scheme != "https" && !(u.Scheme == "http" && talk.OnThisMachine(u) && talk.OnThisMachine(g.endpoint)) {
			plain = server
		}
	}
	if g.Check("AUTH-06/servers", len(servers) > 0 && fault == "", "a list of URLs", "authorization_servers is %s %s", rawjson.OrAbsent(doc.members["authorization_servers"]), fault) {
		g.Check("AUTH-06/https", plain == "", "https, or this machine", "authorization_servers has %s", plain)
	} else {
		g.Skip("AUTH-06/https", conformance.SkipPrerequisite, "no URLs")
	}
	text := rawjson.Text(doc.members["resource"])
	resource, err := url.Parse(text)
	whole := err == nil && resource.IsAbs() && resource.Host != "" && !strings.Contains(text, "#")
	if g.Check("AUTH-05/resource", whole, "a URL", "resource is %s", rawjson.OrAbsent(doc.members["resource"])) {
		g.Check("AUTH-05/own", covers(resource, g.endpoint), g.endpoint.String(), "resource is %s", resource)
	} else {
		g.Skip("AUTH-05/own", conformance.SkipPrerequisite, "no URL")
	}
	g.scopes(doc, all)
}

// scopes judges the names of scopes, in the metadata and the challenge.
func (g *guarded) scopes(doc *document, all []challenge) {
	supported := doc.scopes()
	raw, there := doc.members["scopes_supported"]
	if there {
		odd := slices.ContainsFunc(supported, func(s string) bool { return s == "" || strings.ContainsAny(s, " \"\\") })
		g.Check("AUTH-17/supported", supported != nil && !odd, "an array of names", "scopes_supported is %s", raw)
	} else {
		g.Skip("AUTH-17/supported", conformance.SkipNotDeclared, "no scopes_supported")
	}
	challenged, named := asked(all, "scope")
	if len(supported) > 0 {
		g.Check("AUTH-17/scope", named, "scope", "scopes_supported is %s, and the challenge names none", raw)
	} else {
		g.Skip("AUTH-17/scope", conformance.SkipNotDeclared, "no scopes_supported")
	}
	offline := slices.Contains(append(strings.Fields(challenged), supported...), "offline_access")
	g.Check("AUTH-19/offline", !offline, "no offline_access", "scopes_supported is %s, scope is %q", rawjson.OrAbsent(raw), challenged)
}

// challenged returns the URL of the metadata that the challenges of an answer
// name, "" for none.
func challenged(h http.Header) string {
	for _, challenge := range h.Values("WWW-Authenticate") {
		if m := resourceMetadata.FindStringSubmatch(challenge); m != nil {
			return m[1] + m[2]
		}
	}
	return ""
}

// covers reports whether a resource is an endpoint or one above it.
func covers(resource, endpoint *url.URL) bool {
	path := strings.TrimSuffix(resource.Path, "/")
	return strings.EqualFold(resource.Scheme, endpoint.Scheme) && strings.EqualFold(resource.Host, endpoint.Host) &&
		(path == "" || endpoint.Path == path || strings.HasPrefix(endpoint.Path, path+"/"))
}

// document is the metadata of a protected resource.
type document struct {
	members map[string]json.RawMessage
	media   string // its media type
	told    bool   // it is where the challenge says
}

// scopes returns scopes_supported, nil where that is no list of texts.
func (d *document) scopes() (all []string) {
	if json.Unmarshal(d.members["scopes_supported"], &all) != nil {
		return nil
	}
	return all
}

// metadata reads the document at the URL that a challenge names, else those at the
// places known well; nil when there is none. Nothing is asked of another host, not even
// by a redirect: a server could else send the suite to any address.
func (g *guarded) metadata(told string) *document {
	root := g.endpoint.Scheme + "://" + g.endpoint.Host + WellKnownResource
	places := []string{told, root + strings.TrimSuffix(g.endpoint.EscapedPath(), "/"), root}
	client := &http.Client{
		Transport: g.w.At.RoundTripper, Timeout: g.Rev.Opts.Answer,
		CheckRedirect: func(next *http.Request, before []*http.Request) error {
			if len(before) > mostRedirects || next.URL.Host != g.endpoint.Host || next.URL.Scheme != g.endpoint.Scheme {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
	if client.Transport == nil {
		own := &http.Transport{Proxy: http.ProxyFromEnvironment}
		defer own.CloseIdleConnections()
		client.Transport = own
	}
	for i, place := range places {
		u, err := url.Parse(place)
		if err != nil || u.Host != g.endpoint.Host || u.Scheme != g.endpoint.Scheme {
			continue
		}
		if doc := read(g.Ctx, client, place); doc != nil {
			doc.told = i == 0
			return doc
		}
	}
	return nil
}

// read fetches an object, nil where there is none.
func read(ctx context.Context, client *http.Client, place string) *document {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place, http.NoBody)
	if err != nil {
		return nil
	}
	req.Header.Set("Accept", wire.MediaJSON)
	resp, err := client.Do(req)
	if err != nil {
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, mostMetadata+1))
	members, ok := rawjson.Object(data)
	if err != nil || !ok || len(data) > mostMetadata || resp.StatusCode != http.StatusOK {
		return nil
	}
	return &document{members: members, media: wire.MediaType(resp.Header)}
}
