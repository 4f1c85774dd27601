package auth_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/auth/tokensource"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// The functions here are the programs of docs/authorization/oauth2.md and events.md.

func withTokenSource(ctx context.Context, url, tokenURL string) (*client.Client, error) {
	robot := clientcredentials.Config{
		ClientID:       "robot",
		ClientSecret:   os.Getenv("CLIENT_SECRET"),
		TokenURL:       tokenURL,
		EndpointParams: map[string][]string{"resource": {url}},
	}
	return client.Dial(ctx, url, client.WithAuthorizer(tokensource.From(robot.TokenSource(context.WithoutCancel(ctx)))))
}

func forOtherLibraries(ctx context.Context, url string, login *auth.Authorizer) *http.Client {
	return oauth2.NewClient(ctx, tokensource.Of(ctx, login, url))
}

func nightly(ctx context.Context, url, folder string, page func(string, error)) (*client.Client, error) {
	store, err := auth.OpenFiles(folder)
	if err != nil {
		return nil, err
	}
	login := auth.Login(
		auth.WithStore(store), auth.WithoutLogin(), auth.WithRenewalAhead(),
		auth.WithEvents(func(e auth.Event) {
			slog.Info("login", "server", e.Server, "state", e.State, "error", e.Err)
			if e.State == auth.LoginLost {
				page(e.Server, e.Err) // somebody has to log in before tonight
			}
		}),
	)
	return client.Dial(ctx, url, client.WithAuthorizer(login))
}

func TestFlowsBesideOAuth2(t *testing.T) {
	w := authtest.New(t)
	t.Setenv("CLIENT_SECRET", "robot-planted-secret")
	c, err := withTokenSource(t.Context(), w.MCP.URL+"/mcp", w.AS.URL+"/token")
	worked(t, c, err)
	t.Setenv("CLIENT_SECRET", "wrong-planted-secret")
	c, err = withTokenSource(t.Context(), w.MCP.URL+"/mcp", w.AS.URL+"/token")
	tell(c, err)
	var refused *tokensource.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "invalid_client", refused.Code)
	tell(refused, fmt.Sprint(refused))

	login := auth.Login(browser(t))
	_, err = dial(t, w, login)
	require.NoError(t, err)
	post := func() (int, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.MCP.URL+"/mcp", http.NoBody)
		require.NoError(t, err)
		resp, err := forOtherLibraries(t.Context(), w.MCP.URL+"/mcp", login).Do(req)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	status, err := post()
	require.NoError(t, err)
	require.NotEqual(t, http.StatusUnauthorized, status)
	_, err = login.Logout(t.Context(), w.MCP.URL+"/mcp")
	require.NoError(t, err)
	_, err = post()
	require.Equal(t, "log in first", explained(err))
}

func TestFlowOfANightlyJob(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	folder := t.TempDir() + "/tokens"
	store, err := auth.OpenFiles(folder)
	require.NoError(t, err)
	_, err = dial(t, w, auth.Login(auth.WithStore(store), browser(t)))
	require.NoError(t, err)
	paged := make(chan error, 1)
	c, err := nightly(t.Context(), w.MCP.URL+"/mcp", folder, func(_ string, err error) { paged <- err })
	require.NoError(t, err)
	w.Forget()
	require.ErrorIs(t, once(t.Context(), c), auth.ErrNotLoggedIn)
	require.ErrorIs(t, <-paged, auth.ErrNotLoggedIn)
	require.NoError(t, c.Close())
}

// The text of x/oauth2 about a server's answer is not shown, because the answer may
// repeat secrets.
func TestAnswersToOAuth2AreNotTold(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	authtest.Tell("refresh-planted-secret-of-a-source")
	for _, err := range []error{
		&oauth2.RetrieveError{Body: []byte("refresh-planted-secret-of-a-source"), Response: &http.Response{Status: "400 planted-secret", StatusCode: http.StatusBadRequest}},
		&oauth2.RetrieveError{ErrorCode: "planted-secret", ErrorDescription: "planted-secret", ErrorURI: "https://as.test/?planted-secret"},
		fmt.Errorf("mine: %w", &oauth2.RetrieveError{ErrorCode: "invalid_grant", ErrorDescription: "planted-secret"}),
	} {
		a := tokensource.From(failing{err})
		_, err := dial(t, w, a)
		require.Error(t, err)
		tell(err, a)
		for ; err != nil; err = errors.Unwrap(err) {
			require.NotContains(t, fmt.Sprintf("%v %+v %#v %q", err, err, err, err), "planted-secret")
		}
	}
	a := tokensource.From(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "access-planted-secret-of-a-source"}))
	_, err := dial(t, w, a)
	require.Error(t, err)
	tell(a, err)
}

// failing is a TokenSource that fails.
type failing struct{ err error }

func (f failing) Token() (*oauth2.Token, error) { return nil, f.err }
