package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

type sessionUser struct{}

// forUsers is for a web application: r.Context() of its requests has the user of its session.
func forUsers(app string, store auth.Store) *auth.Authorizer {
	return auth.HandOff(
		auth.WithRedirect(app+"/callback"), // https
		auth.WithPrincipals(func(ctx context.Context) (string, error) {
			name, _ := ctx.Value(sessionUser{}).(string)
			return name, nil // "" fails the call
		}),
		auth.WithStore(store),
	)
}

func callForUser(w http.ResponseWriter, r *http.Request, c *client.Client) {
	result, err := c.CallTool(r.Context(), "echo", map[string]any{"message": r.FormValue("message")})
	var begun *auth.LoginPendingError
	switch {
	case errors.As(err, &begun):
		http.Redirect(w, r, begun.URL, http.StatusSeeOther)
	case err != nil:
		http.Error(w, "The call failed.", http.StatusBadGateway)
	default:
		fmt.Fprintln(w, result.Text())
	}
}

func callback(w http.ResponseWriter, r *http.Request, login *auth.Authorizer, server string) {
	if err := login.Finish(r.Context(), server, r.URL.String()); err != nil {
		http.Error(w, "This login cannot be finished. Please begin again.", http.StatusForbidden)
		return
	}
	fmt.Fprintln(w, "You are logged in.")
}

func TestFlowOfAWebApplication(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	server := w.MCP.URL + "/mcp"
	login := forUsers("https://app.example", auth.NewMemory())
	of := func(name, path string) (*httptest.ResponseRecorder, *http.Request) {
		ctx := context.WithValue(t.Context(), sessionUser{}, name)
		return httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, path, nil)
	}
	rec, r := of("ada", "/")
	_, err := client.Dial(r.Context(), server, client.WithAuthorizer(login))
	var begun *auth.LoginPendingError
	require.ErrorAs(t, err, &begun)
	address := loggedInAs(t, begun.URL, "ada")
	_, other := of("bob", address)
	callback(rec, other, login, server)
	require.Equal(t, http.StatusForbidden, rec.Code)
	rec, r = of("ada", address)
	callback(rec, r, login, server)
	require.Equal(t, "You are logged in.\n", rec.Body.String())
	c, err := client.Dial(r.Context(), server, client.WithAuthorizer(login))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })

	rec, r = of("ada", "/")
	callForUser(rec, r, c)
	require.Equal(t, "done for ada\n", rec.Body.String())
	rec, r = of("bob", "/")
	callForUser(rec, r, c)
	require.Equal(t, http.StatusSeeOther, rec.Code)
	rec, r = of("", "/")
	callForUser(rec, r, c)
	require.Equal(t, http.StatusBadGateway, rec.Code)
}
