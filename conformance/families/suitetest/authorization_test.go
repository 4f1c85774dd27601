package suitetest

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
	"github.com/mainstay-mcp/mainstay/conformance/families"
	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/conformance/server/issuer"
)

// authorization runs what the suite has about tokens.
func authorization(t *testing.T, url, token string, opts conformance.Options) *conformance.Report {
	t.Helper()
	opts.Only = append(opts.Only, "AUTH-*")
	report, err := checks.Run(t.Context(), conformance.URL(url, http.Header{"Authorization": {"Bearer " + token}}), opts)
	require.NoError(t, err)
	return report
}

// broken returns what does not hold, and how.
func broken(report *conformance.Report) map[string]conformance.Status {
	found := map[string]conformance.Status{}
	for _, r := range report.Results {
		if r.Status != conformance.Pass && r.Status != conformance.Skip {
			found[r.ID] = r.Status
		}
	}
	return found
}

// The reference server behind its guard keeps all rules of a resource server, and those
// of the transport besides.
func TestReferenceServer_Guarded(t *testing.T) {
	t.Parallel()
	as := issuer.New(t)
	srv, err := families.New(families.Options{Options: server.Options{
		Families: []string{"fixtures"},
		OAuth:    server.OAuthOptions{Issuer: as.URL, Scopes: []string{"mcp"}, ToolScopes: map[string][]string{"test_simple_text": {"text"}}},
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(web.Close)
	url := web.URL + server.Path

	var opts conformance.Options
	opts.Only = []string{"http"}
	opts.Fixtures = map[string]any{
		conformance.WrongAudienceToken: as.Token(t, "ada", "https://other.example/mcp", "mcp text"),
		conformance.WeakToken:          as.Token(t, "ada", url, "mcp"),
	}
	report := authorization(t, url, as.Token(t, "ada", url, "mcp text"), opts)
	requirePassed(t, report, 60, conformance.SkipExcluded, conformance.SkipNotDeclared, conformance.SkipNotInRevision)
	for _, r := range report.Results {
		if strings.HasPrefix(r.ID, "AUTH-") && r.Reason == conformance.SkipNotDeclared {
			require.Failf(t, "not looked at", "%s: %s", r.ID, r.Detail)
		}
	}
}

// sdkServer is a server of the official SDK behind its own middleware, as its example
// puts them together. Tokens are looked up, as if the authorization server were asked.
func sdkServer(t *testing.T, known map[string]*auth.TokenInfo) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	base := "http://" + l.Addr().String()
	const place = "/.well-known/oauth-protected-resource"

	server := sdk.NewServer(&sdk.Implementation{Name: "guarded", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "echo"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{}, nil, nil
	})
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		if info, ok := known[token]; ok {
			return info, nil
		}
		return nil, auth.ErrInvalidToken
	}
	guard := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{Scopes: []string{"read"}, ResourceMetadataURL: base + place})
	mux := http.NewServeMux()
	mux.Handle(place, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: base + "/mcp", AuthorizationServers: []string{"https://login.example"}, ScopesSupported: []string{"read"},
	}))
	mux.Handle("/mcp", guard(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)))
	web := &httptest.Server{Listener: l, Config: &http.Server{Handler: mux}} //nolint:gosec // its only client is the suite
	web.Start()
	t.Cleanup(web.Close)
	return base + "/mcp"
}

// TestOfficialMiddleware: what a guard does that others wrote, and the suite does not
// hold more against it than is wrong. It names no error codes, which RFC 6750 recommends.
func TestOfficialMiddleware(t *testing.T) {
	t.Parallel()
	info := func(scopes ...string) *auth.TokenInfo {
		return &auth.TokenInfo{Scopes: scopes, Expiration: time.Now().Add(time.Hour), UserID: "ada"}
	}
	url := sdkServer(t, map[string]*auth.TokenInfo{"good": info("read"), "weak": info("write")})
	var opts conformance.Options
	opts.Fixtures = map[string]any{conformance.WeakToken: "weak", conformance.WrongAudienceToken: "foreign"}
	report := authorization(t, url, "good", opts)
	require.Equal(t, map[string]conformance.Status{"AUTH-02/code": conformance.Warn, "AUTH-18/code": conformance.Warn}, broken(report))
	passed := map[string]bool{}
	for _, r := range report.Results {
		if r.Status == conformance.Pass {
			passed[r.ID] = true
		}
	}
	require.Subset(t, slices.Collect(maps.Keys(passed)), []string{
		"AUTH-02/none", "AUTH-02/invalid", "AUTH-02/unsigned", "AUTH-02/query", "AUTH-02/session", "AUTH-02/get", "AUTH-02/case",
		"AUTH-03/syntax", "AUTH-04/told", "AUTH-04/type", "AUTH-05/own", "AUTH-06/https", "AUTH-17/scope", "AUTH-18/refused", "AUTH-18/scope", "AUTH-21/status",
	})

	// A verifier that does not look whom a token is for: the middleware does not either.
	url = sdkServer(t, map[string]*auth.TokenInfo{"good": info("read"), "foreign": info("read")})
	require.Equal(t, conformance.Fail, broken(authorization(t, url, "good", opts))["AUTH-21/audience"])
}
