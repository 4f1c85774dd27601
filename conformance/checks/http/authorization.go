package http

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/overhttp"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WellKnownResource is where the metadata of a protected resource are (RFC 9728).
const WellKnownResource = "/.well-known/oauth-protected-resource"

// mostMetadata bounds how much of a metadata document is read.
const mostMetadata = 1 << 20

// resourceMetadata finds the URL of the metadata in a challenge.
var resourceMetadata = regexp.MustCompile(`(?i)\bresource_metadata\s*=\s*(?:"([^"]*)"|([^\s,"]+))`)

// authorizationScenarios are about servers that ask for credentials over HTTP.
// Whether they do so the way of the specification is left to them; what they say
// then is not.
func authorizationScenarios() []conformance.Scenario {
	needs := conformance.Needs{Transport: wire.TransportHTTP}
	return []conformance.Scenario{{ID: "AUTH-03", Needs: needs, Run: runAuthorization}}
}

func runAuthorization(t *conformance.Trial) error {
	s, err := t.Raw()
	if err != nil {
		return err
	}
	w, err := overhttp.Of(s)
	if err != nil {
		return err
	}
	endpoint, err := url.Parse(w.At.URL)
	if err != nil {
		return conformance.Ours(err)
	}
	method, params := mcp.MethodInitialize, s.InitializeParams(t.Rev.Asked)
	if s.Stateless != "" {
		method, params = mcp.MethodDiscover, nil
	}
	ask := func(authorization ...string) (*wire.HTTPAnswer, error) {
		with := http.Header{}
		for name := range w.At.Header { // another key may be one of these
			with[name] = nil
		}
		with["Authorization"] = authorization
		return overhttp.Exchange(t, s, http.MethodPost, s.Message(s.NewID(), method, params), with)
	}
	a, err := ask()
	if err != nil {
		return err
	}
	if a.Status != http.StatusUnauthorized {
		t.SkipRest(conformance.SkipNotDeclared, "no 401 without credentials: "+a.Describe(nil))
		return nil
	}
	told := challenged(a.Header)
	if at, err := url.Parse(told); err == nil && at.Host != "" && (at.Host != endpoint.Host || at.Scheme != endpoint.Scheme) {
		// A server behind a proxy has another name: what is there is not read.
		if !t.Decided("AUTH-03/challenge") {
			t.Pass("AUTH-03/challenge")
		}
		err := forged(t, ask)
		t.SkipRest(conformance.SkipControl, "the metadata are at "+rawjson.Clip(told, 200)+", and nothing is asked of another host")
		return err
	}
	metadata := metadata(w.At, t, endpoint, told)
	t.Check("AUTH-04/metadata", metadata != nil, "an object at the URL of the challenge or below "+WellKnownResource, "WWW-Authenticate %q, and none", a.Header.Values("WWW-Authenticate"))
	if metadata == nil {
		t.SkipRest(conformance.SkipNotDeclared, "credentials of another kind: no metadata of a protected resource")
		return nil
	}
	if !t.Decided("AUTH-03/challenge") {
		t.Check("AUTH-03/challenge", told != "", "resource_metadata", "WWW-Authenticate is %q", a.Header.Values("WWW-Authenticate"))
	}
	var servers []string
	_ = json.Unmarshal(metadata["authorization_servers"], &servers) // not strings: none
	fault := ""
	for _, server := range servers {
		if u, err := url.Parse(server); err != nil || u.Host == "" {
			fault = server + " is no URL"
		}
	}
	t.Check("AUTH-06/servers", len(servers) > 0 && fault == "", "a list of URLs", "authorization_servers is %s %s", rawjson.OrAbsent(metadata["authorization_servers"]), fault)
	resource, err := url.Parse(rawjson.Text(metadata["resource"]))
	whole := err == nil && resource.IsAbs() && resource.Host != "" && !strings.Contains(rawjson.Text(metadata["resource"]), "#")
	if t.Check("AUTH-05/resource", whole, "a URL", "resource is %s", rawjson.OrAbsent(metadata["resource"])) {
		t.Check("AUTH-05/own", covers(resource, endpoint), endpoint.String(), "resource is %s", resource)
	} else {
		t.Skip("AUTH-05/own", conformance.SkipPrerequisite, "no URL")
	}
	return forged(t, ask)
}

// forged judges the answer to a token that nobody issued.
func forged(t *conformance.Trial, ask func(authorization ...string) (*wire.HTTPAnswer, error)) error {
	a, err := ask("Bearer mainstay-conformance-nobody-issued-this")
	if err != nil {
		return err
	}
	t.Check("AUTH-02/invalid", a.Is(err, http.StatusUnauthorized), "401", "%s", a.Describe(err))
	return nil
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

// metadata reads the document at the URL a challenge names, else those at the
// places known well; nil when there is none. Nothing is asked of another host.
func metadata(s wire.Endpoint, t *conformance.Trial, endpoint *url.URL, told string) map[string]json.RawMessage {
	root := endpoint.Scheme + "://" + endpoint.Host + WellKnownResource
	places := []string{root + strings.TrimSuffix(endpoint.Path, "/"), root}
	if told != "" {
		places = []string{told}
	}
	client := &http.Client{Transport: s.RoundTripper, Timeout: t.Rev.Opts.Answer}
	if s.RoundTripper == nil {
		own := &http.Transport{}
		defer own.CloseIdleConnections()
		client.Transport = own
	}
	for _, place := range places {
		u, err := url.Parse(place)
		if err != nil || u.Host != endpoint.Host || u.Scheme != endpoint.Scheme {
			continue
		}
		req, err := http.NewRequestWithContext(t.Ctx, http.MethodGet, place, http.NoBody)
		if err != nil {
			continue
		}
		resp, err := client.Do(req)
		if err != nil {
			continue
		}
		data, err := io.ReadAll(io.LimitReader(resp.Body, mostMetadata))
		_ = resp.Body.Close() // it has been read
		if members, ok := rawjson.Object(data); ok && err == nil && resp.StatusCode == http.StatusOK {
			return members
		}
	}
	return nil
}
