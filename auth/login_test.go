package auth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// browser is a person who agrees to everything at once.
func browser(t *testing.T) auth.Option {
	return auth.WithPrompt(func(ctx context.Context, p auth.Prompt) error { return visit(ctx, p.URL) })
}

// visit opens a page, and those that it leads to.
func visit(ctx context.Context, page string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

func dial(t *testing.T, w *authtest.World, a transport.Authorizer, more ...client.Option) (*client.Client, error) {
	t.Helper()
	return dialWith(t.Context(), t, w, a, more...)
}

func dialWith(ctx context.Context, t *testing.T, w *authtest.World, a transport.Authorizer, more ...client.Option) (*client.Client, error) {
	t.Helper()
	c, err := client.Dial(ctx, w.MCP.URL+"/mcp", append(append(watched(), more...), client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))...)
	tell(a, c, err)
	if err == nil {
		t.Cleanup(func() { require.NoError(t, c.Close()) })
	}
	return c, err
}

func TestLogin(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	store := auth.NewMemory()
	c, err := dial(t, w, auth.Login(browser(t), auth.WithStore(store)))
	require.NoError(t, err)
	result, err := c.CallTool(t.Context(), "echo", map[string]any{})
	require.NoError(t, err)
	require.False(t, result.IsError)
	require.Equal(t, 1, w.Asked("authorize"))
	require.Equal(t, 1, w.Asked("register"))

	t.Run("a second run asks nobody", func(t *testing.T) {
		again := auth.Login(auth.WithStore(store), auth.WithPrompt(func(context.Context, auth.Prompt) error { return errors.New("asked again") }))
		_, err := dial(t, w, again)
		require.NoError(t, err)
		require.Equal(t, 1, w.Asked("authorize"))
	})
	t.Run("a revoked token is renewed, and the call goes on", func(t *testing.T) {
		w.Revoke()
		_, err := c.CallTool(t.Context(), "echo", map[string]any{})
		require.NoError(t, err)
		require.Equal(t, 1, w.Asked("refresh_token"))
		require.Equal(t, 1, w.Asked("authorize"))
	})
}

// A client that was registered to use DPoP always gets no token without it. So a later login
// without DPoP registers another client.
func TestLoginWithoutDPoPAfterOneWithIt(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256", "EdDSA"}
	store := auth.NewMemory()
	for _, opts := range [][]auth.Option{{auth.WithDPoP()}, nil, nil} {
		_, err := dial(t, w, auth.Login(append(opts, browser(t), auth.WithStore(store), auth.WithNewLogin())...))
		require.NoError(t, err)
	}
	require.Equal(t, 3, w.Asked("authorize"))
	require.Equal(t, 2, w.Asked("register"))
}

func TestManyCallersOneRenewal(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	c, err := dial(t, w, auth.Login(browser(t)))
	require.NoError(t, err)
	w.Revoke()
	var work sync.WaitGroup
	failures := make(chan error, 50)
	for range 50 {
		work.Go(func() {
			_, err := c.CallTool(t.Context(), "echo", map[string]any{})
			failures <- err
		})
	}
	work.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	require.Equal(t, 1, w.Asked("refresh_token"))
	require.Len(t, w.Seen, 50)
	for id, times := range w.Seen {
		require.Equal(t, 1, times, id)
	}
}

func TestMoreScopes(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Needs = "write"
	c, err := dial(t, w, auth.Login(browser(t)))
	require.NoError(t, err)
	_, err = c.CallTool(t.Context(), "echo", map[string]any{})
	require.NoError(t, err)
	require.Equal(t, 2, w.Asked("authorize"))
	var scopes []string
	for _, s := range w.Access {
		scopes = append(scopes, s)
	}
	require.ElementsMatch(t, []string{"read", "write read"}, scopes)
}

func TestClientCredentials(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	c, err := dial(t, w, auth.ClientCredentials("robot", "robot-planted-secret"))
	require.NoError(t, err)
	w.Revoke()
	_, err = c.CallTool(t.Context(), "echo", map[string]any{})
	require.NoError(t, err)
	require.Equal(t, 2, w.Asked("client_credentials"))
}

func TestLoginThatIsNotToBeTrusted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		change func(w *authtest.World)
		reason auth.Reason
		tokens int
	}{
		{"another issuer answers", func(w *authtest.World) { w.Callback = func(v url.Values) { v.Set("iss", "https://evil.example") } }, auth.ReasonLogin, 0},
		{"the issuer is missing", func(w *authtest.World) { w.Callback = func(v url.Values) { v.Del("iss") } }, auth.ReasonLogin, 0},
		{"no PKCE", func(w *authtest.World) { delete(w.Metadata, "code_challenge_methods_supported") }, auth.ReasonDiscovery, 0},
		{"plain PKCE only", func(w *authtest.World) { w.Metadata["code_challenge_methods_supported"] = []string{"plain"} }, auth.ReasonDiscovery, 0},
		{"metadata of another issuer", func(w *authtest.World) { w.Metadata["issuer"] = "https://evil.example" }, auth.ReasonDiscovery, 0},
		{"metadata of another resource", func(w *authtest.World) { w.Resource["resource"] = "https://evil.example/mcp" }, auth.ReasonDiscovery, 0},
		{"an address of the cloud's metadata", func(w *authtest.World) {
			w.Resource["authorization_servers"] = []string{"https://169.254.169.254/latest"}
		}, auth.ReasonDiscovery, 0},
		{"access denied", func(w *authtest.World) {
			w.Callback = func(v url.Values) { v.Del("code"); v.Set("error", "access_denied") }
		}, auth.ReasonLogin, 0},
		{"no registration", func(w *authtest.World) { delete(w.Metadata, "registration_endpoint") }, auth.ReasonRegistration, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			row.change(w)
			_, err := dial(t, w, auth.Login(browser(t)))
			var e *auth.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, row.reason, e.Reason, err)
			require.Equal(t, w.MCP.URL+"/mcp", e.Server)
			require.Equal(t, row.tokens, w.Asked("authorization_code"))
			require.Equal(t, mcperrors.KindAuth, mcperrors.KindOf(err))
			require.NotContains(t, err.Error(), "planted-secret")
		})
	}
}

func TestForgedState(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Callback = func(v url.Values) { v.Set("state", "forged") }
	_, err := dial(t, w, auth.Login(browser(t), auth.WithLoginTime(200*time.Millisecond)))
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, auth.ReasonLogin, e.Reason)
	require.Zero(t, w.Asked("authorization_code"), "a callback with another state is ignored")
}

func TestBearer(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Access["first"], w.Access["second"] = "read", "read"
	token := "first"
	c, err := dial(t, w, auth.Bearer(func(context.Context) (string, error) { return token, nil }))
	require.NoError(t, err)
	_, err = c.CallTool(t.Context(), "echo", map[string]any{})
	require.NoError(t, err)
	token = "none"
	_, err = c.CallTool(t.Context(), "echo", map[string]any{})
	require.Equal(t, mcperrors.KindAuth, mcperrors.KindOf(err))
}

// A token that the server revokes repeatedly is renewed each time.
func TestRevokedTwice(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	c, err := dial(t, w, auth.Login(browser(t)))
	require.NoError(t, err)
	for range 3 {
		w.Revoke()
		_, err = c.CallTool(t.Context(), "echo", map[string]any{})
		require.NoError(t, err)
	}
	require.Equal(t, 3, w.Asked("refresh_token"))
	require.Equal(t, 1, w.Asked("authorize"))
}

// A token that has expired and cannot be renewed leads to a new login, also in a new
// process.
func TestExpiredWithoutRefresh(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	store := auth.NewMemory()
	_, err := dial(t, w, auth.Login(browser(t), auth.WithStore(store)))
	require.NoError(t, err)
	keys, err := store.List(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 1)
	require.NoError(t, store.Update(t.Context(), keys[0], func(r auth.Record) (auth.Record, error) {
		r.Token.Refresh.Set("")
		r.Token.Expiry = time.Now().Add(-time.Hour)
		return r, nil
	}))
	c, err := dial(t, w, auth.Login(browser(t), auth.WithStore(store)))
	require.NoError(t, err)
	require.Equal(t, 2, w.Asked("authorize"))
	_, err = c.CallTool(t.Context(), "echo", map[string]any{})
	require.NoError(t, err)
}

// A person who refuses is asked once, for any number of calls.
func TestDeniedOnce(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	a := auth.Login(browser(t))
	c, err := dial(t, w, a)
	require.NoError(t, err)
	_, err = a.Logout(t.Context(), w.MCP.URL+"/mcp")
	require.NoError(t, err)
	w.Callback = func(v url.Values) { v.Del("code"); v.Set("error", "access_denied") }
	var work sync.WaitGroup
	failures := make(chan error, 30)
	for range 30 {
		work.Go(func() {
			_, err := c.CallTool(t.Context(), "echo", map[string]any{})
			failures <- err
		})
	}
	work.Wait()
	close(failures)
	for err := range failures {
		var e *auth.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, auth.ReasonLogin, e.Reason)
		require.Contains(t, err.Error(), w.MCP.URL+"/mcp")
	}
	require.Equal(t, 2, w.Asked("authorize"))
}

// A server that refuses every token does not make a person log in repeatedly.
func TestServerThatNeverAgrees(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Never = true
	a := auth.Login(browser(t))
	for range 3 {
		_, err := dial(t, w, a)
		var e *auth.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, auth.ReasonRefused, e.Reason, err)
	}
	require.LessOrEqual(t, w.Asked("authorize"), 2)
}

// A token is only sent to the URL that it was obtained for.
func TestTokensOfOneURL(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Resource["resource"] = w.MCP.URL // covers every path
	a := auth.Login(browser(t))
	at := func(raw string) *transport.Credentials {
		u, err := url.Parse(raw)
		require.NoError(t, err)
		c, err := a.Authorize(t.Context(), transport.AuthorizedRequest{Method: http.MethodPost, Endpoint: u, URL: u})
		require.NoError(t, err)
		return c
	}
	w.AnyResource = true
	_, err := dial(t, w, a)
	require.NoError(t, err)
	require.NotNil(t, at(w.MCP.URL+"/mcp"))
	require.Nil(t, at(w.MCP.URL+"/other"))
	require.Nil(t, at(w.MCP.URL+"/mcp?tenant=b"))
	require.Nil(t, at("http://remote.example/mcp"), "nor without TLS")
}

func TestNothingIsPrinted(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		auth.ClientCredentials("robot", "planted-secret"),
		auth.IdentityProvider{TokenURL: "https://idp.example/token", ClientSecret: "planted-secret"},
		&transport.Credentials{Header: http.Header{"Authorization": {"Bearer planted-secret"}}},
	} {
		require.NotContains(t, fmt.Sprintf("%v %+v %#v %s %q", v, v, v, v, v), "planted-secret")
	}
}

// A panic in a function of the application fails only the call.
func TestPanicOfTheApplication(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	_, err := dial(t, w, auth.Workload("robot", func(context.Context) (string, error) { panic("oops") }))
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, err.Error(), "panicked: oops")
}

// A caller that leaves a login gets its own error at once; the next one is asked again.
func TestLoginIsLeft(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	asked := make(chan struct{}, 1)
	a := auth.Login(auth.WithPrompt(func(ctx context.Context, _ auth.Prompt) error {
		asked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	_, err := client.Dial(ctx, w.MCP.URL+"/mcp", client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))
	require.ErrorIs(t, err, context.Canceled)
}
