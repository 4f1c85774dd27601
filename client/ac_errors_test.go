package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// seedMapping is a row of the seed's MCP_ERROR_MAP.
type seedMapping struct {
	mcp         int64
	appCode     string
	userMessage string
	retryable   bool
}

var seedStandard = []seedMapping{
	{-32700, "E203", "Invalid request format", false},
	{-32600, "E203", "Invalid request format", false},
	{-32601, "E204", "Requested tool not available", false},
	{-32602, "E203", "Invalid parameters", false},
	{-32603, "E201", "Processing service error", true},
}

var seedServerCodes = []seedMapping{
	{-32000, "E201", "Processing service unavailable", true},
	{-32001, "E202", "Request timeout", true},
	{-32002, "E302", "Document conversion failed", true},
	{-32003, "E303", "Export generation failed", true},
}

// appError is the seed's AppError, read from the JSON form of an error.
type appError struct {
	Code            *string `json:"code"`
	Message         *string `json:"message"`
	UserMessage     *string `json:"userMessage"`
	SuggestedAction *string `json:"suggestedAction"`
	Retryable       *bool   `json:"retryable"`
	OriginalMCPCode *int64  `json:"originalMCPCode"`
}

// withoutCircuits lets a test fail one tool a hundred times.
var withoutCircuits = client.WithResilience(client.Resilience{Off: true})

// eachTool calls each of the seed's eight tools on a server that answers with an error,
// with its profile and without circuits, and returns the results. The flag is advice:
// the client makes each call once.
func eachTool(t *testing.T, s *seedServer, f func(tool string, answer func(refusal), call func() (*mcperrors.Error, appError))) {
	t.Helper()
	s.on("tools/list", func(json.RawMessage) any { return toolList(phase1...) })
	c := s.connected(t, withoutCircuits, seedProfile)
	for _, tool := range phase1 {
		f(tool, func(r refusal) { s.always("tools/call", r) }, func() (*mcperrors.Error, appError) {
			before := s.count("tools/call")
			_, err := c.CallTool(t.Context(), tool, nil)
			require.Equal(t, before+1, s.count("tools/call"))
			var e *mcperrors.Error
			require.ErrorAs(t, err, &e)
			text, err := json.Marshal(e)
			require.NoError(t, err)
			var app appError
			require.NoError(t, json.Unmarshal(text, &app))
			return e, app
		})
	}
}

func testSeedMapping(t *testing.T, table []seedMapping) {
	t.Helper()
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		eachTool(t, s, func(tool string, answer func(refusal), call func() (*mcperrors.Error, appError)) {
			for _, row := range table {
				answer(refusal{Code: row.mcp, Message: "in the server's words"})
				e, app := call()
				at := fmt.Sprintf("%d of %s", row.mcp, tool)
				require.Equal(t, row.appCode, string(e.Code), at)
				require.Equal(t, row.userMessage, e.UserMessage, at)
				require.Equal(t, row.retryable, e.Retryable, at)
				require.Equal(t, row.appCode, *app.Code, at)
				require.Equal(t, row.userMessage, *app.UserMessage, at)
				require.Equal(t, row.retryable, *app.Retryable, at)
			}
		})
	})
}

// The five standard codes of JSON-RPC, as the caller of any of the eight tools
// gets them.
func TestAC_005_1_StandardCodes(t *testing.T) {
	t.Parallel()
	testSeedMapping(t, seedStandard)
}

// The codes of the server's own range: four have a meaning, those of the
// protocol have theirs, and each other one is still an error of the catalogue.
func TestAC_005_2_ServerCodes(t *testing.T) {
	t.Parallel()
	testSeedMapping(t, seedServerCodes)
	synctest.Test(t, func(t *testing.T) {
		s := newSeedServer(overPipe)
		defer s.stop()
		eachTool(t, s, func(tool string, answer func(refusal), call func() (*mcperrors.Error, appError)) {
			for code := int64(-32099); code <= -32000; code++ {
				answer(refusal{Code: code, Message: "x"})
				e, app := call()
				at := fmt.Sprintf("%d of %s", code, tool)
				_, ok := mcperrors.Lookup(e.Code)
				require.True(t, ok, at)
				require.NotEmpty(t, *app.UserMessage, at)
				require.Equal(t, code, *app.OriginalMCPCode, at)
			}
		})
	})
}

// Every mapping has its three members, also in its JSON form, and an action that
// goes with the flag.
func TestAC_005_3_UserMessageActionRetryable(t *testing.T) {
	t.Parallel()
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		eachTool(t, s, func(tool string, answer func(refusal), call func() (*mcperrors.Error, appError)) {
			for _, table := range [][]seedMapping{seedStandard, seedServerCodes, {{404, "E201", "An unexpected error occurred", true}}} {
				for _, row := range table {
					answer(refusal{Code: row.mcp, Message: "x"})
					e, app := call()
					at := fmt.Sprintf("%d of %s", row.mcp, tool)
					require.NotNil(t, app.Code, at)
					require.NotNil(t, app.UserMessage, at)
					require.NotNil(t, app.Retryable, at)
					require.NotNil(t, app.SuggestedAction, at)
					want := "Contact support"
					switch {
					case row.mcp == 404:
						want = "Try again later"
					case row.retryable:
						want = "Try again"
					}
					require.Equal(t, want, *app.SuggestedAction, at)
					require.Equal(t, want, e.SuggestedAction, at)
					require.Equal(t, row.retryable, mcperrors.Retryable(e), at)
				}
			}
		})
	})
}

// A JSON-RPC error becomes one error of the application: with the server's words,
// its data, and the JSON-RPC error itself behind it.
func TestAC_005_4_MapKeepsTheServersWords(t *testing.T) {
	t.Parallel()
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		eachTool(t, s, func(tool string, answer func(refusal), call func() (*mcperrors.Error, appError)) {
			answer(refusal{Code: -32003, Message: "Kein Platz\nmehr \u2603", Data: map[string]any{"free": 0, "n": json.RawMessage(`9007199254740993`)}})
			e, app := call()
			require.Equal(t, "Kein Platz\nmehr \u2603", e.Message)
			require.Equal(t, "Kein Platz\nmehr \u2603", *app.Message)
			require.Equal(t, mcperrors.CodeExportFailed, e.Code)
			require.Equal(t, tool, e.Tool)
			require.Equal(t, "tools/call", e.Method)
			require.NotEmpty(t, e.Server)
			require.NotEmpty(t, e.RequestID)
			var rpc *jsonrpc.Error
			require.ErrorAs(t, e, &rpc)
			require.EqualValues(t, -32003, rpc.Code)
			require.JSONEq(t, `{"free":0,"n":9007199254740993}`, string(rpc.Data))
			require.Contains(t, string(rpc.Data), "9007199254740993")
		})
	})
}

// A code that no table knows is E201 and may be tried later.
func TestAC_005_5_UnknownIsRetryableE201(t *testing.T) {
	t.Parallel()
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		eachTool(t, s, func(tool string, answer func(refusal), call func() (*mcperrors.Error, appError)) {
			for _, code := range []int64{-32004, -32050, -32099, -32768, 404, 0, 1, -1, math.MaxInt32} {
				answer(refusal{Code: code, Message: "boo"})
				e, app := call()
				at := fmt.Sprintf("%d of %s", code, tool)
				require.Equal(t, mcperrors.CodeUnavailable, e.Code, at)
				require.True(t, e.Retryable, at)
				require.True(t, *app.Retryable, at)
				require.Equal(t, "An unexpected error occurred", e.UserMessage, at)
				require.Equal(t, "Try again later", e.SuggestedAction, at)
				require.Equal(t, "boo", e.Message, at)
			}
		})
	})
}

// An error keeps the server's own code, even if it is mapped to another; an error that
// no server sent has none.
func TestAC_005_6_OriginalMCPCode(t *testing.T) {
	t.Parallel()
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		eachTool(t, s, func(tool string, answer func(refusal), call func() (*mcperrors.Error, appError)) {
			for _, code := range []int64{-32700, -32602, -32003, -32077, 0, 429, math.MinInt64, math.MaxInt64} {
				answer(refusal{Code: code, Message: "x"})
				e, app := call()
				at := fmt.Sprintf("%d of %s", code, tool)
				require.NotNil(t, e.OriginalMCPCode, at)
				require.Equal(t, code, *e.OriginalMCPCode, at)
				require.NotNil(t, app.OriginalMCPCode, at)
				require.Equal(t, code, *app.OriginalMCPCode, at)
			}
		})
		c := s.clients[0]
		require.NoError(t, c.Close())
		_, err := c.CallTool(t.Context(), "convert_pdf", nil)
		e, ok := errors.AsType[*mcperrors.Error](err)
		require.True(t, ok)
		require.Nil(t, e.OriginalMCPCode, "nobody sent one")
	})
}
