package server_test

import (
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The same handlers answer a server that others wrote, over both transports and
// in both eras.
func TestInputsOfTheReferenceServer(t *testing.T) {
	t.Parallel()
	srv, err := server.New(server.Options{Families: []string{"fixtures"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(web.Close)

	connect := map[string]func(t *testing.T, opts ...client.Option) *client.Client{
		"HTTP": func(t *testing.T, opts ...client.Option) *client.Client {
			c, err := client.Dial(t.Context(), web.URL+server.Path, opts...)
			require.NoError(t, err)
			return c
		},
		"stdio": func(t *testing.T, opts ...client.Option) *client.Client {
			tr, conn := transport.InMemory()
			served := make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { served <- srv.ServeStdio(ctx, conn, conn) }()
			t.Cleanup(func() {
				cancel()
				_ = conn.Close() // the client has closed its end
				t.Logf("the pipe was closed under it: %v", <-served)
			})
			c, err := client.Connect(t.Context(), tr, opts...)
			require.NoError(t, err)
			return c
		},
	}
	tests := []struct {
		tool      string
		args      map[string]any
		era, says string // era empty: both
	}{
		{"test_sampling", map[string]any{"prompt": "2+2"}, "", "re: 2+2"},
		{"test_elicitation", map[string]any{"message": "who?"}, "", `"username":"Ada"`},
		{"test_elicitation_sep1034_defaults", nil, "", `"score":95.5`},
		{"test_elicitation_sep1330_enums", nil, "", `"titledMulti":["value1"]`},
		{"test_streaming_elicitation", nil, "", `"name":"Ada"`},
		{"test_missing_capability", nil, "", "declared sampling"},
		{"test_input_required_result_elicitation", nil, "", "Hello, Ada!"},
		{"test_input_required_result_sampling", nil, "", "re: What is the capital of France?"},
		{"test_input_required_result_list_roots", nil, "", "1 roots: file:///work"},
		{"test_input_required_result_request_state", nil, "2026-07-28", "state-ok"},
		{"test_input_required_result_multiple_inputs", nil, "", "Ada"},
		{"test_input_required_result_multi_round", nil, "", "Ada"},
		{"test_input_required_result_capabilities", nil, "", "answered 3 requests"},
	}
	for name, open := range connect {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				c := open(t, client.WithProtocolVersion(version), client.OnSampling(sampleYes),
					client.OnElicitForm(fillEverything), client.WithRoots(mcp.Root{URI: "file:///work"}))
				t.Cleanup(func() { require.NoError(t, ignoreClosed(c.Close())) })
				for _, tt := range tests {
					if tt.era != "" && tt.era != version {
						continue
					}
					res, err := c.CallTool(t.Context(), tt.tool, tt.args)
					require.NoError(t, err, tt.tool)
					require.False(t, res.IsError, "%s: %s", tt.tool, res.Text())
					require.Contains(t, res.Text(), tt.says, tt.tool)
				}
			})
		}
	}
}

// fillEverything fills in a form: the first choice, else Ada, else the default.
func fillEverything(_ context.Context, r client.FormRequest) (*mcp.ElicitResult, error) {
	content := map[string]any{}
	for _, f := range r.Fields {
		switch {
		case f.Default != nil:
		case f.Type == "array":
			content[f.Name] = []string{f.Choices[0].Value}
		case len(f.Choices) > 0:
			content[f.Name] = f.Choices[0].Value
		case f.Type == "boolean":
			content[f.Name] = true
		case f.Type == "string" && !strings.Contains(f.Name, "colo"):
			content[f.Name] = "Ada"
		case f.Type == "string":
			content[f.Name] = "blue"
		}
	}
	return client.AcceptForm(content)
}

// sampleYes repeats what was asked last.
func sampleYes(_ context.Context, r client.SamplingRequest) (*mcp.CreateMessageResult, error) {
	asked := r.Params.Messages[len(r.Params.Messages)-1].Content[0].(*mcp.TextContent).Text
	return &mcp.CreateMessageResult{Model: "m", Content: []mcp.Content{&mcp.TextContent{Text: "re: " + asked}}}, nil
}

// ignoreClosed drops the error of closing a pipe whose other end went first.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
