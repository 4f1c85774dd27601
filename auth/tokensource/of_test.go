package tokensource_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/auth/tokensource"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// answered is a person who agrees to everything at once.
func answered() auth.Option {
	return auth.WithPrompt(func(ctx context.Context, p auth.Prompt) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

func logIn(t *testing.T, w *authtest.World, opts ...auth.Option) *auth.Authorizer {
	t.Helper()
	a := auth.Login(append(opts, answered())...)
	c, err := client.Dial(t.Context(), w.MCP.URL+"/mcp", client.WithProtocolVersion("2025-11-25"), client.WithAuthorizer(a))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	return a
}

// Other libraries use the token of a login: it is renewed, and its errors are those of
// package auth, through the layers of x/oauth2.
func TestOf(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Lifetime = 0 // a token without an expiry
	a := logIn(t, w)
	other := oauth2.NewClient(t.Context(), tokensource.Of(t.Context(), a, w.MCP.URL+"/mcp"))
	post := func() (int, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.MCP.URL+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		require.NoError(t, err)
		resp, err := other.Do(req)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	status, err := post()
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, 1, w.Asked("authorize"))

	_, err = a.Logout(t.Context(), w.MCP.URL+"/mcp")
	require.NoError(t, err)
	other = oauth2.NewClient(t.Context(), tokensource.Of(t.Context(), a, w.MCP.URL+"/mcp"))
	_, err = post()
	require.ErrorIs(t, err, auth.ErrNotLoggedIn)
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, w.MCP.URL+"/mcp", e.Server)
	require.Equal(t, 1, w.Asked("authorize"), "nobody is asked")
}

// An expired token is renewed, and a lost login is an error.
func TestOfRenews(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	store := auth.NewMemory()
	logIn(t, w, auth.WithStore(store))
	keys, err := store.List(t.Context())
	require.NoError(t, err)
	expire := func() {
		t.Helper()
		require.NoError(t, store.Update(t.Context(), keys[0], func(r auth.Record) (auth.Record, error) {
			r.Token.Expiry = r.Obtained
			return r, nil
		}))
	}
	expire()
	first, err := tokensource.Of(t.Context(), auth.Login(auth.WithStore(store)), w.MCP.URL+"/mcp").Token()
	require.NoError(t, err)
	require.Equal(t, "Bearer", first.TokenType)
	require.True(t, first.Valid())
	require.Empty(t, first.RefreshToken, "it stays with the Authorizer")
	require.Equal(t, 1, w.Asked("refresh_token"))

	expire()
	w.Forget()
	_, err = tokensource.Of(t.Context(), auth.Login(auth.WithStore(store)), w.MCP.URL+"/mcp").Token()
	var ended *auth.NotLoggedInError
	require.ErrorAs(t, err, &ended)
	require.Equal(t, "invalid_grant", ended.Ended)
}

func TestOfRefuses(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
	a := logIn(t, w, auth.WithDPoP())
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for want, ts := range map[string]oauth2.TokenSource{
		"bound to a key":            tokensource.Of(t.Context(), a, w.MCP.URL+"/mcp"),
		"context canceled":          tokensource.Of(ended, auth.Login(), w.MCP.URL+"/mcp"),
		"its URL cannot be read":    tokensource.Of(t.Context(), a, "mcp"),
		"not sent without TLS":      tokensource.Of(t.Context(), a, "http://mcp.test/"),
		"the Authorizer is missing": tokensource.Of(t.Context(), nil, w.MCP.URL+"/mcp"),
	} {
		token, err := ts.Token()
		require.ErrorContains(t, err, want)
		require.Nil(t, token)
	}
}

// Both directions together: a login at one server as the credentials of another client.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	a := logIn(t, w)
	ts := tokensource.Of(t.Context(), a, w.MCP.URL+"/mcp")
	c, err := client.Dial(t.Context(), w.MCP.URL+"/mcp", client.WithProtocolVersion("2025-11-25"), client.WithAuthorizer(tokensource.From(ts)))
	require.NoError(t, err)
	_, err = c.CallTool(t.Context(), "echo", map[string]any{})
	require.NoError(t, err)
	require.NoError(t, c.Close())
	_, err = a.Logout(t.Context(), w.MCP.URL+"/mcp")
	require.NoError(t, err)
	_, err = tokensource.From(ts).Authorize(t.Context(), request(t, w.MCP.URL+"/mcp"))
	require.ErrorIs(t, err, auth.ErrNotLoggedIn)
	require.Equal(t, 1, strings.Count(err.Error(), "no access to"), err)
}
