package guarded

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const (
	target = "http://127.0.0.1/token"
	issuer = "http://127.0.0.1"
	access = "access-token"
)

type object = map[string]any

// signed makes a JWS with ES256.
func signed(t *testing.T, key *ecdsa.PrivateKey, header, payload object) string {
	t.Helper()
	part := func(v object) string {
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	text := part(header) + "." + part(payload)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	require.NoError(t, err)
	var signature [64]byte
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + base64.RawURLEncoding.EncodeToString(signature[:])
}

func newKey(t *testing.T) (key *ecdsa.PrivateKey, public object) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	point, err := key.PublicKey.Bytes()
	require.NoError(t, err)
	encode := base64.RawURLEncoding.EncodeToString
	return key, object{"kty": "EC", "crv": "P-256", "x": encode(point[1:33]), "y": encode(point[33:])}
}

// TestProof: a proof that breaks one rule of RFC 9449 section 4.3 is refused for it.
func TestProof(t *testing.T) {
	t.Parallel()
	key, public := newKey(t)
	other, _ := newKey(t)
	hash := sha256.Sum256([]byte(access))
	for name, c := range map[string]struct {
		change  func(header, claims object)
		by      *ecdsa.PrivateKey
		problem string
	}{
		"right":          {},
		"another type":   {change: func(h, _ object) { h["typ"] = "JWT" }, problem: "header of the proof"},
		"another alg":    {change: func(h, _ object) { h["alg"] = "none" }, problem: "header of the proof"},
		"no key":         {change: func(h, _ object) { delete(h, "jwk") }, problem: "header of the proof"},
		"a private key":  {change: func(h, _ object) { h["jwk"].(object)["d"] = "secret" }, problem: "header of the proof"},
		"off the curve":  {change: func(h, _ object) { h["jwk"].(object)["x"] = h["jwk"].(object)["y"] }, problem: "header of the proof"},
		"signature":      {by: other, problem: "signature"},
		"another method": {change: func(_, c object) { c["htm"] = "GET" }, problem: "GET"},
		"another URL":    {change: func(_, c object) { c["htu"] = target + "/other" }, problem: "/other"},
		"no jti":         {change: func(_, c object) { delete(c, "jti") }, problem: "twice"},
		"no ath":         {change: func(_, c object) { delete(c, "ath") }, problem: "ath"},
		"old":            {change: func(_, c object) { c["iat"] = time.Now().Add(-time.Hour).Unix() }, problem: "iat"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			jwk := object{}
			for k, v := range public {
				jwk[k] = v
			}
			header := object{"typ": "dpop+jwt", "alg": "ES256", "jwk": jwk}
			claims := object{"htm": "POST", "htu": target, "jti": rand.Text(), "iat": time.Now().Unix(), "ath": base64.RawURLEncoding.EncodeToString(hash[:]), "nonce": "n"}
			if c.change != nil {
				c.change(header, claims)
			}
			by := key
			if c.by != nil {
				by = c.by
			}
			w := &World{proofs: map[string]bool{}}
			r := &Request{Method: http.MethodPost, Header: http.Header{"Dpop": {signed(t, by, header, claims)}}}
			got, problem := w.proof(r, target, access)
			if c.problem != "" {
				require.Contains(t, problem, c.problem)
				return
			}
			require.Empty(t, problem)
			require.Equal(t, "n", got.nonce)
			require.NotEmpty(t, got.key)
			_, problem = w.proof(r, target, access)
			require.Contains(t, problem, "twice")
		})
	}
}

// TestThumbprint: the key of the example in RFC 9449 section 4.1 and its thumbprint in
// section 6.1.
func TestThumbprint(t *testing.T) {
	t.Parallel()
	k := jwk{Kty: "EC", Crv: "P-256", X: "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs", Y: "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"}
	require.NotNil(t, k.public())
	require.Equal(t, "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I", k.thumbprint())
}

// TestAssertion: an assertion that breaks one rule of RFC 7523 section 3 is refused.
func TestAssertion(t *testing.T) {
	t.Parallel()
	key, _ := newKey(t)
	other, _ := newKey(t)
	for name, c := range map[string]struct {
		change  func(form url.Values, claims object)
		by      *ecdsa.PrivateKey
		problem string
	}{
		"right":            {},
		"one audience":     {change: func(_ url.Values, c object) { c["aud"] = []string{issuer} }},
		"two audiences":    {change: func(_ url.Values, c object) { c["aud"] = []string{issuer, target} }, problem: "aud"},
		"another audience": {change: func(_ url.Values, c object) { c["aud"] = target }, problem: "aud"},
		"another type":     {change: func(f url.Values, _ object) { f.Set("client_assertion_type", "x") }, problem: "client_assertion_type"},
		"signature":        {by: other, problem: "signature"},
		"another subject":  {change: func(_ url.Values, c object) { c["sub"] = "x" }, problem: "iss and sub"},
		"expired":          {change: func(_ url.Values, c object) { c["exp"] = time.Now().Add(-time.Hour).Unix() }, problem: "expired"},
		"another client":   {change: func(_ url.Values, c object) { c["iss"], c["sub"] = "x", "x" }, problem: "unknown client"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Server{Issuer: issuer, Key: &key.PublicKey, clients: map[string]Client{"known": {ID: "known"}}}
			form := url.Values{"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}}
			claims := object{"iss": "known", "sub": "known", "aud": issuer, "exp": time.Now().Add(time.Minute).Unix()}
			if c.change != nil {
				c.change(form, claims)
			}
			by := key
			if c.by != nil {
				by = c.by
			}
			form.Set("client_assertion", signed(t, by, object{"alg": "ES256"}, claims))
			id, problem := s.assertion(&Request{Form: form})
			if c.problem != "" {
				require.Contains(t, problem, c.problem)
				return
			}
			require.Empty(t, problem)
			require.Equal(t, "known", id)
		})
	}
}

// FuzzProof: no DPoP header makes the server fall over, and none without a signature is
// taken.
func FuzzProof(f *testing.F) {
	for _, seed := range []string{"", "a.b.c", "e30.e30.e30", "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIn19.e30.AAAA"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w := &World{proofs: map[string]bool{}}
		_, problem := w.proof(&Request{Method: http.MethodPost, Header: http.Header{"Dpop": {text}}}, target, access)
		require.NotEmpty(t, problem)
	})
}
