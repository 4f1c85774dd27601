package errormap_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// mapped is the expected result of a row.
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
	read    = "Read what the server says"
)

// ofSeed is a call with the seed's profile.
var ofSeed = errormap.Options{Method: "tools/call", Tool: "convert_pdf", Profile: mcperrors.Docling}

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

func TestAC_005_1_StandardCodes(t *testing.T) {
	t.Parallel()
	testSeedTable(t, -32700, -32600)
}

func TestAC_005_2_ServerCodes(t *testing.T) {
	t.Parallel()
	testSeedTable(t, -32099, -32000)
	for code := int64(-32099); code <= -32000; code++ { // every code of the range has a rule
		e := errormap.FromRPC(&jsonrpc.Error{Code: code}, errormap.Options{})
		_, ok := mcperrors.Lookup(e.Code)
		require.True(t, ok, "code %d", code)
	}
}

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

// A case for each row of the general rules, and for the rules of the document server.
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
		{mcperrors.Docling, -31002, "", `{"stage":"open","reason":"encrypted"}`, "E302", mcperrors.KindServer, true, 0},
		{mcperrors.Plain, -32000, "", ``, "E201", mcperrors.KindServer, true, 0},
		{mcperrors.Plain, -32001, "", ``, "E201", mcperrors.KindServer, true, 0},
		{mcperrors.Plain, -32602, "", ``, "E203", mcperrors.KindInvalidArguments, false, 0},
		{nil, -32002, "", ``, "E201", mcperrors.KindServer, true, 0},
		{nil, -32001, "", ``, "E201", mcperrors.KindServer, true, 0},
		{mcperrors.Docling, -32002, "", ``, "E302", mcperrors.KindServer, true, 0},
		{mcperrors.Docling, -32001, "", ``, "E202", mcperrors.KindTimeout, true, 0},
		// The protocol's own codes are the same in every profile.
		{mcperrors.Docling, -32020, "", ``, "E209", mcperrors.KindProtocol, false, 0},
		{mcperrors.Docling, -32042, "", ``, "E201", mcperrors.KindInputRequired, false, 0},
	} {
		rpc := &jsonrpc.Error{Code: tt.code, Message: tt.message, Data: json.RawMessage(tt.data)}
		e := errormap.FromRPC(rpc, errormap.Options{Profile: tt.profile})
		name := fmt.Sprintf("%T", tt.profile) + " " + rpc.Error() + " " + tt.data
		require.Equal(t, tt.want, e.Code, name)
		require.Equal(t, tt.kind, e.Kind, name)
		require.Equal(t, tt.retryable, e.Retryable, name)
		require.Equal(t, tt.after, e.RetryAfter, name)
	}
}

// A profile that a server names has no effect.
func TestProfileOfTheServerIsIgnored(t *testing.T) {
	t.Parallel()
	for _, data := range []string{`{"profile":"docling"}`, `{"error":{"profile":"docling"}}`} {
		rpc := &jsonrpc.Error{Code: -32001, Data: json.RawMessage(data)}
		require.Equal(t, mcperrors.CodeUnavailable, errormap.FromRPC(rpc, errormap.Options{}).Code)
		require.Equal(t, mcperrors.CodeUnavailable, errormap.FromRPC(rpc, errormap.Options{Tool: "export_html"}).Code, "nor has the name of a tool")
		require.Equal(t, mcperrors.CodeTimeout, errormap.FromRPC(rpc, errormap.Options{Profile: mcperrors.Docling}).Code)
	}
}

// busy is a profile of an application.
var busy = mcperrors.ProfileFunc(func(r mcperrors.Report) mcperrors.Meaning {
	switch {
	case r.RPC == nil && r.Text == "busy", r.RPC != nil && r.RPC.Code == 1001:
		return mcperrors.Meaning{Code: mcperrors.CodeDatabaseUnavailable, Rejected: true, RetryAfter: 2 * time.Second}
	case r.RPC != nil && r.RPC.Code == 1002 && r.Name == "buy":
		return mcperrors.Meaning{Code: mcperrors.CodeConflict, UserMessage: "It is sold", SuggestedAction: "Choose another", Counts: true}
	}
	return mcperrors.Meaning{}
})

func TestProfileOfAnApplication(t *testing.T) {
	t.Parallel()
	o := errormap.Options{Method: "tools/call", Tool: "buy", Profile: busy}
	e := errormap.FromRPC(&jsonrpc.Error{Code: 1001}, o)
	require.Equal(t, mapped{"E401", mcperrors.KindServer, "Database unavailable", again, true, mcperrors.Rejected}, summary(e))
	require.Equal(t, 2*time.Second, e.RetryAfter)
	e, counts := errormap.ReadRPC(&jsonrpc.Error{Code: 1002}, o)
	require.Equal(t, mapped{"E207", mcperrors.KindApp, "It is sold", "Choose another", false, mcperrors.Answered}, summary(e))
	require.True(t, counts)
	e = errormap.FromTool("busy", nil, o)
	require.Equal(t, mapped{"E401", mcperrors.KindTool, "Database unavailable", again, true, mcperrors.Rejected}, summary(e))
	e = errormap.FromRPC(&jsonrpc.Error{Code: -32602, Message: "Unknown tool: buy"}, o)
	require.Equal(t, mcperrors.CodeToolNotFound, e.Code, "no opinion")
	require.Equal(t, errormap.FromTool("no", nil, errormap.Options{Method: "tools/call", Tool: "buy"}), errormap.FromTool("no", nil, o), "no opinion")
	for _, method := range []string{"initialize", "server/discover", "ping"} {
		e = errormap.FromRPC(&jsonrpc.Error{Code: 1001}, errormap.Options{Method: method, Profile: busy})
		require.Equal(t, mcperrors.CodeUnavailable, e.Code, method)
	}
}

// A profile with wrong values changes nothing.
func TestWrongMeaning(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]mcperrors.Meaning{
		"nothing":                    {},
		"an unknown code":            {Code: "E999"},
		"an unknown kind":            {Kind: 99},
		"a kind that is not its own": {Kind: mcperrors.KindCanceled},
		"an open circuit":            {Kind: mcperrors.KindCircuitOpen},
		"a time before the present":  {RetryAfter: -time.Second},
	} {
		for _, code := range []int64{-32700, -32602, -32603, -32020, -32021, -32022, -32042, -32000, 7} {
			rpc, o := &jsonrpc.Error{Code: code}, errormap.Options{Method: "tools/call"}
			want := errormap.FromRPC(rpc, o)
			o.Profile = mcperrors.ProfileFunc(func(mcperrors.Report) mcperrors.Meaning { return m })
			require.Equal(t, want, errormap.FromRPC(rpc, o), "%s %d", name, code)
		}
	}
	never := mcperrors.ProfileFunc(func(mcperrors.Report) mcperrors.Meaning {
		return mcperrors.Meaning{Code: mcperrors.CodeIncompatible, Retryable: new(true), RetryAfter: time.Second, Rejected: true}
	})
	e := errormap.FromRPC(&jsonrpc.Error{Code: 7}, errormap.Options{Profile: never})
	require.False(t, e.Retryable, "E209 never is")
	require.Zero(t, e.RetryAfter)
	forever := mcperrors.ProfileFunc(func(mcperrors.Report) mcperrors.Meaning { return mcperrors.Meaning{RetryAfter: 1 << 62} })
	require.Equal(t, 24*time.Hour, errormap.FromRPC(&jsonrpc.Error{Code: 7}, errormap.Options{Profile: forever}).RetryAfter)
}

func TestPayloadRetryableBeatsTheTable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code      int64
		data      string
		retryable bool
		action    string
	}{
		{-32603, `{"retryable":false}`, false, read},
		{-32602, `{"retryable":true}`, true, again},
		{-32050, `{"retryable":false}`, false, read},
		{-32050, `{"retryable":true}`, true, later},
		{-32603, `{"error":{"retryable":false}}`, false, read},
		{-32603, `{"retryable":"no"}`, true, again},
		{-32022, `{"retryable":true}`, false, "Update the server or the client"}, // E209 is not retryable
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
		e := errormap.FromRPC(&jsonrpc.Error{Code: 429, Data: data}, errormap.Options{})
		require.Equal(t, tt.want, e.RetryAfter, tt.seconds)
	}
	// An error that is not retryable has no RetryAfter.
	e := errormap.FromRPC(&jsonrpc.Error{Code: -32602, Data: json.RawMessage(`{"retry_after_seconds":3}`)}, errormap.Options{})
	require.Zero(t, e.RetryAfter)
}

// Servers use different codes for missing things.
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

// The proofs that a call did not run.
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
		`method not found: "tools/call"`:       mcperrors.Answered, // go-sdk, for a tool that has run
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
		for _, profile := range []mcperrors.Profile{nil, mcperrors.Docling, mcperrors.Plain} {
			require.Equal(t, mcperrors.Answered, errormap.FromRPC(refusal, errormap.Options{Profile: profile}).Delivery, "nobody has promised that")
		}
	}
}

// For any error of a server, the map returns an error with a code of the catalogue, and its text
// and JSON are valid.
func FuzzMap(f *testing.F) {
	f.Add([]byte(`{"code":-32000,"message":"Permission denied: x","data":{"reason":"permission"}}`), true, "tools/call")
	f.Add([]byte(`{"code":429,"message":"","data":{"error":{"code":"RATE_LIMIT","retryable":false,"retry_after_seconds":1e99}}}`), false, "")
	f.Add([]byte(`{"code":-32602,"message":"unknown tool","data":[{}]}`), false, "resources/read")
	f.Fuzz(func(t *testing.T, body []byte, docling bool, method string) {
		var rpc jsonrpc.Error
		if rpc.UnmarshalJSON(body) != nil {
			return
		}
		o := errormap.Options{Method: method}
		if docling {
			o.Profile = mcperrors.Docling
		}
		for _, e := range []*mcperrors.Error{
			errormap.FromRPC(&rpc, o),
			errormap.FromTool(rpc.Message, rpc.Data, o),
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
