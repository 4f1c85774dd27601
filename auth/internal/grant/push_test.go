package grant

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPush(t *testing.T) {
	s := play(t, answer{status: 201, body: `{"request_uri":"urn:example:1","expires_in":60}`})
	e := s.endpoint()
	e.Proof = mustProver(t)
	request := url.Values{"client_id": {"id"}, "response_type": {"code"}, "state": {"S"}}
	before := time.Now().Round(0)
	requestURI, expiry, err := e.Push(t.Context(), &Client{ID: "id", Secret: "s"}, s.url, request)
	require.NoError(t, err)
	require.Equal(t, "urn:example:1", requestURI)
	require.WithinRange(t, expiry, before.Add(time.Minute), time.Now().Add(time.Minute))
	require.Equal(t, url.Values{"client_id": {"id"}, "response_type": {"code"}, "state": {"S"}}, s.requests[0].form, "the client_id stays (RFC 9126 §2.1)")
	_, _, basic := (&http.Request{Header: s.requests[0].header}).BasicAuth()
	require.True(t, basic)
	claims, _ := verify(t, s.requests[0].header.Get("DPoP"), e.Proof.key.public)
	require.Equal(t, s.url, claims["htu"])

	_, _, err = e.Push(t.Context(), &Client{ID: "id", Secret: "s", Method: MethodPost}, s.url, request)
	require.NoError(t, err)
	require.Equal(t, "s", s.requests[1].form.Get("client_secret"))
	require.NotContains(t, request, "client_secret", "the browser must not get it")
}

func TestPushIsRefused(t *testing.T) {
	for name, row := range map[string]struct {
		answer answer
		want   string
	}{
		"by the book":      {answer{status: 400, body: `{"error":"invalid_scope","error_description":"got {body}"}`}, "invalid_scope (HTTP status 400): " + scrubbed},
		"not there":        {answer{status: 404, kind: "text/html", body: "<html>"}, "HTTP status 404"},
		"no request_uri":   {answer{status: 201, body: `{"expires_in":60}`}, "no usable request_uri"},
		"two lines":        {answer{status: 201, body: `{"request_uri":"urn:a\nb"}`}, "no usable request_uri"},
		"too long":         {answer{status: 201, body: `{"request_uri":"urn:` + strings.Repeat("a", longestRequestURI) + `"}`}, "no usable request_uri"},
		"a page":           {answer{status: 200, kind: "text/html", body: "<html>"}, "not a JSON object"},
		"error and status": {answer{status: 200, body: `{"error":"invalid_request"}`}, "invalid_request"},
	} {
		s := play(t, row.answer)
		_, _, err := s.endpoint().Push(t.Context(), &Client{ID: "id"}, s.url, url.Values{"state": {"PLANTED-STATE"}})
		require.ErrorContains(t, err, row.want, name)
		require.NotContains(t, err.Error(), "PLANTED", name)
	}
}

func TestPushWithoutALifetime(t *testing.T) {
	s := play(t, answer{status: 200, body: `{"request_uri":"urn:example:1"}`})
	_, expiry, err := s.endpoint().Push(t.Context(), &Client{ID: "id"}, s.url, nil)
	require.NoError(t, err)
	require.Zero(t, expiry)
}
