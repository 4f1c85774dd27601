package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

const (
	pushEndpoint = "pushed_authorization_request_endpoint"
	pushDemanded = "require_pushed_authorization_requests"
)

// recorded keeps the forms of requests to a path of the authorization server.
func recorded(w *authtest.World, path string) *[]http.Request {
	var all []http.Request
	inner := w.AS.Config.Handler
	w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			body, _ := io.ReadAll(r.Body)
			form, _ := url.ParseQuery(string(body))
			all = append(all, http.Request{Header: r.Header, PostForm: form})
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		inner.ServeHTTP(rw, r)
	})
	return &all
}

// answers makes a path of the authorization server answer with a status and an error code.
func answers(w *authtest.World, path string, status int, code string) {
	inner := w.AS.Config.Handler
	w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			inner.ServeHTTP(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(status)
		_ = json.NewEncoder(rw).Encode(map[string]string{"error": code})
	})
}

func TestPushedLogin(t *testing.T) {
	t.Parallel()
	for name, demanded := range map[string]bool{"demanded": true, "announced": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			w.Announce(pushEndpoint)
			w.Metadata[pushDemanded] = demanded
			w.Metadata["authorization_endpoint"] = w.AS.URL + "/authorize"
			w.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
			pushes := recorded(w, "/par")
			var shown auth.Prompt
			a := auth.Login(auth.WithDPoP(), auth.WithPrompt(func(ctx context.Context, p auth.Prompt) error {
				shown = p
				return visit(ctx, p.URL)
			}))
			_, err := dial(t, w, a)
			require.NoError(t, err)
			require.Equal(t, 1, w.Asked("push"))
			page, err := url.Parse(shown.URL)
			require.NoError(t, err)
			require.Len(t, page.Query(), 2, "the browser gets nothing else")
			require.Contains(t, page.Query().Get("request_uri"), "urn:ietf:params:oauth:request_uri:")
			require.WithinRange(t, shown.Expires, time.Now(), time.Now().Add(time.Minute))
			form := (*pushes)[0].PostForm
			require.Equal(t, page.Query().Get("client_id"), form.Get("client_id"))
			for _, param := range []string{"response_type", "redirect_uri", "state", "code_challenge", "resource", "scope", "dpop_jkt"} {
				require.NotEmpty(t, form.Get(param), param)
			}
			require.NotEmpty(t, (*pushes)[0].Header.Get("DPoP"), "RFC 9449 §10.1")
		})
	}
}

// The endpoint is asked with the client's authentication.
func TestPushAuthenticates(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Announce(pushEndpoint)
	pushes := recorded(w, "/par")
	_, err := dial(t, w, auth.Login(browser(t), auth.WithClient("registered", "a-planted-secret", w.AS.URL)))
	require.NoError(t, err)
	_, secret, _ := (*pushes)[0].BasicAuth()
	require.Equal(t, "a-planted-secret", secret)
}

func TestPushedHandOff(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Announce(pushEndpoint)
	w.Metadata[pushDemanded] = true
	store := auth.WithStore(auth.NewMemory())
	begin := func() *auth.LoginPendingError {
		_, err := client.Dial(t.Context(), w.MCP.URL+"/mcp", client.WithAuthorizer(auth.HandOff(store))) // not printed: its page is a secret
		var out *auth.LoginPendingError
		require.ErrorAs(t, err, &out)
		require.NotContains(t, err.Error(), "planted-secret")
		return out
	}
	out := begin()
	require.WithinRange(t, out.OpenBefore, time.Now().Add(50*time.Second), time.Now().Add(time.Minute))
	require.True(t, out.Expires.After(out.OpenBefore))
	require.Equal(t, out.URL, begin().URL, "a page that can be opened is not replaced")
	require.NoError(t, auth.HandOff(store).Finish(t.Context(), w.MCP.URL+"/mcp", elsewhere(t, out.URL)))
	_, err := dial(t, w, auth.Login(store, auth.WithoutLogin()))
	require.NoError(t, err)
	require.Equal(t, 1, w.Asked("push"))
}

// A page that can no longer be opened is replaced.
func TestPushedHandOffIsTooOld(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Announce(pushEndpoint)
	memory := auth.NewMemory()
	for range 2 {
		_, err := client.Dial(t.Context(), w.MCP.URL+"/mcp", client.WithAuthorizer(auth.HandOff(auth.WithStore(memory))))
		var out *auth.LoginPendingError
		require.ErrorAs(t, err, &out)
		keys, err := memory.List(t.Context())
		require.NoError(t, err)
		require.Len(t, keys, 1)
		require.NoError(t, memory.Update(t.Context(), keys[0], func(r auth.Record) (auth.Record, error) {
			pending := *r.Pending
			pending.OpenBefore = time.Now().Add(time.Second)
			r.Pending = &pending
			return r, nil
		}))
	}
	require.Equal(t, 2, w.Asked("push"))
}

// If pushed requests are optional, an endpoint that does not exist, or that accepts only clients with
// a secret, does not prevent a login. Everything else is an error.
func TestPushThatFails(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status   int
		code     string
		secret   bool
		demanded bool
		falls    bool
		help     string
	}{
		{404, "", false, false, true, ""},
		{405, "", true, false, true, ""},
		{501, "", false, false, true, ""},
		{401, "invalid_client", false, false, true, ""},
		{400, "unauthorized_client", false, false, true, ""},
		{404, "", false, true, false, "ask the operator"},
		{405, "", false, true, false, "ask the operator"},
		{501, "", false, true, false, "ask the operator"},
		{401, "invalid_client", false, true, false, "log in again"},
		{401, "invalid_client", true, false, false, "check the client id and the secret"},
		{400, "unauthorized_client", true, false, false, "check the client id and the secret"},
		{400, "invalid_request", false, false, false, "ask the operator"},
		{400, "invalid_scope", false, false, false, "which scopes"},
		{400, "invalid_target", false, false, false, "must register the MCP server"},
		{429, "", false, false, false, "try again later"},
		{503, "", false, false, false, "try again later"},
		{302, "", false, false, false, "ask the operator"},
	} {
		t.Run(fmt.Sprint(row), func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			w.Announce(pushEndpoint)
			w.Metadata[pushDemanded] = row.demanded
			answers(w, "/par", row.status, row.code)
			opts := []auth.Option{browser(t), auth.WithLoginTime(5 * time.Second)}
			if row.secret {
				opts = append(opts, auth.WithClient("registered", "a-planted-secret", w.AS.URL))
			}
			_, err := dial(t, w, auth.Login(opts...))
			if row.falls {
				require.NoError(t, err)
				require.Equal(t, 1, w.Asked("authorize"))
				return
			}
			var e *auth.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, auth.ReasonLogin, e.Reason)
			require.Contains(t, e.Help, row.help)
			require.ErrorContains(t, err, "did not accept the pushed request")
			require.Zero(t, w.Asked("authorize"), "no browser opens")
			require.NotContains(t, err.Error(), "planted-secret")
		})
	}
}

func TestPushDemandedWithoutAnEndpoint(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Metadata[pushDemanded] = true
	_, err := dial(t, w, auth.Login(browser(t)))
	var e *auth.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, auth.ReasonDiscovery, e.Reason)
	require.ErrorContains(t, err, "names no endpoint for them")
	require.Zero(t, w.Asked("authorize"))
}

// The URI of a pushed request is only in the page: not in logs, events and errors.
func TestPushedRequestIsNotTold(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Announce(pushEndpoint)
	var told strings.Builder
	a := auth.Login(auth.WithTrace(func(s auth.Step) { fmt.Fprintf(&told, "%+v\n", s) }), auth.WithPrompt(func(context.Context, auth.Prompt) error {
		return fmt.Errorf("nobody is here")
	}))
	_, err := client.Dial(t.Context(), w.MCP.URL+"/mcp", client.WithAuthorizer(a),
		client.WithLogger(slog.New(slog.NewTextHandler(&told, &slog.HandlerOptions{Level: slog.LevelDebug - 4}))),
		client.OnEvent(func(_ context.Context, e client.Event) { fmt.Fprintf(&told, "%+v\n", e) }))
	require.ErrorContains(t, err, "nobody is here")
	require.Equal(t, 1, w.Asked("push"))
	require.NotContains(t, told.String()+err.Error()+fmt.Sprintf("%v %+v %q", err, err, err), "planted-secret")
	require.NotEmpty(t, told.String())
}
