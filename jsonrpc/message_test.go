package jsonrpc

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireGolden checks that a message is written as golden, and that golden is
// read as the message.
func requireGolden(t *testing.T, m Message, golden string) {
	t.Helper()
	require.Equal(t, golden, string(m.AppendJSON(nil)))
	viaStd, err := json.Marshal(m)
	require.NoError(t, err)
	require.Equal(t, golden, string(viaStd))
	got, err := Decode([]byte(golden))
	require.NoError(t, err)
	require.Equal(t, m, got)
}

func TestAC_001_1_RequestHasItsMembers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		req    Request
		golden string
	}{
		{
			"with params and a string id",
			Request{ID: StringID("7f1d8a3e-3c5f-4a44-9d0a-0d6a3c1f2b11"), Method: "tools/call", Params: json.RawMessage(`{"name":"echo","arguments":{"n":9007199254740993}}`)},
			`{"jsonrpc":"2.0","id":"7f1d8a3e-3c5f-4a44-9d0a-0d6a3c1f2b11","method":"tools/call","params":{"name":"echo","arguments":{"n":9007199254740993}}}`,
		},
		{"without params", Request{ID: IntID(1), Method: "ping"}, `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		{"empty params stay", Request{ID: IntID(-3), Method: "ping", Params: json.RawMessage(`{}`)}, `{"jsonrpc":"2.0","id":-3,"method":"ping","params":{}}`},
		{"an empty string is an id", Request{ID: StringID(""), Method: "ping"}, `{"jsonrpc":"2.0","id":"","method":"ping"}`},
		{"text that needs escapes", Request{ID: StringID("a\"b\n"), Method: "x\\é\x01"}, `{"jsonrpc":"2.0","id":"a\"b\n","method":"x\\é\u0001"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			requireGolden(t, tt.req, tt.golden)
		})
	}
}

func TestAC_001_2_ResponseHasSuccessAndErrorVariants(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		resp   Response
		golden string
	}{
		{"success", Response{ID: StringID("a"), Result: json.RawMessage(`{"tools":[]}`)}, `{"jsonrpc":"2.0","id":"a","result":{"tools":[]}}`},
		{"error", Response{ID: StringID("a"), Error: &Error{Code: -32601, Message: "Method not found"}}, `{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"Method not found"}}`},
		{"error for a message whose id could not be read", Response{Error: &Error{Code: -32700, Message: "Parse error"}}, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`},
		{"integer id", Response{ID: IntID(404), Result: json.RawMessage(`{}`)}, `{"jsonrpc":"2.0","id":404,"result":{}}`},
		{"a result of null is a result", Response{ID: IntID(0), Result: json.RawMessage(`null`)}, `{"jsonrpc":"2.0","id":0,"result":null}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			requireGolden(t, tt.resp, tt.golden)
		})
	}
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{}}`, string(Response{ID: IntID(1)}.AppendJSON(nil)),
		"neither result nor error would not be a response (RPC-07)")
}

func TestAC_001_3_ErrorHasCodeMessageData(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		err    *Error
		golden string
	}{
		{"without data", &Error{Code: 404, Message: "gone"}, `{"code":404,"message":"gone"}`},
		{"object", &Error{Code: CodeInvalidParams, Message: "bad", Data: json.RawMessage(`{"uri":"a","n":1e400}`)}, `{"code":-32602,"message":"bad","data":{"uri":"a","n":1e400}}`},
		{"data may be null", &Error{Code: 0, Message: "", Data: json.RawMessage(`null`)}, `{"code":0,"message":"","data":null}`},
		{"data may be anything", &Error{Code: -9223372036854775808, Message: "é", Data: json.RawMessage(`[1.0,"x",false]`)}, `{"code":-9223372036854775808,"message":"é","data":[1.0,"x",false]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(tt.err)
			require.NoError(t, err)
			require.Equal(t, tt.golden, string(tt.err.AppendJSON(nil)))
			require.Equal(t, tt.golden, string(text))
			var got Error
			require.NoError(t, got.UnmarshalJSON([]byte(tt.golden)))
			require.Equal(t, *tt.err, got)
		})
	}
}

func TestAC_001_4_NotificationHasNoID(t *testing.T) {
	t.Parallel()
	n := Notification{Method: "notifications/progress", Params: json.RawMessage(`{"progress":0.5}`)}
	requireGolden(t, n, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0.5}}`)
	requireGolden(t, Notification{Method: "notifications/initialized"}, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(n.AppendJSON(nil), &members))
	require.NotContains(t, members, "id")
}

func TestErrorsAreMatchedByCode(t *testing.T) {
	t.Parallel()
	err := error(&Error{Code: CodeMethodNotFound, Message: "no such thing"})
	require.ErrorIs(t, err, &Error{Code: CodeMethodNotFound})
	require.NotErrorIs(t, err, &Error{Code: CodeInvalidParams})
	require.NotErrorIs(t, err, errors.New("no such thing"))
}

// Control characters of a peer must not reach a terminal.
func TestErrorTextIsPrintable(t *testing.T) {
	t.Parallel()
	err := &Error{Code: 1, Message: "a\x1b[31m\u202eb\nc"}
	require.Equal(t, "a\uFFFD[31m\uFFFDb c (code 1)", err.Error())
	long := &Error{Code: 1, Message: string(make([]rune, 10_000))}
	require.Less(t, len(long.Error()), 2_000)
}

func TestNewErrorLeavesOutDataThatCannotBeEncoded(t *testing.T) {
	t.Parallel()
	require.Equal(t, &Error{Code: 1, Message: "m", Data: json.RawMessage(`{"a":"<"}`)}, NewError(1, "m", map[string]string{"a": "<"}))
	require.Equal(t, &Error{Code: 1, Message: "m"}, NewError(1, "m", make(chan int)))
	require.Equal(t, &Error{Code: 1, Message: "m"}, NewError(1, "m", nil))
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		limit    int
		want     string
	}{
		{"plain", "abc", 10, "abc"},
		{"exactly the limit", "abc", 3, "abc"},
		{"cut", "abcd", 3, "abc…"},
		{"runes, not bytes", "äöüß", 3, "äöü…"},
		{"line breaks", "a\r\n\tb", 10, "a   b"},
		{"escape, bidi, zero width, invalid", "\x1b\u202e\u200b\xff", 10, "\uFFFD\uFFFD\uFFFD\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, Printable(tt.in, tt.limit))
		})
	}
}
