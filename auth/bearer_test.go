package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// proven puts a server that wants DPoP proofs, with its nonce, before another one that
// wants bearer tokens.
type proven struct {
	t      *testing.T
	next   http.Handler
	key    *ecdsa.PublicKey
	nonces int // how often it asked for its nonce
	ids    map[string]bool
}

func (p *proven) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "DPoP ")
	if !ok {
		p.next.ServeHTTP(rw, r)
		return
	}
	var claims struct{ Jti, Htm, Htu, Ath, Nonce string }
	if !p.verified(r.Header.Get("DPoP"), &claims) || p.ids[claims.Jti] {
		http.Error(rw, "no proof, one of another key, or one that was used before", http.StatusBadRequest)
		return
	}
	p.ids[claims.Jti] = true
	sum := sha256.Sum256([]byte(token))
	htu := url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path}
	if claims.Htm != r.Method || claims.Htu != htu.String() || claims.Ath != base64.RawURLEncoding.EncodeToString(sum[:]) {
		http.Error(rw, "a proof for another request", http.StatusBadRequest)
		return
	}
	if claims.Nonce != "n1" {
		p.nonces++
		rw.Header().Set("DPoP-Nonce", "n1")
		rw.Header().Set("WWW-Authenticate", `DPoP error="use_dpop_nonce"`)
		rw.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.Header.Set("Authorization", "Bearer "+token)
	p.next.ServeHTTP(rw, r)
}

// verified reads the claims of a proof, and checks its signature with the key (RFC 7518
// section 3.4: ES256 signatures are two numbers of 32 bytes).
func (p *proven) verified(proof string, claims any) bool {
	parts := strings.Split(proof, ".")
	if len(parts) != 3 {
		return false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	signature, wrong := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || wrong != nil || len(signature) != 64 || json.Unmarshal(text, claims) != nil {
		return false
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	return ecdsa.Verify(p.key, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
}

func newKey(t *testing.T, curve elliptic.Curve) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	require.NoError(t, err)
	text, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

// Each request carries a new proof for itself, and the server's nonce once it is known.
func TestBearerWithKey(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Access["first"] = "read"
	key, text := newKey(t, elliptic.P256())
	front := &proven{t: t, next: w.MCP.Config.Handler, key: &key.PublicKey, ids: map[string]bool{}}
	srv := httptest.NewServer(front)
	t.Cleanup(srv.Close)
	a := auth.BearerWithKey(func(context.Context) (string, error) { return "first", nil }, text)
	c, err := client.Dial(t.Context(), srv.URL+"/mcp", client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	for range 3 {
		_, err = c.CallTool(t.Context(), "echo", map[string]any{})
		require.NoError(t, err)
	}
	require.Equal(t, 1, front.nonces)
	require.Len(t, w.Seen, 3)

	w.Revoke()
	_, err = c.CallTool(t.Context(), "echo", map[string]any{})
	require.Equal(t, mcperrors.KindAuth, mcperrors.KindOf(err), "the application has no other token")
}

// The function that returns the token runs once for a call, and once more when the server
// refuses the token. A key makes one proof for each request, and never one for two.
func TestBearerAsksOnce(t *testing.T) {
	t.Parallel()
	for _, bound := range []bool{false, true} {
		w := authtest.New(t)
		w.Access["first"] = "read"
		answers, calls := []string{"first"}, 0
		token := func(context.Context) (string, error) {
			calls++
			return answers[min(calls, len(answers))-1], nil
		}
		key, text := newKey(t, elliptic.P256())
		front := &proven{t: t, next: w.MCP.Config.Handler, key: &key.PublicKey, ids: map[string]bool{}}
		srv := httptest.NewServer(front)
		t.Cleanup(srv.Close)
		a := auth.Bearer(token)
		if bound {
			a = auth.BearerWithKey(token, text)
		}
		c, err := client.Dial(t.Context(), srv.URL+"/mcp", client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		call := func(tokens ...string) error {
			answers, calls = tokens, 0
			_, err := c.CallTool(t.Context(), "echo", map[string]any{})
			return err
		}
		require.NoError(t, call("first"))
		require.Equal(t, 1, calls)
		require.NoError(t, call("stale", "first")) // the list is asked for, too
		if bound {
			require.Equal(t, 3, calls, "the call has a proof of its own")
		} else {
			require.Equal(t, 2, calls)
		}

		c.InvalidateTools()
		require.Equal(t, mcperrors.CodeToolNotFound, mcperrors.CodeOf(func() error {
			answers, calls = []string{"first"}, 0
			_, err := c.CallTool(t.Context(), "unlisted", map[string]any{})
			return err
		}()))
		require.NoError(t, call("first"), "a proof is not used twice")
	}
}

func TestBearerWithoutArguments(t *testing.T) {
	t.Parallel()
	token := func(context.Context) (string, error) { return "t", nil }
	_, large := newKey(t, elliptic.P384())
	w := authtest.New(t)
	for name, a := range map[string]transport.Authorizer{
		"token is missing": auth.Bearer(nil),
		"no private key":   auth.BearerWithKey(token, []byte("planted-secret")),
		"cannot sign":      auth.BearerWithKey(token, large),
	} {
		_, err := dial(t, w, a)
		require.ErrorContains(t, err, name)
		require.Equal(t, mcperrors.KindAuth, mcperrors.KindOf(err))
		require.NotContains(t, err.Error(), "planted-secret")
	}
}
