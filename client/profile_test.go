package client_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// storeProfile is that of an application whose servers write codes into the data of errors
// and into the results of tools.
var storeProfile = client.WithErrorProfile(mcperrors.ProfileFunc(func(r mcperrors.Report) mcperrors.Meaning {
	type payload struct {
		Code  string
		After float64 `json:"retry_after_seconds"`
	}
	var result struct{ Error payload }
	if _ = json.Unmarshal(r.Structured, &result); r.RPC != nil {
		_ = json.Unmarshal(r.RPC.Data, &result.Error)
	}
	switch result.Error.Code {
	case "DB_LOCKED":
		return mcperrors.Meaning{Code: mcperrors.CodeDatabaseUnavailable, Rejected: true, RetryAfter: time.Duration(result.Error.After * float64(time.Second))}
	case "INVALID_PARAM":
		return mcperrors.Meaning{Code: mcperrors.CodeInvalidRequest}
	case "BROKEN":
		return mcperrors.Meaning{Code: mcperrors.CodeDatabaseWriteFailed, Counts: true}
	}
	return mcperrors.Meaning{}
}))

// The application decides what a code means: neither the server's own claims nor the
// name of a tool matter.
func TestErrorProfiles(t *testing.T) {
	t.Parallel()
	gone := client.WithErrorProfile(mcperrors.ProfileFunc(func(r mcperrors.Report) mcperrors.Meaning {
		if r.RPC != nil && r.RPC.Code == -32001 && r.Method == "tools/call" && (r.Name == "store" || r.Name == "convert_pdf") {
			return mcperrors.Meaning{Code: mcperrors.CodeResourceNotFound}
		}
		return mcperrors.Meaning{}
	}))
	for _, tt := range []struct {
		opt  client.Option
		data any
		want mcperrors.Code
	}{
		{nil, nil, mcperrors.CodeUnavailable},
		{nil, map[string]any{"profile": "docling"}, mcperrors.CodeUnavailable},
		{client.WithErrorProfile(nil), nil, mcperrors.CodeUnavailable},
		{client.WithErrorProfile(mcperrors.Plain), nil, mcperrors.CodeUnavailable},
		{seedProfile, nil, mcperrors.CodeTimeout},
		{gone, map[string]any{"profile": "docling"}, mcperrors.CodeResourceNotFound},
	} {
		tr, s := newFake(t)
		s.result("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"experimental":{"errorProfiles":{"store":"docling"}}},"serverInfo":{"name":"s","version":"1"}}`)
		s.on("tools/list", func(jsonrpc.Request) any { return toolList("store", "convert_pdf") })
		s.on("tools/call", func(jsonrpc.Request) any { return jsonrpc.NewError(-32001, "gone", tt.data) })
		c, err := client.Connect(t.Context(), tr, sessionEra, tt.opt)
		require.NoError(t, err)
		for _, tool := range []string{"store", "convert_pdf"} {
			_, err = c.CallTool(t.Context(), tool, nil)
			require.Equal(t, tt.want, mcperrors.CodeOf(err), tool)
		}
		require.NoError(t, c.Close())
	}
}

// A profile that panics or returns nonsense changes nothing but the log.
func TestProfileThatFails(t *testing.T) {
	t.Parallel()
	var missing *struct{ mcperrors.Profile }
	for name, profile := range map[string]mcperrors.Profile{
		"panics":       mcperrors.ProfileFunc(func(mcperrors.Report) mcperrors.Meaning { panic("no idea") }),
		"is nil":       missing,
		"unknown code": mcperrors.ProfileFunc(func(mcperrors.Report) mcperrors.Meaning { return mcperrors.Meaning{Code: "E999", Kind: 77} }),
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			tr, s := newFake(t)
			c, err := client.Connect(t.Context(), tr, sessionEra, client.WithErrorProfile(profile),
				client.WithLogger(slog.New(slog.NewTextHandler(&out, nil))), client.WithCache(client.CacheConfig{NoPreload: true}))
			require.NoError(t, err)
			s.on("tools/call", func(jsonrpc.Request) any { return jsonrpc.NewError(7, "no", nil) })
			_, err = c.CallTool(t.Context(), "echo", hello)
			var e *mcperrors.Error
			require.ErrorAs(t, err, &e, name)
			require.Equal(t, mcperrors.CodeUnavailable, e.Code, name)
			require.Equal(t, mcperrors.KindApp, e.Kind, name)
			s.on("tools/call", func(jsonrpc.Request) any { return json.RawMessage(`{"isError":true,"content":[]}`) })
			res, err := c.CallTool(t.Context(), "echo", hello)
			require.NoError(t, err, name)
			require.True(t, res.IsError)
			require.Equal(t, mcperrors.KindTool, mcperrors.KindOf(c.ToolError("echo", res)), name)
			require.NoError(t, c.Close())
			if name != "unknown code" {
				require.Contains(t, out.String(), "WithErrorProfile", name)
			}
		})
	}
}

// A result that the profile counts fails the circuit of its tool, and is the answer.
func TestResultThatCounts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.on("tools/call", func(jsonrpc.Request) any {
			return json.RawMessage(`{"isError":true,"content":[],"structuredContent":{"error":{"code":"BROKEN"}}}`)
		})
		for range 5 {
			res, err := c.CallTool(t.Context(), "echo", hello)
			require.NoError(t, err)
			require.True(t, res.IsError)
		}
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.ErrorIs(t, err, mcperrors.ErrCircuitOpen)
		require.Zero(t, c.Breaker().Snapshot().Failures)
	}, storeProfile)
}
