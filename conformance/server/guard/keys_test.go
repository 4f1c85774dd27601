package guard

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func (s *guarded) status(token string) int {
	s.t.Helper()
	return s.do(http.MethodPost, "/mcp", "{}", bearer(token)).Code
}

// Keys are fetched once, again when they are old, and for a key that is new.
func TestKeysAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newGuarded(t)
		const fetch = 2 // metadata and keys
		require.Equal(t, 401, s.status("opaque"))
		require.Zero(t, s.as.requests(), "what is no JWT costs the issuer nothing")
		for range 3 {
			require.Equal(t, 200, s.status(s.as.token(nil)))
		}
		require.Equal(t, fetch, s.as.requests())

		for range 5 {
			require.Equal(t, 401, s.status(s.as.sign("at+jwt", "unknown", nil)))
		}
		require.Equal(t, fetch, s.as.requests(), "they came a moment ago")
		time.Sleep(refetchKeys)
		for range 5 {
			require.Equal(t, 401, s.status(s.as.sign("at+jwt", "unknown", nil)))
		}
		require.Equal(t, 2*fetch, s.as.requests(), "once for all of them")

		time.Sleep(refetchKeys)
		s.as.key, s.as.kid = newKey(t), "two"
		require.Equal(t, 200, s.status(s.as.token(nil)), "a new key")
		require.Equal(t, 3*fetch, s.as.requests())
		time.Sleep(freshKeys)
		require.Equal(t, 200, s.status(s.as.token(nil)))
		require.Equal(t, 4*fetch, s.as.requests())
	})
}

// An issuer that is down locks out nobody whose key is known, for an hour.
func TestIssuerIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newGuarded(t)
		s.as.set(true)
		w := s.do(http.MethodPost, "/mcp", "{}", bearer(s.as.token(nil)))
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.Equal(t, "1", w.Header().Get("Retry-After"))
		require.Empty(t, w.Header().Values("WWW-Authenticate"), "another token would not help")
		require.Contains(t, s.log.String(), `"authorization_server_unavailable","issuer":"`+issuerURL)
		require.Contains(t, s.log.String(), "connection refused")
		require.Equal(t, 503, s.status(s.as.token(nil)))
		require.Equal(t, 1, s.as.requests(), "not asked again at once")
		require.Equal(t, 401, s.status("opaque"))
		require.Equal(t, 401, s.do(http.MethodPost, "/mcp", "{}", nil).Code)

		s.as.set(false)
		time.Sleep(firstKeys)
		require.Equal(t, 200, s.status(s.as.token(nil)))
		s.as.set(true)
		time.Sleep(staleKeys - time.Second)
		require.Equal(t, 200, s.status(s.as.token(nil)))
		require.Equal(t, 503, s.status(s.as.sign("at+jwt", "unknown", nil)))
		time.Sleep(time.Second)
		require.Equal(t, 503, s.status(s.as.token(nil)))
		s.as.set(false)
		time.Sleep(refetchKeys)
		require.Equal(t, 200, s.status(s.as.token(nil)))
	})
}

func TestIssuerIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newGuarded(t)
		s.as.holding = make(chan struct{})
		began := time.Now()
		require.Equal(t, 503, s.status(s.as.token(nil)))
		require.Equal(t, fetchTimeout, time.Since(began))

		time.Sleep(firstKeys)
		token := s.as.token(nil)
		var waiting sync.WaitGroup
		codes := make(chan int, 50)
		for range cap(codes) {
			waiting.Go(func() {
				found, err := s.guard.check(t.Context(), token, resourceURL)
				if err != nil || found.user != "ada" {
					codes <- 0
				}
			})
		}
		synctest.Wait()
		close(s.as.holding)
		waiting.Wait()
		require.Empty(t, codes)
		require.Equal(t, 1+2, s.as.requests(), "one fetch for all that wait")
	})
}

// What an issuer says is bounded, and must be about it.
func TestDocumentsOfTheIssuer(t *testing.T) {
	t.Parallel()
	const place = "https://issuer.example/.well-known/oauth-authorization-server/tenant"
	const openID = "https://issuer.example/tenant/.well-known/openid-configuration"
	usual := `{"issuer":"` + issuerURL + `","jwks_uri":"https://issuer.example/keys"}`
	for _, tt := range []struct {
		name    string
		answers map[string]string
		logged  string // "" is success
	}{
		{"OpenID after the path", map[string]string{place: "", openID: usual}, ""},
		{"OpenID before the path", map[string]string{place: "", "https://issuer.example/.well-known/openid-configuration/tenant": usual}, ""},
		{"nowhere", map[string]string{place: ""}, "no metadata"},
		{"of another issuer", map[string]string{place: `{"issuer":"https://issuer.example","jwks_uri":"https://issuer.example/keys"}`}, "is of the issuer"},
		{"no keys named", map[string]string{place: `{"issuer":"` + issuerURL + `"}`}, "jwks_uri"},
		{"keys without TLS", map[string]string{place: `{"issuer":"` + issuerURL + `","jwks_uri":"http://issuer.example/keys"}`}, "jwks_uri"},
		{"redirected", map[string]string{place: "redirect https://elsewhere.example/"}, "302"},
		{"no JSON", map[string]string{place: "<html>"}, "not the JSON"},
		{"endless", map[string]string{"https://issuer.example/keys": strings.Repeat(" ", maxDocument+1)}, "larger than"},
		{"no keys", map[string]string{"https://issuer.example/keys": `{"keys":[]}`}, "no key"},
		{"secret keys", map[string]string{"https://issuer.example/keys": `{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`}, "no key"},
		{"keys for encryption", map[string]string{"https://issuer.example/keys": strings.Replace(newIssuer(t).document("https://issuer.example/keys"), `"sig"`, `"enc"`, 1)}, "no key"},
	} {
		s := newGuarded(t)
		s.as.answers = tt.answers
		if tt.logged == "" {
			require.Equal(t, 200, s.status(s.as.token(nil)), tt.name)
			continue
		}
		require.Equal(t, 503, s.status(s.as.token(nil)), tt.name)
		require.Contains(t, s.log.String(), tt.logged, tt.name)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, issuer := range []string{"https://x", "http://127.0.0.1:9000", "http://localhost/x", "http://[::1]:9000"} {
		_, err := New(Options{Issuer: issuer})
		require.NoError(t, err, issuer)
	}
	for _, issuer := range []string{"", "x", "http://x", "http://127.0.0.1.example", "https://x?y=z", "https://x#y", "ftp://x", "https://"} {
		_, err := New(Options{Issuer: issuer})
		require.ErrorContains(t, err, "issuer", issuer)
	}
	_, err := New(Options{Issuer: "https://x", Scopes: []string{`a"b`}})
	require.ErrorContains(t, err, "is not a scope")
	_, err = New(Options{Issuer: "https://x", ToolScopes: map[string][]string{"t": {"a b"}}})
	require.ErrorContains(t, err, "is not a scope")
}
