package families

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// X-WIRE-06: whatever is wrong with a request, its answer over HTTP is one of
// JSON-RPC, with its id.
func TestX_WIRE_06_EveryRefusalIsJSON(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.Families = []string{"artifact", "fixtures"} })
	s.handshake()
	known, root := s.session, s.url
	request := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":"q","method":"` + method + `"` + params + `}`
	}
	for _, tc := range []struct {
		name, method, body string
		header             []string
		status             int
		code               int64
		id                 string
	}{
		{"call without params", "POST", request("tools/call", ""), nil, 200, -32602, `"q"`},
		{"call with null params", "POST", request("tools/call", `,"params":null`), nil, 200, -32602, `"q"`},
		{"call with a list of params", "POST", request("tools/call", `,"params":[]`), nil, 200, -32602, `"q"`},
		{"read without params", "POST", request("resources/read", ""), nil, 200, -32602, `"q"`},
		{"prompt without params", "POST", request("prompts/get", ""), nil, 200, -32602, `"q"`},
		{"level without params", "POST", request("logging/setLevel", ""), nil, 200, -32602, `"q"`},
		{"completion without params", "POST", request("completion/complete", ""), nil, 200, -32602, `"q"`},
		{"completion of no reference", "POST", request("completion/complete", `,"params":{"ref":{"type":"x"},"argument":{}}`), nil, 200, -32602, `"q"`},
		{"name", "POST", request("tools/call", `,"params":{"name":5}`), nil, 200, -32602, `"q"`},
		{"uri", "POST", request("resources/read", `,"params":{"uri":{}}`), nil, 200, -32602, `"q"`},
		{"cursor", "POST", request("tools/list", `,"params":{"cursor":7}`), nil, 200, -32602, `"q"`},
		{"unknown cursor", "POST", request("tools/list", `,"params":{"cursor":"x"}`), nil, 200, -32602, `"q"`},
		{"meta", "POST", request("tools/list", `,"params":{"_meta":7}`), nil, 200, -32602, `"q"`},
		{"notification with an id", "POST", request("notifications/initialized", ""), nil, 400, -32600, `"q"`},
		{"roots", "POST", request("initialize", `,"params":{"protocolVersion":"2025-11-25","capabilities":{"roots":1},"clientInfo":{"name":"t","version":"1"}}`), []string{"Mcp-Session-Id", ""}, 400, -32602, `"q"`},
		{"accept", "POST", ping, []string{"Accept", "text/html"}, 400, -32600, "2"},
		{"content type", "POST", ping, []string{"Content-Type", "text/plain"}, 415, -32600, "null"},
		{"last event", "POST", ping, []string{"Last-Event-Id", "1"}, 400, -32600, "2"},
		{"odd last event", "GET", "", []string{"Last-Event-Id", "1"}, 400, -32600, "null"},
		{"stream without a session", "GET", "", []string{"Mcp-Session-Id", ""}, 400, -32600, "null"},
		{"end without a session", "DELETE", "", []string{"Mcp-Session-Id", ""}, 400, -32600, "null"},
		{"end of an unknown session", "DELETE", "", []string{"Mcp-Session-Id", "x"}, 404, -32001, "null"},
		{"method", "PUT", "{}", nil, 405, -32600, "null"},
		{"stream of the stateless era", "GET", "", []string{"MCP-Protocol-Version", "2026-07-28"}, 405, -32600, "null"},
		{"stateless accept", "POST", alone("tools/list", ""), []string{"MCP-Protocol-Version", "2026-07-28", "Accept", "text/html"}, 400, -32600, `"e"`},
		{"stateless call without params", "POST", request("tools/call", ""), []string{"MCP-Protocol-Version", "2026-07-28"}, 400, -32602, `"q"`},
		{"stateless name", "POST", alone("tools/call", `"name":5`), []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "5"}, 400, -32602, `"e"`},
		{"stateless subscription", "POST", alone("subscriptions/listen", `"notifications":7`), []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"}, 400, -32602, `"e"`},
		{"stateless notification with an id", "POST", alone("notifications/cancelled", `"requestId":1`), []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "notifications/cancelled"}, 400, -32600, `"e"`},
		{"path", "POST /elsewhere", ping, nil, 404, -32600, "null"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			method, path, _ := strings.Cut(tc.method, " ")
			s.url, s.session = root+path, known
			for i := 0; i < len(tc.header); i += 2 {
				if tc.header[i] == "Mcp-Session-Id" && tc.header[i+1] == "" {
					s.session = ""
				}
			}
			res := s.do(method, tc.body, tc.header...)
			raw, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, tc.status, res.StatusCode, "%s", raw)
			if _, data, found := strings.Cut(string(raw), "\ndata: {"); found {
				raw = []byte("{" + data)
			} else {
				require.Equal(t, "application/json", res.Header.Get("Content-Type"), "%s", raw)
			}
			var a answer
			require.NoError(t, json.Unmarshal(raw, &a), "%s", raw)
			require.NotNil(t, a.Error)
			require.Nil(t, a.Result)
			require.Equal(t, tc.code, a.Error.Code, "%s", raw)
			require.Equal(t, tc.id, string(a.ID))
			require.NotContains(t, a.Error.Message, "mcp.", "no type names")
		})
	}
	s.url, s.session = root, known
	_, a := s.post(ping)
	require.Nil(t, a.Error, "and the session goes on")
}

// A message that is none of JSON-RPC's answers is not answered (X-WIRE-05),
// whatever its method.
func TestX_WIRE_05_NotificationsOverHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.handshake()
	for body, want := range map[string]int{
		`{"jsonrpc":"2.0","method":"tools/list"}`:                                       202,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"panic"}}`:             202,
		`{"jsonrpc":"2.0","method":"notifications/progress"}`:                           400,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":"x"}}`: 400,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":[]}`:               400,
	} {
		res := s.do(http.MethodPost, body)
		raw, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, want, res.StatusCode, "%s: %s", body, raw)
		require.Empty(t, raw, body)
	}
}

// One bad message of a batch costs itself alone, and of two with one id the
// second is refused.
func TestBatchOverHTTP_BadMessages(t *testing.T) {
	t.Parallel()
	s := serve(t)
	_, a := s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	require.Nil(t, a.Error)
	s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	res := s.do(http.MethodPost, `[`+ping+`,{"jsonrpc":"2.0","id":"call","method":"tools/call"},{"jsonrpc":"2.0","id":"note","method":"notifications/initialized"},`+
		`{"jsonrpc":"2.0","method":"tools/list"},{"jsonrpc":"2.0","method":"notifications/progress"},`+
		`{"jsonrpc":"2.0","id":"\u0074wice","method":"ping"},{"jsonrpc":"2.0","id":"twice","method":"ping"},{"jsonrpc":"2.0","id":"last","method":"ping"}]`)
	require.Equal(t, http.StatusOK, res.StatusCode)
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	for _, part := range []string{
		`"id":2,"result"`, `"id":"call","error":{"code":-32602`, `"id":"note","error":{"code":-32600`,
		`"id":"twice","result"`, `"id":"twice","error":{"code":-32600,"message":"Invalid Request: id is already in use"`, `"id":"last","result"`,
	} {
		require.Contains(t, string(raw), part)
	}
}

// What a client sent does not come back to it in an error, by either transport.
func TestErrorsDoNotEchoWhatWasSent(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", testmain.Fewer(100_000, 4))
	s, w := serve(t), dial(t)
	s.handshake()
	w.handshake("2025-11-25")
	ask := func(body string) (http, stdio *answer) {
		_, http = s.post(body)
		a := w.ask(body)
		return http, &a
	}
	for _, tc := range []struct {
		method, params string
	}{
		{"tools/call", `{"name":5,"arguments":{"x":"%s"}}`},
		{"tools/call", `{"name":"%s"}`},
		{"tools/call", `{"name":"panic","_meta":"%s"}`},
		{"resources/read", `{"uri":"%s"}`},
		{"resources/read", `{"uri":"mcp://resources/%s"}`},
		{"resources/read", `{"uri":["%s"]}`},
		{"tools/list", `{"cursor":["%s"]}`},
		{"tools/list", `{"cursor":"%s"}`},
		{"ping", `{"_meta":["%s"]}`},
	} {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + tc.method + `","params":` + fmt.Sprintf(tc.params, long) + `}`
		http, stdio := ask(body)
		for _, a := range []*answer{http, stdio} {
			require.NotNil(t, a.Error, tc.params)
			raw, err := json.Marshal(a)
			require.NoError(t, err)
			require.Less(t, len(raw), 8000, tc.params)
			require.NotContains(t, a.Error.Message, "mcp.", "no type names")
			require.NotZero(t, a.Error.Code)
		}
		require.Equal(t, http.Error, stdio.Error, "both transports say the same")
	}
}

// Params of a wrong shape are refused in the words of the family whose method
// it is (X-PROF-01).
func TestX_PROF_01_ParamsOfDirectMethods(t *testing.T) {
	t.Parallel()
	s, w := serve(t, onlyCOE), dial(t, onlyCOE)
	for _, method := range []string{"getNextTask", "reportIssue", "createTicket"} {
		for _, params := range []string{`[]`, `7`, `"x"`} {
			body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
			_, a := s.post(body)
			b := w.ask(body)
			for _, a := range []*answer{a, &b} {
				require.NotNil(t, a.Error, "%s %s", method, a.Result)
				require.Equal(t, int64(-32602), a.Error.Code)
				require.Equal(t, "coe", a.Error.Data["profile"])
			}
		}
	}
}

// A ping over HTTP needs its session like everything but initialize: the
// transport says so (HTTP-12), and §1.1's "at any time" is for a session.
func TestHTTPPingWithoutASession(t *testing.T) {
	t.Parallel()
	s := serve(t)
	status, a := s.post(ping)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "2", string(a.ID))
	require.EqualValues(t, -32600, a.Error.Code)
	require.Empty(t, s.session)
	s.handshake()
	status, a = s.post(ping)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{}`, string(a.Result))
}
