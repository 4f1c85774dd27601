package auth_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// onlyInTheForm makes the authorization server accept a secret only in the form, without listing that.
// It returns how often it got one in the header.
func onlyInTheForm(w *authtest.World) (inHeader *int) {
	inHeader = new(int)
	delete(w.Metadata, "token_endpoint_auth_methods_supported")
	inner := w.AS.Config.Handler
	w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" && r.URL.Path != "/par" && r.URL.Path != "/device_authorization" {
			inner.ServeHTTP(rw, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		if _, _, basic := r.BasicAuth(); basic || form.Get("client_secret") != "robot-planted-secret" {
			*inHeader++
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(rw, `{"error":"invalid_client"}`)
			return
		}
		r.SetBasicAuth(form.Get("client_id"), form.Get("client_secret"))
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(rw, r)
	})
	return inHeader
}

// A server that accepts the secret only in the form gets it in the header once, and never again: not
// for the next token, and not from the next program with the same store.
func TestSecretOnlyInTheForm(t *testing.T) {
	t.Parallel()
	t.Run("of a program", func(t *testing.T) {
		t.Parallel()
		w := authtest.New(t)
		inHeader := onlyInTheForm(w)
		store := auth.WithStore(auth.NewMemory())
		for range 2 {
			c, err := dial(t, w, auth.ClientCredentials("robot", "robot-planted-secret", store))
			require.NoError(t, err)
			w.Revoke()
			require.NoError(t, once(t.Context(), c))
		}
		require.Equal(t, 1, *inHeader)
	})
	t.Run("of a person's program", func(t *testing.T) {
		t.Parallel()
		w := authtest.New(t)
		inHeader := onlyInTheForm(w)
		store := auth.WithStore(auth.NewMemory())
		as := auth.WithClient("robot", "robot-planted-secret", w.AS.URL)
		c, err := dial(t, w, auth.Login(browser(t), store, as))
		require.NoError(t, err)
		require.Equal(t, 1, w.Asked("authorize"), "the code is good for the second try")
		w.Revoke()
		require.NoError(t, once(t.Context(), c))
		_, err = dial(t, w, auth.Login(browser(t), store, as, auth.WithNewLogin()))
		require.NoError(t, err)
		require.Equal(t, 1, *inHeader)
	})
	t.Run("of a person on another device", func(t *testing.T) {
		t.Parallel()
		w := authtest.New(t)
		w.Announce(deviceEndpoint)
		inHeader := onlyInTheForm(w)
		store, as := auth.WithStore(auth.NewMemory()), auth.WithClient("robot", "robot-planted-secret", w.AS.URL)
		var shown auth.Prompt
		for range 2 {
			c, err := dial(t, w, auth.Device(phone(&shown), store, as, auth.WithNewLogin()))
			require.NoError(t, err)
			w.Revoke()
			require.NoError(t, once(t.Context(), c))
		}
		require.Equal(t, 1, *inHeader)
	})
	t.Run("of a pushed request", func(t *testing.T) {
		t.Parallel()
		w := authtest.New(t)
		w.Announce(pushEndpoint)
		inHeader := onlyInTheForm(w)
		_, err := dial(t, w, auth.Login(browser(t), auth.WithClient("robot", "robot-planted-secret", w.AS.URL)))
		require.NoError(t, err)
		require.Equal(t, 1, w.Asked("push"))
		require.Equal(t, 1, *inHeader)
	})
	t.Run("of a login that is finished later", func(t *testing.T) {
		t.Parallel()
		w := authtest.New(t)
		inHeader := onlyInTheForm(w)
		opts := []auth.Option{auth.WithStore(auth.NewMemory()), auth.WithClient("robot", "robot-planted-secret", w.AS.URL)}
		out := handedOff(t, w, opts...)
		require.NoError(t, auth.HandOff(opts...).Finish(t.Context(), w.MCP.URL+"/mcp", elsewhere(t, out.URL)))
		w.Revoke()
		_, err := dial(t, w, auth.Login(append(opts, auth.WithoutLogin())...))
		require.NoError(t, err)
		require.Equal(t, 1, *inHeader)
	})
	t.Run("a wrong secret is tried twice", func(t *testing.T) {
		t.Parallel()
		w := authtest.New(t)
		inHeader := onlyInTheForm(w)
		_, err := dial(t, w, auth.ClientCredentials("robot", "wrong-planted-secret"))
		require.ErrorContains(t, err, "invalid_client")
		require.Equal(t, 2, *inHeader)
		require.NotContains(t, err.Error(), "planted-secret")
	})
	t.Run("a server that lists its methods is believed", func(t *testing.T) {
		t.Parallel()
		w := authtest.New(t)
		inHeader := onlyInTheForm(w)
		w.Metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
		_, err := dial(t, w, auth.ClientCredentials("robot", "robot-planted-secret"))
		require.ErrorContains(t, err, "invalid_client")
		require.Equal(t, 1, *inHeader)
	})
}

// A server where this program cannot authenticate itself opens no browser.
func TestNoBrowserInVain(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		methods []string
		opts    []auth.Option
		fails   bool
	}{
		"certificates only":                  {[]string{"tls_client_auth", "self_signed_tls_client_auth"}, nil, true},
		"certificates only, a secret":        {[]string{"tls_client_auth"}, []auth.Option{auth.WithClient("registered", "a-planted-secret", "")}, true},
		"keys only":                          {[]string{"private_key_jwt"}, nil, true},
		"keys only, a secret":                {[]string{"private_key_jwt"}, []auth.Option{auth.WithClient("registered", "a-planted-secret", "")}, true},
		"a public client that is not listed": {[]string{"client_secret_basic"}, []auth.Option{auth.WithClient("registered", "", "")}, false},
		"certificates or nothing":            {[]string{"tls_client_auth", "none"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			w.Metadata["token_endpoint_auth_methods_supported"] = row.methods
			_, err := dial(t, w, auth.Login(append(row.opts, browser(t))...))
			if !row.fails {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, auth.ErrNoClientMethod)
			require.Zero(t, w.Asked("authorize")+w.Asked("register"))
		})
	}
}

// The token endpoint of a company lists nothing, either.
func TestSecretOnlyInTheFormOfACompany(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	inHeader := 0
	company := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		if r.FormValue("client_secret") != "company-planted-secret" {
			inHeader++
			rw.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(rw, `{"error":"invalid_client"}`)
			return
		}
		_, _ = io.WriteString(rw, `{"access_token": "grant-planted-secret", "token_type": "N_A", "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag"}`)
	}))
	t.Cleanup(company.Close)
	provider := auth.IdentityProvider{
		TokenURL: company.URL + "/token", ClientID: "robot", ClientSecret: "company-planted-secret",
		Subject: func(context.Context) (string, string, error) { return "id-planted-secret", auth.IDToken, nil },
	}
	a := auth.IDJAG("robot", "robot-planted-secret", provider)
	for range 3 {
		_, err := dial(t, w, a)
		require.NoError(t, err)
		_, err = a.Logout(t.Context(), w.MCP.URL+"/mcp")
		require.NoError(t, err)
	}
	require.Equal(t, 3, w.Asked("urn:ietf:params:oauth:grant-type:jwt-bearer"))
	require.Equal(t, 1, inHeader)
}
