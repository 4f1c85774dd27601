package familyerrors_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	familyerrors "github.com/mainstay-mcp/mainstay/conformance/families/errors"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

var profiles = map[string]mcperrors.Profile{
	"artifact": familyerrors.Artifact(), "coe": familyerrors.COE(), "preflights": familyerrors.Preflights(), "assistant": familyerrors.Assistant(),
}

// A case for each row of the families' tables and each way to say it.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		profile       string
		code          int64
		message, data string
		want          mcperrors.Code
		kind          mcperrors.Kind
		retryable     bool
		after         time.Duration
	}{
		{"artifact", -32700, "", ``, "E203", mcperrors.KindProtocol, false, 0},
		{"artifact", -32600, "", ``, "E203", mcperrors.KindProtocol, false, 0},
		{"artifact", -32601, "", ``, "E204", mcperrors.KindUnsupported, false, 0},
		{"artifact", -32602, "Invalid params: x", ``, "E203", mcperrors.KindInvalidArguments, false, 0},
		{"artifact", -32603, "Internal error: x", ``, "E201", mcperrors.KindServer, true, 0},
		{"artifact", -32001, "Resource not found: x", ``, "E206", mcperrors.KindNotFound, false, 0},
		{"artifact", -32000, "no", `{"reason":"permission"}`, "E208", mcperrors.KindAuth, false, 0},
		{"artifact", -32000, "Permission denied: x", ``, "E208", mcperrors.KindAuth, false, 0},
		{"artifact", -32000, "slow", `{"reason":"timeout"}`, "E202", mcperrors.KindTimeout, true, 0},
		{"artifact", -32000, "Request timeout: x", ``, "E202", mcperrors.KindTimeout, true, 0},
		{"artifact", -32000, "Parent EPIC-006 must be approved first", `{"prerequisite":"parent_approved"}`, "E207", mcperrors.KindApp, false, 0},
		{"artifact", -32000, "Request timeout: quoted", `{"prerequisite":"open_questions"}`, "E207", mcperrors.KindApp, false, 0},
		{"artifact", -32000, "x", `{"reason":"approved_immutable"}`, "E207", mcperrors.KindApp, false, 0},
		{"artifact", -32000, "no reason", ``, "E207", mcperrors.KindApp, false, 0},
		{"artifact", -31002, "", ``, "E201", mcperrors.KindApp, true, 0},
		{"artifact", -32002, "", ``, "E201", mcperrors.KindServer, true, 0},
		{"coe", -32603, "", ``, "E201", mcperrors.KindServer, true, 0},
		{"coe", -32000, "", ``, "E201", mcperrors.KindServer, true, 0},
		{"coe", 400, "", ``, "E203", mcperrors.KindInvalidArguments, false, 0},
		{"coe", 403, "", ``, "E208", mcperrors.KindAuth, false, 0},
		{"coe", 404, "", ``, "E206", mcperrors.KindNotFound, false, 0},
		{"coe", 409, "", ``, "E207", mcperrors.KindApp, false, 0},
		{"coe", 429, "", `{"retry_after_seconds":7}`, "E601", mcperrors.KindOverloaded, true, 7 * time.Second},
		{"coe", 500, "", ``, "E201", mcperrors.KindServer, true, 0},
		{"coe", 503, "", ``, "E201", mcperrors.KindServer, true, 0},
		{"coe", 418, "", ``, "E201", mcperrors.KindApp, true, 0},
		{"coe", -32603, "", `{"code":"DB_LOCKED"}`, "E401", mcperrors.KindServer, true, 2 * time.Second},
		{"coe", -32603, "", `{"error":{"code":"DB_LOCKED","retry_after_seconds":0.5}}`, "E401", mcperrors.KindServer, true, 500 * time.Millisecond},
		{"preflights", -32602, "", ``, "E203", mcperrors.KindInvalidArguments, false, 0},
		{"assistant", -32000, "", ``, "E201", mcperrors.KindServer, true, 0},
		{"coe", -32021, "", ``, "E209", mcperrors.KindUnsupported, false, 0},
		{"artifact", -32022, "", ``, "E209", mcperrors.KindVersion, false, 0},
	} {
		rpc := &jsonrpc.Error{Code: tt.code, Message: tt.message, Data: json.RawMessage(tt.data)}
		e := errormap.FromRPC(rpc, errormap.Options{Profile: profiles[tt.profile]})
		name := tt.profile + " " + rpc.Error() + " " + tt.data
		require.Equal(t, tt.want, e.Code, name)
		require.Equal(t, tt.kind, e.Kind, name)
		require.Equal(t, tt.retryable, e.Retryable, name)
		require.Equal(t, tt.after, e.RetryAfter, name)
	}
	e := errormap.FromRPC(&jsonrpc.Error{Code: -32001}, errormap.Options{Method: "resources/read", Profile: familyerrors.Artifact()})
	require.True(t, mcperrors.IsNotFound(e))
}

// The codes that are strings, in the results of tools.
func TestToolErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		profile   string
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
		{"artifact", `-32001`, "E206", false, 0, mcperrors.Answered},
	} {
		payload := `{"success":false,"error":{"code":` + tt.code + `,"message":"why","recovery_hint":""}}`
		for form, e := range map[string]*mcperrors.Error{
			"structured": errormap.FromTool("text", json.RawMessage(payload), errormap.Options{Profile: profiles[tt.profile]}),
			"text":       errormap.FromTool(" "+payload, nil, errormap.Options{Profile: profiles[tt.profile]}),
		} {
			name := tt.profile + " " + tt.code + " in " + form
			require.Equal(t, tt.want, e.Code, name)
			require.Equal(t, mcperrors.KindTool, e.Kind, name)
			require.Equal(t, tt.retryable, e.Retryable, name)
			require.Equal(t, tt.after, e.RetryAfter, name)
			require.Equal(t, tt.delivery, e.Delivery, name)
			require.Equal(t, "why", e.Message, name)
		}
	}
}

func TestPayloadSaysMore(t *testing.T) {
	t.Parallel()
	coe := errormap.Options{Profile: familyerrors.COE()}
	e := errormap.FromTool("", json.RawMessage(`{"error":{"code":"TIMEOUT","message":"m","retryable":false,"retry_after_seconds":10}}`), coe)
	require.False(t, e.Retryable, "getImmediateAnswer's timeout is not")
	require.Zero(t, e.RetryAfter)

	e = errormap.FromTool("", json.RawMessage(`{"error":{"code":"TOKEN_LIMIT_EXCEEDED","retryable":true,"retry_after_seconds":10}}`), coe)
	require.True(t, e.Retryable)
	require.Equal(t, 10*time.Second, e.RetryAfter)

	e = errormap.FromTool("", json.RawMessage(`{"status":"error","error":{"code":"REPO_NOT_FOUND","message":"m","recovery_hint":"Run from a\u001b git repository"}}`),
		errormap.Options{Profile: familyerrors.Preflights()})
	require.Equal(t, "Run from a\ufffd git repository", e.SuggestedAction)
}

func TestAssistantSaysItInText(t *testing.T) {
	t.Parallel()
	o := errormap.Options{Profile: familyerrors.Assistant()}
	e := errormap.FromTool("Error: session context not found", nil, o)
	require.Equal(t, mcperrors.CodeSessionInvalid, e.Code)
	require.False(t, e.Retryable)
	e = errormap.FromTool("Error: failed to save artifact", nil, o)
	require.Equal(t, mcperrors.CodeUnavailable, e.Code)
}

func TestRetryAfterSeconds(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[string]time.Duration{
		"3": 3 * time.Second, "0.25": 250 * time.Millisecond, "0": 0, "-5": 0, "null": 0, `"3"`: 0, "[3]": 0,
		"1e300": 24 * time.Hour, "99999999999999999999999": 24 * time.Hour,
	} {
		data := json.RawMessage(`{"retry_after_seconds":` + seconds + `}`)
		e := errormap.FromRPC(&jsonrpc.Error{Code: 429, Data: data}, errormap.Options{Profile: familyerrors.COE()})
		require.Equal(t, want, e.RetryAfter, seconds)
	}
}

// Only the COE family promises that nothing was done.
func TestRejected(t *testing.T) {
	t.Parallel()
	for _, refusal := range []*jsonrpc.Error{
		{Code: 429},
		{Code: -32603, Data: json.RawMessage(`{"code":"DB_LOCKED"}`)},
		{Code: -32603, Data: json.RawMessage(`{"code":"RATE_LIMIT"}`)},
	} {
		for name, profile := range profiles {
			want := mcperrors.Answered
			if name == "coe" {
				want = mcperrors.Rejected
			}
			require.Equal(t, want, errormap.FromRPC(refusal, errormap.Options{Profile: profile}).Delivery, name)
		}
	}
}

// Whatever a server sends, the error has a code of the catalogue.
func FuzzProfiles(f *testing.F) {
	f.Add([]byte(`{"code":-32000,"message":"Permission denied: x","data":{"reason":"permission"}}`))
	f.Add([]byte(`{"code":429,"message":"","data":{"error":{"code":"RATE_LIMIT","retryable":"no","retry_after_seconds":1e99}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var rpc jsonrpc.Error
		if rpc.UnmarshalJSON(body) != nil {
			return
		}
		for _, profile := range profiles {
			o := errormap.Options{Profile: profile}
			for _, e := range []*mcperrors.Error{errormap.FromRPC(&rpc, o), errormap.FromTool(rpc.Message, rpc.Data, o)} {
				_, ok := mcperrors.Lookup(e.Code)
				require.True(t, ok, e.Code)
				require.GreaterOrEqual(t, e.RetryAfter, time.Duration(0))
			}
		}
	})
}
