package auth_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// An inspection of a challenge uses its scopes and metadata.
func TestInspectAChallenge(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	for _, row := range []struct {
		name   string
		status int
		header string
		scopes []string // of the login, nil if the challenge asks for none
		says   string
	}{
		{"401", http.StatusUnauthorized, `Bearer scope="read"`, []string{"read"}, ""},
		{"403", http.StatusForbidden, `Bearer error="insufficient_scope", scope="write"`, []string{"write"}, ""},
		{"403 without scopes", http.StatusForbidden, `Bearer error="insufficient_scope"`, nil, "does not say which"},
		{"403 for another reason", http.StatusForbidden, `Bearer`, nil, "does not ask for a login"},
		{"200", http.StatusOK, "", nil, "does not ask for a login"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			found, err := auth.Inspect(t.Context(), w.MCP.URL+"/mcp", auth.WithChallenge(row.status, http.Header{"Www-Authenticate": {row.header}}))
			if row.says != "" {
				var e *auth.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, w.MCP.URL+"/mcp", e.Server)
				require.ErrorContains(t, err, row.says)
				return
			}
			require.NoError(t, err)
			require.Subset(t, found.Scopes, row.scopes)
			require.Equal(t, w.AS.URL, found.Issuer)
			require.NoError(t, found.Problem)
		})
	}
}
