package errormap_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
)

// S2-EMAP-09: a tool error is not a protocol error.
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

// tools.md §1.2, the rows whose codes are strings.
func TestToolErrorCodes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		profile   mcperrors.Profile
		code      string // as JSON
		want      mcperrors.Code
		retryable bool
		after     time.Duration
		delivery  mcperrors.Delivery
	}{
		{"coe", `"INVALID_PARAM"`, "E203", false, 0, mcperrors.Answered},
		{"coe", `"SCHEMA_VALIDATION_FAILED"`, "E203", false, 0, mcperrors.Answered},
		{"coe", `"INVALID_FILTER"`, "E203", false, 0, mcperrors.Answered},
		{"coe", `"TOKEN_LIMIT_EXCEEDED"`, "E203", false, 0, mcperrors.Answered},
		{"coe", `"TIMEOUT"`, "E202", true, 0, mcperrors.Answered},
		{"coe", `"RATE_LIMIT"`, "E601", true, 0, mcperrors.Rejected},
		{"coe", `"RESOURCE_NOT_FOUND"`, "E206", false, 0, mcperrors.Answered},
		{"coe", `"INVALID_STATE"`, "E207", false, 0, mcperrors.Answered},
		{"coe", `"DB_LOCKED"`, "E401", true, 2 * time.Second, mcperrors.Rejected},
		{"coe", `"INTERNAL_ERROR"`, "E201", false, 0, mcperrors.Answered},
		{"coe", `"ORCHESTRATOR_NOT_INITIALIZED"`, "E201", false, 0, mcperrors.Answered},
		{"coe", `"AUTH_ERROR"`, "E208", false, 0, mcperrors.Answered},
		{"coe", `"TOOL_NOT_FOUND"`, "E204", false, 0, mcperrors.Answered},
		{"coe", `"SOMETHING_NEW"`, "E201", true, 0, mcperrors.Answered},
		{"coe", `404`, "E206", false, 0, mcperrors.Answered},
		{"coe", `429`, "E601", true, 0, mcperrors.Rejected},
		{"preflights", `"VALIDATION_FAILED"`, "E203", false, 0, mcperrors.Answered},
		{"preflights", `"PARSE_ERROR"`, "E004", false, 0, mcperrors.Answered},
		{"preflights", `"REPO_NOT_FOUND"`, "E206", false, 0, mcperrors.Answered},
		{"preflights", `"SESSION_EXPIRED"`, "E501", false, 0, mcperrors.Answered},
		{"preflights", `"SESSION_NOT_FOUND"`, "E502", false, 0, mcperrors.Answered},
		{"preflights", `"FILESYSTEM_ERROR"`, "E005", true, 0, mcperrors.Answered},
		{"preflights", `"PATCH_EXTRACTION_FAILED"`, "E302", true, 0, mcperrors.Answered},
		{"plain", `429`, "E201", false, 0, mcperrors.Answered},
		{"", `"DB_LOCKED"`, "E201", false, 0, mcperrors.Answered},
		{"docling", `429`, "E201", true, 0, mcperrors.Answered},
		{"docling", `"RATE_LIMIT"`, "E201", true, 0, mcperrors.Answered},
		{"docling", `"DB_LOCKED"`, "E201", true, 0, mcperrors.Answered},
		{"artifact", `-32001`, "E206", false, 0, mcperrors.Answered},
	} {
		payload := `{"success":false,"error":{"code":` + tt.code + `,"message":"why","recovery_hint":""}}`
		for form, e := range map[string]*mcperrors.Error{
			"structured": errormap.FromTool("text", json.RawMessage(payload), errormap.Options{Profile: tt.profile}),
			"text":       errormap.FromTool(" "+payload, nil, errormap.Options{Profile: tt.profile}),
		} {
			name := string(tt.profile) + " " + tt.code + " in " + form
			require.Equal(t, tt.want, e.Code, name)
			require.Equal(t, mcperrors.KindTool, e.Kind, name)
			require.Equal(t, tt.retryable, e.Retryable, name)
			require.Equal(t, tt.after, e.RetryAfter, name)
			require.Equal(t, tt.delivery, e.Delivery, name)
			require.Equal(t, "why", e.Message, name)
		}
	}
}

func TestToolErrorPayloadSaysMore(t *testing.T) {
	t.Parallel()
	e := errormap.FromTool("", json.RawMessage(`{"error":{"code":"TIMEOUT","message":"m","retryable":false,"retry_after_seconds":10}}`),
		errormap.Options{Profile: mcperrors.COE})
	require.False(t, e.Retryable, "getImmediateAnswer's timeout is not")
	require.Zero(t, e.RetryAfter)
	require.Equal(t, support, e.SuggestedAction)

	e = errormap.FromTool("", json.RawMessage(`{"error":{"code":"TOKEN_LIMIT_EXCEEDED","retryable":true,"retry_after_seconds":10}}`),
		errormap.Options{Profile: mcperrors.COE})
	require.True(t, e.Retryable)
	require.Equal(t, 10*time.Second, e.RetryAfter)

	e = errormap.FromTool("", json.RawMessage(`{"profile":"coe","error":{"code":"DB_LOCKED","message":"m","retryable":true,"retry_after_seconds":10}}`),
		errormap.Options{})
	require.False(t, e.Retryable, "content is nobody's promise without a profile")
	require.Zero(t, e.RetryAfter)
	require.Equal(t, "m", e.Message)

	e = errormap.FromTool("", json.RawMessage(`{"status":"error","error":{"code":"REPO_NOT_FOUND","message":"m","recovery_hint":"Run from a\u001b git repository"}}`),
		errormap.Options{Profile: mcperrors.Preflights})
	require.Equal(t, "Run from a\ufffd git repository", e.SuggestedAction)
}

func TestAssistantSaysItInText(t *testing.T) {
	t.Parallel()
	o := errormap.Options{Profile: mcperrors.Assistant}
	e := errormap.FromTool("Error: session context not found", nil, o)
	require.Equal(t, mcperrors.CodeSessionInvalid, e.Code)
	require.False(t, e.Retryable)
	e = errormap.FromTool("Error: failed to save artifact", nil, o)
	require.Equal(t, mcperrors.CodeUnavailable, e.Code)
}
