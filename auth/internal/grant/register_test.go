package grant

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

func TestRegister(t *testing.T) {
	s := play(t, answer{status: 201, body: `{"client_id":"c1","client_secret":"S","client_secret_expires_at":0,
		"client_id_issued_at":1800000000,"token_endpoint_auth_method":"client_secret_post","redirect_uris":["http://127.0.0.1/cb"],
		"scope":"a b","registration_client_uri":"https://as.example/c1","registration_access_token":"M"}`})
	got, err := Register(t.Context(), s.http, s.url, Registration{
		RedirectURIs: []string{"http://127.0.0.1/cb"}, ClientName: "Mainstay", ApplicationType: "native",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		TokenEndpointAuthMethod: MethodPost,
	}, "initial")
	require.NoError(t, err)
	require.True(t, got.ClientSecret.Text() == "S" && got.ManagementToken.Text() == "M")
	require.Equal(t, "c1", got.ClientID)
	require.Equal(t, MethodPost, got.Method)
	require.Equal(t, time.Unix(1_800_000_000, 0), got.IssuedAt)
	require.True(t, got.ExpiresAt.IsZero())
	require.Equal(t, []string{"http://127.0.0.1/cb"}, got.RedirectURIs)
	require.Equal(t, "https://as.example/c1", got.ManagementURI)
	c := got.Client(nil)
	require.Equal(t, "c1 S client_secret_post", strings.Join([]string{c.ID, c.Secret, c.Method}, " "))

	sent := s.requests[0]
	require.Equal(t, "Bearer initial", sent.header.Get("Authorization"))
	require.Equal(t, "application/json", sent.header.Get("Content-Type"))
	require.JSONEq(t, `{"redirect_uris":["http://127.0.0.1/cb"],"client_name":"Mainstay","application_type":"native",
		"grant_types":["authorization_code","refresh_token"],"response_types":["code"],
		"token_endpoint_auth_method":"client_secret_post"}`, sent.body)
	_, err = Register(t.Context(), s.http, s.url, Registration{}, "")
	require.NoError(t, err)
	require.Empty(t, s.requests[1].header.Get("Authorization"))
	_, err = Register(t.Context(), s.http, s.url, Registration{}, "PLAN\nTED")
	require.ErrorContains(t, err, "no header can carry")
	require.NotContains(t, err.Error(), "PLAN")
}

func TestRegistrationIsRefused(t *testing.T) {
	s := play(t, answer{status: 400, body: `{"error":"invalid_redirect_uri","error_description":"native with PLANTED-INITIAL"}`})
	_, err := Register(t.Context(), s.http, s.url, Registration{}, "PLANTED-INITIAL")
	var refused *Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "invalid_redirect_uri", refused.Code)
	require.Equal(t, s.url, refused.Endpoint)
	require.NotContains(t, err.Error(), "PLANTED")
}

func TestRegistrationAnswers(t *testing.T) {
	for _, test := range []struct {
		name, asked, body string
		want              string // method; "-" for refused
	}{
		{"public", "none", `{"client_id":"c"}`, "none"},
		{"asked for nothing", "", `{"client_id":"c"}`, ""},
		{"secret without a method", "", `{"client_id":"c","client_secret":"S"}`, ""},
		{"secret to a public client", "none", `{"client_id":"c","client_secret":"S","token_endpoint_auth_method":"client_secret_basic"}`, "client_secret_basic"},
		{"default method without a secret", "none", `{"client_id":"c","token_endpoint_auth_method":"client_secret_basic"}`, "none"},
		{"secret is missing", "client_secret_basic", `{"client_id":"c","token_endpoint_auth_method":"client_secret_basic"}`, "-"},
		{"key", "private_key_jwt", `{"client_id":"c"}`, "private_key_jwt"},
		{"odd times", "none", `{"client_id":"c","client_id_issued_at":"x","client_secret_expires_at":1e300}`, "none"},
		{"odd redirects", "none", `{"client_id":"c","redirect_uris":"x"}`, "none"},
		{"no id", "none", `{}`, "-"},
		{"id of another type", "none", `{"client_id":7}`, "-"},
		{"id with a line feed", "none", `{"client_id":"c\nd"}`, "-"},
		{"secret with an escape", "none", `{"client_id":"c","client_secret":"PLANTED\u001b"}`, "-"},
		{"error", "none", `{"error":"invalid_client_metadata"}`, "-"},
		{"page", "none", `<html>`, "-"},
		{"null", "none", `null`, "-"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := &fetch.Answer{Status: 201, Header: http.Header{}, Body: []byte(test.body)}
			got, err := parseRegistered("https://as.example/register", a, nil, test.asked)
			if test.want == "-" {
				require.Error(t, err)
				require.NotContains(t, err.Error(), "PLANTED")
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got.Method)
			require.True(t, got.IssuedAt.IsZero() && got.ExpiresAt.IsZero() && len(got.RedirectURIs) == 0)
		})
	}
	a := &fetch.Answer{Status: 201, Header: http.Header{}, Body: []byte(`{"client_id":"c","client_secret_expires_at":"1800000000"}`)}
	got, err := parseRegistered("", a, nil, MethodNone)
	require.NoError(t, err)
	require.Equal(t, time.Unix(1_800_000_000, 0), got.ExpiresAt)
}

func TestNewError(t *testing.T) {
	err := NewError("https://as.example/authorize?state=PLANTED", "access_denied", "no\x1b[2J, said PLANTED-STATE", "https://as.example/", "PLANTED-STATE")
	require.Equal(t, &Error{
		Code: "access_denied", Description: scrubbed, URI: "https://as.example/", Endpoint: "https://as.example/authorize",
	}, err)
	require.Equal(t, "https://as.example/authorize refused: access_denied: "+scrubbed+", see https://as.example/", err.Error())
	require.Equal(t, "https://a/ refused: no reason given", NewError("https://a/", "a b", "", "ftp://x").Error())
}

// TestNothingShowsSecrets prints all types with secrets in every form.
func TestNothingShowsSecrets(t *testing.T) {
	const secret = "PLANTED"
	signer := newKey(t, "Ed25519")
	prover := mustProver(t)
	token := Token{Access: Hide(secret), Type: "Bearer", Refresh: Hide(secret), IDToken: Hide(secret), Scope: "a\n", Expiry: time.Now()}
	client := Client{ID: "id", Secret: secret, Method: MethodPost, Key: signer}
	registered := Registered{ClientID: "id", ClientSecret: Hide(secret), ManagementToken: Hide(secret), ExpiresAt: time.Now()}
	pkce := PKCE{Verifier: secret, Challenge: "c"}
	inner, ok := signer.(*key)
	require.True(t, ok)
	seed, ok := inner.secret.private.(ed25519.PrivateKey)
	require.True(t, ok)
	der, err := prover.Export()
	require.NoError(t, err)
	parsed, err := x509.ParsePKCS8PrivateKey([]byte(der.Text()))
	require.NoError(t, err)
	curve, ok := parsed.(*ecdsa.PrivateKey)
	require.True(t, ok)
	scalar, err := curve.Bytes()
	require.NoError(t, err)
	for _, value := range []any{
		token, &token,
		[]Token{token},
		struct{ T Token }{token},
		struct{ t Token }{token},
		struct{ r []Registered }{[]Registered{registered}},
		struct{ s any }{Hide(secret)},
		Hide(secret),
		client, &client,
		struct{ C *Client }{&client},
		registered, &registered, pkce, &pkce, signer, prover,
		struct{ k Signer }{signer},
		struct{ p *Prover }{prover},
		&Endpoint{Proof: prover},
		Token{},
		PKCE{},
	} {
		var out strings.Builder
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("m", "value", value)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "value", value)
		if text, err := json.Marshal(value); err == nil {
			out.Write(text)
		}
		for _, hide := range [][]byte{[]byte(secret), seed.Seed(), scalar} {
			for _, form := range []string{"%s", "%x", "%X", "%d"} {
				shown := strings.Trim(fmt.Sprintf(form, hide), "[]")
				require.NotContains(t, out.String(), shown)
			}
			require.NotContains(t, out.String(), base64.StdEncoding.EncodeToString(hide))
			require.NotContains(t, out.String(), base64.RawURLEncoding.EncodeToString(hide))
			require.NotContains(t, out.String(), new(big.Int).SetBytes(hide).String())
		}
	}
}
