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

// Everything that failed in a logout is told: the tokens are valid, and still there.
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
	require.ErrorContains(t, err, "may be valid until they expire")
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, auth.ReasonStore, e.Reason)
	require.Equal(t, w.MCP.URL+"/mcp", e.Server)
}
