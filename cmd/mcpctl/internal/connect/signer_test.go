package connect

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/secret"
)

// renewing has one token, and another after a refusal.
type renewing struct{ refusals int }

func (r *renewing) token() *transport.Credentials {
	token := "Bearer the-first-token"
	if r.refusals > 0 {
		token = "Bearer the-second-token"
	}
	return &transport.Credentials{Header: http.Header{"Authorization": {token}}}
}

func (r *renewing) Authorize(context.Context, transport.AuthorizedRequest) (*transport.Credentials, error) {
	return r.token(), nil
}

func (r *renewing) Challenged(context.Context, transport.Challenge) (*transport.Credentials, error) {
	r.refusals++
	return r.token(), nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// A request whose token the server takes no more is sent again with another, after the pause.
func TestSignerSendsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		base := roundTripper(func(req *http.Request) (*http.Response, error) {
			at = append(at, time.Now())
			status := http.StatusOK
			if req.Header.Get("Authorization") == "Bearer the-first-token" {
				status = http.StatusUnauthorized
			}
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
		})
		const url = "https://example.com/mcp"
		s := NewSigner(&renewing{}, url, base, &secret.Keeper{})
		s.Pause = time.Second
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
		require.NoError(t, err)
		header, err := s.Credentials(t.Context(), req.Method, req.URL)
		require.NoError(t, err)
		req.Header = header.Clone()
		resp, err := s.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Len(t, at, 2)
		require.Equal(t, s.Pause, at[1].Sub(at[0]))
	})
}
