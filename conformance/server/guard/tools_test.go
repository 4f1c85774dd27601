package guard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestToolScopes(t *testing.T) {
	t.Parallel()
	s := newGuarded(t, func(o *Options) {
		o.Scopes = []string{"read"}
		o.ToolScopes = map[string][]string{"save": {"write"}, "drop": {"write", "admin"}}
		o.Own = "own-token-of-the-server"
	})
	reader, writer := s.as.token(map[string]any{"scope": "read"}), s.as.token(map[string]any{"scope": "write read"})
	for _, tt := range []struct {
		name, token, body, needs string
	}{
		{"free", reader, `{"method":"tools/call","params":{"name":"look"}}`, ""},
		{"other method", reader, `{"method":"tools/list","params":{"name":"save"}}`, ""},
		{"no message", reader, `{`, ""},
		{"no name", reader, `{"method":"tools/call","params":{}}`, ""},
		{"no params", reader, `{"method":"tools/call","params":[]}`, ""},
		{"bound", reader, `{"method":"tools/call","params":{"name":"save"}}`, "read write"},
		{"spelled differently", reader, `{"method":"tools\/call","params":{"n\u0061me":"s\u0061ve"}}`, "read write"},
		{"the last counts", reader, `{"method":"tools/call","params":{"name":"look","name":"save"}}`, "read write"},
		{"directly", reader, `{"method":"save"}`, "read write"},
		{"in a batch", reader, `[{"method":"ping"},{"method":"save"},{"method":"tools/call","params":{"name":"drop"}}]`, "read write admin"},
		{"with the scope", writer, `{"method":"tools/call","params":{"name":"save"}}`, ""},
		{"with one of two", writer, `{"method":"tools/call","params":{"name":"drop"}}`, "read write admin"},
		{"own", "own-token-of-the-server", `{"method":"tools/call","params":{"name":"drop"}}`, ""},
		{"refused for its length, by the next", reader, `{"method":"save","x":"` + strings.Repeat("x", 4<<10) + `"}`, ""},
	} {
		w := s.do(http.MethodPost, "/mcp", tt.body, bearer(tt.token))
		if tt.needs == "" {
			require.Equal(t, 200, w.Code, tt.name)
			require.Equal(t, tt.body, w.Body.String(), "the body is there for the next")
			continue
		}
		require.Equal(t, 403, w.Code, tt.name)
		about := w.Header().Get("WWW-Authenticate")
		require.Contains(t, about, `error="insufficient_scope"`, tt.name)
		require.Contains(t, about, `scope="`+tt.needs+`"`, tt.name)
		require.Contains(t, w.Body.String(), `"id":null`, "the call has no answer")
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	s := newGuarded(t, func(o *Options) {
		o.Scopes, o.ToolScopes = []string{"read"}, map[string][]string{"save": {"write"}}
	})
	for _, path := range []string{"", "/mcp", "/mcp/coe"} {
		w := s.do(http.MethodGet, wellKnown+path, "", nil)
		require.Equal(t, 200, w.Code, path)
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		require.JSONEq(t, `{"resource":"`+resourceURL+`","authorization_servers":["`+issuerURL+`"],"scopes_supported":["read"],
			"bearer_methods_supported":["header"],"resource_name":"Mainstay reference server",
			"dpop_signing_alg_values_supported":["ES256","ES384","ES512","EdDSA","RS256","RS384","RS512","PS256","PS384","PS512"]}`, w.Body.String())
	}
	for _, path := range []string{"/mcpx", "x", "/other", "/"} {
		require.Equal(t, 401, s.do(http.MethodGet, wellKnown+path, "", nil).Code, path)
	}
	require.Equal(t, 204, s.do(http.MethodOptions, wellKnown, "", nil).Code, "for pages of other origins")
	require.Equal(t, 405, s.do(http.MethodPost, wellKnown, "", nil).Code)

	whole := newGuarded(t, func(o *Options) { o.Resource = func() string { return "https://public.example/" } })
	require.Equal(t, 200, whole.do(http.MethodGet, wellKnown+"/sse", "", nil).Code)
	require.Contains(t, whole.do(http.MethodGet, "/sse", "", nil).Header().Get("WWW-Authenticate"), `="https://public.example/.well-known/oauth-protected-resource"`)

	lost := newGuarded(t, func(o *Options) { o.Resource = func() string { return "" } })
	require.Equal(t, 503, lost.do(http.MethodGet, "/mcp", "", nil).Code)
}
