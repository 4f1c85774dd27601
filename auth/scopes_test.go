package auth_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// A program without logins learns which scopes are missing, and keeps its token.
func TestMissingScopes(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	store := auth.NewMemory()
	_, err := dial(t, w, auth.Login(browser(t), auth.WithStore(store)))
	require.NoError(t, err)
	w.Needs = "write admin"
	c, err := dial(t, w, auth.Login(auth.WithStore(store), auth.WithoutLogin()))
	require.NoError(t, err)
	for range 2 {
		err = once(t.Context(), c)
		require.Equal(t, mcperrors.KindAuth, mcperrors.KindOf(err))
		var missing *auth.ScopeError
		require.ErrorAs(t, err, &missing)
		require.Equal(t, []string{"admin", "write"}, missing.Scopes)
		require.Equal(t, []string{"read"}, missing.Before)
		require.Contains(t, err.Error(), w.MCP.URL+"/mcp")
	}
	require.Equal(t, 1, w.Asked("authorize"))
	require.Zero(t, w.Asked("refresh_token"), "a new token has the same scopes")
	w.Needs = ""
	require.NoError(t, once(t.Context(), c))
}

// Servers on the official Go SDK answer with 403 and the scopes, and without an error code.
func TestMoreScopesWithoutACode(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Needs, w.NoError = "write", true
	c, err := dial(t, w, auth.Login(browser(t)))
	require.NoError(t, err)
	require.NoError(t, once(t.Context(), c))
	require.Equal(t, 2, w.Asked("authorize"))
}

// The error of a login that does not begin names the scopes, and has no secret.
func TestScopesInVain(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	n := 0
	w.ScopeForEach([]string{"echo"}, func(string, []string) string {
		n++
		return "s" + strconv.Itoa(n)
	})
	c, err := dial(t, w, auth.Login(browser(t)))
	require.NoError(t, err)
	err = once(t.Context(), c)
	tell(err)
	require.ErrorContains(t, err, `the server wants the scopes "s3", and 2 logins of this call did not help; ask for access`)
	require.Equal(t, 3, w.Asked("authorize"))
}
