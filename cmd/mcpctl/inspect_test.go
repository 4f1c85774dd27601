package main

import (
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

var update = flag.Bool("update", false, "write the golden files of auth inspect")

// page is what a test serves in place of a path of the MCP server.
type page struct {
	status int
	body   string
	header map[string]string
}

// instead serves pages in place of paths, "GET /x" or "/x".
func instead(w *authtest.World, pages map[string]page) {
	next := w.MCP.Config.Handler
	w.MCP.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		p, ok := pages[r.URL.Path]
		if !ok {
			next.ServeHTTP(rw, r)
			return
		}
		for name, value := range p.header {
			rw.Header().Set(name, value)
		}
		rw.WriteHeader(p.status)
		_, _ = io.WriteString(rw, p.body)
	})
}

// ownDocument has the MCP server name a document that is at no well-known place.
func ownDocument(w *authtest.World, resource string) {
	instead(w, map[string]page{
		"/mcp":    {status: 401, header: map[string]string{"WWW-Authenticate": `Bearer resource_metadata="/custom"`}},
		"/custom": {status: 200, body: `{"resource": "` + w.MCP.URL + resource + `", "authorization_servers": ["` + w.AS.URL + `"]}`},
	})
}

// What a person sees whose login fails: each document, each rule, and what to do.
func TestAuthInspect(t *testing.T) {
	t.Parallel()
	const (
		resource = "/.well-known/oauth-protected-resource"
		root     = "/.well-known/oauth-authorization-server"
	)
	gone := page{status: http.StatusNotFound}
	for name, tt := range map[string]struct {
		server func(w *authtest.World)
		flags  []string
		exit   int
	}{
		"good":                 {},
		"no-challenge":         {server: func(w *authtest.World) { instead(w, map[string]page{"/mcp": {status: 401}}) }},
		"forbidden":            {exit: 4, server: func(w *authtest.World) { instead(w, map[string]page{"/mcp": {status: 403}}) }},
		"no-resource-metadata": {exit: 10, server: func(w *authtest.World) { instead(w, map[string]page{resource + "/mcp": gone}) }},
		"older": {server: func(w *authtest.World) {
			instead(w, map[string]page{resource + "/mcp": gone, root: {status: 200, body: `{"issuer": "` + w.MCP.URL + `", "authorization_endpoint": "` + w.MCP.URL + `/a",
				"token_endpoint": "` + w.MCP.URL + `/t", "registration_endpoint": "` + w.MCP.URL + `/r", "code_challenge_methods_supported": ["S256"]}`}})
		}},
		"resource-metadata-is-a-page": {exit: 10, server: func(w *authtest.World) {
			instead(w, map[string]page{resource + "/mcp": {status: 200, body: "<!doctype html><title>Welcome</title>"}})
		}},
		"resource-metadata-is-broken": {exit: 1, server: func(w *authtest.World) {
			instead(w, map[string]page{resource + "/mcp": {status: 200, body: `{"resource": 1}`}})
		}},
		"wrong-resource":           {exit: 1, server: func(w *authtest.World) { w.Resource["resource"] = w.MCP.URL + "/other" }},
		"document-of-its-own":      {server: func(w *authtest.World) { ownDocument(w, "/mcp") }},
		"document-for-the-host":    {exit: 1, server: func(w *authtest.World) { ownDocument(w, "/") }},
		"no-authorization-server":  {exit: 1, server: func(w *authtest.World) { delete(w.Resource, "authorization_servers") }},
		"issuer-without-tls":       {exit: 1, server: func(w *authtest.World) { w.Resource["authorization_servers"] = []string{"http://login.example"} }},
		"issuer-on-private-host":   {exit: 1, server: func(w *authtest.World) { w.Resource["authorization_servers"] = []string{"https://10.1.2.3"} }},
		"issuer-is-cloud-metadata": {exit: 1, server: func(w *authtest.World) { w.Resource["authorization_servers"] = []string{"https://169.254.169.254"} }},
		"issuer-mismatch":          {exit: 1, server: func(w *authtest.World) { w.Metadata["issuer"] = "https://login.example" }},
		"issuer-with-slash":        {exit: 1, server: func(w *authtest.World) { w.Metadata["issuer"] = w.AS.URL + "/" }},
		"issuer-with-slash-allowed": {flags: []string{"--issuer-slash"}, server: func(w *authtest.World) {
			w.Metadata["issuer"] = w.AS.URL + "/"
		}},
		"another-issuer":     {exit: 1, flags: []string{"--issuer", "https://login.example"}},
		"no-server-metadata": {exit: 1, server: func(w *authtest.World) { w.Resource["authorization_servers"] = []string{w.AS.URL + "/tenant"} }},
		"server-down":        {exit: 3, server: func(w *authtest.World) { w.AS.Close() }},
		"server-broken": {exit: 1, server: func(w *authtest.World) {
			w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) })
		}},
		"untrusted-certificate": {exit: 1, server: func(w *authtest.World) {
			w.AS.Close()
			w.AS = httptest.NewUnstartedServer(w.AS.Config.Handler)
			w.AS.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			w.AS.StartTLS()
			w.Resource["authorization_servers"] = []string{w.AS.URL}
		}},
		"no-token-endpoint": {exit: 1, server: func(w *authtest.World) { delete(w.Metadata, "token_endpoint") }},
		"endpoint-without-tls": {exit: 1, server: func(w *authtest.World) {
			w.Metadata["token_endpoint"] = "http://login.example/token"
		}},
		"no-login-page":         {exit: 1, server: func(w *authtest.World) { delete(w.Metadata, "authorization_endpoint") }},
		"no-pkce":               {exit: 1, server: func(w *authtest.World) { delete(w.Metadata, "code_challenge_methods_supported") }},
		"plain-pkce":            {exit: 1, server: func(w *authtest.World) { w.Metadata["code_challenge_methods_supported"] = []string{"plain"} }},
		"no-registration":       {exit: 1, server: func(w *authtest.World) { delete(w.Metadata, "registration_endpoint") }},
		"no-registration-known": {flags: []string{"--client-id", "me"}, server: func(w *authtest.World) { delete(w.Metadata, "registration_endpoint") }},
		"only-documents": {exit: 1, server: func(w *authtest.World) {
			delete(w.Metadata, "registration_endpoint")
			w.Metadata["client_id_metadata_document_supported"] = true
		}},
		"unknown-scopes": {server: func(w *authtest.World) {
			w.Metadata["scopes_supported"] = []string{"openid"}
			w.Metadata["grant_types_supported"] = []string{"authorization_code"}
			delete(w.Metadata, "authorization_response_iss_parameter_supported")
		}},
		"pushed-requests": {server: func(w *authtest.World) { w.Announce("pushed_authorization_request_endpoint") }},
		"pushed-requests-demanded": {server: func(w *authtest.World) {
			w.Announce("pushed_authorization_request_endpoint")
			w.Metadata["require_pushed_authorization_requests"] = true
		}},
		"pushed-requests-impossible": {exit: 1, server: func(w *authtest.World) { w.Metadata["require_pushed_authorization_requests"] = true }},
		"another-device":             {server: func(w *authtest.World) { w.Announce("device_authorization_endpoint") }},
		"only-another-device": {exit: 1, server: func(w *authtest.World) {
			w.Announce("device_authorization_endpoint")
			delete(w.Metadata, "authorization_endpoint")
			w.Metadata["grant_types_supported"] = []string{"urn:ietf:params:oauth:grant-type:device_code", "refresh_token"}
		}},
		"no-code":       {exit: 1, server: func(w *authtest.World) { w.Metadata["response_types_supported"] = []string{"token", "code id_token"} }},
		"only-programs": {exit: 1, server: func(w *authtest.World) { w.Metadata["grant_types_supported"] = []string{"client_credentials"} }},
		"certificates-only": {exit: 1, server: func(w *authtest.World) {
			w.Metadata["token_endpoint_auth_methods_supported"] = []string{"tls_client_auth"}
		}},
		"keys-only": {exit: 1, flags: []string{"--client-id", "me"}, server: func(w *authtest.World) {
			w.Metadata["token_endpoint_auth_methods_supported"] = []string{"private_key_jwt"}
		}},
		"tokens-in-the-body": {exit: 1, server: func(w *authtest.World) { w.Resource["bearer_methods_supported"] = []string{"body"} }},
		"no-bearer-tokens":   {exit: 1, server: func(w *authtest.World) { w.Resource["bearer_methods_supported"] = []string{} }},
		"dpop": {flags: []string{"--dpop"}, server: func(w *authtest.World) {
			w.Resource["bearer_methods_supported"] = []string{}
			w.Resource["dpop_signing_alg_values_supported"] = []string{"ES256"}
			w.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
		}},
		"dpop-with-other-keys": {exit: 1, flags: []string{"--dpop"}, server: func(w *authtest.World) {
			w.Resource["dpop_signing_alg_values_supported"] = []string{"EdDSA"}
			w.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
		}},
		"dpop-nobody-speaks-of": {flags: []string{"--dpop"}, server: func(w *authtest.World) {
			w.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
		}},
		"dpop-demanded-without-support": {exit: 1, flags: []string{"--dpop"}, server: func(w *authtest.World) {
			w.Resource["dpop_bound_access_tokens_required"] = true
		}},
		"dpop-demanded": {exit: 1, server: func(w *authtest.World) {
			w.Resource["dpop_bound_access_tokens_required"] = true
			w.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
		}},
		"dpop-not-supported": {exit: 1, flags: []string{"--dpop"}},
		"not-demanded": {server: func(w *authtest.World) {
			w.Access[""] = ""
			open := w.MCP.Config.Handler
			w.MCP.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, resource) {
					http.NotFound(rw, r)
					return
				}
				r.Header.Set("Authorization", "Bearer ")
				open.ServeHTTP(rw, r)
			})
		}},
		"optional": {server: func(w *authtest.World) {
			w.Access[""] = ""
			open := w.MCP.Config.Handler
			w.MCP.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				r.Header.Set("Authorization", "Bearer ")
				open.ServeHTTP(rw, r)
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			if tt.server != nil {
				tt.server(w)
			}
			t.Cleanup(w.AS.Close)
			same := strings.NewReplacer(w.MCP.URL, "http://MCP", w.AS.URL, "http://AS", w.MCP.Listener.Addr().String(), "MCP", w.AS.Listener.Addr().String(), "AS").Replace
			folder := t.TempDir() + "/tokens"
			args := append([]string{"auth", "inspect", w.MCP.URL + "/mcp"}, tt.flags...)
			code, stdout, stderr := script(t, folder, "", args...)
			require.Equal(t, tt.exit, code, stdout+stderr)
			got := same(stdout + stderr)
			golden := filepath.Join("testdata", "inspect", name+".txt")
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
			require.Zero(t, w.Asked("authorize")+w.Asked("register"), "it logs nobody in")
			require.NoDirExists(t, folder)

			code, stdout, stderr = script(t, folder, "", append(args, "-o", "json")...)
			require.Equal(t, tt.exit, code, stdout+stderr)
			if name == "forbidden" {
				return
			}
			var doc inspection
			require.NoError(t, json.Unmarshal([]byte(stdout), &doc), stdout)
			require.Equal(t, tt.exit == 1, doc.Verdict == wouldFail)
			failed := 0
			for _, s := range doc.Steps {
				if s.Outcome == "fail" {
					failed++
					require.NotEmpty(t, s.Help, s.Rule)
					require.NotEmpty(t, s.Found, s.Rule)
				}
			}
			require.Equal(t, tt.exit == 1 || tt.exit == 3, failed > 0, "a failure names its rule")
		})
	}
}
