package discover_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/discover"
	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	resourceAt = "/.well-known/oauth-protected-resource"
	oauthAt    = "/.well-known/oauth-authorization-server"
	openidAt   = "/.well-known/openid-configuration"
)

// site is an https server with documents. In them, ORIGIN is its own origin.
type site struct {
	*httptest.Server
	documents map[string]string // by path; "503" and the like are a status

	mu      sync.Mutex
	asked   []string
	headers []http.Header
}

func newSite(t *testing.T, documents map[string]string) *site {
	t.Helper()
	s := &site{documents: documents}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.RequestURI)
	s.headers = append(s.headers, r.Header)
	s.mu.Unlock()
	document, ok := s.documents[r.RequestURI]
	var status int
	switch {
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":"not found"}`)
		return
	case strings.HasPrefix(document, "→"):
		http.Redirect(w, r, strings.TrimPrefix(document, "→"), http.StatusFound)
		return
	case len(document) == 3:
		if _, err := fmt.Sscan(document, &status); err == nil {
			w.WriteHeader(status)
			return
		}
	}
	fmt.Fprint(w, strings.ReplaceAll(document, "ORIGIN", s.URL))
}

// finder returns a finder and what it reported, as text with ORIGIN.
func (s *site) finder(t *testing.T) (f *discover.Finder, steps *[]string) {
	t.Helper()
	c := fetch.New(fetch.Options{Transport: s.Client().Transport.(*http.Transport), AllowLoopback: true})
	t.Cleanup(c.CloseIdle)
	steps = new([]string)
	return &discover.Finder{HTTP: c, OnStep: func(step discover.Step) {
		text := step.Rule
		if text == "" {
			text = fmt.Sprintf("GET %s %d", step.URL, step.Status)
		}
		if step.Err != nil {
			text = "✗ " + text
		}
		*steps = append(*steps, strings.ReplaceAll(text, s.URL, "ORIGIN"))
	}}, steps
}

func TestResource(t *testing.T) {
	const good = `{"resource":"ORIGIN/mcp","authorization_servers":["https://as.example","https://as2.example/t"]}`
	for _, tt := range []struct {
		name      string
		documents map[string]string
		named     string // ORIGIN is put in
		asked     []string
		url       string
		err       string
	}{
		{"for the path", map[string]string{resourceAt + "/mcp": good, resourceAt: `{}`}, "", []string{resourceAt + "/mcp"}, resourceAt + "/mcp", ""},
		{"at the root", map[string]string{resourceAt: good}, "", []string{resourceAt + "/mcp", resourceAt}, resourceAt, ""},
		{"named", map[string]string{"/custom?x=y": good, resourceAt: `{}`}, "ORIGIN/custom?x=y", []string{"/custom?x=y"}, "/custom?x=y", ""},
		{"named by a path", map[string]string{"/custom": good}, "/custom", []string{"/custom"}, "/custom", ""},
		{"named and not there", map[string]string{resourceAt + "/mcp": good}, "ORIGIN/custom", []string{"/custom", resourceAt + "/mcp"}, resourceAt + "/mcp", ""},
		{"named at a place of ours", map[string]string{resourceAt: good}, "ORIGIN" + resourceAt + "/mcp", []string{resourceAt + "/mcp", resourceAt}, resourceAt, ""},
		{"named over http by a server behind a proxy", map[string]string{resourceAt: good}, "http://internal.example/meta", []string{resourceAt + "/mcp", resourceAt}, resourceAt, ""},
		{"named at a private address", map[string]string{resourceAt: good}, "https://169.254.169.254/", []string{resourceAt + "/mcp", resourceAt}, resourceAt, ""},
		{"named where nobody listens", map[string]string{resourceAt: good}, "https://127.0.0.1:1/", []string{resourceAt + "/mcp", resourceAt}, resourceAt, ""},
		{"a redirect", map[string]string{resourceAt + "/mcp": "→/moved", "/moved": good}, "", []string{resourceAt + "/mcp", "/moved"}, "/moved", ""},
		{"a website answers everything", map[string]string{resourceAt + "/mcp": "<html>", resourceAt: good}, "", nil, resourceAt, ""},
		{"a broken one before a good one", map[string]string{resourceAt + "/mcp": `{"resource":1}`, resourceAt: good}, "", nil, resourceAt, ""},
		{"a server's fault before a good one", map[string]string{resourceAt + "/mcp": "500", resourceAt: good}, "", nil, resourceAt, ""},

		{"nowhere", nil, "", []string{resourceAt + "/mcp", resourceAt}, "", "no authorization metadata found: no protected resource metadata at ORIGIN/.well-known/oauth-protected-resource/mcp and 1 other place"},
		{"refused", map[string]string{resourceAt + "/mcp": "401", resourceAt: "405"}, "", nil, "", "no authorization metadata"},
		{"a website", map[string]string{resourceAt + "/mcp": "<html>", resourceAt: "<html>"}, "", nil, "", "no authorization metadata"},
		{"a server's fault", map[string]string{resourceAt + "/mcp": "503"}, "", []string{resourceAt + "/mcp", resourceAt}, "", "cannot be used: status 503"},
		{"too many requests", map[string]string{resourceAt + "/mcp": "429"}, "", nil, "", "cannot be used: status 429"},
		{"only named at a private address", nil, "https://169.254.169.254/", nil, "", "https://169.254.169.254/ is blocked"},
		{"only named over http", nil, "http://internal.example/?key=secret", nil, "", `"http://internal.example/" is refused`},
		{"a downgrade", map[string]string{resourceAt: "→http://h.example/"}, "", nil, "", "from https to http"},
		{"too large", map[string]string{resourceAt + "/mcp": strings.Repeat(" ", 1<<20) + good}, "", []string{resourceAt + "/mcp", resourceAt}, "", "over 1048576 bytes"},
		{"an array", map[string]string{resourceAt: `[` + good + `]`}, "", nil, "", "not a JSON object"},
		{"doubles", map[string]string{resourceAt: `{"resource":"ORIGIN/mcp","resource":"ORIGIN"}`}, "", nil, "", "duplicate"},
		{"no resource", map[string]string{resourceAt: `{"authorization_servers":["https://as.example"]}`}, "", nil, "", "it has no resource"},
		{"a resource in another case", map[string]string{resourceAt: `{"Resource":"ORIGIN/mcp"}`}, "", nil, "", "it has no resource"},
		{"no authorization server", map[string]string{resourceAt: `{"resource":"ORIGIN/mcp"}`}, "", nil, "", "it has no authorization_servers"},
		{"an empty list of them", map[string]string{resourceAt: `{"resource":"ORIGIN/mcp","authorization_servers":[]}`}, "", nil, "", "it has no authorization_servers"},
		{"one that is no string", map[string]string{resourceAt: `{"resource":"ORIGIN/mcp","authorization_servers":[{}]}`}, "", nil, "", "not a list of strings"},
		{"one string", map[string]string{resourceAt: `{"resource":"ORIGIN/mcp","authorization_servers":"https://as.example"}`}, "", nil, "", "not a list of strings"},

		{
			"another origin ends the search",
			map[string]string{resourceAt + "/mcp": `{"resource":"https://evil.example/mcp","authorization_servers":["https://as.example"]}`, resourceAt: good},
			"",
			[]string{resourceAt + "/mcp"},
			"", `for the resource "https://evil.example/mcp"`,
		},
		{
			"another path ends the search",
			map[string]string{"/custom": `{"resource":"ORIGIN/other","authorization_servers":["https://as.example"]}`, resourceAt: good},
			"ORIGIN/custom",
			[]string{"/custom"},
			"", "not the endpoint's or a parent",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.documents)
			f, steps := s.finder(t)
			r, err := f.Resource(t.Context(), parse(t, s.URL+"/mcp"), strings.ReplaceAll(tt.named, "ORIGIN", s.URL))
			if tt.asked != nil {
				require.Equal(t, tt.asked, s.asked)
			}
			require.NotEmpty(t, *steps)
			if tt.err != "" {
				require.Nil(t, r)
				require.ErrorContains(t, err, strings.ReplaceAll(tt.err, "ORIGIN", s.URL))
				require.Equal(t, strings.HasPrefix(tt.err, "no authorization metadata"), errors.Is(err, discover.ErrNoMetadata))
				require.NotContains(t, err.Error(), "secret")
				return
			}
			require.NoError(t, err)
			require.Equal(t, s.URL+tt.url, r.URL)
			require.Equal(t, s.URL+"/mcp", r.Resource)
			require.Equal(t, []string{"https://as.example", "https://as2.example/t"}, r.AuthorizationServers)
		})
	}
}

func TestResourceMembers(t *testing.T) {
	s := newSite(t, map[string]string{resourceAt: `{
		"resource": "ORIGIN", "resource_name": "Files\n\u001b[2J", "authorization_servers": ["https://as.example", "https://as.example", ""],
		"scopes_supported": ["files:read", "a b", "files:write"], "dpop_bound_access_tokens_required": true,
		"dpop_signing_alg_values_supported": ["ES256"], "jwks_uri": null, "bearer_methods_supported": ["header"], "x": {}
	}`})
	f, steps := s.finder(t)
	r, err := f.Resource(t.Context(), parse(t, s.URL+"/mcp?key=secret"), "")
	require.NoError(t, err)
	require.Equal(t, &discover.Resource{
		URL: s.URL + resourceAt, Place: s.URL + resourceAt, Resource: s.URL, Name: "Files\ufffd\ufffd[2J", AuthorizationServers: []string{"https://as.example"},
		ScopesSupported: []string{"files:read", "files:write"}, DPoPRequired: true, DPoPAlgs: []string{"ES256"},
		BearerMethods: []string{"header"}, BearerMethodsKnown: true,
	}, r)
	require.Equal(t, []string{
		"✗ GET ORIGIN/.well-known/oauth-protected-resource/mcp 404",
		"✗ GET ORIGIN/.well-known/oauth-protected-resource/mcp 404",
		"GET ORIGIN/.well-known/oauth-protected-resource 200",
		"its members have the right types (RFC 9728 §2)",
		"it has a resource (RFC 9728 §2)",
		"its resource is the endpoint or a parent of it (RFC 9728 §3.3)",
		"a document at its URL may be for this resource (RFC 9728 §3.1 and §3.3)",
		"it names an authorization server (RFC 9728 §2, required by MCP)",
	}, *steps)

	f.StrictResource = true
	_, err = f.Resource(t.Context(), parse(t, s.URL+"/mcp"), "")
	var foreign *discover.ResourceError
	require.ErrorAs(t, err, &foreign)
	require.Equal(t, "✗ its resource is the endpoint or a parent of it (RFC 9728 §3.3)", (*steps)[len(*steps)-1])
}

func TestServer(t *testing.T) {
	const good = `{"issuer":"ORIGIN","authorization_endpoint":"ORIGIN/authorize","token_endpoint":"ORIGIN/token"}`
	const tenant = `{"issuer":"ORIGIN/t","authorization_endpoint":"ORIGIN/t/authorize","token_endpoint":"ORIGIN/t/token"}`
	for _, tt := range []struct {
		name      string
		documents map[string]string
		issuer    string // after the origin
		finder    discover.Finder
		asked     []string
		url       string
		err       string
	}{
		{"RFC 8414", map[string]string{oauthAt: good, openidAt: good}, "", discover.Finder{}, []string{oauthAt}, oauthAt, ""},
		{"OpenID", map[string]string{openidAt: good}, "", discover.Finder{}, []string{oauthAt, openidAt}, openidAt, ""},
		{"RFC 8414 with a path", map[string]string{oauthAt + "/t": tenant}, "/t", discover.Finder{}, []string{oauthAt + "/t"}, oauthAt + "/t", ""},
		{"OpenID with the path behind", map[string]string{openidAt + "/t": tenant}, "/t", discover.Finder{}, []string{oauthAt + "/t", openidAt + "/t"}, openidAt + "/t", ""},
		{"OpenID with the path before", map[string]string{"/t" + openidAt: tenant}, "/t", discover.Finder{}, []string{oauthAt + "/t", openidAt + "/t", "/t" + openidAt}, "/t" + openidAt, ""},
		{"a website at the first place", map[string]string{oauthAt: "<html>", openidAt: good}, "", discover.Finder{}, nil, openidAt, ""},
		{"a forged one at the first place", map[string]string{oauthAt: tenant, openidAt: good}, "", discover.Finder{}, nil, openidAt, ""},
		{"a fault at the first place", map[string]string{oauthAt: "500", openidAt: good}, "", discover.Finder{}, nil, openidAt, ""},

		{"nowhere", nil, "/t", discover.Finder{}, []string{oauthAt + "/t", openidAt + "/t", "/t" + openidAt}, "", "no authorization metadata found"},
		{"a fault", map[string]string{oauthAt: "502"}, "", discover.Finder{}, nil, "", "status 502"},
		{"an array", map[string]string{oauthAt: "[" + good + "]"}, "", discover.Finder{}, nil, "", "not a JSON object"},
		{"doubles", map[string]string{oauthAt: `{"issuer":"https://evil.example","issuer":"ORIGIN","token_endpoint":"ORIGIN/t"}`}, "", discover.Finder{}, nil, "", "duplicate"},
		{"another issuer", map[string]string{oauthAt: tenant}, "", discover.Finder{}, []string{oauthAt, openidAt}, "", "is of the issuer"},
		{"no issuer", map[string]string{oauthAt: `{"token_endpoint":"ORIGIN/token"}`}, "", discover.Finder{}, nil, "", "is of the issuer"},
		{"a slash less", map[string]string{oauthAt: good}, "/", discover.Finder{}, nil, "", "is of the issuer"},
		{"a slash more", map[string]string{oauthAt + "/t": strings.Replace(tenant, `ORIGIN/t"`, `ORIGIN/t/"`, 1)}, "/t", discover.Finder{}, nil, "", "is of the issuer"},
		{"a slash less, conceded", map[string]string{oauthAt: good}, "/", discover.Finder{SlashConcession: true}, nil, oauthAt, ""},
		{"a slash with a path is not conceded", map[string]string{oauthAt + "/t": tenant}, "/t/", discover.Finder{SlashConcession: true}, nil, "", "is of the issuer"},
		{"two slashes are not conceded", map[string]string{oauthAt: good}, "//", discover.Finder{SlashConcession: true}, nil, "", "is of the issuer"},
		{"no token endpoint", map[string]string{oauthAt: `{"issuer":"ORIGIN"}`}, "", discover.Finder{}, nil, "", "it has no token_endpoint"},
		{"a wrong type", map[string]string{oauthAt: `{"issuer":"ORIGIN","token_endpoint":"ORIGIN/t","scopes_supported":"a b"}`}, "", discover.Finder{}, nil, "", "scopes_supported is not a list"},
		{"an http endpoint", map[string]string{oauthAt: `{"issuer":"ORIGIN","token_endpoint":"http://as.example/t?k=secret"}`}, "", discover.Finder{}, nil, "", `"http://as.example/t" is refused`},
		{"a private endpoint", map[string]string{oauthAt: `{"issuer":"ORIGIN","token_endpoint":"ORIGIN/t","registration_endpoint":"https://[::ffff:10.0.0.1]/?k=secret"}`}, "", discover.Finder{}, nil, "", "private"},
		{"pushed requests at a metadata service", map[string]string{oauthAt: `{"issuer":"ORIGIN","token_endpoint":"ORIGIN/t","pushed_authorization_request_endpoint":"https://169.254.169.254/"}`}, "", discover.Finder{}, nil, "", "metadata service"},
		{"device logins without TLS", map[string]string{oauthAt: `{"issuer":"ORIGIN","token_endpoint":"ORIGIN/t","device_authorization_endpoint":"http://as.example/device"}`}, "", discover.Finder{}, nil, "", "scheme"},
		{"a revocation at a metadata service", map[string]string{oauthAt: `{"issuer":"ORIGIN","token_endpoint":"ORIGIN/t","revocation_endpoint":"https://169.254.169.254/"}`}, "", discover.Finder{}, nil, "", "metadata service"},
		{"a script to authorize", map[string]string{oauthAt: `{"issuer":"ORIGIN","token_endpoint":"ORIGIN/t","authorization_endpoint":"javascript:alert('secret')"}`}, "", discover.Finder{}, nil, "", "scheme"},
		{"an issuer with a query", map[string]string{oauthAt: good}, "?k=secret", discover.Finder{}, []string{}, "", "no query"},
		{"an issuer with a fragment", map[string]string{oauthAt: good}, "#secret", discover.Finder{}, []string{}, "", "no fragment"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.documents)
			f, steps := s.finder(t)
			f.SlashConcession = tt.finder.SlashConcession
			m, err := f.Server(t.Context(), s.URL+tt.issuer)
			if tt.asked != nil {
				require.Equal(t, tt.asked, append([]string{}, s.asked...))
			}
			require.NotEmpty(t, *steps)
			if tt.err != "" {
				require.Nil(t, m)
				require.ErrorContains(t, err, tt.err)
				require.Equal(t, strings.HasPrefix(tt.err, "no authorization metadata"), errors.Is(err, discover.ErrNoMetadata))
				require.NotContains(t, err.Error(), "secret")
				return
			}
			require.NoError(t, err)
			require.Equal(t, s.URL+tt.url, m.URL)
			require.False(t, m.Assumed)
			require.False(t, m.CodeChallengeKnown)
		})
	}
}

func TestServersThatMayNotBeAsked(t *testing.T) {
	f := discover.Finder{HTTP: fetch.New(fetch.Options{})}
	for issuer, reason := range map[string]string{
		"http://as.example":             "scheme",
		"https://127.0.0.1":             "loopback",
		"https://localhost:3000":        "loopback",
		"https://169.254.169.254":       "metadata service",
		"https://[::ffff:10.0.0.1]/t":   "private",
		"https://u:secret@as.example":   "user name",
		"file:///etc/passwd":            "host",
		"javascript:secret":             "host",
		"":                              "host",
		"https://as.example:99999/path": "port",
	} {
		t.Run(issuer, func(t *testing.T) {
			_, err := f.Server(t.Context(), issuer)
			require.ErrorContains(t, err, reason)
			require.NotContains(t, err.Error(), "secret")
		})
	}
	_, err := f.Fallback(t.Context(), parse(t, "http://h.example/mcp"))
	require.ErrorContains(t, err, "scheme")
}

func TestServerMembers(t *testing.T) {
	s := newSite(t, map[string]string{openidAt: `{
		"issuer": "ORIGIN", "authorization_endpoint": "ORIGIN/authorize?a=b", "token_endpoint": "ORIGIN/token", "registration_endpoint": "ORIGIN/register",
		"revocation_endpoint": "ORIGIN/revoke", "jwks_uri": "ORIGIN/jwks", "scopes_supported": ["openid", "offline_access"],
		"grant_types_supported": ["authorization_code"], "token_endpoint_auth_methods_supported": ["none"],
		"token_endpoint_auth_signing_alg_values_supported": ["ES256"], "code_challenge_methods_supported": ["S256"],
		"dpop_signing_alg_values_supported": ["EdDSA"], "authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported": true, "require_pushed_authorization_requests": true,
		"pushed_authorization_request_endpoint": "ORIGIN/par", "device_authorization_endpoint": "ORIGIN/device"
	}`})
	f, steps := s.finder(t)
	m, err := f.Server(t.Context(), s.URL)
	require.NoError(t, err)
	require.Equal(t, &discover.Server{
		URL: s.URL + openidAt, Issuer: s.URL, AuthorizationEndpoint: s.URL + "/authorize?a=b", TokenEndpoint: s.URL + "/token",
		RegistrationEndpoint: s.URL + "/register", RevocationEndpoint: s.URL + "/revoke", JWKSURI: s.URL + "/jwks",
		PushEndpoint: s.URL + "/par", DeviceEndpoint: s.URL + "/device", PushRequired: true,
		ScopesSupported: []string{"openid", "offline_access"}, GrantTypesSupported: []string{"authorization_code"},
		TokenEndpointAuthMethods: []string{"none"}, TokenEndpointAuthAlgs: []string{"ES256"}, CodeChallengeMethods: []string{"S256"},
		DPoPAlgs: []string{"EdDSA"}, CodeChallengeKnown: true, IssParameter: true, ClientIDMetadata: true,
	}, m)
	require.Equal(t, []string{
		"the issuer may be asked: https, and no private address (RFC 8414 §2, RFC 9728 §7.7)",
		"✗ GET ORIGIN/.well-known/oauth-authorization-server 404",
		"GET ORIGIN/.well-known/openid-configuration 200",
		"its members have the right types (RFC 8414 §2)",
		"its issuer is the expected one (RFC 8414 §3.3)",
		"it has a token endpoint (RFC 8414 §2)",
		"its endpoints may be used: https, and no private address (RFC 6749 §3.1, §3.2)",
	}, *steps)
}

func TestIssuerErrorsShowBothIssuers(t *testing.T) {
	s := newSite(t, map[string]string{oauthAt: `{"issuer":"https://evil.example/\u001b[2J","token_endpoint":"ORIGIN/t"}`})
	f, _ := s.finder(t)
	_, err := f.Server(t.Context(), s.URL)
	var wrong *discover.IssuerError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, &discover.IssuerError{URL: s.URL + oauthAt, Want: s.URL, Got: "https://evil.example/\ufffd[2J"}, wrong)
}

func TestLegacy(t *testing.T) {
	const good = `{"issuer":"ORIGIN","authorization_endpoint":"ORIGIN/a","token_endpoint":"ORIGIN/t"}`
	for _, tt := range []struct {
		name, document string
		assumed        bool
		err            string
	}{
		{"metadata", good, false, ""},
		{"metadata whose issuer has a slash", strings.Replace(good, `ORIGIN"`, `ORIGIN/"`, 1), false, ""},
		{"none", "404", true, ""},
		{"a website", "<html>", true, ""},
		{"a fault", "503", false, "status 503"},
		{"a broken one", `{"issuer":1}`, false, "not a string"},
		{"another issuer", strings.Replace(good, "ORIGIN", "https://evil.example", 1), false, "is of the issuer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, map[string]string{oauthAt: tt.document})
			f, _ := s.finder(t)
			m, err := f.Fallback(t.Context(), parse(t, s.URL+"/a/mcp?key=secret"))
			require.Equal(t, []string{oauthAt}, s.asked)
			require.Equal(t, string(mcp.Latest), s.headers[0].Get("Mcp-Protocol-Version"))
			if tt.err != "" {
				require.Nil(t, m)
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.assumed, m.Assumed)
			if tt.assumed {
				require.Equal(t, &discover.Server{
					Issuer: s.URL, AuthorizationEndpoint: s.URL + "/authorize", TokenEndpoint: s.URL + "/token", RegistrationEndpoint: s.URL + "/register",
					CodeChallengeMethods: []string{"S256"}, CodeChallengeKnown: true, Assumed: true,
				}, m)
			}
		})
	}
	t.Run("off", func(t *testing.T) {
		s := newSite(t, map[string]string{oauthAt: good})
		f, _ := s.finder(t)
		f.NoFallback = true
		_, err := f.Fallback(t.Context(), parse(t, s.URL))
		require.ErrorIs(t, err, discover.ErrNoMetadata)
		require.Empty(t, s.asked)
	})
}

func TestAServerThatIsDownIsAskedOnce(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	origin := "http://" + l.Addr().String()
	require.NoError(t, l.Close())
	var steps []discover.Step
	f := discover.Finder{HTTP: fetch.New(fetch.Options{AllowLoopback: true}), OnStep: func(s discover.Step) { steps = append(steps, s) }}

	_, err = f.Server(t.Context(), origin+"/t")
	var operation *net.OpError
	require.ErrorAs(t, err, &operation)
	require.Len(t, steps, 2) // the issuer's rule and one request

	steps = nil
	_, err = f.Resource(t.Context(), parse(t, origin+"/mcp"), "")
	require.ErrorAs(t, err, &operation)
	require.Len(t, steps, 1)

	_, err = f.Fallback(t.Context(), parse(t, origin+"/mcp"))
	require.ErrorAs(t, err, &operation)
	require.NotErrorIs(t, err, discover.ErrNoMetadata)
}

func TestAServerThatHangsIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := memhttp.New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		defer srv.Close()
		c := fetch.New(fetch.Options{Transport: srv.Transport(), AllowLoopback: true})
		defer c.CloseIdle()
		f := discover.Finder{HTTP: c}

		began := time.Now()
		_, err := f.Server(t.Context(), "http://localhost/t")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 15*time.Second, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		_, err = f.Resource(ctx, parse(t, "http://localhost/mcp"), "http://localhost/named")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
	})
}
