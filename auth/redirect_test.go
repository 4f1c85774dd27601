package auth_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// A login may end at a web application: it registers as one, and there is no listener here.
func TestWebRedirect(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	taken, err := url.Parse(w.MCP.URL)
	require.NoError(t, err)
	redirect := "https://" + taken.Host + "/callback?tenant=7" // to listen there would fail
	store := auth.WithStore(auth.NewMemory())
	a := auth.HandOff(store, auth.WithRedirect(redirect))
	_, err = dial(t, w, a)
	var out *auth.LoginPendingError
	require.ErrorAs(t, err, &out)
	require.Equal(t, redirect, out.Redirect)
	require.Equal(t, []map[string]any{{
		"redirect_uris": []any{redirect}, "application_type": "web", "client_name": "Mainstay", "token_endpoint_auth_method": "none",
		"grant_types": []any{"authorization_code", "refresh_token"}, "response_types": []any{"code"},
	}}, w.Registered())
	page, err := url.Parse(out.URL)
	require.NoError(t, err)
	require.Equal(t, redirect, page.Query().Get("redirect_uri"))

	address := elsewhere(t, out.URL)
	require.True(t, strings.HasPrefix(address, "https://"+taken.Host+"/callback?"), address)
	require.Contains(t, address, "tenant=7")
	require.NoError(t, a.Finish(t.Context(), w.MCP.URL+"/mcp", address))
	_, err = dial(t, w, a)
	require.NoError(t, err)
}

func TestRedirectOptions(t *testing.T) {
	t.Parallel()
	const (
		neither = "the redirect URL must be on this machine, as http://127.0.0.1:PORT/callback, or https"
		handOff = "Login listens for the browser on this machine; use HandOff and Finish with an https redirect URL"
	)
	for name, tt := range map[string]struct {
		redirect string
		login    string // the error of Login, "" for none
		handOff  string
	}{
		"this machine":         {redirect: "http://127.0.0.1:0/callback"},
		"a web application":    {redirect: "https://app.example/callback", login: handOff},
		"in capitals":          {redirect: "HTTPS://app.example/callback", login: handOff},
		"http elsewhere":       {redirect: "http://app.example/callback", login: neither, handOff: neither},
		"another scheme":       {redirect: "app.example:/callback", login: neither, handOff: neither},
		"no host":              {redirect: "https:///callback", login: neither, handOff: neither},
		"only a port":          {redirect: "https://:443/callback", login: neither, handOff: neither},
		"a fragment":           {redirect: "https://app.example/#callback", login: neither, handOff: neither},
		"an empty fragment":    {redirect: "https://app.example/callback#", login: neither, handOff: neither},
		"a user":               {redirect: "https://me@app.example/callback", login: neither, handOff: neither},
		"nothing that is read": {redirect: "https://app.example/%zz", login: neither, handOff: neither},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for a, says := range map[*auth.Authorizer]string{
				auth.Login(auth.WithRedirect(tt.redirect)): tt.login, auth.HandOff(auth.WithRedirect(tt.redirect)): tt.handOff,
			} {
				_, err := a.Token(t.Context(), "https://example.com/mcp")
				if says == "" {
					require.ErrorIs(t, err, auth.ErrNotLoggedIn)
					continue
				}
				var why *auth.Error
				require.ErrorAs(t, err, &why)
				require.Equal(t, auth.ReasonOption, why.Reason)
				require.ErrorContains(t, err, says)
			}
		})
	}
}

// The document of a web application names its own redirect and type.
func TestClientMetadataOfAWebApplication(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Metadata["client_id_metadata_document_supported"] = true
	at := "https://app.example/client.json"
	opts := []auth.Option{auth.WithClientMetadata(at), auth.WithRedirect("https://app.example/callback")}
	document, err := auth.ClientMetadata(at, opts...)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"client_id": "https://app.example/client.json", "client_name": "Mainstay", "application_type": "web",
		"redirect_uris": ["https://app.example/callback"], "token_endpoint_auth_method": "none",
		"grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"]
	}`, string(document))
	out := handedOff(t, w, opts...)
	require.Equal(t, "https://app.example/callback", out.Redirect)
	require.Empty(t, w.Registered())
}
