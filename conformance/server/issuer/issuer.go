// Package issuer is an authorization server for tests of resource servers: it has
// metadata and keys, and signs any token that a test asks for. It logs nobody in.
package issuer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Server is an authorization server on this machine, without TLS.
type Server struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

// New starts a server, which ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	s := &Server{Server: httptest.NewServer(mux), key: key}
	t.Cleanup(s.Close)
	serve := func(path string, document any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(document) // a client that has gone reads nothing
		})
	}
	serve("/.well-known/oauth-authorization-server", map[string]string{"issuer": s.URL, "jwks_uri": s.URL + "/keys"})
	serve("/keys", jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &key.PublicKey}}})
	return s
}

// Token returns an access token that is good for an hour (RFC 9068).
func (s *Server) Token(t testing.TB, user, audience, scope string) string {
	t.Helper()
	payload, err := json.Marshal(map[string]any{
		"iss": s.URL, "aud": audience, "sub": user, "scope": scope, "exp": time.Now().Add(time.Hour).Unix(),
	})
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: s.key}, (&jose.SignerOptions{}).WithType("at+jwt"))
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
