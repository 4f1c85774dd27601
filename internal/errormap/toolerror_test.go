package errormap_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
)

// A tool error is not a protocol error.
func TestToolErrorWithoutACode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		structured json.RawMessage
	}{
		{"text", "division by zero", nil},
		{"text that begins like JSON", "{oops", nil},
		{"JSON that is no envelope", `{"a":1}`, nil},
		{"structured content that is no envelope", "no", json.RawMessage(`[1,2]`)},
		{"envelope of another family", "no", json.RawMessage(`{"error":"text"}`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := errormap.FromTool(tt.text, tt.structured, errormap.Options{Tool: "div"})
			require.Equal(t, mapped{"E201", mcperrors.KindTool, "The tool reported an error", "Read what the tool says", false, mcperrors.Answered}, summary(e))
			require.Equal(t, tt.text, e.Message)
			require.Equal(t, "div", e.Tool)
			require.Nil(t, e.RPC)
			require.True(t, mcperrors.FromPeer(e))
			require.False(t, mcperrors.SafeToRetry(e))
		})
	}
}

// Codes in the content have no meaning without a profile that knows them.
func TestToolErrorContent(t *testing.T) {
	t.Parallel()
	for _, profile := range []mcperrors.Profile{nil, mcperrors.Plain, mcperrors.Docling} {
		e := errormap.FromTool("", json.RawMessage(`{"profile":"coe","error":{"code":"DB_LOCKED","message":"m","retryable":true,"retry_after_seconds":10}}`),
			errormap.Options{Profile: profile})
		require.Equal(t, mapped{"E201", mcperrors.KindTool, "The tool reported an error", "Read what the tool says", false, mcperrors.Answered}, summary(e))
		require.Zero(t, e.RetryAfter)
		require.Equal(t, "m", e.Message)
		e = errormap.FromTool(`{"error":{"code":429,"message":"m","recovery_hint":"Run from a\u001b git repository"}}`, nil, errormap.Options{Profile: profile})
		require.Equal(t, "m", e.Message)
		require.Equal(t, "Run from a\ufffd git repository", e.SuggestedAction)
	}
}
