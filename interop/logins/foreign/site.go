package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"slices"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// site is the provider at its issuer, with the MCP server at /mcp beside it.
func site(issuer string, p *serial) http.Handler {
	const about = "/.well-known/oauth-protected-resource/mcp"
	mux := http.NewServeMux()
	mux.HandleFunc("POST /control/", p.control)
	mux.Handle("GET "+about, sdkauth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: issuer + "/mcp", AuthorizationServers: []string{issuer}, ScopesSupported: []string{scopeRead},
	}))
	server := newServer()
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	mux.Handle("/mcp", guard(p, issuer+about, tools))
	mux.Handle("/", p)
	return mux
}

// newServer has two tools. The second needs one more scope.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "foreign", Version: "1"}, nil)
	for _, name := range []string{"read", "write"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + " is done"}}}, nil
			})
	}
	return s
}

// guard lets requests through that have a token with the scopes that they need, by
// go-sdk's middleware. That refuses a scope that is missing without the error code by
// which clients know what is missing, so the second tool has a refusal of its own.
func guard(p *serial, about string, next http.Handler) http.Handler {
	verify := func(ctx context.Context, token string, _ *http.Request) (*sdkauth.TokenInfo, error) {
		info, err := p.verify(ctx, token)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", sdkauth.ErrInvalidToken, err)
		}
		return info, nil
	}
	bearer := sdkauth.RequireBearerToken(verify, &sdkauth.RequireBearerTokenOptions{ResourceMetadataURL: about, Scopes: []string{scopeRead}})
	return bearer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var call struct{ Params struct{ Name string } }
		_ = json.Unmarshal(body, &call) // what is no call is left to the server
		if call.Params.Name == "write" && !slices.Contains(sdkauth.TokenInfoFromContext(r.Context()).Scopes, scopeWrite) {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer error=%q, scope=%q, resource_metadata=%q",
				"insufficient_scope", scopeRead+" "+scopeWrite, about))
			http.Error(w, "one more scope is needed", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	}))
}

// describe serves the metadata of an authorization server (RFC 8414) whose library
// brings none.
func describe(issuer string, more map[string]any) http.HandlerFunc {
	about := map[string]any{
		"issuer": issuer, "authorization_endpoint": issuer + authorizePath, "token_endpoint": issuer + tokenPath,
		"response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code", "refresh_token"},
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
	}
	for name, value := range more {
		about[name] = value
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(about)
	}
}

// asked shows the page that asks the person, and reports whether the request is the
// person's answer to it.
func asked(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodPost {
		return r.FormValue("username") == userName && r.FormValue("password") == userPassword
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<form method="post" action="%s"><input name="username"><input name="password" type="password"><button>Allow</button></form>`,
		html.EscapeString(r.URL.RequestURI()))
	return false
}
