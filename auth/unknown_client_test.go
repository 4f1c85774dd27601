package auth_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// Another login does not repair a wrong secret: the error names what to check.
func TestWrongSecretOfAPerson(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	inner := w.AS.Config.Handler
	w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			inner.ServeHTTP(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(rw, `{"error":"invalid_client"}`)
	})
	_, err := dial(t, w, auth.Login(browser(t), auth.WithClient("registered", "a-planted-secret", w.AS.URL)))
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, auth.ReasonToken, e.Reason)
	require.Contains(t, e.Help, "check the client id and the secret")
	require.NotContains(t, err.Error(), "planted-secret")
}
