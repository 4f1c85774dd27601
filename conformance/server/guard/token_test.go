package guard

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	s := newGuarded(t, func(o *Options) { o.Scopes = []string{"read"} })
	now := time.Now()
	claims := func(change map[string]any) string { return s.as.token(change) }
	raw := func(header, payload string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + "."
	}
	good := `{"iss":"` + issuerURL + `","aud":"` + resourceURL + `","exp":99999999999,"scope":"read"}`
	public, err := x509.MarshalPKIXPublicKey(&s.as.key.PublicKey)
	require.NoError(t, err)
	other := newIssuer(t)
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	body := map[string]any{"iss": issuerURL, "aud": resourceURL, "exp": now.Add(time.Hour).Unix(), "scope": "read"}
	tests := []struct {
		name, token string
		status      int
		says        string
	}{
		{"good", claims(nil), 200, ""},
		{"one of several audiences", claims(map[string]any{"aud": []string{"https://x", resourceURL}}), 200, ""},
		{"scopes in an array", claims(map[string]any{"scope": nil, "scp": []string{"write", "read"}}), 200, ""},
		{"scp in a string", claims(map[string]any{"scope": nil, "scp": "write read"}), 200, ""},
		{"long typ", s.as.sign("application/at+jwt", "one", body), 200, ""},
		{"no kid", s.as.sign("at+jwt", "", body), 200, ""},
		{"a fraction of a second", claims(map[string]any{"exp": float64(now.Unix()) + 3600.5}), 200, ""},
		{"began just now, elsewhere", claims(map[string]any{"nbf": now.Add(3 * time.Second).Unix()}), 200, ""},

		{"no JWT", "opaque", 401, "not a JWT"},
		{"alg none", raw(`{"alg":"none","typ":"at+jwt"}`, good), 401, "not a JWT"},
		{"alg None", raw(`{"alg":"None","typ":"at+jwt"}`, good) + "eA", 401, "not a JWT"},
		{"the public key as a secret", signed(t, jose.SigningKey{Algorithm: jose.HS256, Key: public}, map[string]any{"typ": "at+jwt", "kid": "one"}, body), 401, "not a JWT"},
		{"another algorithm than the key has", signed(t, jose.SigningKey{Algorithm: jose.RS256, Key: weak}, map[string]any{"typ": "at+jwt", "kid": "one"}, body), 401, "a key that its issuer does not have"},
		{"another key of the same name", other.token(nil), 401, "signature"},
		{"the key that the token brings", signed(t, jose.SigningKey{Algorithm: jose.ES256, Key: other.key}, map[string]any{"typ": "at+jwt", "jwk": jose.JSONWebKey{Key: &other.key.PublicKey}}, body), 401, "signature"},
		{"unknown key", s.as.sign("at+jwt", "two", body), 401, "a key that its issuer does not have"},
		{"changed", strings.Replace(claims(nil), ".", ".e", 1), 401, "signature"},
		{"id token", s.as.sign("JWT", "one", body), 401, "typ"},
		{"no typ", s.as.sign("", "one", body), 401, "typ"},
		{"other issuer", claims(map[string]any{"iss": "https://issuer.example"}), 401, "another issuer"},
		{"no issuer", claims(map[string]any{"iss": nil}), 401, "another issuer"},
		{"other audience", claims(map[string]any{"aud": "http://127.0.0.1:8090/mcp/"}), 401, "another audience"},
		{"no audience", claims(map[string]any{"aud": nil}), 401, "another audience"},
		{"expired", claims(map[string]any{"exp": now.Add(-time.Second).Unix()}), 401, "expired"},
		{"endless", claims(map[string]any{"exp": nil}), 401, "when it expires"},
		{"odd end", claims(map[string]any{"exp": "tomorrow"}), 401, "when it expires"},
		{"null end", claims(map[string]any{"exp": []byte(nil)}), 401, "when it expires"},
		{"far end", claims(map[string]any{"exp": 1e300}), 401, "when it expires"},
		{"tomorrow", claims(map[string]any{"nbf": now.Add(time.Minute).Unix()}), 401, "not valid yet"},
		{"odd begin", claims(map[string]any{"nbf": "now"}), 401, "when it begins"},
		{"bound to a certificate", claims(map[string]any{"cnf": map[string]any{"x5t#S256": "x"}}), 401, "bound"},
		{"bound to a DPoP key", claims(map[string]any{"cnf": map[string]any{"jkt": "x"}}), 401, "DPoP scheme"},
		{"critical header", signed(t, jose.SigningKey{Algorithm: jose.ES256, Key: s.as.key}, map[string]any{"typ": "at+jwt", "kid": "one", "crit": []string{"new"}, "new": 1}, body), 401, "signature"},
		{"no object", s.as.sign("at+jwt", "one", nil), 401, "another issuer"},
		{"long", strings.Repeat("x", maxToken+1), 401, "too long"},

		{"another scope", claims(map[string]any{"scope": "reader"}), 403, "scope"},
		{"no scope", claims(map[string]any{"scope": nil}), 403, "scope"},
		{"scope of another type", claims(map[string]any{"scope": 1}), 403, "scope"},
	}
	for _, tt := range tests {
		w := s.do(http.MethodPost, "/mcp", "{}", bearer(tt.token))
		require.Equal(t, tt.status, w.Code, "%s: %s", tt.name, w.Body)
		about := w.Header().Values("WWW-Authenticate")
		switch tt.status {
		case http.StatusOK:
			require.Empty(t, about, tt.name)
			require.Equal(t, "Bearer checked", w.Header().Get("Authorization-Was"), "the token goes no further")
			continue
		case http.StatusUnauthorized:
			require.Contains(t, about[0], `error="invalid_token"`, tt.name)
		default:
			require.Contains(t, about[0], `error="insufficient_scope"`, tt.name)
		}
		require.Contains(t, about[0], `resource_metadata="http://127.0.0.1:8090/.well-known/oauth-protected-resource/mcp"`)
		require.Contains(t, about[0], `scope="read"`)
		require.Contains(t, about[0], tt.says, tt.name)
		require.Contains(t, w.Body.String(), tt.says, tt.name)
	}
}

func TestAuthorizationHeader(t *testing.T) {
	t.Parallel()
	s := newGuarded(t, func(o *Options) { o.Own = "own-token-of-the-server" })
	token := s.as.token(nil)
	for _, tt := range []struct {
		name   string
		given  []string
		status int
		code   string
	}{
		{"none", nil, 401, ""},
		{"good", []string{"Bearer " + token}, 200, ""},
		{"lower case", []string{"bearer " + token}, 200, ""},
		{"two spaces", []string{"Bearer  " + token}, 200, ""},
		{"the server's own", []string{"Bearer own-token-of-the-server"}, 200, ""},
		{"not quite its own", []string{"Bearer own-token-of-the-serve"}, 401, "invalid_token"},
		{"its own, bound", []string{"DPoP own-token-of-the-server"}, 401, "invalid_token"},
		{"other scheme", []string{"Basic " + token}, 401, ""},
		{"twice", []string{"Bearer " + token, "Bearer " + token}, 400, "invalid_request"},
		{"scheme alone", []string{"Bearer"}, 400, "invalid_request"},
		{"empty", []string{"Bearer "}, 400, "invalid_request"},
		{"two words", []string{"Bearer a b"}, 400, "invalid_request"},
		{"quotes", []string{`Bearer "a"`}, 400, "invalid_request"},
		{"padding alone", []string{"Bearer =="}, 400, "invalid_request"},
	} {
		w := s.do(http.MethodGet, "/mcp", "", http.Header{"Authorization": tt.given})
		require.Equal(t, tt.status, w.Code, tt.name)
		about := strings.Join(w.Header().Values("WWW-Authenticate"), "\n")
		if tt.status == http.StatusOK {
			continue
		}
		require.Contains(t, about, "DPoP algs=", tt.name)
		if tt.code == "" {
			require.NotContains(t, about, "error=", tt.name)
		} else {
			require.Contains(t, about, `error="`+tt.code+`"`, tt.name)
		}
	}
	require.Equal(t, http.StatusUnauthorized, s.do(http.MethodGet, "/mcp?access_token="+token, "", nil).Code, "never in the query")
}

// What go-sdk and its handlers learn of a token.
func TestIdentity(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	var seen *auth.TokenInfo
	s.h = s.guard.Authenticate(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = auth.TokenInfoFromContext(r.Context()) }))
	s.do(http.MethodGet, "/mcp", "", bearer(s.as.token(nil)))
	require.Equal(t, "ada", seen.UserID)
	require.Equal(t, []string{"read", "write"}, seen.Scopes)
	require.False(t, seen.Expiration.IsZero())
	s.do(http.MethodGet, "/mcp", "", bearer(s.as.token(map[string]any{"sub": nil})))
	require.Equal(t, "app", seen.UserID)
}

// FuzzAuthorization: nothing that the issuer did not sign gets in, and nothing panics.
func FuzzAuthorization(f *testing.F) {
	f.Add("Bearer eyJhbGciOiJub25lIn0.e30.", "")
	f.Add("DPoP a.b.c", "eyJhbGciOiJFUzI1NiJ9.e30.eA")
	f.Add("Bearer eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.bnVsbA.AA", "")
	f.Fuzz(func(t *testing.T, authorization, proof string) {
		s := newGuarded(t)
		w := s.do(http.MethodPost, "/mcp", "{}", http.Header{"Authorization": {authorization}, "Dpop": {proof}})
		require.Contains(t, []int{400, 401}, w.Code)
		require.NotEmpty(t, w.Header().Get("WWW-Authenticate"))
	})
}
