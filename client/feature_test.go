package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

var prompted = mcp.CompletionReference{Type: mcp.RefPrompt, Name: "greet"}

// era connects to a fake server in one revision, over a pipe. The server declares
// everything, or caps instead.
func era(t *testing.T, version, caps string, opts ...client.Option) (*client.Client, *fakeServer) {
	t.Helper()
	tr, s := newFake(t)
	s.result("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"s","version":"1"}}`, version, caps))
	s.result("server/discover", `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":`+caps+`}`)
	c, err := client.Connect(t.Context(), tr, append([]client.Option{client.WithProtocolVersion(version), client.WithRequiredCapabilities()}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ignoreClosed(c.Close())) })
	return c, s
}

const allCaps = `{"resources":{"subscribe":true},"prompts":{},"completions":{},"logging":{}}`

// lastParams returns the params of the latest request of a method, without _meta.
func lastParams(t *testing.T, s *fakeServer, method string) string {
	t.Helper()
	found := ""
	for _, line := range s.received() {
		var m struct {
			Method string
			Params map[string]json.RawMessage
		}
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		if m.Method == method {
			delete(m.Params, "_meta")
			raw, err := json.Marshal(m.Params)
			require.NoError(t, err)
			found = string(raw)
		}
	}
	return found
}

// One API, the same in every revision but for
// what the revision does not have.
func TestFeaturesInEveryRevision(t *testing.T) {
	t.Parallel()
	for _, version := range mcp.Versions() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			c, s := era(t, string(version), allCaps)
			ctx := t.Context()
			s.result("resources/read", `{"contents":[{"uri":"x:/ä","text":"one"},{"uri":"x:/ä","blob":"dHdv"}]}`)
			read, err := c.ReadResource(ctx, "x:/ä")
			require.NoError(t, err)
			require.Len(t, read.Contents, 2)
			require.JSONEq(t, `{"uri":"x:/ä"}`, lastParams(t, s, "resources/read"))

			s.result("prompts/get", `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}`)
			prompt, err := c.GetPrompt(ctx, "greet", map[string]string{"who": "you"})
			require.NoError(t, err)
			require.Equal(t, mcp.RoleUser, prompt.Messages[0].Role)
			require.JSONEq(t, `{"name":"greet","arguments":{"who":"you"}}`, lastParams(t, s, "prompts/get"))
			_, err = c.GetPrompt(ctx, "greet", nil)
			require.NoError(t, err)
			require.JSONEq(t, `{"name":"greet"}`, lastParams(t, s, "prompts/get"))

			values := strings.TrimSuffix(strings.Repeat(`"v",`, 101), ",")
			s.result("completion/complete", `{"completion":{"values":[`+values+`],"hasMore":true}}`)
			done, err := c.Complete(ctx, prompted, mcp.CompletionArgument{Name: "who", Value: "y"}, map[string]string{"lang": "en"})
			require.NoError(t, err)
			require.Len(t, done.Values, 101)
			require.True(t, done.HasMore)
			want := `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"y"}`
			if version.AtLeast(mcp.Version2025_06_18) {
				want += `,"context":{"arguments":{"lang":"en"}}`
			}
			require.JSONEq(t, want+"}", lastParams(t, s, "completion/complete"))
		})
	}
}

// What the revision or the server does not have
// is refused here, with a type, and nothing is sent.
func TestGate(t *testing.T) {
	t.Parallel()
	argument := mcp.CompletionArgument{Name: "who"}
	for _, tt := range []struct {
		name, version, caps string
		call                func(ctx context.Context, c *client.Client) error
		want                mcperrors.Code // "" when it is sent
		says                string
	}{
		{"read", "2025-11-25", `{}`, readX, "E205", "resources"},
		{"read", "2026-07-28", `{}`, readX, "E205", "resources"},
		{"prompt", "2025-11-25", `{}`, getP, "E205", "prompts"},
		{"complete", "2025-11-25", `{}`, func(ctx context.Context, c *client.Client) error {
			_, err := c.Complete(ctx, prompted, argument, nil)
			return err
		}, "E205", "completions"},
		{"complete, LC-12", "2024-11-05", `{}`, func(ctx context.Context, c *client.Client) error {
			_, err := c.Complete(ctx, prompted, argument, nil)
			return err
		}, "", ""},
		{"log level", "2025-11-25", `{}`, setLevel, "E205", "logging"},
		{"log level", "2026-07-28", `{}`, setLevel, "E205", "logging"},
		{"subscribe raw", "2025-11-25", `{"resources":{}}`, raw("resources/subscribe"), "E205", "resources.subscribe"},
		{"subscribe raw", "2026-07-28", allCaps, raw("resources/subscribe"), "E205", "Client.Subscribe"},
		{"set level raw", "2026-07-28", allCaps, raw("logging/setLevel"), "E205", "Client.SetLogLevel"},
		{"listen raw", "2025-11-25", allCaps, raw("subscriptions/listen"), "E205", "Client.Subscribe"},
		{"ping", "2026-07-28", allCaps, func(ctx context.Context, c *client.Client) error { return c.Ping(ctx) }, "E205", "server/discover"},
		{"roots changed", "2026-07-28", allCaps, tell("notifications/roots/list_changed"), "E205", "not part of revision"},
		{"a request as a notification", "2025-11-25", allCaps, tell("ping"), "E203", "use Client.Call"},
		{"a notification as a request", "2025-11-25", allCaps, raw("notifications/cancelled"), "E203", "use Client.Notify"},
		{"a server's notification", "2025-11-25", allCaps, tell("notifications/message"), "E203", "only servers send"},
		{"a custom notification", "2026-07-28", `{}`, tell("notifications/custom"), "", ""},
		{"a custom request", "2026-07-28", `{}`, raw("custom/x"), "", ""},
	} {
		t.Run(tt.name+" "+tt.version, func(t *testing.T) {
			t.Parallel()
			c, s := era(t, tt.version, tt.caps)
			before := s.asked()
			err := tt.call(t.Context(), c)
			if tt.want == "" {
				require.NotEqual(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
				return
			}
			require.Equal(t, tt.want, mcperrors.CodeOf(err))
			require.ErrorContains(t, err, tt.says)
			require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
			require.Equal(t, before, s.asked())
		})
	}
}

func readX(ctx context.Context, c *client.Client) error {
	_, err := c.ReadResource(ctx, "x:/")
	return err
}

func getP(ctx context.Context, c *client.Client) error {
	_, err := c.GetPrompt(ctx, "p", nil)
	return err
}

func setLevel(ctx context.Context, c *client.Client) error { return c.SetLogLevel(ctx, mcp.LevelInfo) }

func raw(method string) func(context.Context, *client.Client) error {
	return func(ctx context.Context, c *client.Client) error {
		_, err := c.Call(ctx, method, nil)
		return err
	}
}

func tell(method string) func(context.Context, *client.Client) error {
	return func(ctx context.Context, c *client.Client) error { return c.Notify(ctx, method, nil) }
}

// What cannot be right is refused before anything is sent.
func TestFeaturesBadInput(t *testing.T) {
	t.Parallel()
	c, s := era(t, "2025-11-25", allCaps)
	ctx := t.Context()
	before := s.asked()
	complete := func(ref mcp.CompletionReference, name string) error {
		_, err := c.Complete(ctx, ref, mcp.CompletionArgument{Name: name}, nil)
		return err
	}
	_, read := c.ReadResource(ctx, "")
	_, prompt := c.GetPrompt(ctx, "", nil)
	for _, err := range []error{
		read, prompt, c.SetLogLevel(ctx, "loud"), complete(prompted, ""), complete(mcp.CompletionReference{}, "x"),
		complete(mcp.CompletionReference{Type: mcp.RefPrompt}, "x"), complete(mcp.CompletionReference{Type: mcp.RefResource, Name: "n"}, "x"),
	} {
		require.Equal(t, mcperrors.CodeInvalidRequest, mcperrors.CodeOf(err))
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
	}
	require.Equal(t, before, s.asked())
}

// Both codes count in every revision; -32602 only if its data or text names the missing resource.
func TestReadResourceNotFound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code          int64
		message, data string
		missing       bool
	}{
		{-32002, "x", "", true},
		{-32602, "x", `{"uri":"x:/gone"}`, true},
		{-32602, "Resource not found", "", true},
		{-32602, "x", `{"uri":"x:/other"}`, false},
		{-32602, "Invalid params: missing _meta", "", false},
	} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			c, s := era(t, version, allCaps)
			s.on("resources/read", func(jsonrpc.Request) any { return jsonrpc.NewError(tt.code, tt.message, json.RawMessage(tt.data)) })
			_, err := c.ReadResource(t.Context(), "x:/gone")
			require.Equal(t, tt.missing, mcperrors.IsNotFound(err), "%d %s %s", tt.code, tt.message, tt.data)
		}
	}
	c, s := era(t, "2026-07-28", allCaps)
	s.result("resources/read", `{"contents":[]}`)
	res, err := c.ReadResource(t.Context(), "x:/empty")
	require.NoError(t, err)
	require.Empty(t, res.Contents)
}

// One call for both eras.
func TestSetLogLevel(t *testing.T) {
	t.Parallel()
	c, s := era(t, "2025-11-25", allCaps)
	s.result("logging/setLevel", `{}`)
	require.NoError(t, c.SetLogLevel(t.Context(), mcp.LevelWarning))
	require.JSONEq(t, `{"level":"warning"}`, lastParams(t, s, "logging/setLevel"))

	c, s = era(t, "2026-07-28", allCaps)
	s.result("resources/read", `{"contents":[]}`)
	require.NoError(t, readX(t.Context(), c))
	before := s.received()
	require.NotContains(t, before[len(before)-1], "logLevel", "only when it was asked for (LOG-02)")
	require.NoError(t, c.SetLogLevel(t.Context(), mcp.LevelError))
	require.Len(t, s.received(), len(before), "nothing is sent for it")
	for range 2 {
		_, err := c.Call(t.Context(), "custom/x", nil)
		require.Error(t, err)
		got := s.received()
		require.JSONEq(t, `"error"`, string(metaIn(t, got[len(got)-1])["io.modelcontextprotocol/logLevel"]))
	}
}

// A header repeats what the request is about.
func TestFeaturesNameHeader(t *testing.T) {
	t.Parallel()
	c, s := alone(t)
	s.result("resources/read", `{"resultType":"complete","contents":[]}`)
	s.result("prompts/get", `{"resultType":"complete","messages":[]}`)
	_, err := c.ReadResource(t.Context(), "x:/日本")
	require.NoError(t, err)
	require.Equal(t, "=?base64?eDov5pel5pys?=", s.last("resources/read").header.Get("Mcp-Name"))
	require.NoError(t, getP(t.Context(), c))
	require.Equal(t, "p", s.last("prompts/get").header.Get("Mcp-Name"))
}

// What the server lets us keep of a resource is
// asked for once, until it says that it was updated.
func TestReadResourceIsCached(t *testing.T) {
	t.Parallel()
	c, s := era(t, "2026-07-28", allCaps)
	s.result("resources/read", `{"resultType":"complete","contents":[],"ttlMs":60000,"cacheScope":"private"}`)
	for range 3 {
		require.NoError(t, readX(t.Context(), c))
	}
	require.Equal(t, 1, s.count("resources/read"))
	_, err := c.ReadResource(t.Context(), "x:/", client.WithCacheMode(client.CacheRefresh))
	require.NoError(t, err)
	require.Equal(t, 2, s.count("resources/read"))
}
