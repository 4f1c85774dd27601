package errormap_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// mapped is what a row of a table promises.
type mapped struct {
	code      mcperrors.Code
	kind      mcperrors.Kind
	user      string
	action    string
	retryable bool
	delivery  mcperrors.Delivery
}

func summary(e *mcperrors.Error) mapped {
	return mapped{e.Code, e.Kind, e.UserMessage, e.SuggestedAction, e.Retryable, e.Delivery}
}

const (
	again   = "Try again"
	support = "Contact support"
	later   = "Try again later"
)

// ofSeed is a call of a tool of the seed's server: its table holds for those.
var ofSeed = errormap.Options{Method: "tools/call", Tool: "convert_pdf"}

// seedTable is the seed's MCP_ERROR_MAP.
var seedTable = []struct {
	code int64
	want mapped
}{
	{-32700, mapped{"E203", mcperrors.KindProtocol, "Invalid request format", support, false, mcperrors.Answered}},
	{-32600, mapped{"E203", mcperrors.KindProtocol, "Invalid request format", support, false, mcperrors.Answered}},
	{-32601, mapped{"E204", mcperrors.KindUnsupported, "Requested tool not available", support, false, mcperrors.Answered}},
	{-32602, mapped{"E203", mcperrors.KindInvalidArguments, "Invalid parameters", support, false, mcperrors.Answered}},
	{-32603, mapped{"E201", mcperrors.KindServer, "Processing service error", again, true, mcperrors.Answered}},
	{-32000, mapped{"E201", mcperrors.KindServer, "Processing service unavailable", again, true, mcperrors.Answered}},
	{-32001, mapped{"E202", mcperrors.KindTimeout, "Request timeout", again, true, mcperrors.Answered}},
	{-32002, mapped{"E302", mcperrors.KindServer, "Document conversion failed", again, true, mcperrors.Answered}},
	{-32003, mapped{"E303", mcperrors.KindServer, "Export generation failed", again, true, mcperrors.Answered}},
}

func testSeedTable(t *testing.T, from, to int64) {
	t.Helper()
	tested := 0
	for _, tt := range seedTable {
		if tt.code < from || tt.code > to {
			continue
		}
		tested++
		e := errormap.FromRPC(&jsonrpc.Error{Code: tt.code, Message: "x"}, ofSeed)
		require.Equal(t, tt.want, summary(e), "code %d", tt.code)
	}
	require.Positive(t, tested)
}

// S2-EMAP-01.
func TestAC_005_1_StandardCodes(t *testing.T) {
	t.Parallel()
	testSeedTable(t, -32700, -32600)
}

func TestAC_005_2_ServerCodes(t *testing.T) {
	t.Parallel()
	testSeedTable(t, -32099, -32000)
	for code := int64(-32099); code <= -32000; code++ { // every code of the range is something
		e := errormap.FromRPC(&jsonrpc.Error{Code: code}, errormap.Options{})
		_, ok := mcperrors.Lookup(e.Code)
		require.True(t, ok, "code %d", code)
	}
}

// S2-EMAP-03.
func TestAC_005_3_UserMessageActionRetryable(t *testing.T) {
	t.Parallel()
	for _, row := range seedTable {
		e := errormap.FromRPC(&jsonrpc.Error{Code: row.code}, ofSeed)
		require.NotEmpty(t, e.UserMessage)
		want := support
		if e.Retryable {
			want = again
		}
		require.Equal(t, want, e.SuggestedAction, "code %d", row.code)
	}
}

// S2-EMAP-04.
func TestAC_005_4_MapKeepsTheServersWords(t *testing.T) {
	t.Parallel()
	rpc := &jsonrpc.Error{Code: -32003, Message: "Kein Platz\nmehr", Data: json.RawMessage(`{"free":0}`)}
	e := errormap.FromRPC(rpc, errormap.Options{Server: "s", Method: "tools/call", Tool: "t", RequestID: "7"})
	require.Equal(t, "Kein Platz\nmehr", e.Message)
	require.Same(t, rpc, e.RPC)
	require.JSONEq(t, `{"free":0}`, string(e.RPC.Data))
	require.Equal(t, []string{"s", "tools/call", "t", "7"}, []string{e.Server, e.Method, e.Tool, e.RequestID})
	var found *jsonrpc.Error
	require.ErrorAs(t, e, &found)
	require.Same(t, rpc, found)
}

// S2-EMAP-02.
func TestAC_005_5_UnknownIsRetryableE201(t *testing.T) {
	t.Parallel()
	for _, code := range []int64{-32004, -32050, -32099, -32768, 404, 0, 1, -1, 1 << 62} {
		e := errormap.FromRPC(&jsonrpc.Error{Code: code, Message: "boo"}, errormap.Options{})
		kind := mcperrors.KindApp
		if code <= -32000 {
			kind = mcperrors.KindServer
		}
		require.Equal(t, mapped{"E201", kind, "An unexpected error occurred", later, true, mcperrors.Answered}, summary(e), "code %d", code)
		require.Equal(t, "boo", e.Message)
	}
}

func TestAC_005_6_OriginalMCPCode(t *testing.T) {
	t.Parallel()
	for _, code := range []int64{-32700, -32003, -32077, 0, 429, -1 << 63} {
		e := errormap.FromRPC(&jsonrpc.Error{Code: code}, ofSeed)
		require.NotNil(t, e.OriginalMCPCode)
		require.Equal(t, code, *e.OriginalMCPCode)
	}
	require.Nil(t, errormap.Canceled(mcperrors.Unknown, nil).OriginalMCPCode)
}

// tools.md §1.2, a case for each row and each way to say it.
func TestProfiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		profile       mcperrors.Profile
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
		{"docling", -31002, "", `{"stage":"open","reason":"encrypted"}`, "E302", mcperrors.KindServer, true, 0},
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
		{"plain", -32000, "", ``, "E201", mcperrors.KindServer, true, 0},
		{"plain", -32001, "", ``, "E201", mcperrors.KindServer, true, 0},
		{"plain", -32602, "", ``, "E203", mcperrors.KindInvalidArguments, false, 0},
		{"preflights", -32602, "", ``, "E203", mcperrors.KindInvalidArguments, false, 0},
		{"assistant", -32000, "", ``, "E201", mcperrors.KindServer, true, 0},
		{"no such", -32002, "", ``, "E201", mcperrors.KindServer, true, 0},
		{"", -32002, "", ``, "E201", mcperrors.KindServer, true, 0},
		{"", -32001, "", ``, "E201", mcperrors.KindServer, true, 0},
		{"docling", -32002, "", ``, "E302", mcperrors.KindServer, true, 0},
		{"docling", -32001, "", ``, "E202", mcperrors.KindTimeout, true, 0},
		// The protocol's own codes are the same in every profile.
		{"docling", -32020, "", ``, "E209", mcperrors.KindProtocol, false, 0},
		{"coe", -32021, "", ``, "E209", mcperrors.KindUnsupported, false, 0},
		{"artifact", -32022, "", ``, "E209", mcperrors.KindVersion, false, 0},
		{"docling", -32042, "", ``, "E201", mcperrors.KindInputRequired, false, 0},
	} {
		rpc := &jsonrpc.Error{Code: tt.code, Message: tt.message, Data: json.RawMessage(tt.data)}
		e := errormap.FromRPC(rpc, errormap.Options{Profile: tt.profile})
		name := string(tt.profile) + " " + rpc.Error() + " " + tt.data
		require.Equal(t, tt.want, e.Code, name)
		require.Equal(t, tt.kind, e.Kind, name)
		require.Equal(t, tt.retryable, e.Retryable, name)
		require.Equal(t, tt.after, e.RetryAfter, name)
	}
}

// The application's word decides what a code means, then the names of the
// document server's tools, and never what the error says of itself (decisions 32,
// which overrules X-PROF-01 and X-PROF-02).
func TestProfilePrecedence(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		data string
		opts errormap.Options
		want mcperrors.Code // of -32001: E206 from artifact, E202 from docling, E201 from plain
	}{
		{"default", ``, errormap.Options{}, "E201"},
		{"configured", ``, errormap.Options{Profile: "artifact"}, "E206"},
		{"a tool of the document server", ``, errormap.Options{Tool: "export_html"}, "E202"},
		{"the configured before the tool's", ``, errormap.Options{Tool: "export_html", Profile: "artifact"}, "E206"},
		{"the configured plain before the tool's", ``, errormap.Options{Tool: "export_html", Profile: "plain"}, "E201"},
		{"not the error's", `{"profile":"docling"}`, errormap.Options{}, "E201"},
		{"not the error's, inside", `{"error":{"profile":"docling"}}`, errormap.Options{}, "E201"},
		{"not the error's before the configured", `{"profile":"docling"}`, errormap.Options{Profile: "artifact"}, "E206"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := errormap.FromRPC(&jsonrpc.Error{Code: -32001, Data: json.RawMessage(tt.data)}, tt.opts)
			require.Equal(t, tt.want, e.Code)
		})
	}
}

// X-PROF-03.
func TestPayloadRetryableBeatsTheTable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code      int64
		data      string
		retryable bool
		action    string
	}{
		{-32603, `{"retryable":false}`, false, support},
		{-32602, `{"retryable":true}`, true, again},
		{-32050, `{"retryable":false}`, false, support},
		{-32050, `{"retryable":true}`, true, later},
		{-32603, `{"error":{"retryable":false}}`, false, support},
		{-32603, `{"retryable":"no"}`, true, again},
		{-32022, `{"retryable":true}`, false, support}, // E209 is not retryable
	} {
		e := errormap.FromRPC(&jsonrpc.Error{Code: tt.code, Data: json.RawMessage(tt.data)}, errormap.Options{})
		require.Equal(t, tt.retryable, e.Retryable, tt.data)
		require.Equal(t, tt.action, e.SuggestedAction, tt.data)
	}
}

func TestRetryAfterSeconds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		seconds string
		want    time.Duration
	}{
		{"3", 3 * time.Second},
		{"0.25", 250 * time.Millisecond},
		{"0", 0},
		{"-5", 0},
		{"null", 0},
		{`"3"`, 0},
		{"[3]", 0},
		{"1e300", 24 * time.Hour},
		{"99999999999999999999999", 24 * time.Hour},
	} {
		data := json.RawMessage(`{"retry_after_seconds":` + tt.seconds + `}`)
		e := errormap.FromRPC(&jsonrpc.Error{Code: 429, Data: data}, errormap.Options{Profile: mcperrors.COE})
		require.Equal(t, tt.want, e.RetryAfter, tt.seconds)
	}
	// What may not be repeated has no time to wait for.
	e := errormap.FromRPC(&jsonrpc.Error{Code: -32602, Data: json.RawMessage(`{"retry_after_seconds":3}`)}, errormap.Options{})
	require.Zero(t, e.RetryAfter)
}

// decisions 29: the same thing is said with different codes.
func TestWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, method, tool string
		code               int64
		message            string
		want               mcperrors.Code
		kind               mcperrors.Kind
	}{
		{"the specification's text", "tools/call", "x", -32602, "Unknown tool: x", "E204", mcperrors.KindNotFound},
		{"go-sdk's text", "tools/call", "x", -32602, `unknown tool "x"`, "E204", mcperrors.KindNotFound},
		{"the TypeScript SDK's text", "tools/call", "x", -32602, "MCP error -32602: Tool x not found", "E204", mcperrors.KindNotFound},
		{"mcp-go's text", "tools/call", "x", -32602, "tool 'x' not found: tool not found", "E204", mcperrors.KindNotFound},
		{"a tool without a name", "tools/call", "x", -32602, "Unknown tool", "E204", mcperrors.KindNotFound},
		{"-32601 for a tool", "tools/call", "x", -32601, "Unknown tool: x", "E204", mcperrors.KindNotFound},
		{"-32601 for whatever", "tools/call", "x", -32601, "Method not found", "E204", mcperrors.KindUnsupported},
		{"-32601 for a method", "prompts/list", "", -32601, "Method not found", "E204", mcperrors.KindUnsupported},
		{"another parameter", "tools/call", "x", -32602, "Invalid params: an unknown tool was named", "E203", mcperrors.KindInvalidArguments},
		{"another tool", "tools/call", "x", -32602, "Tool y not found", "E203", mcperrors.KindInvalidArguments},
		{"another tool, unknown", "tools/call", "x", -32602, "Unknown tool: y", "E203", mcperrors.KindInvalidArguments},
		{"the text in another method", "prompts/get", "", -32602, "Unknown tool: x", "E203", mcperrors.KindInvalidArguments},
		{"resource, S0", "resources/read", "", -32001, "Resource not found: x", "E206", mcperrors.KindNotFound},
		{"resource, session era", "resources/read", "", -32002, "Resource not found", "E206", mcperrors.KindNotFound},
		{"resource, stateless era", "resources/read", "", -32602, "Resource not found", "E206", mcperrors.KindNotFound},
		{"a task that is gone", "tasks/get", "x", -32602, "Task not found", "E204", mcperrors.KindNotFound},
		{"a cursor of tasks", "tasks/list", "", -32602, "bad cursor", "E203", mcperrors.KindInvalidArguments},
		{"-32002 elsewhere", "tools/call", "x", -32002, "Resource not found", "E201", mcperrors.KindServer},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := errormap.FromRPC(&jsonrpc.Error{Code: tt.code, Message: tt.message}, errormap.Options{Method: tt.method, Tool: tt.tool})
			require.Equal(t, tt.want, e.Code)
			require.Equal(t, tt.kind, e.Kind)
			require.Equal(t, tt.kind == mcperrors.KindNotFound, mcperrors.IsNotFound(e))
		})
	}
}

// decisions 33: the proofs that nothing was done.
func TestDeliveryOfAnswers(t *testing.T) {
	t.Parallel()
	for _, code := range []int64{-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32003, -32020, -32021, -32022, -32042, -32099, 0, 429, 500, 503} {
		for _, refused := range []bool{false, true} {
			want := mcperrors.Answered
			if refused && code <= -32020 && code >= -32022 {
				want = mcperrors.Rejected
			}
			e := errormap.FromRPC(&jsonrpc.Error{Code: code, Message: "x"}, errormap.Options{Method: "tools/call", Tool: "x", Refused: refused})
			require.Equal(t, want, e.Delivery, "code %d", code)
			require.Equal(t, want == mcperrors.Rejected, mcperrors.SafeToRetry(e))
		}
	}
	for message, want := range map[string]mcperrors.Delivery{
		"Unknown tool: pay":                    mcperrors.Rejected,
		`unknown tool "pay"`:                   mcperrors.Rejected,
		"MCP error -32602: Tool pay not found": mcperrors.Rejected,
		"tool 'pay' not found: tool not found": mcperrors.Rejected,
		"Tool not found: pay":                  mcperrors.Rejected,
		"Unknown tool: pay2":                   mcperrors.Answered,
		"Unknown tool: Pay":                    mcperrors.Answered,
		"Unknown tool":                         mcperrors.Answered,
		"Tool pay not found in the ledger":     mcperrors.Answered,
		"Method not found":                     mcperrors.Answered,
		`method not found: "tools/call"`:       mcperrors.Answered, // go-sdk, of a tool that ran
	} {
		for code, want := range map[int64]mcperrors.Delivery{-32601: want, -32602: want, -32603: mcperrors.Answered, -32600: mcperrors.Answered} {
			rpc := &jsonrpc.Error{Code: code, Message: message}
			require.Equal(t, want, errormap.FromRPC(rpc, errormap.Options{Method: "tools/call", Tool: "pay"}).Delivery, "%d %s", code, message)
			require.Equal(t, mcperrors.Answered, errormap.FromRPC(rpc, errormap.Options{Method: "tools/call"}).Delivery, "the tool is not known")
		}
	}
	for _, refusal := range []*jsonrpc.Error{
		{Code: 429},
		{Code: -32603, Data: json.RawMessage(`{"code":"DB_LOCKED"}`)},
		{Code: -32603, Data: json.RawMessage(`{"code":"RATE_LIMIT"}`)},
	} {
		require.Equal(t, mcperrors.Rejected, errormap.FromRPC(refusal, errormap.Options{Profile: mcperrors.COE}).Delivery, refusal)
		for _, profile := range []mcperrors.Profile{"", mcperrors.Docling, mcperrors.Artifact, mcperrors.Preflights, mcperrors.Plain, mcperrors.Assistant} {
			require.Equal(t, mcperrors.Answered, errormap.FromRPC(refusal, errormap.Options{Profile: profile}).Delivery,
				"the contract is the COE family's: another server may mean anything")
		}
	}
}

// S2-EMAP-08, second half: whatever a server sends, the map gives an error with
// a code of the catalogue, and its text and JSON can be made.
func FuzzMap(f *testing.F) {
	f.Add([]byte(`{"code":-32000,"message":"Permission denied: x","data":{"reason":"permission"}}`), "artifact", "tools/call")
	f.Add([]byte(`{"code":429,"message":"","data":{"error":{"code":"RATE_LIMIT","retryable":false,"retry_after_seconds":1e99}}}`), "coe", "")
	f.Add([]byte(`{"code":-32602,"message":"unknown tool","data":[{}]}`), "", "resources/read")
	f.Fuzz(func(t *testing.T, body []byte, profile, method string) {
		var rpc jsonrpc.Error
		if rpc.UnmarshalJSON(body) != nil {
			return
		}
		for _, e := range []*mcperrors.Error{
			errormap.FromRPC(&rpc, errormap.Options{Profile: mcperrors.Profile(profile), Method: method}),
			errormap.FromTool(rpc.Message, rpc.Data, errormap.Options{Profile: mcperrors.Profile(profile)}),
		} {
			_, ok := mcperrors.Lookup(e.Code)
			require.True(t, ok, e.Code)
			require.NotEmpty(t, e.UserMessage)
			require.NotEmpty(t, e.SuggestedAction)
			require.NotEqual(t, "unknown", e.Kind.String())
			require.GreaterOrEqual(t, e.RetryAfter, time.Duration(0))
			require.NotEmpty(t, e.Error())
			form, err := json.Marshal(e)
			require.NoError(t, err)
			require.True(t, json.Valid(form))
		}
	})
}
