package server_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/conformance/server"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Read, prompt, complete, log level and subscribe against a server that others
// wrote, over every transport and in both eras. The subscriptions wait together:
// what they are about changes every three seconds.
func TestFeaturesOfTheReferenceServer(t *testing.T) {
	t.Parallel()
	srv, err := server.New(server.Options{Families: []string{"fixtures"}, SSE: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(web.Close)
	connect := map[string]func(t *testing.T, opts ...client.Option) (*client.Client, error){
		"HTTP": func(t *testing.T, opts ...client.Option) (*client.Client, error) {
			return client.Dial(t.Context(), web.URL+server.Path, opts...)
		},
		"HTTP+SSE": func(t *testing.T, opts ...client.Option) (*client.Client, error) {
			c, err := client.Dial(t.Context(), web.URL+server.SSEPath, opts...)
			if err == nil {
				require.True(t, c.Negotiated().Fallback, "found as the transports page has it")
			}
			return c, err
		},
		"stdio": func(t *testing.T, opts ...client.Option) (*client.Client, error) {
			tr, conn := transport.InMemory()
			ended := make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { ended <- srv.ServeStdio(ctx, conn, conn) }()
			t.Cleanup(func() {
				cancel()
				_ = conn.Close()
				<-ended //nolint:errcheck // the pipe was closed under it
			})
			return client.Connect(t.Context(), tr, opts...)
		},
	}
	watched := map[string]chan client.Change{}
	for over, open := range connect {
		for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"} {
			if over == "HTTP+SSE" && version == "2026-07-28" {
				continue // the stateless era does not come this way
			}
			name := over + " " + version
			c, err := open(t, client.WithProtocolVersion(version), client.WithRequiredCapabilities())
			require.NoError(t, err, name)
			t.Cleanup(func() { require.NoError(t, ignoreClosed(c.Close())) })
			useFeatures(t, c, name)
			if !testing.Short() {
				watched[name] = watchResource(t, c, name)
			}
		}
	}
	for name, changes := range watched {
		select {
		case ch := <-changes:
			require.Equal(t, "test://watched-resource", ch.URI, name)
		case <-time.After(30 * time.Second):
			require.Fail(t, "no notification arrived", name)
		}
	}
}

func useFeatures(t *testing.T, c *client.Client, name string) {
	t.Helper()
	ctx := t.Context()
	read, err := c.ReadResource(ctx, "test://static-text")
	require.NoError(t, err, name)
	require.Contains(t, *read.Contents[0].Text, "static text")
	_, err = c.ReadResource(ctx, "test://not-there")
	require.True(t, mcperrors.IsNotFound(err), "%v", err)
	templates, err := c.ListResourceTemplates(ctx, nil)
	require.NoError(t, err, name)
	uri, err := templates.ResourceTemplates[0].Expand(map[string]string{"id": "1 2"})
	require.NoError(t, err, name)
	_, err = c.ReadResource(ctx, uri)
	require.NoError(t, err, name)

	prompt, err := c.GetPrompt(ctx, "test_prompt_with_arguments", map[string]string{"arg1": "a", "arg2": "b"})
	require.NoError(t, err, name)
	require.NotEmpty(t, prompt.Messages, name)
	_, err = c.GetPrompt(ctx, "test_prompt_with_arguments", nil)
	require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err))
	done, err := c.Complete(ctx, mcp.CompletionReference{Type: mcp.RefPrompt, Name: "test_prompt_with_arguments"},
		mcp.CompletionArgument{Name: "arg1", Value: "p"}, map[string]string{"arg2": "b"})
	require.NoError(t, err, name)
	require.NotNil(t, done, name)
	require.NoError(t, c.SetLogLevel(ctx, mcp.LevelWarning))
}

func watchResource(t *testing.T, c *client.Client, name string) chan client.Change {
	t.Helper()
	changes := make(chan client.Change, 10)
	s, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"test://watched-resource"}},
		func(_ context.Context, ch client.Change) { changes <- ch })
	require.NoError(t, err, name)
	require.Equal(t, []string{"test://watched-resource"}, s.Accepted().ResourceSubscriptions, name)
	return changes
}
