package link_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func agreed(t *testing.T, v mcp.Version, capabilities string) *link.Agreement {
	t.Helper()
	a := &link.Agreement{Version: v, Era: v.Era()}
	if capabilities != "" {
		a.Declared = true
		require.NoError(t, json.Unmarshal([]byte(capabilities), &a.Capabilities))
	}
	return a
}

// require returns the text, code and delivery of a check's error.
func requireRefusal(t *testing.T, e *mcperrors.Error, text string, code mcperrors.Code) {
	t.Helper()
	if text == "" {
		require.Nil(t, e)
		return
	}
	require.NotNil(t, e)
	require.Equal(t, []any{text, code, mcperrors.NotSent}, []any{e.Message, e.Code, e.Delivery})
}

// The agreement decides which messages may be sent.
func TestCheck(t *testing.T) {
	t.Parallel()
	const (
		none    = `{}`
		tools   = `{"tools":{}}`
		unasked = ""
		invalid = mcperrors.CodeInvalidRequest
		missing = mcperrors.CodeMissingCapability
	)
	for name, tt := range map[string]struct {
		version               mcp.Version
		capabilities          string
		method                string
		request, notification string // errors
		code                  mcperrors.Code
	}{
		"declared": {
			mcp.LatestSession, tools, "tools/list", "", "tools/list is a request; use Client.Call", invalid,
		},
		"not declared": {
			mcp.LatestSession, none, "tools/list", "MCP server does not support tools capability", "-", missing,
		},
		"never asked": {
			mcp.Latest, unasked, "tools/list", "", "tools/list is a request; use Client.Call", invalid,
		},
		"needs no capability": {
			mcp.LatestSession, none, "ping", "", "ping is a request; use Client.Call", invalid,
		},
		"of the other era": {
			mcp.Latest, tools, "ping", "ping is not part of revision " + string(mcp.Latest) + "; use server/discover",
			"ping is not part of revision " + string(mcp.Latest) + "; use server/discover", missing,
		},
		"of the other era, without another name": {
			mcp.Latest, tools, "notifications/initialized", "notifications/initialized is not part of revision " + string(mcp.Latest),
			"notifications/initialized is not part of revision " + string(mcp.Latest), missing,
		},
		"a notification": {
			mcp.LatestSession, none, "notifications/cancelled",
			"notifications/cancelled is a notification, which has no answer; use Client.Notify", "", invalid,
		},
		"for servers": {
			mcp.LatestSession, none, "notifications/message", "notifications/message is a method that only servers send",
			"notifications/message is a method that only servers send", invalid,
		},
		"a request for servers": {
			mcp.LatestSession, none, "sampling/createMessage", "sampling/createMessage is a method that only servers send",
			"sampling/createMessage is a request; use Client.Call", invalid,
		},
		"the application's own": {mcp.Latest, none, "com.example/x", "", "", ""},
		"an empty revision":     {"", none, "tools/list", "tools/list is not part of revision ", "tools/list is not part of revision ", missing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := agreed(t, tt.version, tt.capabilities)
			requireRefusal(t, link.CheckRequest(a, tt.method), tt.request, tt.code)
			if tt.notification != "-" {
				requireRefusal(t, link.CheckNotification(a, tt.method), tt.notification, tt.code)
			}
		})
	}
}

// A capability that the server did not declare is missing only if the server was asked.
func TestCheckDeclared(t *testing.T) {
	t.Parallel()
	require.Nil(t, link.CheckDeclared(agreed(t, mcp.Latest, `{"tools":{"listChanged":true}}`), "tools.listChanged"))
	require.Nil(t, link.CheckDeclared(agreed(t, mcp.Latest, ""), "tools"))
	requireRefusal(t, link.CheckDeclared(agreed(t, mcp.Latest, `{"tools":{}}`), "logging"),
		"MCP server does not support logging capability", mcperrors.CodeMissingCapability)
}

// Methods of the handshake and invalid names are refused in every revision.
func TestCheckName(t *testing.T) {
	t.Parallel()
	const taken = "the session is already open; connect again to open another one"
	for method, want := range map[string]string{
		"tools/call":                "",
		"com.example/x":             "",
		"":                          `"" is not a method name; use visible ASCII`,
		"tools call":                `"tools call" is not a method name; use visible ASCII`,
		"té":                        `"té" is not a method name; use visible ASCII`,
		"initialize":                taken,
		"notifications/initialized": taken,
	} {
		requireRefusal(t, link.CheckMethod(method), want, mcperrors.CodeInvalidRequest)
	}
}
