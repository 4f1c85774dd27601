package grant

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

func answerOf(status int, kind string, body []byte) *fetch.Answer {
	return &fetch.Answer{Status: status, Header: http.Header{"Content-Type": {kind}}, Body: body}
}

// requireHarmless checks a text that may be shown on a terminal and in a log.
func requireHarmless(t *testing.T, err error) {
	t.Helper()
	require.LessOrEqual(t, len(err.Error()), 2000)
	require.True(t, utf8.ValidString(err.Error()))
	for _, r := range err.Error() {
		require.True(t, unicode.IsPrint(r), "%q", r)
	}
}

func seeds(f *testing.F) {
	f.Helper()
	const form = "application/x-www-form-urlencoded"
	f.Add("application/json", []byte(bearer))
	f.Add("", []byte(`{"access_token":"A","token_type":"DPoP","expires_in":"1e9","scope":["a","\n"],"refresh_token":null}`))
	f.Add(form, []byte("access_token=A&expires_in=NaN&scope=a+b"))
	f.Add(form, []byte("error=%00&error_description=%ff%fe&error_uri=https://a/%00"))
	f.Add("text/plain", []byte(`{"error":"invalid_grant","error_description":"\ud800\u001b[2J","error_uri":"https://a/\u202e"}`))
	f.Add(";;", []byte(`{"error":{},"client_id":"c","client_secret_expires_at":-1e400}`))
}

func FuzzTokenAnswer(f *testing.F) {
	seeds(f)
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		token, err := parseToken("https://as.example/token", answerOf(http.StatusOK, kind, body), nil, wanted{}, now)
		if err != nil {
			requireHarmless(t, err)
			return
		}
		require.True(t, visible(token.Access.Text()))
		require.True(t, token.Refresh.Empty() || visible(token.Refresh.Text()))
		require.Equal(t, "Bearer", token.Type)
		require.True(t, token.Expiry.IsZero() || !token.Expiry.Before(now) && !token.Expiry.After(now.Add(longestLife)))
		require.Equal(t, strings.Join(strings.Fields(token.Scope), " "), token.Scope)
		if len(token.Access.Text()) > window {
			require.NotContains(t, token.String(), token.Access.Text())
		}
	})
}

func FuzzErrorAnswer(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		const secret = "planted-secret"
		e := refusal("https://as.example/token", answerOf(http.StatusBadRequest, kind, body), secretsOf(url.Values{"code": {secret}}))
		requireHarmless(t, e)
		require.NotContains(t, e.Error(), secret)
		require.LessOrEqual(t, len(e.Code), longestCode)
		require.LessOrEqual(t, len(e.Description), longestDescription+len("…"))
		if e.URI != "" {
			u, err := url.Parse(e.URI)
			require.NoError(t, err)
			require.Contains(t, []string{"https", "http"}, u.Scheme)
		}
	})
}

func FuzzRegistrationAnswer(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		r, err := parseRegistered("https://as.example/register", answerOf(http.StatusCreated, kind, body), nil, MethodNone)
		if err != nil {
			requireHarmless(t, err)
			return
		}
		require.NotEmpty(t, r.ClientID)
		require.False(t, r.ClientSecret.Empty() && (r.Method == MethodBasic || r.Method == MethodPost))
		_, err = r.ExpiresAt.MarshalJSON()
		require.NoError(t, err, "a store can write it")
	})
}

func FuzzDeviceAnswer(f *testing.F) {
	seeds(f)
	f.Add("", []byte(`{"device_code":"D","user_code":"A\u0007","verification_uri":"https://as.example/","interval":1e400}`))
	f.Add("", []byte(`{"device_code":"D","user_code":"AB-CD","verification_url":"https://as.example/","interval":"7","expires_in":-1}`))
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		d, err := parseDevice("https://as.example/device", answerOf(http.StatusOK, kind, body), nil, func(string) bool { return true }, now)
		if err != nil {
			requireHarmless(t, err)
			return
		}
		require.True(t, visible(d.Code) && visible(d.URL))
		require.True(t, d.Complete == "" || visible(d.Complete))
		require.NotEmpty(t, d.UserCode)
		require.Equal(t, printable(d.UserCode, longestUserCode), d.UserCode)
		require.True(t, d.Interval >= leastInterval && d.Interval <= longestLife, d.Interval)
		require.True(t, d.Expiry.IsZero() || !d.Expiry.Before(now) && !d.Expiry.After(now.Add(longestLife)))
		if len(d.Code) > 2*longestURI+longestUserCode { // else it may be a part of the page
			require.NotContains(t, d.String(), d.Code)
		}
	})
}

func FuzzPushedAnswer(f *testing.F) {
	seeds(f)
	f.Add("", []byte(`{"request_uri":"urn:example:1","expires_in":60}`))
	f.Add("", []byte(`{"request_uri":"urn:example:1 2"}`))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		requestURI, _, err := parsePushed("https://as.example/par", answerOf(http.StatusCreated, kind, body), nil, time.Unix(1_800_000_000, 0))
		if err != nil {
			requireHarmless(t, err)
			return
		}
		require.True(t, visible(requestURI))
	})
}

func FuzzKey(f *testing.F) {
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"))
	f.Add([]byte(`{"kty":"EC","crv":"P-256","x":"AA","y":"AA","d":"AA"}`))
	f.Add([]byte(`{"kty":"OKP","crv":"Ed25519","x":"AA","d":"AA"}`))
	f.Add([]byte(`{"kty":"RSA","n":"AQAB","e":"AQAB","d":"AQAB","p":"Aw","q":"Aw"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := NewSigner(text, "")
		if err != nil {
			requireHarmless(t, err)
			return
		}
		token, err := s.Sign(struct{}{}, nil)
		if err == nil {
			verify(t, token, s.Public())
		}
	})
}
