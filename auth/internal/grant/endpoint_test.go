package grant

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

// request is a request that the server of a test received.
type request struct {
	form   url.Values
	header http.Header
	body   string
}

// script is an authorization server that plays one answer after the other, and the last again.
type script struct {
	url  string
	http *fetch.Client

	meanwhile func() // nil, or what happens during a request

	mu       sync.Mutex
	requests []request
}

type answer struct {
	status int
	kind   string // content type; empty: JSON
	nonce  string
	body   string
}

func play(t *testing.T, answers ...answer) *script {
	t.Helper()
	s := &script{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.meanwhile != nil {
			s.meanwhile()
		}
		a := answers[min(len(s.requests), len(answers)-1)]
		s.requests = append(s.requests, request{form: form, header: r.Header, body: string(body)})
		if a.kind == "" {
			a.kind = "application/json"
		}
		w.Header().Set("Content-Type", a.kind)
		if a.nonce != "" {
			w.Header().Set("DPoP-Nonce", a.nonce)
		}
		if a.status/100 == 3 {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, strings.ReplaceAll(a.body, "{body}", string(body)))
	}))
	t.Cleanup(server.Close)
	transport, ok := server.Client().Transport.(*http.Transport)
	require.True(t, ok)
	s.url = server.URL + "/token"
	s.http = fetch.New(fetch.Options{Transport: transport, AllowLoopback: true})
	t.Cleanup(s.http.CloseIdle)
	return s
}

func (s *script) endpoint() *Endpoint {
	return &Endpoint{HTTP: s.http, TokenURL: s.url, Issuer: "https://as.example"}
}

const bearer = `{"access_token":"AT","token_type":"bearer","expires_in":60}`

func TestExchangeSendsTheGrant(t *testing.T) {
	s := play(t, answer{status: 200, body: bearer})
	params := url.Values{"code": {"C"}, "resource": {"https://a/1", "https://a/2"}}
	before := time.Now()
	token, err := s.endpoint().Exchange(t.Context(), &Client{ID: "id"}, "authorization_code", params)
	require.NoError(t, err)
	require.Equal(t, "AT", token.Access.Text())
	require.Equal(t, "Bearer", token.Type)
	require.WithinRange(t, token.Expiry, before.Add(time.Minute), time.Now().Add(time.Minute))
	require.Len(t, s.requests, 1)
	got := s.requests[0]
	require.Equal(t, url.Values{
		"grant_type": {"authorization_code"}, "code": {"C"}, "resource": {"https://a/1", "https://a/2"}, "client_id": {"id"},
	}, got.form)
	require.Equal(t, "application/x-www-form-urlencoded", got.header.Get("Content-Type"))
	require.Equal(t, "application/json", got.header.Get("Accept"))
	require.Empty(t, got.header.Get("DPoP"))
	require.Equal(t, url.Values{"code": {"C"}, "resource": {"https://a/1", "https://a/2"}}, params, "the caller's are not changed")
	_, err = s.endpoint().Exchange(t.Context(), &Client{ID: "id"}, "client_credentials", nil)
	require.NoError(t, err)
}

func TestExchangeAuthenticatesTheClient(t *testing.T) {
	signer := newKey(t, "ES256")
	for _, test := range []struct {
		name      string
		supported []string
		algs      []string
		client    Client
		want      string // method, or the text of the error
	}{
		{"public", []string{"none"}, nil, Client{ID: "a b"}, "none"},
		{"public, not listed", []string{"client_secret_basic"}, nil, Client{ID: "a b"}, "none"},
		{"nothing is listed", nil, nil, Client{ID: "a b", Secret: "s:/%"}, "client_secret_basic"},
		{"both are listed", []string{"client_secret_post", "client_secret_basic"}, nil, Client{ID: "a b", Secret: "s:/%"}, "client_secret_basic"},
		{"post is listed", []string{"client_secret_post"}, nil, Client{ID: "a b", Secret: "s:/%"}, "client_secret_post"},
		{"none is listed", []string{"none"}, nil, Client{ID: "a b", Secret: "s:/%"}, "none"},
		{"registered otherwise", []string{"client_secret_basic"}, nil, Client{ID: "a b", Secret: "s:/%", Method: "client_secret_post"}, "client_secret_post"},
		{"key", []string{"private_key_jwt"}, nil, Client{ID: "a b", Key: signer}, "private_key_jwt"},
		{"key and secret", []string{"client_secret_basic", "private_key_jwt"}, []string{"RS256", "ES256"}, Client{ID: "a b", Secret: "s:/%", Key: signer}, "private_key_jwt"},
		{"key for another server", []string{"private_key_jwt"}, []string{"RS256"}, Client{ID: "a b", Key: signer}, "signs with ES256"},
		{"certificate", []string{"tls_client_auth"}, nil, Client{ID: "a b", Secret: "s:/%"}, "supports [tls_client_auth]"},
		{"key is not supported", []string{"client_secret_post"}, nil, Client{ID: "a b", Key: signer}, "supports [client_secret_post]"},
		{"no secret", nil, nil, Client{ID: "a b", Method: "client_secret_basic"}, "needs a client secret"},
		{"no key", nil, nil, Client{ID: "a b", Method: "private_key_jwt"}, "needs a private key"},
		{"unknown method", nil, nil, Client{ID: "a b", Secret: "s:/%", Method: "client_secret_jwt"}, "is not supported"},
		{"no id", nil, nil, Client{}, "no id"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := play(t, answer{status: 200, body: bearer})
			e := s.endpoint()
			e.Methods, e.Algs = test.supported, test.algs
			_, err := e.Exchange(t.Context(), &test.client, "refresh_token", url.Values{"refresh_token": {"R"}})
			if err != nil {
				require.Contains(t, err.Error(), test.want)
				require.Empty(t, s.requests)
				return
			}
			form, header := s.requests[0].form, s.requests[0].header
			name, password, basic := (&http.Request{Header: header}).BasicAuth()
			switch test.want {
			case "client_secret_basic":
				require.True(t, basic)
				require.Equal(t, "a+b s%3A%2F%25", name+" "+password)
				require.Empty(t, form["client_id"])
			case "client_secret_post":
				require.Equal(t, "s:/%", form.Get("client_secret"))
				require.Equal(t, "a b", form.Get("client_id"))
			case "none":
				require.Equal(t, "a b", form.Get("client_id"))
			case "private_key_jwt":
				require.Equal(t, assertionType, form.Get("client_assertion_type"))
				claims, _ := verify(t, form.Get("client_assertion"), signer.Public())
				require.Equal(t, "https://as.example", claims["aud"])
				require.Equal(t, "a b", claims["iss"])
			default:
				t.Fatal("there was to be an error: ", test.want)
			}
			require.Equal(t, test.want == "client_secret_basic", header.Get("Authorization") != "")
			require.Equal(t, test.want == "client_secret_post", form.Has("client_secret"))
			require.Equal(t, test.want == "private_key_jwt", form.Has("client_assertion"))
		})
	}
}

func TestExchangeIsRefused(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer answer
		want   Error
	}{
		{
			"by the book",
			answer{400, "", "", `{"error":"invalid_grant","error_description":"spent","error_uri":"https://as.example/why?x=1"}`},
			Error{Code: "invalid_grant", Description: "spent", URI: "https://as.example/why?x=1", Status: 400},
		},
		{"as text", answer{401, "text/plain; charset=utf-8", "", `{"error":"invalid_client"}`}, Error{Code: "invalid_client", Status: 401}},
		{"as a form", answer{400, "application/x-www-form-urlencoded", "", `error=invalid_grant&error_description=used+up`}, Error{Code: "invalid_grant", Description: "used up", Status: 400}},
		{"with a good status", answer{200, "", "", `{"error":"bad_verification_code"}`}, Error{Code: "bad_verification_code", Status: 200}},
		{"by a proxy", answer{502, "text/html", "", `<html>Bad Gateway</html>`}, Error{Status: 502}},
		{"by a redirect", answer{302, "", "", ``}, Error{Status: 302}},
		{"with an object as error", answer{400, "", "", `{"error":{"code":7}}`}, Error{Status: 400}},
		{"with an empty body", answer{500, "", "", ``}, Error{Status: 500}},
		{"with an array", answer{400, "", "", `["error"]`}, Error{Status: 400}},
		{"in another case", answer{400, "", "", `{"ERROR":"invalid_grant"}`}, Error{Status: 400}},
		{
			"to trick a terminal",
			answer{400, "", "", `{"error":"in\nvalid","error_description":"a\u001b[31mb\r\nc\u202ed","error_uri":"javascript:alert(1)"}`},
			Error{Description: "a [31mb  c d", Status: 400},
		},
		{"with credentials in the page's address", answer{400, "", "", `{"error":"x","error_uri":"https://a:b@as.example/"}`}, Error{Code: "x", Status: 400}},
		{"with a long code", answer{400, "", "", `{"error":"` + strings.Repeat("x", 65) + `"}`}, Error{Status: 400}},
		{
			"at length",
			answer{400, "", "", `{"error":"x","error_description":"` + strings.Repeat("ä", 5000) + `"}`},
			Error{Code: "x", Description: strings.Repeat("ä", 256) + "…", Status: 400},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := play(t, test.answer)
			_, err := s.endpoint().Exchange(t.Context(), &Client{ID: "id"}, "authorization_code", nil)
			var got *Error
			require.ErrorAs(t, err, &got)
			test.want.Endpoint = s.url
			require.Equal(t, test.want, *got)
			require.Len(t, s.requests, 1, "nothing is tried again")
			require.Contains(t, err.Error(), s.url)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// TestErrorsRepeatNoSecret: servers quote requests, and their texts go into logs.
func TestErrorsRepeatNoSecret(t *testing.T) {
	signer := newKey(t, "ES256")
	prover, err := NewProver()
	require.NoError(t, err)
	params := url.Values{}
	for _, name := range secretParams {
		params.Set(name, "PLANTED-"+strings.ToUpper(name)+"/+=")
	}
	for _, client := range []Client{
		{ID: "id", Secret: "PLANTED-SECRET", Method: MethodBasic},
		{ID: "id", Secret: "PLANTED-SECRET", Method: MethodPost},
		{ID: "id", Key: signer, Method: MethodKeyJWT},
	} {
		for _, status := range []int{200, 302, 400, 401, 500} {
			for _, body := range []string{
				`{"error":"PLANTED-CODE/+=","error_description":"got {body}","error_uri":"https://as.example/?{body}"}`,
				`error=invalid_grant&error_description=PLANTED-REFRESH_TOKEN/%2B%3D`,
				`error=invalid_grant&error_description=starts with PLANTED-REFRES`,
				`{body}`, `{"access_token":"PLANTED"`, `{"access_token":["PLANTED"]}`, `{"access_token":"PLANTED\u0000"}`,
				`{"access_token":"PLANTED","token_type":"PLANTED"}`,
			} {
				s := play(t, answer{status: status, kind: "application/x-www-form-urlencoded", body: body})
				e := s.endpoint()
				e.Proof = prover
				_, err := e.Exchange(t.Context(), &client, "authorization_code", params)
				require.Error(t, err)
				for _, text := range []string{err.Error(), fmt.Sprintf("%#v", err), fmt.Sprintf("%+v", err)} {
					require.NotContains(t, text, "PLANTED")
					require.NotContains(t, text, "eyJ", "no assertion, no proof")
				}
			}
		}
	}
}

func TestExchangeRepeatsForANonce(t *testing.T) {
	want := answer{status: 400, nonce: "n1", body: `{"error":"use_dpop_nonce"}`}
	granted := answer{status: 200, nonce: "n2", body: `{"access_token":"AT","token_type":"DPoP"}`}
	t.Run("once", func(t *testing.T) {
		s := play(t, want, granted)
		e := s.endpoint()
		e.Proof = mustProver(t)
		c := &Client{ID: "id", Key: newKey(t, "ES256"), Method: MethodKeyJWT}
		token, err := e.Exchange(t.Context(), c, "client_credentials", url.Values{"scope": {"a"}})
		require.NoError(t, err)
		require.Equal(t, "DPoP", token.Type)
		require.Len(t, s.requests, 2)
		for i, nonce := range []any{nil, "n1"} {
			claims, header := verify(t, s.requests[i].header.Get("DPoP"), e.Proof.key.public)
			require.Equal(t, nonce, claims["nonce"])
			require.Equal(t, "POST", claims["htm"])
			require.Equal(t, s.url, claims["htu"])
			require.Equal(t, "dpop+jwt", header.ExtraHeaders[jose.HeaderType])
			require.Equal(t, "a", s.requests[i].form.Get("scope"))
		}
		require.NotEqual(t, s.requests[0].form.Get("client_assertion"), s.requests[1].form.Get("client_assertion"), "each is good for one request")
		require.Equal(t, "n2", e.Proof.Nonce(s.url), "for the next request")
	})
	t.Run("not twice", func(t *testing.T) {
		s := play(t, want, answer{status: 400, nonce: "n3", body: want.body})
		e := s.endpoint()
		e.Proof = mustProver(t)
		_, err := e.Exchange(t.Context(), &Client{ID: "id"}, "client_credentials", nil)
		var refused *Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, nonceWanted, refused.Code)
		require.Len(t, s.requests, 2)
	})
	t.Run("not for the same nonce", func(t *testing.T) {
		s := play(t, want)
		e := s.endpoint()
		e.Proof = mustProver(t)
		e.Proof.SetNonce(s.url, "n1")
		_, err := e.Exchange(t.Context(), &Client{ID: "id"}, "client_credentials", nil)
		require.Error(t, err)
		require.Len(t, s.requests, 1)
	})
	t.Run("not for another error", func(t *testing.T) {
		s := play(t, answer{status: 400, nonce: "n1", body: `{"error":"invalid_grant"}`})
		e := s.endpoint()
		e.Proof = mustProver(t)
		_, err := e.Exchange(t.Context(), &Client{ID: "id"}, "client_credentials", nil)
		require.Error(t, err)
		require.Len(t, s.requests, 1, "a spent code is not sent again")
	})
	t.Run("for one that another request got meanwhile", func(t *testing.T) {
		s := play(t, want, granted)
		e := s.endpoint()
		e.Proof = mustProver(t)
		s.meanwhile = func() { e.Proof.SetNonce(s.url, "n1") }
		_, err := e.Exchange(t.Context(), &Client{ID: "id"}, "client_credentials", nil)
		require.NoError(t, err)
		require.Len(t, s.requests, 2)
	})
	t.Run("for one in place of an old one", func(t *testing.T) {
		s := play(t, want, granted)
		e := s.endpoint()
		e.Proof = mustProver(t)
		e.Proof.SetNonce(s.url, "n0")
		_, err := e.Exchange(t.Context(), &Client{ID: "id"}, "client_credentials", nil)
		require.NoError(t, err)
		require.Len(t, s.requests, 2)
	})
	t.Run("not without proofs", func(t *testing.T) {
		s := play(t, want)
		_, err := s.endpoint().Exchange(t.Context(), &Client{ID: "id"}, "client_credentials", nil)
		require.Error(t, err)
		require.Len(t, s.requests, 1)
	})
}

func TestTokenAnswers(t *testing.T) {
	now := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name, kind, body string
		asked            wanted
		want             Token // zero: refused
	}{
		{
			"all", "", `{"access_token":"A","token_type":"Bearer","expires_in":3600,"refresh_token":"R","id_token":"I","scope":"a  b"}`,
			wanted{},
			Token{Access: Hide("A"), Type: "Bearer", Refresh: Hide("R"), IDToken: Hide("I"), Scope: "a b", Expiry: now.Add(time.Hour)},
		},
		{"least", "", `{"access_token":"A"}`, wanted{}, Token{Access: Hide("A"), Type: "Bearer"}},
		{"nulls", "", `{"access_token":"A","token_type":null,"expires_in":null,"refresh_token":null,"scope":null}`, wanted{}, Token{Access: Hide("A"), Type: "Bearer"}},
		{"DPoP", "", `{"access_token":"A","token_type":"dpop"}`, wanted{dpop: true}, Token{Access: Hide("A"), Type: "DPoP"}},
		{"DPoP that was not asked for", "", `{"access_token":"A","token_type":"DPoP"}`, wanted{}, Token{}},
		{"DPoP that was not asked for, in an exchange", "", `{"access_token":"A","token_type":"DPoP"}`, wanted{other: true}, Token{}},
		{"Bearer in place of DPoP", "", `{"access_token":"A","token_type":"Bearer"}`, wanted{dpop: true}, Token{}},
		{"no type in place of DPoP", "", `{"access_token":"A"}`, wanted{dpop: true}, Token{}},
		{"no access token in place of DPoP", "", `{"access_token":"A","token_type":"n_a"}`, wanted{dpop: true}, Token{}},
		{"a Bearer token of another type", "", `{"access_token":"A","token_type":"Bearer"}`, wanted{other: true}, Token{Access: Hide("A"), Type: "Bearer"}},
		{"number as text", "", `{"access_token":"A","expires_in":"60"}`, wanted{}, Token{Access: Hide("A"), Type: "Bearer", Expiry: now.Add(time.Minute)}},
		{"fraction", "", `{"access_token":"A","expires_in":0.5}`, wanted{}, Token{Access: Hide("A"), Type: "Bearer", Expiry: now.Add(500 * time.Millisecond)}},
		{"huge number", "", `{"access_token":"A","expires_in":1e300}`, wanted{}, Token{Access: Hide("A"), Type: "Bearer", Expiry: now.Add(longestLife)}},
		{"number out of range", "", `{"access_token":"A","expires_in":1e999}`, wanted{}, Token{Access: Hide("A"), Type: "Bearer"}},
		{"negative number", "", `{"access_token":"A","expires_in":-1}`, wanted{}, Token{Access: Hide("A"), Type: "Bearer"}},
		{"scopes as a list", "", `{"access_token":"A","scope":["a","b"]}`, wanted{}, Token{Access: Hide("A"), Type: "Bearer", Scope: "a b"}},
		{"scopes that are none", "", `{"access_token":"A","scope":"a \u001b[31m b"}`, wanted{}, Token{Access: Hide("A"), Type: "Bearer", Scope: "a b"}},
		{
			"form", "application/x-www-form-urlencoded", "access_token=A&token_type=bearer&expires_in=60&scope=a+b",
			wanted{},
			Token{Access: Hide("A"), Type: "Bearer", Scope: "a b", Expiry: now.Add(time.Minute)},
		},
		{"ID-JAG", "", `{"access_token":"A","token_type":"N_A","issued_token_type":"urn:x"}`, wanted{other: true}, Token{Access: Hide("A"), Type: "N_A", IssuedType: "urn:x"}},
		{"no access token is asked for", "", `{"access_token":"A","token_type":"N_A"}`, wanted{}, Token{}},
		{"MAC", "", `{"access_token":"A","token_type":"mac"}`, wanted{}, Token{}},
		{"empty", "", ``, wanted{}, Token{}},
		{"null", "", `null`, wanted{}, Token{}},
		{"array", "", `[]`, wanted{}, Token{}},
		{"no token", "", `{"token_type":"Bearer"}`, wanted{}, Token{}},
		{"other case", "", `{"ACCESS_TOKEN":"A"}`, wanted{}, Token{}},
		{"token as number", "", `{"access_token":1}`, wanted{}, Token{}},
		{"header injection", "", `{"access_token":"A\r\nX: y"}`, wanted{}, Token{}},
		{"blank", "", `{"access_token":"A B"}`, wanted{}, Token{}},
		{"no ASCII", "", `{"access_token":"Ä"}`, wanted{}, Token{}},
		{"odd refresh token", "", `{"access_token":"A","refresh_token":"R\u0000"}`, wanted{}, Token{}},
		{"page", "text/html", `access_token=A`, wanted{}, Token{}},
		{"two values", "", `{"access_token":"A"} {"access_token":"B"}`, wanted{}, Token{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := &fetch.Answer{Status: 200, Header: http.Header{"Content-Type": {test.kind}}, Body: []byte(test.body)}
			got, err := parseToken("https://as.example/token?q", a, nil, test.asked, now)
			if test.want.Access.Empty() {
				var wrong *AnswerError
				require.ErrorAs(t, err, &wrong)
				require.Equal(t, "https://as.example/token", wrong.Endpoint)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, *got)
		})
	}
}

func TestRevoke(t *testing.T) {
	s := play(t, answer{status: 200})
	require.NoError(t, Revoke(t.Context(), s.endpoint(), &Client{ID: "id", Secret: "s"}, s.url, "RT", "refresh_token"))
	require.Equal(t, url.Values{"token": {"RT"}, "token_type_hint": {"refresh_token"}}, s.requests[0].form)
	_, _, basic := (&http.Request{Header: s.requests[0].header}).BasicAuth()
	require.True(t, basic)
	require.NoError(t, Revoke(t.Context(), s.endpoint(), &Client{ID: "id"}, s.url, "AT", ""))
	require.Equal(t, url.Values{"token": {"AT"}, "client_id": {"id"}}, s.requests[1].form)

	s = play(t, answer{status: 503, body: `{"error":"unsupported_token_type","error_description":"PLANTED-TOKEN"}`})
	err := Revoke(t.Context(), s.endpoint(), &Client{ID: "id"}, s.url, "PLANTED-TOKEN", "")
	var refused *Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "unsupported_token_type", refused.Code)
	require.NotContains(t, err.Error(), "PLANTED")

	// A server whose tokens cannot be revoked, such as JWTs (RFC 7009 §2.2.1).
	s = play(t, answer{status: 400, body: `{"error":"unsupported_token_type"}`})
	require.NoError(t, Revoke(t.Context(), s.endpoint(), &Client{ID: "id"}, s.url, "AT", "access_token"))
}

func TestNetworkErrors(t *testing.T) {
	e := &Endpoint{HTTP: fetch.New(fetch.Options{}), TokenURL: "https://127.0.0.1:1/token?q=PLANTED"}
	_, err := e.Exchange(t.Context(), &Client{ID: "id", Secret: "PLANTED"}, "refresh_token", url.Values{"refresh_token": {"PLANTED"}})
	var blocked *fetch.BlockedError
	require.ErrorAs(t, err, &blocked)
	require.NotContains(t, err.Error(), "PLANTED")
}
