package mcperrors_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

func TestErrorText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  *mcperrors.Error
		want string
	}{
		{
			"nothing known, not even whether it was executed", &mcperrors.Error{Kind: mcperrors.KindTransport},
			"transport error; the call may have run: check before repeating it",
		},
		{
			"an error of another Delivery does not say so", &mcperrors.Error{Kind: mcperrors.KindTransport, Delivery: mcperrors.NotSent},
			"transport error",
		},
		{
			"the server's words",
			errormap.FromRPC(&jsonrpc.Error{Code: -32602, Message: "Invalid params: b"}, errormap.Options{Tool: "add", Server: "calc", Method: "tools/call"}),
			"Invalid params: b (code -32602) (tool add, server calc)",
		},
		{
			"hostile words",
			errormap.FromRPC(&jsonrpc.Error{Code: 1, Message: "a\x1b[31mb\nc\u202ed"}, errormap.Options{}),
			"a\ufffd[31mb c\ufffdd (code 1)",
		},
		{
			"cause", &mcperrors.Error{Delivery: mcperrors.NotSent, Message: "the connection failed", Method: "ping", Cause: errors.New("dial tcp: refused"), Attempts: 3},
			"the connection failed: dial tcp: refused (method ping); 3 attempts",
		},
		{
			"cause that the message has", &mcperrors.Error{Delivery: mcperrors.NotSent, Message: "unreachable: dial", Cause: errors.New("dial")},
			"unreachable: dial",
		},
		{
			"a handshake, which executes nothing", &mcperrors.Error{Delivery: mcperrors.Unknown, Message: "no answer", Method: "initialize"},
			"no answer (method initialize)",
		},
		{
			"discovery does neither", &mcperrors.Error{Delivery: mcperrors.Unknown, Message: "no answer", Method: "server/discover"},
			"no answer (method server/discover)",
		},
		{
			"nor do reads", &mcperrors.Error{Delivery: mcperrors.Unknown, Message: "no answer", Method: "resources/read"},
			"no answer (method resources/read)",
		},
		{
			"nor lists", &mcperrors.Error{Delivery: mcperrors.Unknown, Message: "no answer", Method: "tools/list"},
			"no answer (method tools/list)",
		},
		{
			"a process that ended",
			&mcperrors.Error{
				Message: "the server stopped before it answered", Delivery: mcperrors.Unknown,
				Process: &mcperrors.ProcessEvidence{
					Exited: true, Exit: 3, Age: 41234 * time.Microsecond,
					Stderr: []string{"one", "two", "DB_PASSWORD=hunter2", "FATAL: DB_URL is not set"},
				},
			},
			"the server stopped before it answered; the server exited with status 3 after 41ms; " +
				"stderr: two | DB_PASSWORD=[redacted] | FATAL: DB_URL is not set; the call may have run: check before repeating it",
		},
		{
			"a process that a signal ended", &mcperrors.Error{Delivery: mcperrors.NotSent, Message: "m", Process: &mcperrors.ProcessEvidence{Exited: true, Exit: -1, Signal: "SIGSEGV", Noise: "Listening…"}},
			"m; the server was killed (SIGSEGV); stdout: Listening…",
		},
		{
			"a process that runs", &mcperrors.Error{Delivery: mcperrors.NotSent, Message: "m", Process: &mcperrors.ProcessEvidence{PID: 7, Age: time.Second}},
			"m",
		},
		{
			"http", &mcperrors.Error{Delivery: mcperrors.Answered, Message: "the answer is not an MCP message", HTTP: &mcperrors.HTTPEvidence{Status: 200, URL: "https://me:pw@h/mcp?k=v", ContentType: "text/html"}},
			"the answer is not an MCP message; http status 200 from https://[redacted]@h/mcp?[redacted] (text/html)",
		},
		{
			"a body for people", &mcperrors.Error{Delivery: mcperrors.Rejected, Message: "refused", HTTP: &mcperrors.HTTPEvidence{Status: 400, ContentType: "text/plain; charset=utf-8", Body: "Client sent an HTTP request to an HTTPS server. token=abc\x1b\n" + strings.Repeat("x", 500)}},
			"refused; http status 400 (text/plain; charset=utf-8): Client sent an HTTP request to an HTTPS server. token=[redacted] " + strings.Repeat("x", 55) + "…",
		},
		{
			"a body for browsers", &mcperrors.Error{Delivery: mcperrors.Rejected, Message: "refused", HTTP: &mcperrors.HTTPEvidence{Status: 502, ContentType: "text/html", Body: "<html>"}},
			"refused; http status 502 (text/html)",
		},
		{
			"when", &mcperrors.Error{Message: "m", RetryAfter: 1510 * time.Millisecond, Delivery: mcperrors.Rejected},
			"m; try again in 1.5s",
		},
		{
			"when, for what may have been executed", &mcperrors.Error{Message: "m", RetryAfter: time.Minute, Attempts: 2, Delivery: mcperrors.Unknown, Method: "tools/call"},
			"m (method tools/call); 2 attempts; the call may have run: check before repeating it; try again in 1m0s",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, tt.err.Error())
		})
	}
}

func TestErrorTextIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	e := errormap.FromRPC(&jsonrpc.Error{Message: long}, errormap.Options{Server: long, Tool: long})
	e.Cause = errors.New(long)
	e.Process = &mcperrors.ProcessEvidence{Exited: true, Signal: long, Noise: long, Stderr: []string{long}}
	e.HTTP = &mcperrors.HTTPEvidence{URL: long, ContentType: long}
	require.Less(t, len(e.Error()), 2500)
}

// A peer may send 16 MiB. The text of the error reads only the start.
func TestErrorTextOfAHugeMessage(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{`token="x" `, "x", "ä\x1b ", "https://", "secret=\n", "\u202e"} {
		e := errormap.FromRPC(&jsonrpc.Error{Message: strings.Repeat(unit, 16<<20/len(unit))}, errormap.Options{})
		e.Cause = errors.New(e.Message)
		var text string
		require.Less(t, testmain.Busy(func() { text = e.Error() }), 5*time.Second, unit)
		require.LessOrEqual(t, len(text), 10<<10, unit)
		require.NotEmpty(t, text)
	}
}

// A cut of a long text never leaves half a secret: neither of one that is recognized by
// its end, nor of one that is recognized by its length.
func TestErrorTextIsCutBetweenWords(t *testing.T) {
	t.Parallel()
	const shown = 8 << 10
	// This text is long before, and short after, its secrets are removed.
	filler := func(n int) string { return "password=" + strings.Repeat("x", n-len("password= ")) + " " }
	for _, tt := range []struct{ name, secret string }{
		{"address", "https://hunter:" + strings.Repeat("2", 300) + "@host/"},
		{"token", "sk-hunter" + strings.Repeat("2", 300)},
		{"query", "https://host/mcp?" + strings.Repeat("hunter", 50)},
		{"member", `{"token":"hunter` + strings.Repeat("2", 300) + `"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for before := shown - len(tt.secret) - 2; before < shown+2; before++ {
				text := (&mcperrors.Error{Message: filler(before) + tt.secret + " " + strings.Repeat("y", shown)}).Error()
				require.NotContains(t, text, "hunter", before)
				require.Contains(t, text, "…", before)
			}
		})
	}
	text := (&mcperrors.Error{Message: "https://hunter:" + strings.Repeat("2", 2*shown) + "@host/"}).Error()
	require.NotContains(t, text, "hunter", "a single word")
	text = (&mcperrors.Error{Message: "said: " + strings.Repeat("z", 2*shown)}).Error()
	require.Contains(t, text, "said: z", "a long word is shown like any other")
	text = (&mcperrors.Error{Message: filler(shown-1) + "ä" + strings.Repeat("ä", shown)}).Error()
	require.NotContains(t, text, "\ufffd", "nor half of a character")
}

// The JSON form has all members. It has no secrets, except in the server's own error.
func TestJSONForm(t *testing.T) {
	t.Parallel()
	e := errormap.FromRPC(&jsonrpc.Error{Code: -32003, Message: "m?key=untouched", Data: json.RawMessage(`{"a":1.50}`)},
		errormap.Options{Server: "s", Method: "tools/call", Tool: "t", RequestID: "id", Profile: mcperrors.Docling})
	e.Attempts = 2
	e.RetryAfter = 1500 * time.Millisecond
	e.Cause = errors.New("Authorization: Bearer abc")
	e.HTTP = &mcperrors.HTTPEvidence{Status: 500, URL: "https://h/?q=1", Header: http.Header{"X-Request-Id": {"7", "token=abc"}}, Body: "token=abc"}
	e.Process = &mcperrors.ProcessEvidence{
		Command: []string{"srv", "--api-key=abc", "--token", "abc"}, PID: 7, Exited: true, Exit: 139, Signal: "SIGSEGV",
		Age: 5120 * time.Millisecond, Stderr: []string{"password: abc"}, Noise: "secret=abc",
	}
	got, err := json.Marshal(e)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"code":"E303","kind":"server","message":"m?key=untouched","userMessage":"Export generation failed",
		"suggestedAction":"Try again","retryable":true,"retryAfterMs":1500,"delivery":"answered",
		"originalMCPCode":-32003,"server":"s","method":"tools/call","tool":"t","requestId":"id","attempts":2,
		"rpc":{"code":-32003,"name":"","message":"m?key=untouched","data":{"a":1.50}},
		"http":{"status":500,"url":"https://h/?[redacted]","header":{"X-Request-Id":["7","token=[redacted]"]},"body":"token=[redacted]"},
		"process":{"command":["srv","--api-key=[redacted]","--token","[redacted]"],"pid":7,"exited":true,"exit":139,
			"signal":"SIGSEGV","stderrTail":["password: [redacted]"],"noise":"secret=[redacted]","ageMs":5120},
		"cause":"Authorization: [redacted]"
	}`, string(got))
	require.Contains(t, string(got), `1.50`, "data is the server's, digit for digit")
	require.Equal(t, "https://h/?q=1", e.HTTP.URL, "the error itself is not changed")
	require.Equal(t, "abc", e.Process.Command[3])

	got, err = json.Marshal(errormap.Canceled(mcperrors.NotSent, nil))
	require.NoError(t, err)
	require.JSONEq(t, `{
		"code":"","kind":"canceled","message":"the call was cancelled","userMessage":"","suggestedAction":"","retryable":false,
		"retryAfterMs":0,"delivery":"not-sent","originalMCPCode":null,"server":"","method":"","tool":"","requestId":"",
		"attempts":0,"rpc":null,"http":null,"process":null,"cause":""
	}`, string(got))
}

func TestJSONNamesOfCodes(t *testing.T) {
	t.Parallel()
	for code, want := range map[int64]string{
		-32700: "ParseError", -32600: "InvalidRequest", -32601: "MethodNotFound", -32602: "InvalidParams", -32603: "InternalError",
		-32020: "HeaderMismatch", -32021: "MissingRequiredClientCapability", -32022: "UnsupportedProtocolVersion",
		-32042: "URLElicitationRequired", -32000: "", 7: "",
	} {
		raw, err := json.Marshal(errormap.FromRPC(&jsonrpc.Error{Code: code}, errormap.Options{}))
		require.NoError(t, err)
		var got struct{ RPC struct{ Name string } }
		require.NoError(t, json.Unmarshal(raw, &got))
		require.Equal(t, want, got.RPC.Name)
	}
}

func TestDeliveryNames(t *testing.T) {
	t.Parallel()
	for d, want := range map[mcperrors.Delivery]string{
		mcperrors.NotSent: "not-sent", mcperrors.Rejected: "rejected", mcperrors.Unknown: "unknown", mcperrors.Answered: "answered",
	} {
		require.Equal(t, want, d.String())
	}
	require.Equal(t, "unknown", mcperrors.Delivery(99).String())
	require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(&mcperrors.Error{}), "who says nothing claims nothing")
	require.False(t, mcperrors.SafeToRetry(&mcperrors.Error{}))
}
