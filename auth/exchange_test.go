package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"

func TestTokenExchange(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	requests := recorded(w, "/token")
	asked := 0
	subject := func(context.Context) (token, tokenType string, err error) {
		asked++
		return fmt.Sprintf("subject-planted-secret-%d", asked), auth.AccessToken, nil
	}
	c, err := dial(t, w, auth.TokenExchange("gateway", "a-planted-secret", subject, auth.WithIssuer(w.AS.URL)))
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, once(t.Context(), c))
	}
	require.Equal(t, 1, asked, "it is asked for a token, not for a call")
	w.Revoke()
	require.NoError(t, once(t.Context(), c))
	require.Equal(t, 2, asked)
	require.Equal(t, 2, w.Asked(exchangeGrant))
	require.Zero(t, w.Asked("refresh_token"))
	request := (*requests)[0]
	require.Equal(t, url.Values{
		"grant_type": {exchangeGrant}, "resource": {w.MCP.URL + "/mcp"}, "scope": {"read"}, "requested_token_type": {auth.AccessToken},
		"subject_token": {"subject-planted-secret-1"}, "subject_token_type": {auth.AccessToken},
	}, request.PostForm)
	_, secret, _ := request.BasicAuth()
	require.Equal(t, "a-planted-secret", secret)
}

func TestTokenExchangeOfAPublicClient(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
	requests := recorded(w, "/token")
	subject := func(context.Context) (token, tokenType string, err error) {
		return "subject-planted-secret", auth.IDToken, nil
	}
	_, err := dial(t, w, auth.TokenExchange("gateway", "", subject, auth.WithDPoP()))
	require.NoError(t, err)
	require.Equal(t, "gateway", (*requests)[0].PostForm.Get("client_id"))
	require.NotEmpty(t, (*requests)[0].Header.Get("DPoP"))
}

func TestTokenExchangeThatFails(t *testing.T) {
	t.Parallel()
	const one = "subject-planted-secret"
	for name, row := range map[string]struct {
		subject func(context.Context) (token, tokenType string, err error)
		id      string
		answer  map[string]any // of the token endpoint
		status  int
		reason  auth.Reason
		text    string
	}{
		"no function":       {id: "gateway", reason: auth.ReasonOption, text: "TokenExchange needs the function"},
		"no id":             {subject: func(context.Context) (string, string, error) { return one, auth.AccessToken, nil }, reason: auth.ReasonOption, text: "the client id is missing"},
		"no token":          {id: "gateway", subject: func(context.Context) (string, string, error) { return "", auth.AccessToken, nil }, reason: auth.ReasonToken, text: "the token of the user is not available: the token is empty"},
		"no session":        {id: "gateway", subject: func(context.Context) (string, string, error) { return "", "", errors.New("logged out") }, reason: auth.ReasonToken, text: "the token of the user is not available: logged out"},
		"an expired token":  {id: "gateway", status: 400, answer: map[string]any{"error": "invalid_request", "error_description": "got " + one}, reason: auth.ReasonToken, text: "invalid_request"},
		"an ID token":       {id: "gateway", status: 200, answer: map[string]any{"access_token": "a-planted-secret", "token_type": "Bearer", "issued_token_type": auth.IDToken}, reason: auth.ReasonToken, text: `issued "urn:ietf:params:oauth:token-type:id_token" in place of an access token`},
		"no access token":   {id: "gateway", status: 200, answer: map[string]any{"access_token": "a-planted-secret", "token_type": "N_A", "issued_token_type": auth.IDToken}, reason: auth.ReasonToken, text: "what it issued is no access token"},
		"no type of issued": {id: "gateway", status: 200, answer: map[string]any{"access_token": "a-planted-secret", "token_type": "Bearer"}, reason: auth.ReasonToken, text: `issued "" in place of an access token`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			if row.answer != nil {
				row.subject = func(context.Context) (string, string, error) { return one, auth.AccessToken, nil }
				inner := w.AS.Config.Handler
				w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/token" {
						inner.ServeHTTP(rw, r)
						return
					}
					rw.Header().Set("Content-Type", "application/json")
					rw.WriteHeader(row.status)
					_ = json.NewEncoder(rw).Encode(row.answer)
				})
			}
			store := auth.NewMemory()
			_, err := dial(t, w, auth.TokenExchange(row.id, "a-planted-secret", row.subject, auth.WithStore(store)))
			var e *auth.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, row.reason, e.Reason)
			require.ErrorContains(t, err, row.text)
			require.NotContains(t, fmt.Sprintf("%v %+v %#v", err, err, e), "planted-secret")
			keys, err := store.List(t.Context())
			require.NoError(t, err)
			require.Empty(t, keys, "nothing is kept")
		})
	}
}

// Each user of a gateway has an Authorizer; the store keeps their tokens apart.
func TestTokenExchangeOfTwoUsers(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	store := auth.NewMemory()
	sent := map[string]string{}
	inner := w.AS.Config.Handler
	w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			inner.ServeHTTP(rw, r)
			return
		}
		rec := httptest.NewRecorder()
		inner.ServeHTTP(rec, r)
		var m map[string]any
		_ = json.Unmarshal(rec.Body.Bytes(), &m)
		sent[r.PostForm.Get("subject_token")], _ = m["access_token"].(string)
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write(rec.Body.Bytes())
	})
	tokens := map[string]bool{}
	for _, user := range []string{"ada", "bob"} {
		for range 2 { // the second from the store
			a := auth.TokenExchange("gateway", "a-planted-secret", func(context.Context) (string, string, error) {
				return user + "-planted-secret", auth.AccessToken, nil
			}, auth.WithStore(store), auth.WithPrincipal(user))
			_, err := dial(t, w, a)
			require.NoError(t, err)
			token, err := a.Token(t.Context(), w.MCP.URL+"/mcp")
			require.NoError(t, err)
			require.Equal(t, sent[user+"-planted-secret"], token)
			tokens[token] = true
		}
	}
	require.Len(t, tokens, 2)
	require.Equal(t, 2, w.Asked(exchangeGrant))
}
