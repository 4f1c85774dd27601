package guard

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// prover has a key and a token that is bound to it.
type prover struct {
	t     *testing.T
	key   *ecdsa.PrivateKey
	token string
}

func newProver(s *guarded) *prover {
	s.t.Helper()
	p := &prover{t: s.t, key: newKey(s.t)}
	jwk := jose.JSONWebKey{Key: &p.key.PublicKey}
	sum, err := jwk.Thumbprint(crypto.SHA256)
	require.NoError(s.t, err)
	p.token = s.as.token(map[string]any{"cnf": map[string]any{"jkt": base64.RawURLEncoding.EncodeToString(sum)}})
	return p
}

// proof signs the usual claims with those of change; nil leaves one out.
func (p *prover) proof(change map[string]any) string {
	return p.sign(map[string]any{"typ": "dpop+jwt", "jwk": jose.JSONWebKey{Key: &p.key.PublicKey}}, change)
}

func (p *prover) sign(header, change map[string]any) string {
	sum := sha256.Sum256([]byte(p.token))
	all := map[string]any{
		"jti": rand.Text(), "htm": http.MethodPost, "htu": resourceURL, "iat": time.Now().Unix(),
		"ath": base64.RawURLEncoding.EncodeToString(sum[:]),
	}
	for name, value := range change {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	return signed(p.t, jose.SigningKey{Algorithm: jose.ES256, Key: p.key}, header, all)
}

func (p *prover) header(proofs ...string) http.Header {
	return http.Header{"Authorization": {"DPoP " + p.token}, "Dpop": proofs}
}

func TestProofs(t *testing.T) {
	t.Parallel()
	s := newGuarded(t)
	p, other := newProver(s), newProver(s)
	now := time.Now()
	typ := map[string]any{"typ": "dpop+jwt"}
	jwk := jose.JSONWebKey{Key: &p.key.PublicKey}
	for _, tt := range []struct {
		name   string
		proofs []string
		says   string // "" is success
	}{
		{"good", []string{p.proof(nil)}, ""},
		{"query and case", []string{p.proof(map[string]any{"htu": "HTTP://127.0.0.1:8090/mcp?x=y#z"})}, ""},
		{"a clock that is ahead", []string{p.proof(map[string]any{"iat": now.Add(3 * time.Second).Unix()})}, ""},
		{"none", nil, "one DPoP header"},
		{"two", []string{p.proof(nil), p.proof(nil)}, "one DPoP header"},
		{"long", []string{strings.Repeat("x", maxProof+1)}, "one DPoP header"},
		{"no JWT", []string{"proof"}, "not a JWT"},
		{"typ", []string{p.sign(map[string]any{"typ": "JWT", "jwk": jwk}, nil)}, "typ"},
		{"no key", []string{p.sign(typ, nil)}, "no public key"},
		{"another key than it was signed with", []string{p.sign(map[string]any{"typ": "dpop+jwt", "jwk": jose.JSONWebKey{Key: &other.key.PublicKey}}, nil)}, "signature"},
		{"another key than the token has", []string{other.proof(map[string]any{"ath": base64.RawURLEncoding.EncodeToString(sum(p.token))})}, "another key"},
		{"method", []string{p.proof(map[string]any{"htm": "GET"})}, "method"},
		{"case of the method", []string{p.proof(map[string]any{"htm": "post"})}, "method"},
		{"path", []string{p.proof(map[string]any{"htu": "http://127.0.0.1:8090/mcp/coe"})}, "URL"},
		{"host", []string{p.proof(map[string]any{"htu": "http://127.0.0.2:8090/mcp"})}, "URL"},
		{"scheme", []string{p.proof(map[string]any{"htu": "https://127.0.0.1:8090/mcp"})}, "URL"},
		{"no URL", []string{p.proof(map[string]any{"htu": nil})}, "URL"},
		{"token", []string{p.proof(map[string]any{"ath": base64.RawURLEncoding.EncodeToString(sum(other.token))})}, "access token"},
		{"no token", []string{p.proof(map[string]any{"ath": nil})}, "access token"},
		{"no id", []string{p.proof(map[string]any{"jti": nil})}, "jti"},
		{"long id", []string{p.proof(map[string]any{"jti": strings.Repeat("x", maxProofID+1)})}, "jti"},
		{"old", []string{p.proof(map[string]any{"iat": now.Add(-proofAge - 2*time.Second).Unix()})}, "too old"},
		{"future", []string{p.proof(map[string]any{"iat": now.Add(time.Hour).Unix()})}, "future"},
		{"no time", []string{p.proof(map[string]any{"iat": nil})}, "too old"},
	} {
		w := s.do(http.MethodPost, "/mcp", "{}", p.header(tt.proofs...))
		if tt.says == "" {
			require.Equal(t, 200, w.Code, "%s: %s", tt.name, w.Body)
			require.Equal(t, "Bearer checked", w.Header().Get("Authorization-Was"))
			continue
		}
		require.Equal(t, 401, w.Code, tt.name)
		about := w.Header().Values("WWW-Authenticate")
		require.NotContains(t, about[0], "error", tt.name)
		require.True(t, strings.HasPrefix(about[1], `DPoP algs="ES256 `), about[1])
		require.Contains(t, about[1], tt.says, tt.name)
	}
	free := &prover{t: t, key: p.key, token: s.as.token(nil)}
	w := s.do(http.MethodPost, "/mcp", "{}", free.header(free.proof(nil)))
	require.Equal(t, 401, w.Code, "a token that is not bound")
	require.Contains(t, w.Header().Values("WWW-Authenticate")[1], `error="invalid_token"`)
	require.Equal(t, 401, s.do(http.MethodPost, "/mcp", "{}", bearer(p.token)).Code)
}

func sum(token string) []byte {
	s := sha256.Sum256([]byte(token))
	return s[:]
}

// A proof is good once, for as long as its time is.
func TestProofsAreNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newGuarded(t)
		p := newProver(s)
		send := func(proof string) int { return s.do(http.MethodPost, "/mcp", "{}", p.header(proof)).Code }
		for range 5 {
			proof := p.proof(map[string]any{"iat": time.Now().Add(skew).Unix()}) // good for the longest time
			require.Equal(t, 200, send(proof))
			for range 4 {
				require.Equal(t, 401, send(proof))
				time.Sleep(17 * time.Second)
				require.Equal(t, 200, send(p.proof(nil)), "others go on")
			}
		}
		same := map[string]any{"jti": "same"}
		require.Equal(t, 200, send(p.proof(same)))
		require.Equal(t, 401, send(p.proof(same)))
		time.Sleep(3 * (proofAge + skew))
		require.Equal(t, 200, send(p.proof(same)))
		require.Len(t, s.guard.proofs.recent, 1)
		require.Empty(t, s.guard.proofs.older, "nothing is kept forever")

		for n := range maxProofs - 1 {
			s.guard.proofs.recent[[32]byte{1, byte(n), byte(n >> 8), byte(n >> 16)}] = struct{}{}
		}
		require.Equal(t, 503, send(p.proof(nil)))
		time.Sleep(proofAge + 2*skew)
		require.Equal(t, 200, send(p.proof(nil)))
	})
}

// Behind a proxy the URL that clients see is that of the resource.
func TestProofBehindAProxy(t *testing.T) {
	t.Parallel()
	resource, err := url.Parse("https://public.example:443/mcp")
	require.NoError(t, err)
	require.True(t, sameTarget("https://public.example/mcp/coe", resource, "/mcp/coe"))
	require.True(t, sameTarget("https://public.example", resource, "/"))
	require.False(t, sameTarget("https://public.example/mcp/coe", resource, "/mcp/docling"))
	require.False(t, sameTarget("mcp", resource, "mcp"))
	require.False(t, sameTarget("%", resource, "%"))
}
