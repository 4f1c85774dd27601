package refserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// issuer is an authorization server that has metadata and keys. What else one does
// the tests of package auth and scripts/auth.sh show.
type issuer struct {
	*httptest.Server
	t   *testing.T
	key *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	i := &issuer{t: t, key: key}
	mux := http.NewServeMux()
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	answer := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
	}
	mux.HandleFunc("/.well-known/oauth-authorization-server", answer(map[string]string{"issuer": i.URL, "jwks_uri": i.URL + "/keys"}))
	mux.HandleFunc("/keys", answer(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey}}}))
	return i
}

func (i *issuer) token(user, audience, scope string) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.key}, (&jose.SignerOptions{}).WithType("at+jwt"))
	require.NoError(i.t, err)
	payload, err := json.Marshal(map[string]any{
		"iss": i.URL, "aud": audience, "sub": user, "scope": scope, "exp": time.Now().Add(time.Hour).Unix(),
	})
	require.NoError(i.t, err)
	jws, err := signer.Sign(payload)
	require.NoError(i.t, err)
	token, err := jws.CompactSerialize()
	require.NoError(i.t, err)
	return token
}

// Over the whole server: who may come in, whose a session is, and what a tool needs.
func TestOAuth(t *testing.T) {
	t.Parallel()
	as := newIssuer(t)
	s := serve(t, func(o *Options) {
		o.OAuth = OAuthOptions{Issuer: as.URL, Scopes: []string{"mcp"}, ToolScopes: map[string][]string{"validate_artifact": {"artifacts"}}}
	})
	ada := "Bearer " + as.token("ada", s.url, "mcp")
	bob := "Bearer " + as.token("bob", s.url, "mcp artifacts")
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

	refused := s.do(http.MethodPost, initialize)
	require.Equal(t, http.StatusUnauthorized, refused.StatusCode)
	challenge := refused.Header.Get("WWW-Authenticate")
	place := strings.TrimSuffix(s.url, Path) + "/.well-known/oauth-protected-resource" + Path
	require.Equal(t, `Bearer resource_metadata="`+place+`", scope="mcp"`, challenge)
	for _, at := range []string{place, strings.TrimSuffix(place, Path)} {
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
	elsewhere := "Bearer " + as.token("ada", "http://other.example/mcp", "mcp")
	require.Equal(t, http.StatusUnauthorized, s.do(http.MethodPost, initialize, "Authorization", elsewhere).StatusCode)
	require.Equal(t, http.StatusForbidden, s.do(http.MethodPost, initialize, "Authorization", "Bearer "+as.token("ada", s.url, "")).StatusCode)
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
	status, a = s.post(call, "Authorization", "Bearer "+as.token("ada", s.url, "mcp artifacts"))
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

// An issuer that does not answer keeps nobody waiting for longer than a few seconds.
func TestOAuthIssuerIsDown(t *testing.T) {
	t.Parallel()
	as := newIssuer(t)
	s := serve(t, func(o *Options) { o.OAuth = OAuthOptions{Issuer: as.URL} })
	as.Close()
	res := s.do(http.MethodPost, ping, "Authorization", "Bearer "+as.token("ada", s.url, ""))
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	require.NotEmpty(t, res.Header.Get("Retry-After"))
}

// The agent of a chat is a program of the server and comes in, with the chat of a
// user who may.
func TestOAuthChat(t *testing.T) {
	t.Parallel()
	as := newIssuer(t)
	s := serve(t, func(o *Options) {
		o.Families, o.OAuth = []string{"assistant"}, OAuthOptions{Issuer: as.URL, ToolScopes: map[string][]string{"save_artifact": {"artifacts"}}}
	})
	resource := s.url
	s.url = strings.TrimSuffix(s.url, Path) + "/api/threads/t/chat"
	chat := `{"content":"A plan","artifact_generation":true}`
	require.Equal(t, http.StatusUnauthorized, s.do(http.MethodPost, chat).StatusCode)
	events, err := io.ReadAll(s.do(http.MethodPost, chat, "Authorization", "Bearer "+as.token("ada", resource, "")).Body)
	require.NoError(t, err)
	require.Contains(t, string(events), "artifact_created")
}

func TestOAuthOptions(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Token: "x", OAuth: OAuthOptions{Issuer: "https://issuer.example"}})
	require.ErrorContains(t, err, "either")
	_, err = New(Options{OAuth: OAuthOptions{Issuer: "http://issuer.example"}})
	require.ErrorContains(t, err, "https")
}
