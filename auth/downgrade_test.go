package auth_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// withDocuments answers for the well-known documents of the MCP server, by the part of
// the path after /.well-known/. Those that are not in the map are missing. It returns
// how often a login was begun there.
func withDocuments(w *authtest.World, documents map[string]http.HandlerFunc) (begun func() int) {
	inner := w.MCP.Config.Handler
	pages := 0
	w.MCP.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		name, known := strings.CutPrefix(r.URL.Path, "/.well-known/")
		answer, ok := documents[name]
		switch {
		case ok:
			answer(rw, r)
		case known:
			http.NotFound(rw, r)
		case r.URL.Path == "/authorize" || r.URL.Path == "/register":
			pages++
			http.NotFound(rw, r)
		default:
			inner.ServeHTTP(rw, r)
		}
	})
	return func() int { return pages }
}

// document serves a JSON document.
func document(v any) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(v)
	}
}

// A server without resource metadata may be of revision 2025-03-26. Where it has a
// document of its authorization server, that lists S256 as everywhere else.
func TestLegacyListsS256(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		listed any // code_challenge_methods_supported, nil for none
		option func(issuer string) auth.Option
		works  bool
	}{
		"S256":                         {listed: []string{"S256"}, works: true},
		"not listed":                   {},
		"only plain":                   {listed: []string{"plain"}},
		"not listed, assumed":          {option: auth.WithAssumedPKCE, works: true},
		"only plain, assumed":          {listed: []string{"plain"}, option: auth.WithAssumedPKCE},
		"an empty list, assumed":       {listed: []string{}, option: auth.WithAssumedPKCE},
		"not listed, assumed of other": {option: func(string) auth.Option { return auth.WithAssumedPKCE("https://other.example") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			w.AnyResource = true
			metadata := map[string]any{
				"issuer": w.MCP.URL, "authorization_endpoint": w.AS.URL + "/authorize", "token_endpoint": w.AS.URL + "/token",
				"registration_endpoint": w.AS.URL + "/register",
			}
			w.Callback = func(back url.Values) { delete(back, "iss") }
			if row.listed != nil {
				metadata["code_challenge_methods_supported"] = row.listed
			}
			withDocuments(w, map[string]http.HandlerFunc{"oauth-authorization-server": document(metadata)})
			opts := []auth.Option{browser(t)}
			if row.option != nil {
				opts = append(opts, row.option(w.MCP.URL))
			}
			_, err := dial(t, w, auth.Login(opts...))
			if row.works {
				require.NoError(t, err)
				require.Equal(t, 1, w.Asked("authorization_code"))
				return
			}
			var e *auth.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, auth.ReasonDiscovery, e.Reason, err)
			require.ErrorContains(t, err, "does not support PKCE with S256")
			require.Zero(t, w.Asked("register")+w.Asked("authorize"))
			require.Equal(t, row.listed == nil, strings.Contains(e.Help, `WithAssumedPKCE("`+w.MCP.URL+`")`), e.Help)
		})
	}
}

// A document that cannot be reached is not missing: no weaker rule applies.
func TestTroubleIsNoFallback(t *testing.T) {
	t.Parallel()
	status := func(code int) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(code) }
	}
	lost := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for name, trouble := range map[string]http.HandlerFunc{
		"500": status(500), "503": status(503), "429": status(429), "408": status(408), "a lost answer": lost,
	} {
		for _, of := range []string{"oauth-protected-resource/mcp", "oauth-protected-resource", "oauth-authorization-server"} {
			t.Run(name+" of "+of, func(t *testing.T) {
				t.Parallel()
				w := authtest.New(t)
				begun := withDocuments(w, map[string]http.HandlerFunc{of: trouble})
				_, err := dial(t, w, auth.Login(browser(t)))
				var e *auth.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, auth.ReasonDiscovery, e.Reason, err)
				require.Zero(t, begun())
			})
		}
	}
}
