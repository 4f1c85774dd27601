package families

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server"

	"github.com/mainstay-mcp/mainstay/conformance/server/issuer"
)

// Over the whole server: who may come in, whose a session is, and what a tool needs.
func TestOAuth(t *testing.T) {
	t.Parallel()
	as := issuer.New(t)
	s := serve(t, func(o *Options) {
		o.OAuth = server.OAuthOptions{Issuer: as.URL, Scopes: []string{"mcp"}, ToolScopes: map[string][]string{"validate_artifact": {"artifacts"}}}
	})
	ada := "Bearer " + as.Token(t, "ada", s.url, "mcp")
	bob := "Bearer " + as.Token(t, "bob", s.url, "mcp artifacts")
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

	refused := s.do(http.MethodPost, initialize)
	require.Equal(t, http.StatusUnauthorized, refused.StatusCode)
	challenge := refused.Header.Get("WWW-Authenticate")
	place := strings.TrimSuffix(s.url, server.Path) + "/.well-known/oauth-protected-resource" + server.Path
	require.Equal(t, `Bearer resource_metadata="`+place+`", scope="mcp"`, challenge)
	for _, at := range []string{place, strings.TrimSuffix(place, server.Path)} {
		url := s.url
		s.url = at
		var document struct {
			Resource string   `json:"resource"`
			Servers  []string `json:"authorization_servers"`
		}
		require.NoError(t, json.NewDecoder(s.do(http.MethodGet, "").Body).Decode(&document), at)
		s.url = url
		require.Equal(t, s.url, document.Resource)
		require.Equal(t, []string{as.URL}, document.Servers)
	}
	elsewhere := "Bearer " + as.Token(t, "ada", "http://other.example/mcp", "mcp")
	require.Equal(t, http.StatusUnauthorized, s.do(http.MethodPost, initialize, "Authorization", elsewhere).StatusCode)
	require.Equal(t, http.StatusForbidden, s.do(http.MethodPost, initialize, "Authorization", "Bearer "+as.Token(t, "ada", s.url, "")).StatusCode)
	require.Equal(t, http.StatusForbidden, s.do(http.MethodPost, initialize, "Authorization", ada, "Origin", "https://evil.example").StatusCode)

	status, a := s.post(initialize, "Authorization", ada)
	require.Equal(t, http.StatusOK, status)
	require.Nil(t, a.Error)
	require.NotEmpty(t, s.session)
	status, _ = s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Authorization", ada)
	require.Equal(t, http.StatusAccepted, status)
	status, _ = s.post(ping, "Authorization", ada)
	require.Equal(t, http.StatusOK, status)
	status, _ = s.post(ping, "Authorization", bob)
	require.Equal(t, http.StatusForbidden, status, "the session of another user")
	require.Equal(t, http.StatusForbidden, s.do(http.MethodDelete, "", "Authorization", bob).StatusCode)
	require.Equal(t, http.StatusUnauthorized, s.do(http.MethodGet, "").StatusCode)

	call := callLine(t, "validate_artifact", map[string]any{})
	require.Contains(t, s.do(http.MethodPost, call, "Authorization", ada).Header.Get("WWW-Authenticate"), `error="insufficient_scope"`)
	status, a = s.post(call, "Authorization", "Bearer "+as.Token(t, "ada", s.url, "mcp artifacts"))
	require.Equal(t, http.StatusOK, status, "the same session, with another token of the user")
	require.NotNil(t, a)

	// What the guard reads as the name of a tool is what is called.
	for _, params := range []string{
		`{"name":"validate_artifact","name":"echo","arguments":{}}`, `{"Name":"validate_artifact","name":"echo"}`,
		`{"name":"echo","NAME":"validate_artifact"}`, `{"Name":"validate_artifact"}`,
	} {
		_, a = s.post(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":`+params+`}`, "Authorization", ada)
		require.NotContains(t, string(a.Result), "artifact", params)
	}
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":5,"Method":"tools/call","params":{"name":"validate_artifact"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"ping","METHOD":"tools/call","params":{"name":"validate_artifact"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","PARAMS":{"name":"validate_artifact"}}`,
	} {
		_, a = s.post(message, "Authorization", ada)
		require.NotContains(t, string(a.Result), "artifact", message)
	}
	require.Equal(t, http.StatusUnauthorized, s.do(http.MethodPost, ping).StatusCode)
}

// A stream of HTTP+SSE belongs to the user that opened it, too.
func TestOAuthSSE(t *testing.T) {
	t.Parallel()
	as := issuer.New(t)
	var resource string
	s := serve(t, func(o *Options) {
		o.SSE, o.OAuth = true, server.OAuthOptions{Issuer: as.URL, Resource: "http://mcp.example"}
		resource = o.OAuth.Resource
	})
	root := strings.TrimSuffix(s.url, server.Path)
	ada, bob := "Bearer "+as.Token(t, "ada", resource, ""), "Bearer "+as.Token(t, "bob", resource, "")
	s.url = root + server.SSEPath
	require.Equal(t, http.StatusUnauthorized, s.do(http.MethodGet, "").StatusCode)
	stream := bufio.NewScanner(s.do(http.MethodGet, "", "Authorization", ada).Body)
	require.True(t, stream.Scan())
	require.True(t, stream.Scan())
	place, ok := strings.CutPrefix(stream.Text(), "data: ")
	require.True(t, ok)
	s.url = root + place
	require.Equal(t, http.StatusUnauthorized, s.do(http.MethodPost, ping).StatusCode)
	require.Equal(t, http.StatusNotFound, s.do(http.MethodPost, ping, "Authorization", bob).StatusCode)
	require.Equal(t, http.StatusAccepted, s.do(http.MethodPost, ping, "Authorization", ada).StatusCode)
}

// An issuer that does not answer keeps nobody waiting for longer than a few seconds.
func TestOAuthIssuerIsDown(t *testing.T) {
	t.Parallel()
	as := issuer.New(t)
	s := serve(t, func(o *Options) { o.OAuth = server.OAuthOptions{Issuer: as.URL} })
	as.Close()
	res := s.do(http.MethodPost, ping, "Authorization", "Bearer "+as.Token(t, "ada", s.url, ""))
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	require.NotEmpty(t, res.Header.Get("Retry-After"))
}

// The agent of a chat is a program of the server and comes in, with the chat of a
// user who may.
func TestOAuthChat(t *testing.T) {
	t.Parallel()
	as := issuer.New(t)
	s := serve(t, func(o *Options) {
		o.Families, o.OAuth = []string{"assistant"}, server.OAuthOptions{Issuer: as.URL, ToolScopes: map[string][]string{"save_artifact": {"artifacts"}}}
	})
	resource := s.url
	s.url = strings.TrimSuffix(s.url, server.Path) + "/api/threads/t/chat"
	chat := `{"content":"A plan","artifact_generation":true}`
	require.Equal(t, http.StatusUnauthorized, s.do(http.MethodPost, chat).StatusCode)
	events, err := io.ReadAll(s.do(http.MethodPost, chat, "Authorization", "Bearer "+as.Token(t, "ada", resource, "")).Body)
	require.NoError(t, err)
	require.Contains(t, string(events), "artifact_created")
}

func TestOAuthOptions(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Options: server.Options{Token: "x", OAuth: server.OAuthOptions{Issuer: "https://issuer.example"}}})
	require.ErrorContains(t, err, "either")
	_, err = New(Options{Options: server.Options{OAuth: server.OAuthOptions{Issuer: "http://issuer.example"}}})
	require.ErrorContains(t, err, "https")
}

// What is public needs no token. It is behind the check of names, as all the rest is, and
// opens nothing else.
func TestPublicHandlers(t *testing.T) {
	t.Parallel()
	as := issuer.New(t)
	s := serve(t, func(o *Options) {
		o.OAuth = server.OAuthOptions{Issuer: as.URL}
		o.Public = map[string]http.Handler{"GET /login/": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })}
	})
	mcp, root := s.url, strings.TrimSuffix(s.url, server.Path)
	for _, tt := range []struct {
		at, method string
		header     []string
		status     int
	}{
		{root + "/login/page", http.MethodGet, nil, http.StatusTeapot},
		{root + "/login/page", http.MethodGet, []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		{root + "/login/page", http.MethodPost, nil, http.StatusUnauthorized},
		{mcp, http.MethodPost, nil, http.StatusUnauthorized},
		{root + "/login/../mcp", http.MethodPost, nil, http.StatusTemporaryRedirect},
		{root + "/.well-known/oauth-protected-resource" + server.Path, http.MethodGet, nil, http.StatusOK},
	} {
		s.url, s.client.CheckRedirect = tt.at, func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		require.Equal(t, tt.status, s.do(tt.method, ping, tt.header...).StatusCode, tt.method+" "+tt.at)
	}
}
