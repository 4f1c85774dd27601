package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// person opens the page of a login, as a browser does.
func person(ctx context.Context, p auth.Prompt) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return p.Paste(resp.Header.Get("Location"))
}

// TestLogin: one login is enough for two runs.
func TestLogin(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	w := authtest.New(t)
	store, err := auth.OpenFiles(t.TempDir() + "/tokens")
	require.NoError(t, err)
	for range 2 {
		var out strings.Builder
		login := auth.Login(auth.WithStore(store), auth.WithPrompt(person))
		require.NoError(t, run(t.Context(), login, []string{w.MCP.URL + "/mcp", "echo", "{}"}, &out))
		require.Equal(t, "echo\ndone\n", out.String())
	}
	require.Equal(t, 1, w.Asked("authorize"))
	require.ErrorContains(t, run(t.Context(), nil, nil, nil), "usage")
}
