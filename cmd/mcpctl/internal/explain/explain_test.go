package explain

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/secret"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

func explainer() *Explainer {
	global := &flags.Global{}
	return &Explainer{Dialer: &connect.Dialer{Flags: global, Console: console.New(console.Streams{}, &global.Output), Secrets: &secret.Keeper{}}}
}

func TestHumanFaceMarksControlCharacters(t *testing.T) {
	t.Parallel()
	e := &mcperrors.Error{
		Kind: mcperrors.KindServer, Delivery: mcperrors.Answered,
		RPC:     &jsonrpc.Error{Code: 1, Message: "a\x1b[2J\r\nb", Data: json.RawMessage(`"\u009b` + "\u009b" + `"`)},
		Process: &mcperrors.ProcessEvidence{Command: []string{"x\x1b"}, Stderr: []string{"\x1b]0;t\x07"}},
	}
	got := explainer().client(e, false).Human(false, console.Unlimited)
	require.NotContains(t, got, "\x1b")
	require.NotContains(t, got, "\u009b")
	require.NotContains(t, got, "\r")
	require.Contains(t, got, "a␛[2J␊b")
}

func TestMachineFace(t *testing.T) {
	t.Parallel()
	code := int64(-32001)
	e := mcperrors.New(mcperrors.CodeTimeout, mcperrors.KindTimeout, mcperrors.Unknown, "no answer", nil)
	e.Server, e.Method, e.Tool, e.Attempts, e.OriginalMCPCode = "db", "tools/call", "pay", 1, &code
	e.Process = &mcperrors.ProcessEvidence{Exited: true, Exit: -1, Signal: "SIGSEGV", Age: 5120 * time.Millisecond, Stderr: []string{"Segmentation fault"}}
	var got struct{ Error map[string]any }
	line := explainer().client(e, false).Machine()
	require.NotContains(t, line, "\n")
	require.NoError(t, json.Unmarshal([]byte(line), &got))
	for key, want := range map[string]any{
		"kind": "unknown-outcome", "exit": 7.0, "message": "no answer", "server": "db", "method": "tools/call", "tool": "pay",
		"delivery": "unknown", "retryable": false, "http": nil, "rpc": nil, "attempts": 1.0,
		"code": "E202", "userMessage": "No answer in time", "originalMCPCode": -32001.0,
	} {
		require.Contains(t, got.Error, key)
		require.Equal(t, want, got.Error[key], key)
	}
	require.Equal(t, map[string]any{"exited": true, "exit": -1.0, "signal": "SIGSEGV", "ageMs": 5120.0, "stderrTail": []any{"Segmentation fault"}}, got.Error["process"])
	require.NotEmpty(t, got.Error["suggestedAction"])
	require.Contains(t, got.Error["hint"], "check whether it ran before repeating it")
	require.True(t, strings.HasPrefix(line, `{"error":{"kind":"unknown-outcome","exit":7,`), line)
}

// TestRetryableIsSafe: an error that says retryable, or to try again, is safe to retry.
func TestRetryableIsSafe(t *testing.T) {
	t.Parallel()
	call, list := connect.Sent{Method: "tools/call", Acts: true}, connect.Sent{Method: "tools/list"}
	for _, tt := range []struct {
		sent     connect.Sent
		delivery mcperrors.Delivery
		safe     bool
		action   string
	}{
		{call, mcperrors.NotSent, true, "Try again"},
		{call, mcperrors.Rejected, true, "Try again"},
		{call, mcperrors.Unknown, false, "Check whether it ran"},
		{call, mcperrors.Answered, false, "Check what it did"},
		{list, mcperrors.Unknown, true, "Try again"},
		{list, mcperrors.Answered, true, "Try again"},
	} {
		e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindServer, tt.delivery, "failed", nil)
		e.Retryable, e.SuggestedAction = true, "Try again"
		x := explainer()
		x.Sent = tt.sent
		var got struct{ Error map[string]any }
		require.NoError(t, json.Unmarshal([]byte(x.client(e, false).Machine()), &got))
		require.Equal(t, tt.safe, got.Error["safeToRetry"], tt)
		require.Equal(t, tt.safe, got.Error["retryable"], tt)
		require.Equal(t, tt.action, got.Error["suggestedAction"], tt)
	}
}

func TestBugsAreOwnedUp(t *testing.T) {
	t.Parallel()
	f := explainer().Failure(t.Context(), errors.New("surprise"))
	require.Equal(t, 70, f.Kind.ExitCode())
	require.Contains(t, f.Human(false, console.Unlimited), "please report it")
}

func TestMissingVariable(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"FATAL: DB_URL is not set":                 "DB_URL",
		"missing required variable":                "",
		"Error: GITHUB_TOKEN must be set":          "GITHUB_TOKEN",
		"the API_KEY environment variable missing": "API_KEY",
		"ERROR: something is missing":              "",
	} {
		require.Equal(t, want, MissingVariable([]string{line}), line)
	}
}
