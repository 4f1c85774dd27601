package grant

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

var algorithms = []jose.SignatureAlgorithm{
	jose.ES256, jose.ES384, jose.ES512, jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.EdDSA, "Ed25519",
}

// verify checks the signature of a JWT and returns its claims and header.
func verify(t *testing.T, token string, public any) (map[string]any, jose.Header) {
	t.Helper()
	signed, err := jose.ParseSignedCompact(token, algorithms)
	require.NoError(t, err)
	payload, err := signed.Verify(public)
	require.NoError(t, err)
	var claims map[string]any
	require.NoError(t, json.Unmarshal(payload, &claims))
	return claims, signed.Signatures[0].Header
}

func private(t *testing.T, kind string) any {
	t.Helper()
	var key any
	var err error
	switch kind {
	case "P-224":
		key, err = ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	case "P-256", "ES256":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "P-384":
		key, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "P-521":
		key, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "RSA":
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	case "RSA-1024":
		key, err = rsa.GenerateKey(rand.Reader, 1024)
	case "Ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case "X25519":
		key, err = ecdh.X25519().GenerateKey(rand.Reader)
	}
	require.NoError(t, err)
	return key
}

func pkcs8(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func newKey(t *testing.T, kind string) Signer {
	t.Helper()
	s, err := NewSigner(pkcs8(t, private(t, kind)), "")
	require.NoError(t, err)
	return s
}

func mustProver(t *testing.T) *Prover {
	t.Helper()
	p, err := NewProver()
	require.NoError(t, err)
	return p
}

func TestSigners(t *testing.T) {
	for _, test := range []struct{ kind, alg, want string }{
		{"P-256", "", "ES256"},
		{"P-256", "ES256", "ES256"},
		{"P-256", "ES384", "cannot sign with \"ES384\""},
		{"P-256", "none", "cannot sign with \"none\""},
		{"P-256", "HS256", "cannot sign with \"HS256\""},
		{"P-384", "", "ES384"},
		{"P-521", "", "ES512"},
		{"P-224", "", "curve of 224 bits"},
		{"RSA", "", "RS256"},
		{"RSA", "PS256", "PS256"},
		{"RSA", "RS512", "RS512"},
		{"RSA", "ES256", "cannot sign with \"ES256\""},
		{"RSA-1024", "", "has 1024 bits"},
		{"Ed25519", "", "EdDSA"},
		{"Ed25519", "ES256", "cannot sign with \"ES256\""},
		{"X25519", "", "neither EC, RSA nor Ed25519"},
	} {
		t.Run(test.kind+" "+test.alg, func(t *testing.T) {
			s, err := NewSigner(pkcs8(t, private(t, test.kind)), test.alg)
			if err != nil {
				require.Contains(t, err.Error(), test.want)
				return
			}
			require.Equal(t, test.want, s.Algorithm())
			token, err := s.Sign(map[string]any{"a": 1}, map[string]any{"x": "y", "alg": "none"})
			require.NoError(t, err)
			claims, header := verify(t, token, s.Public())
			require.Equal(t, map[string]any{"a": 1.0}, claims)
			require.Equal(t, test.want, header.Algorithm)
			require.Equal(t, "JWT", header.ExtraHeaders[jose.HeaderType])
			require.Equal(t, "y", header.ExtraHeaders["x"])
		})
	}
}

func TestKeyTexts(t *testing.T) {
	ec, ok := private(t, "P-256").(*ecdsa.PrivateKey)
	require.True(t, ok)
	rs, ok := private(t, "RSA").(*rsa.PrivateKey)
	require.True(t, ok)
	sec1, err := x509.MarshalECPrivateKey(ec)
	require.NoError(t, err)
	jwk, err := json.Marshal(jose.JSONWebKey{Key: rs, KeyID: "k1", Algorithm: "PS256"})
	require.NoError(t, err)
	public, err := json.Marshal(jose.JSONWebKey{Key: &ec.PublicKey})
	require.NoError(t, err)
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	for _, test := range []struct {
		name string
		text []byte
		want string // algorithm, or the text of the error
	}{
		{"PKCS 8", pkcs8(t, ec), "ES256"},
		{"SEC 1", block("EC PRIVATE KEY", sec1), "ES256"},
		{"PKCS 1", block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rs)), "RS256"},
		{"after parameters", append(block("EC PARAMETERS", []byte{6, 0}), block("EC PRIVATE KEY", sec1)...), "ES256"},
		{"with text around", append([]byte("a key:\n"), pkcs8(t, ec)...), "ES256"},
		{"JWK", append([]byte("\n"), jwk...), "PS256"},
		{"public JWK", public, "not a valid private key"},
		{"JWK of a secret", []byte(`{"kty":"oct","k":"UExBTlRFRA"}`), "not a valid private key"},
		{"broken JWK", []byte(`{"kty":"RSA","d":"PLANTED"}`), "not a valid private key"},
		{"broken PEM", block("PRIVATE KEY", []byte("PLANTED")), "cannot be read"},
		{"encrypted", block("ENCRYPTED PRIVATE KEY", []byte("PLANTED")), "encrypted"},
		{"certificate", block("CERTIFICATE", []byte("PLANTED")), "no private key"},
		{"anything", []byte("PLANTED"), "no private key"},
		{"nothing", nil, "no private key"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := NewSigner(test.text, "")
			if err != nil {
				require.Contains(t, err.Error(), test.want)
				require.NotContains(t, err.Error(), "PLANTED")
				return
			}
			require.Equal(t, test.want, s.Algorithm())
			token, err := s.Sign(struct{}{}, nil)
			require.NoError(t, err)
			_, header := verify(t, token, s.Public())
			require.Equal(t, test.name == "JWK", header.KeyID == "k1")
		})
	}
	_, err = newKey(t, "P-256").Sign(func() {}, nil)
	require.ErrorContains(t, err, "cannot be encoded as JSON")
}

func TestAssertion(t *testing.T) {
	s := newKey(t, "P-256")
	now := time.Unix(1_800_000_000, 0)
	token, err := Assertion(s, "id", "https://as.example/", now)
	require.NoError(t, err)
	claims, _ := verify(t, token, s.Public())
	require.NotEmpty(t, claims["jti"])
	again, err := Assertion(s, "id", "https://as.example/", now)
	require.NoError(t, err)
	other, _ := verify(t, again, s.Public())
	require.NotEqual(t, claims["jti"], other["jti"])
	delete(claims, "jti")
	require.Equal(t, map[string]any{
		"iss": "id", "sub": "id", "aud": "https://as.example/", "iat": 1_800_000_000.0, "exp": 1_800_000_120.0,
	}, claims)
}

func TestPKCE(t *testing.T) {
	p := NewPKCE()
	require.Regexp(t, `^[A-Za-z0-9_-]{43}$`, p.Verifier)
	sum := sha256.Sum256([]byte(p.Verifier))
	require.Equal(t, base64.RawURLEncoding.EncodeToString(sum[:]), p.Challenge)
	require.NotEqual(t, p.Verifier, NewPKCE().Verifier)
	// The pair of RFC 7636, appendix B.
	sum = sha256.Sum256([]byte("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"))
	require.Equal(t, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", base64.RawURLEncoding.EncodeToString(sum[:]))
}

func TestProofs(t *testing.T) {
	p := mustProver(t)
	for _, test := range []struct{ url, want string }{
		{"https://MCP.example:443/mcp?session=1#x", "https://mcp.example/mcp"},
		{"HTTPS://mcp.example", "https://mcp.example/"},
		{"http://127.0.0.1:80/a%2Fb", "http://127.0.0.1/a%2Fb"},
		{"https://[::1]:8443/", "https://[::1]:8443/"},
		{"https://mcp.example:80/", "https://mcp.example:80/"},
		{"/mcp", ""},
		{"https://%zz/", ""},
	} {
		proof, err := p.Proof("GET", test.url, "AT", "n1")
		if test.want == "" {
			require.Error(t, err, test.url)
			continue
		}
		require.NoError(t, err)
		claims, header := verify(t, proof, p.key.public)
		sum := sha256.Sum256([]byte("AT"))
		require.Equal(t, test.want, claims["htu"])
		require.Equal(t, "GET", claims["htm"])
		require.Equal(t, "n1", claims["nonce"])
		require.Equal(t, base64.RawURLEncoding.EncodeToString(sum[:]), claims["ath"])
		require.InDelta(t, time.Now().Unix(), claims["iat"], 60)
		require.Equal(t, "ES256", header.Algorithm)
		require.Equal(t, "dpop+jwt", header.ExtraHeaders[jose.HeaderType])
		require.True(t, header.JSONWebKey.IsPublic())
		sent, err := header.JSONWebKey.Thumbprint(crypto.SHA256)
		require.NoError(t, err)
		own, err := p.Thumbprint()
		require.NoError(t, err)
		require.Equal(t, base64.RawURLEncoding.EncodeToString(sent), own)
		part, err := base64.RawURLEncoding.DecodeString(strings.Split(proof, ".")[0])
		require.NoError(t, err)
		require.NotContains(t, string(part), `"d"`, "the private part stays here")
	}
	one, err := p.Proof("GET", "https://a/", "", "")
	require.NoError(t, err)
	two, err := p.Proof("GET", "https://a/", "", "")
	require.NoError(t, err)
	first, _ := verify(t, one, p.key.public)
	second, _ := verify(t, two, p.key.public)
	require.NotEqual(t, first["jti"], second["jti"])
	require.NotContains(t, first, "ath")
	require.NotContains(t, first, "nonce")
}

func TestProverIsStored(t *testing.T) {
	p := mustProver(t)
	text, err := p.Export()
	require.NoError(t, err)
	again, err := ParseProver(text)
	require.NoError(t, err)
	one, err := p.Thumbprint()
	require.NoError(t, err)
	two, err := again.Thumbprint()
	require.NoError(t, err)
	require.Equal(t, one, two)
	for _, other := range []string{"P-384", "RSA"} {
		der, err := x509.MarshalPKCS8PrivateKey(private(t, other))
		require.NoError(t, err)
		_, err = ParseProver(Hide(string(der)))
		require.Error(t, err)
	}
	_, err = ParseProver(Hide("PLANTED"))
	require.Error(t, err)
	require.NotContains(t, err.Error(), "PLANTED")
}

func TestNonces(t *testing.T) {
	p := mustProver(t)
	require.True(t, p.SetNonce("https://A.example:443/token?x", "n1"))
	require.False(t, p.SetNonce("https://a.example/mcp", "n1"), "known")
	require.Equal(t, "n1", p.Nonce("https://a.example/other"))
	require.Empty(t, p.Nonce("https://a.example:8443/"))
	require.Empty(t, p.Nonce("http://a.example/"))
	for _, bad := range []string{"", "a b", "a\nb", `a"b`, `a\b`, "ä", strings.Repeat("x", 1025)} {
		require.False(t, p.SetNonce("https://a.example/", bad), bad)
	}
	require.False(t, p.SetNonce("nowhere", "n2"))
	require.Equal(t, "n1", p.Nonce("https://a.example/"))
	for i := range 1000 {
		require.True(t, p.SetNonce(fmt.Sprintf("https://%d.example/", i), "n"))
		require.Equal(t, "n", p.Nonce(fmt.Sprintf("https://%d.example/", i)))
	}
	require.Len(t, p.nonces, mostNonces)
}
