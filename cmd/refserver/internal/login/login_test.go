package login

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const (
	origin   = "http://127.0.0.1:3000"
	issuer   = origin + Path
	resource = origin + "/mcp"
	redirect = "http://127.0.0.1:40000/callback"
	verifier = "a-verifier-of-at-least-forty-three-characters"
)

// site is a server without a network.
type site struct {
	t   *testing.T
	mux *http.ServeMux
}

func newSite(t *testing.T) *site {
	t.Helper()
	srv, err := New(Options{Issuer: issuer, Resource: resource, Users: []string{"demo", "<guest>"}, Scopes: []string{"mcp", "tickets"}, Lifetime: time.Minute})
	require.NoError(t, err)
	s := &site{t: t, mux: http.NewServeMux()}
	for pattern, handler := range srv.Handlers() {
		s.mux.Handle(pattern, handler)
	}
	return s
}

func (s *site) do(method, at, kind, body string, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, at, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r)
	return w
}

func (s *site) post(at string, form url.Values, header ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	return s.do(http.MethodPost, at, "application/x-www-form-urlencoded", form.Encode(), header...)
}

func decode(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var doc map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &doc), w.Body.String())
	return doc
}

// registered returns the id of a client.
func (s *site) registered() string {
	s.t.Helper()
	w := s.do(http.MethodPost, issuer+"/register", "application/json", `{"client_name":"A <b>bot</b>","redirect_uris":["`+redirect+`"]}`)
	require.Equal(s.t, http.StatusCreated, w.Code, w.Body.String())
	doc := decode(s.t, w)
	require.Equal(s.t, "none", doc["token_endpoint_auth_method"])
	return doc["client_id"].(string)
}

// page is the address of the page for a client, with the changes of edit.
func page(id string, edit ...string) string {
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{
		"client_id": {id}, "redirect_uri": {redirect}, "response_type": {"code"}, "state": {"a-state"}, "resource": {resource}, "scope": {"mcp unknown"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	for i := 0; i < len(edit); i += 2 {
		if q.Set(edit[i], edit[i+1]); edit[i+1] == "" {
			q.Del(edit[i])
		}
	}
	return issuer + "/authorize?" + q.Encode()
}

// back is where the browser is sent to.
func back(t *testing.T, w *httptest.ResponseRecorder) url.Values {
	t.Helper()
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body.String())
	u, err := url.Parse(w.Header().Get("Location"))
	require.NoError(t, err)
	require.Equal(t, redirect, u.Scheme+"://"+u.Host+u.Path)
	require.Equal(t, issuer, u.Query().Get("iss"), "RFC 9207")
	return u.Query()
}

// code logs in as demo and returns the code.
func (s *site) code(id string) string {
	s.t.Helper()
	q := back(s.t, s.post(page(id), url.Values{"user": {"demo"}}))
	require.Equal(s.t, "a-state", q.Get("state"))
	return q.Get("code")
}

func exchange(id, code string) url.Values {
	return url.Values{"grant_type": {"authorization_code"}, "client_id": {id}, "code": {code}, "redirect_uri": {redirect}, "code_verifier": {verifier}, "resource": {resource}}
}

func refresh(id, token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "client_id": {id}, "refresh_token": {token}, "resource": {resource}}
}

// tokens asks for tokens, and wants some.
func (s *site) tokens(form url.Values) (access, refresh string) {
	s.t.Helper()
	w := s.post(issuer+"/token", form)
	require.Equal(s.t, http.StatusOK, w.Code, w.Body.String())
	require.Equal(s.t, "no-store", w.Header().Get("Cache-Control"))
	doc := decode(s.t, w)
	require.Equal(s.t, "Bearer", doc["token_type"])
	require.InDelta(s.t, 60, doc["expires_in"], 0)
	require.Equal(s.t, "mcp", doc["scope"], "unknown scopes are left out")
	return doc["access_token"].(string), doc["refresh_token"].(string)
}

// refused asks for tokens, and wants an error.
func (s *site) refused(why string, form url.Values, code string) {
	s.t.Helper()
	w := s.post(issuer+"/token", form)
	require.Equal(s.t, http.StatusBadRequest, w.Code, why+w.Body.String())
	require.Equal(s.t, code, decode(s.t, w)["error"], why+w.Body.String())
}

func TestPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.registered()
	w := s.do(http.MethodGet, page(id), "", "")
	require.Equal(t, http.StatusOK, w.Code)
	text := w.Body.String()
	require.Contains(t, text, `<button name="user" value="demo">Log in as demo</button>`)
	require.Contains(t, text, `Log in as &lt;guest&gt;`)
	require.Contains(t, text, "A &lt;b&gt;bot&lt;/b&gt;")
	require.Contains(t, text, redirect)
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'")
	require.Equal(t, "same-origin", w.Header().Get("Referrer-Policy"))
	require.NotEmpty(t, back(t, s.post(page(id), url.Values{"user": {"<guest>"}})).Get("code"))
	require.Equal(t, "access_denied", back(t, s.post(page(id), nil)).Get("error"))

	for name, edit := range map[string][2]string{
		"no PKCE":              {"code_challenge", ""},
		"plain PKCE":           {"code_challenge_method", "plain"},
		"another flow":         {"response_type", "token"},
		"for another resource": {"resource", "http://127.0.0.1:3000/other"},
	} {
		q := back(t, s.post(page(id, edit[:]...), url.Values{"user": {"demo"}}))
		require.NotEmpty(t, q.Get("error"), name)
		require.Empty(t, q.Get("code"), name)
		require.Equal(t, "a-state", q.Get("state"), name)
	}
	for name, at := range map[string]string{
		"an unknown client": page("unknown"), "no client": page(""),
		"another redirect": page(id, "redirect_uri", "http://127.0.0.1:40000/elsewhere"),
		"another host":     page(id, "redirect_uri", "https://evil.example/callback"),
		"no redirect":      page(id, "redirect_uri", ""),
	} {
		w := s.post(at, url.Values{"user": {"demo"}})
		require.Equal(t, http.StatusBadRequest, w.Code, name)
		require.Empty(t, w.Header().Get("Location"), name)
	}
	require.Equal(t, http.StatusBadRequest, s.post(page(id), url.Values{"user": {"root"}}).Code)
	require.Equal(t, http.StatusForbidden, s.post(page(id), url.Values{"user": {"demo"}}, "Sec-Fetch-Site", "cross-site").Code, "a form of another site")
}

func TestRegister(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, bad := range []string{
		`[`, `{}`, `{"redirect_uris":[]}`, `{"redirect_uris":["https://evil.example/callback"]}`, `{"redirect_uris":["javascript:alert(1)"]}`,
		`{"redirect_uris":["http://127.0.0.1.evil.example/"]}`, `{"redirect_uris":["http://user@127.0.0.1/"]}`, `{"redirect_uris":["http://127.0.0.1/#x"]}`,
		`{"redirect_uris":["` + redirect + `","ftp://127.0.0.1/"]}`, `{"redirect_uris":["` + redirect + strings.Repeat("x", maxRedirect) + `"]}`,
		`{"redirect_uris":[` + strings.Repeat(`"`+redirect+`",`, maxRedirects) + `"` + redirect + `"]}`,
		`{"client_name":"` + strings.Repeat("x", maxName+1) + `","redirect_uris":["` + redirect + `"]}`,
	} {
		w := s.do(http.MethodPost, issuer+"/register", "application/json", bad)
		require.Equal(t, http.StatusBadRequest, w.Code, bad)
		require.Contains(t, []any{invalidMetadata, invalidRedirect}, decode(t, w)["error"], bad)
	}
	c, err := read(s.registered())
	require.NoError(t, err, "an id outlives the server: it is the registration")
	require.True(t, c.allows(redirect))
	require.True(t, c.allows("http://127.0.0.1:5/callback"), "any port of a loopback address")
	require.False(t, c.allows("http://127.0.0.2:40000/callback"))
	require.False(t, c.allows("http://localhost:40000/callback"))
	require.False(t, c.allows("https://127.0.0.1:40000/callback"))
	named := client{Redirects: []string{"http://localhost:1/callback"}}
	require.False(t, named.allows("http://localhost:2/callback"), "a name is not an address")
	forged, err := (&client{Redirects: []string{"https://evil.example/"}}).id()
	require.NoError(t, err)
	_, err = read(forged)
	require.Error(t, err, "an id that somebody has made is held against the same rules")
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	doc := decode(t, s.do(http.MethodGet, origin+"/.well-known/oauth-authorization-server"+Path, "", ""))
	require.Equal(t, issuer, doc["issuer"])
	require.Equal(t, []any{"S256"}, doc["code_challenge_methods_supported"])
	require.Equal(t, []any{"mcp", "tickets"}, doc["scopes_supported"])
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint", "jwks_uri"} {
		at, ok := doc[name].(string)
		require.True(t, ok, name)
		method := http.MethodPost
		if name == "jwks_uri" || name == "authorization_endpoint" {
			method = http.MethodGet
		}
		require.NotEqual(t, http.StatusNotFound, s.do(method, at, "", "").Code, name)
	}
}

// An access token is what RFC 9068 wants, for this resource and signed with the key that
// is published.
func TestAccessToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		id := s.registered()
		time.Sleep(300 * time.Millisecond)
		access, _ := s.tokens(exchange(id, s.code(id)))
		var keys jose.JSONWebKeySet
		body := s.do(http.MethodGet, issuer+"/keys", "", "").Body
		require.NotContains(t, body.String(), `"d"`, "only the public key")
		require.NoError(t, json.Unmarshal(body.Bytes(), &keys))
		signed, err := jose.ParseSignedCompact(access, []jose.SignatureAlgorithm{jose.ES256})
		require.NoError(t, err)
		require.Equal(t, "at+jwt", signed.Signatures[0].Protected.ExtraHeaders[jose.HeaderType])
		text, err := signed.Verify(keys.Key(signed.Signatures[0].Protected.KeyID)[0])
		require.NoError(t, err)
		var c claims
		require.NoError(t, json.Unmarshal(text, &c))
		require.NotEmpty(t, c.ID)
		now := time.Now()
		require.Equal(t, claims{
			Issuer: issuer, Audience: resource, Subject: "demo", Client: id, ID: c.ID, Scope: "mcp",
			Issued: now.Unix(), Expires: now.Add(time.Minute).Unix() + 1,
		}, c, "a second begun counts")
	})
}

func TestCode(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.registered()
	for name, edit := range map[string][3]string{
		"another verifier": {"code_verifier", strings.Repeat("x", 43), "invalid_grant"},
		"no verifier":      {"code_verifier", "", "invalid_request"},
		"another redirect": {"redirect_uri", "http://127.0.0.1:40000/elsewhere", "invalid_grant"},
		"another port":     {"redirect_uri", "http://127.0.0.1:40001/callback", "invalid_grant"},
		"another resource": {"resource", "http://127.0.0.1:3000/other", invalidTarget},
		"an unknown code":  {"code", "unknown", "invalid_grant"},
		"another grant":    {"grant_type", "password", "invalid_request"},
		"robots":           {"grant_type", "client_credentials", "unauthorized_client"},
	} {
		form := exchange(id, s.code(id))
		form.Set(edit[0], edit[1])
		s.refused(name, form, edit[2])
	}
	other, err := (&client{Name: "other", Redirects: []string{redirect}}).id()
	require.NoError(t, err)
	s.refused("another client", exchange(other, s.code(id)), "invalid_grant")
	unknown := s.post(issuer+"/token", exchange("unknown", s.code(id)))
	require.Equal(t, http.StatusUnauthorized, unknown.Code)
	require.Equal(t, "invalid_client", decode(t, unknown)["error"])

	code := s.code(id)
	_, token := s.tokens(exchange(id, code))
	s.refused("spent, or expired", exchange(id, code), "invalid_grant")
	s.refused("a code that is used twice ends the login", refresh(id, token), "invalid_grant")
}

func TestCodeExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		id := s.registered()
		code := s.code(id)
		time.Sleep(codeLife + time.Second)
		s.refused("spent, or expired", exchange(id, code), "invalid_grant")
	})
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		id := s.registered()
		access, first := s.tokens(exchange(id, s.code(id)))
		time.Sleep(refreshLife - time.Minute)
		more := refresh(id, first)
		more.Set("scope", "mcp tickets")
		s.refused("more scopes", more, "invalid_scope")
		newer, second := s.tokens(refresh(id, first))
		require.NotEqual(t, access, newer)
		require.NotEqual(t, first, second, "each is used once")
		other, err := (&client{Name: "other", Redirects: []string{redirect}}).id()
		require.NoError(t, err)
		s.refused("another client", refresh(other, second), "invalid_grant")
		time.Sleep(refreshLife - 2*time.Minute)
		_, third := s.tokens(refresh(id, second)) // its life begins with its refresh
		_, aside := s.tokens(exchange(id, s.code(id)))
		s.refused("spent", refresh(id, first), "invalid_grant")
		s.refused("one that is used twice ends the login", refresh(id, third), "invalid_grant")
		_, aside = s.tokens(refresh(id, aside)) // and no other login
		time.Sleep(refreshLife + time.Second)
		s.refused("expired", refresh(id, aside), "invalid_grant")
	})
}

// Of many requests with one refresh token, one gets tokens.
func TestRefreshAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.registered()
	_, token := s.tokens(exchange(id, s.code(id)))
	codes := make([]int, 20)
	var group sync.WaitGroup
	for i := range codes {
		group.Go(func() { codes[i] = s.post(issuer+"/token", refresh(id, token)).Code })
	}
	group.Wait()
	slices.Sort(codes)
	require.Equal(t, http.StatusOK, codes[0])
	require.Equal(t, http.StatusBadRequest, codes[1])
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.registered()
	access, token := s.tokens(exchange(id, s.code(id)))
	w := s.post(issuer+"/revoke", url.Values{"token": {access}, "client_id": {id}})
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Equal(t, unsupportedType, decode(t, w)["error"], "it proves itself until it expires")
	require.Equal(t, http.StatusOK, s.post(issuer+"/revoke", url.Values{"token": {token}, "client_id": {"other"}}).Code)
	_, token = s.tokens(refresh(id, token))
	require.Equal(t, http.StatusOK, s.post(issuer+"/revoke", url.Values{"token": {token}, "client_id": {id}}).Code)
	s.refused("revoked", refresh(id, token), "invalid_grant")
	require.Equal(t, http.StatusOK, s.post(issuer+"/revoke", url.Values{"token": {"unknown"}, "client_id": {id}}).Code)
	require.Equal(t, http.StatusBadRequest, s.post(issuer+"/revoke", nil).Code)
}

// Memory is bounded. What is spent or has expired makes room.
func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		id := s.registered()
		_, token := s.tokens(exchange(id, s.code(id)))
		for range 2 * mostTokens {
			_, token = s.tokens(refresh(id, token))
		}
		for range mostTokens - 1 {
			s.code(id)
		}
		require.Equal(t, "server_error", back(t, s.post(page(id), url.Values{"user": {"demo"}})).Get("error"))
		time.Sleep(refreshLife + time.Second)
		s.tokens(exchange(id, s.code(id)))
	})
}

func TestOptions(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Issuer: issuer, Resource: resource})
	require.ErrorContains(t, err, "name a user")
	_, err = New(Options{Issuer: origin, Resource: resource, Users: []string{"demo"}})
	require.ErrorContains(t, err, "ends in /login")
}
