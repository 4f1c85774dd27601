package guard

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

const (
	issuerURL   = "https://issuer.example/tenant"
	resourceURL = "http://127.0.0.1:8090/mcp"
)

// issuer is an authorization server, without a network: it is the round tripper
// of the guard.
type issuer struct {
	t       *testing.T
	key     *ecdsa.PrivateKey
	kid     string
	answers map[string]string // by URL, instead of the usual ones

	mu      sync.Mutex
	down    bool
	asked   []string
	holding chan struct{} // answers wait for it, if it is there
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	return &issuer{t: t, key: newKey(t), kid: "one", answers: map[string]string{}}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

// document returns the body of an answer; "" is 404.
func (i *issuer) document(url string) string {
	if body, ok := i.answers[url]; ok {
		return body
	}
	switch url {
	case "https://issuer.example/.well-known/oauth-authorization-server/tenant":
		return `{"issuer":"` + issuerURL + `","jwks_uri":"https://issuer.example/keys"}`
	case "https://issuer.example/keys":
		key, err := json.Marshal(jose.JSONWebKey{Key: &i.key.PublicKey, KeyID: i.kid, Use: "sig", Algorithm: "ES256"})
		if err != nil {
			return err.Error()
		}
		return `{"keys":[{"kty":"strange"},{"kty":"oct","k":"c2VjcmV0","kid":"one"},` + string(key) + `]}`
	}
	return ""
}

// RoundTrip implements [http.RoundTripper].
func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	i.asked = append(i.asked, r.URL.String())
	down, holding := i.down, i.holding
	i.mu.Unlock()
	if holding != nil {
		select {
		case <-holding:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if down {
		return nil, errors.New("connection refused")
	}
	res := &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{}, Request: r}
	body := i.document(r.URL.String())
	if body == "" {
		res.StatusCode, res.Status = http.StatusNotFound, "404 Not Found"
	}
	if place, ok := strings.CutPrefix(body, "redirect "); ok {
		res.StatusCode, res.Status = http.StatusFound, "302 Found"
		res.Header.Set("Location", place)
	}
	res.Body = io.NopCloser(strings.NewReader(body))
	return res, nil
}

func (i *issuer) set(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

func (i *issuer) requests() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.asked)
}

// token signs the usual claims with those of change; nil leaves one out.
func (i *issuer) token(change map[string]any) string {
	now := time.Now()
	all := map[string]any{
		"iss": issuerURL, "aud": resourceURL, "sub": "ada", "client_id": "app", "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "scope": "read write",
	}
	for name, value := range change {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	return i.sign("at+jwt", i.kid, all)
}

func (i *issuer) sign(typ, kid string, claims map[string]any) string {
	return signed(i.t, jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: i.key, KeyID: kid}}, map[string]any{"typ": typ}, claims)
}

func signed(t *testing.T, key jose.SigningKey, header, claims map[string]any) string {
	t.Helper()
	opts := &jose.SignerOptions{}
	for name, value := range header {
		opts.WithHeader(jose.HeaderKey(name), value)
	}
	signer, err := jose.NewSigner(key, opts)
	require.NoError(t, err)
	payload, err := json.Marshal(claims)
	require.NoError(t, err)
	jws, err := signer.Sign(payload)
	require.NoError(t, err)
	text, err := jws.CompactSerialize()
	require.NoError(t, err)
	return text
}

// guarded is a server behind a guard.
type guarded struct {
	t     *testing.T
	as    *issuer
	guard *Guard
	h     http.Handler
	log   bytes.Buffer
	sent  []string // credentials
}

func newGuarded(t *testing.T, change ...func(*Options)) *guarded {
	t.Helper()
	s := &guarded{t: t, as: newIssuer(t)}
	opts := Options{
		Issuer: issuerURL, Resource: func() string { return resourceURL }, MaxBytes: 1 << 10,
		Logger: slog.New(slog.NewJSONHandler(&s.log, nil)),
	}
	for _, c := range change {
		c(&opts)
	}
	g, err := New(opts)
	require.NoError(t, err)
	g.keys.client.Transport = s.as
	s.guard = g
	s.h = g.Authenticate(g.Tools(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
		w.Header().Set("Authorization-Was", r.Header.Get("Authorization")+r.Header.Get("DPoP"))
		_, _ = w.Write(body)
	})))
	return s
}

// do sends a request to the endpoint and returns the answer.
func (s *guarded) do(method, path, body string, header http.Header) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, strings.NewReader(body))
	r.Header = maps.Clone(header)
	if r.Header == nil {
		r.Header = http.Header{}
	}
	for _, all := range header {
		for _, each := range all {
			if _, secret, ok := strings.Cut(each, " "); ok && len(secret) > 8 {
				s.sent = append(s.sent, secret)
			}
		}
	}
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, r)
	for _, secret := range s.sent {
		require.NotContains(s.t, s.log.String(), secret)
		require.NotContains(s.t, w.Body.String()+w.Header().Get("WWW-Authenticate"), secret)
	}
	return w
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
