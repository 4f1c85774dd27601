package auth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

func robot(opts ...auth.Option) *auth.Authorizer {
	return auth.ClientCredentials("robot", "robot-planted-secret", opts...)
}

// A server cannot choose, later on, who gets the secret of a program.
func TestPinnedIssuer(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	store := auth.NewMemory()
	key := auth.Key{Server: w.MCP.URL + "/mcp", Issuer: "https://first.example", Resource: w.MCP.URL + "/mcp", ClientID: "robot"}
	require.NoError(t, store.Update(t.Context(), key, func(r auth.Record) (auth.Record, error) {
		r.Client.ClientID = "robot"
		return r, nil
	}))
	_, err := dial(t, w, robot(auth.WithStore(store)))
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, auth.ReasonRegistration, e.Reason)
	require.Equal(t, w.MCP.URL+"/mcp", e.Server)
	require.Equal(t, w.AS.URL, e.Issuer)
	require.Contains(t, err.Error(), "https://first.example")
	require.Contains(t, err.Error(), "WithIssuer")
	require.Zero(t, w.Asked("client_credentials"), "nothing was sent there")

	t.Run("said to be right", func(t *testing.T) {
		_, err := dial(t, w, robot(auth.WithStore(store), auth.WithIssuer(w.AS.URL)))
		require.NoError(t, err)
		require.Equal(t, 1, w.Asked("client_credentials"))
	})
	t.Run("of another principal", func(t *testing.T) {
		_, err := dial(t, w, robot(auth.WithStore(store), auth.WithPrincipal("second")))
		require.NoError(t, err)
	})
}

// WithIssuer allows one authorization server, wherever it is in the list of the server.
func TestWithIssuer(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]func(t *testing.T, issuer string) *auth.Authorizer{
		"a program": func(_ *testing.T, issuer string) *auth.Authorizer { return robot(auth.WithIssuer(issuer)) },
		"a person": func(t *testing.T, issuer string) *auth.Authorizer {
			return auth.Login(browser(t), auth.WithIssuer(issuer))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			w.Resource["authorization_servers"] = []string{w.MCP.URL + "/other", w.AS.URL}
			_, err := dial(t, w, by(t, w.AS.URL))
			require.NoError(t, err)

			w = authtest.New(t)
			_, err = dial(t, w, by(t, "https://only.example"))
			var e *auth.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, auth.ReasonRegistration, e.Reason)
			require.Contains(t, err.Error(), "https://only.example")
			require.Contains(t, err.Error(), w.AS.URL)
			require.Zero(t, w.Asked("client_credentials")+w.Asked("authorize")+w.Asked("register"))
		})
	}
}
