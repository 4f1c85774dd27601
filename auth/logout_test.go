package auth_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// stuck is a store that cannot delete.
type stuck struct{ auth.Store }

var errStuck = errors.New("the folder cannot be written")

func (stuck) Delete(context.Context, auth.Key) error { return errStuck }

// A logout reports everything that failed: the tokens are valid, and still there.
func TestLogoutTellsEveryFailure(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Metadata["revocation_endpoint"] = w.AS.URL + "/missing"
	a := auth.Login(browser(t), auth.WithStore(stuck{auth.NewMemory()}))
	_, err := dial(t, w, a)
	require.NoError(t, err)
	found, err := a.Logout(t.Context(), w.MCP.URL+"/mcp")
	require.True(t, found)
	require.ErrorIs(t, err, errStuck)
	require.ErrorContains(t, err, "404")
	require.ErrorContains(t, err, "stay valid until they expire")
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, auth.ReasonStore, e.Reason)
	require.Equal(t, w.MCP.URL+"/mcp", e.Server)
}

// The error for an expired token that is not renewed has the reason, also in another program
// later.
func TestNotLoggedInSaysWhy(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	store := auth.NewMemory()
	_, err := dial(t, w, auth.Login(browser(t), auth.WithStore(store)))
	require.NoError(t, err)
	w.Forget()
	for range 2 {
		_, err = dial(t, w, auth.Login(auth.WithStore(store), auth.WithoutLogin()))
		var why *auth.NotLoggedInError
		require.ErrorAs(t, err, &why)
		require.ErrorIs(t, err, auth.ErrNotLoggedIn)
		require.Equal(t, "invalid_grant", why.Ended)
		require.ErrorContains(t, err, "the login has ended: the authorization server says invalid_grant")
	}
	require.Equal(t, 1, w.Asked("refresh_token"))
	a := auth.Login(browser(t), auth.WithStore(store))
	_, err = dial(t, w, a)
	require.NoError(t, err)
	_, err = a.Logout(t.Context(), w.MCP.URL+"/mcp")
	require.NoError(t, err)
	_, err = a.Token(t.Context(), w.MCP.URL+"/mcp")
	var why *auth.NotLoggedInError
	require.ErrorAs(t, err, &why)
	require.Empty(t, why.Ended)
}
