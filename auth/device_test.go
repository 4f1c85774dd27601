package auth_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

const deviceEndpoint = "device_authorization_endpoint"

// phone is a person who types the code on another device at once.
func phone(shown *auth.Prompt) auth.Option {
	return auth.WithPrompt(func(ctx context.Context, p auth.Prompt) error {
		*shown = p
		return visit(ctx, p.URLWithCode)
	})
}

func TestDevice(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]auth.Option{
		"registers itself":  nil,
		"bound to a key":    {auth.WithDPoP()},
		"registered client": {auth.WithClient("registered", "a-planted-secret", "")},
		"by a document":     {auth.WithClientMetadata("https://example.com/client.json")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			w.Announce(deviceEndpoint)
			w.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
			w.Metadata["client_id_metadata_document_supported"] = true
			asked, registered := recorded(w, "/device_authorization"), recorded(w, "/register")
			var shown auth.Prompt
			memory := auth.NewMemory()
			opts = append(opts, auth.WithStore(memory))
			c, err := dial(t, w, auth.Device(append(opts, phone(&shown))...))
			require.NoError(t, err)
			require.Equal(t, w.MCP.URL+"/mcp", shown.Server)
			require.Equal(t, w.AS.URL+"/device", shown.URL)
			require.Contains(t, shown.UserCode, "USER-")
			require.Empty(t, shown.Redirect)
			require.ErrorContains(t, shown.Paste("http://127.0.0.1/callback?code=a"), "takes no address")
			form := (*asked)[0].PostForm
			require.Equal(t, w.MCP.URL+"/mcp", form.Get("resource"))
			require.Equal(t, "read", form.Get("scope"))
			require.Empty(t, (*asked)[0].Header.Get("DPoP"))
			require.Len(t, *registered, map[bool]int{true: 1, false: 0}[name == "registers itself" || name == "bound to a key"])

			w.Revoke()
			require.NoError(t, once(t.Context(), c), "the token is renewed")
			require.Equal(t, 1, w.Asked("refresh_token"))
			_, err = dial(t, w, auth.Login(append(opts, auth.WithoutLogin())...))
			require.NoError(t, err, "the token is as that of another login")

			_, err = dial(t, w, auth.Device(append(opts, phone(&shown), auth.WithNewLogin())...))
			require.NoError(t, err)
			require.LessOrEqual(t, len(*registered), 1, "the registration is used again")
		})
	}
}

// A registration for one kind of login is not used for the other.
func TestDeviceAfterALoginWithABrowser(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	w.Announce(deviceEndpoint)
	store := auth.WithStore(auth.NewMemory())
	var shown auth.Prompt
	for range 2 {
		_, err := dial(t, w, auth.Login(store, auth.WithNewLogin(), browser(t)))
		require.NoError(t, err)
		_, err = dial(t, w, auth.Device(store, auth.WithNewLogin(), phone(&shown)))
		require.NoError(t, err)
	}
	require.Equal(t, 2, w.Asked("register"))
}

func TestDeviceThatFails(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(w *authtest.World)
		prompt error
		reason auth.Reason
		text   string
		help   string
	}{
		"no endpoint":          {change: func(w *authtest.World) { delete(w.Metadata, deviceEndpoint) }, reason: auth.ReasonDiscovery, text: "lets nobody log in on another device", help: "HandOff"},
		"the endpoint is gone": {change: func(w *authtest.World) { answers(w, "/device_authorization", 404, "") }, reason: auth.ReasonLogin, text: "gave no code", help: "ask the operator"},
		"a busy endpoint":      {change: func(w *authtest.World) { answers(w, "/device_authorization", 503, "") }, reason: auth.ReasonLogin, text: "gave no code", help: "try again later"},
		"an unknown client": {
			change: func(w *authtest.World) { answers(w, "/device_authorization", 401, "invalid_client") },
			reason: auth.ReasonLogin, text: "gave no code", help: "log in again",
		},
		"no registration": {change: func(w *authtest.World) { delete(w.Metadata, "registration_endpoint") }, reason: auth.ReasonRegistration, text: "registers no programs", help: "WithClient"},
		"only certificates": {
			change: func(w *authtest.World) {
				w.Metadata["token_endpoint_auth_methods_supported"] = []string{"tls_client_auth"}
			},
			reason: auth.ReasonRegistration, text: "no common method of client authentication", help: "register a client",
		},
		"refused by the person": {change: func(w *authtest.World) { answers(w, "/token", 400, "access_denied") }, reason: auth.ReasonLogin, text: "access_denied", help: "somebody who has access"},
		"expired":               {change: func(w *authtest.World) { answers(w, "/token", 400, "expired_token") }, reason: auth.ReasonLogin, text: "the code has expired", help: "begin the login again"},
		"a spent code":          {change: func(w *authtest.World) { answers(w, "/token", 400, "invalid_grant") }, reason: auth.ReasonToken, text: "invalid_grant"},
		"nobody to ask":         {prompt: errors.New("no terminal"), reason: auth.ReasonLogin, text: "no terminal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			w.Announce(deviceEndpoint)
			if row.change != nil {
				row.change(w)
			}
			_, err := dial(t, w, auth.Device(auth.WithPrompt(func(context.Context, auth.Prompt) error { return row.prompt })))
			var e *auth.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, row.reason, e.Reason, err)
			require.ErrorContains(t, err, row.text)
			require.Contains(t, e.Help, row.help)
			require.NotContains(t, fmt.Sprintf("%v %+v %#v", err, err, e), "planted-secret")
		})
	}
}
