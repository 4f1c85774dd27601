package front

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// alone returns a request of the stateless era.
func alone(id, method, params string) string {
	if params != "" {
		params = "," + params
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}%s}}`, id, method, params)
}

func TestStdioStatelessRequestNeedsNoHandshake(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	p.send(alone(`"d"`, "server/discover", ""))
	require.Contains(t, p.recv(), `"supportedVersions"`)
	p.send(alone(`7`, "tools/call", `"name":"echo","arguments":{"a":1}`))
	require.Contains(t, p.recv(), `{\"a\":1}`)
	// Neither is a handshake: the session era still wants one, and gets it.
	p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: server not initialized","data":{"reason":"not_initialized"}}}`)
	p.handshake()
	p.send(alone(`8`, "tools/list", ""))
	require.Contains(t, p.recv(), `"resultType":"complete"`)
	p.ask(call("9", "echo", `{}`), echoed("9", `{}`))
	p.end()
}

func TestStdioStatelessErrors(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	for _, tc := range []struct {
		line string
		code int64
		want string
	}{
		{alone("1", "initialize", ""), -32601, "initialize"},
		{alone("1", "ping", ""), -32601, "ping"},
		{`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, -32601, "server/discover"},
		{strings.Replace(alone("1", "tools/list", ""), "2026-07-28", "2031-01-01", 1), -32022, `"supported":["2026-07-28","2025-11-25",`},
		{strings.Replace(alone("1", "tools/list", ""), `"2026-07-28"`, "7", 1), -32022, `"requested":"7"`},
		{strings.Replace(alone("1", "tools/list", ""), "clientCapabilities", "else", 1), -32602, "clientCapabilities"},
		{alone("9007199254740993", "tools/list", ""), -32600, "2^53"},
	} {
		p.send(tc.line)
		got := p.recv()
		var a struct{ Error struct{ Code int64 } }
		require.NoError(t, json.Unmarshal([]byte(got), &a))
		require.Equal(t, tc.code, a.Error.Code, "%s: %s", tc.line, got)
		require.Contains(t, got, tc.want)
	}
	p.end()
}

func TestStdioStatelessCancelled(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	p.send(alone(`"w"`, "tools/call", `"name":"wait"`))
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}`)
	p.send(alone(`2`, "tools/call", `"name":"echo","arguments":{}`))
	require.Contains(t, p.recv(), `"id":2`)
	p.end() // without a line for the cancelled call
}

// Two subscriptions on one pipe are distinguished by their ids, and the end of the
// input ends them with a result.
func TestStdioSubscriptions(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	seen := map[string]bool{}
	listen := `"notifications":{"toolsListChanged":true}`
	for _, id := range []string{`"a"`, `5`} {
		p.send(alone(id, listenMethod, listen))
		got := p.recv()
		require.Contains(t, got, "notifications/subscriptions/acknowledged")
		require.Contains(t, got, `"io.modelcontextprotocol/subscriptionId":`+id)
	}
	p.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	go func() { _ = p.in.Close() }()
	for range 2 {
		var a struct {
			ID     json.RawMessage
			Result map[string]any
		}
		require.NoError(t, json.Unmarshal([]byte(p.recv()), &a))
		require.NotNil(t, a.Result)
		seen[string(a.ID)] = true
	}
	require.Equal(t, map[string]bool{`"a"`: true, `5`: true}, seen)
	require.NoError(t, <-p.ended)
}

func TestStdioSubscriptionIsCancelled(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	p.send(alone(`"a"`, listenMethod, `"notifications":{"toolsListChanged":true}`))
	require.Contains(t, p.recv(), "acknowledged")
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`)
	p.end()
}

func TestHTTPEra(t *testing.T) {
	t.Parallel()
	old := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	e := alone("1", "tools/list", "")
	for _, tc := range []struct {
		name, version, session, body string
		status                       int
		behind, want                 string
	}{
		{name: "by the header", version: "2026-07-28", body: old, status: 200, behind: "stateless"},
		{name: "by the body", body: e, status: 200, behind: "stateless"},
		{name: "session header is ignored", version: "2026-07-28", session: "nobody", body: e, status: 200, behind: "stateless"},
		{name: "session of another header", version: "2025-11-25", session: "known", body: e, status: 200, behind: "POST"},
		{name: "another header", version: "2025-11-25", body: e, status: 200, behind: "stateless"},
		{name: "session", version: "2025-11-25", session: "known", body: old, status: 200, behind: "POST"},
		{name: "unknown revision", version: "2031-01-01", body: old, status: 400, want: `-32022`},
		{name: "unknown revision in both", version: "2031-01-01", body: strings.Replace(e, "2026-07-28", "2031-01-01", 1), status: 400, want: `"requested":"2031-01-01"`},
		{name: "unknown revision in the header", version: "2031-01-01", body: e, status: 400, want: `-32020`},
		{name: "removed method", version: "2026-07-28", body: alone("1", "initialize", ""), status: 404, want: `-32601`},
		{name: "unknown notification", version: "2026-07-28", body: `{"jsonrpc":"2.0","method":"nope"}`, status: 202},
		{name: "response", version: "2026-07-28", body: `{"jsonrpc":"2.0","id":1,"result":{}}`, status: 400, want: `"response"`},
		{name: "big id", version: "2026-07-28", body: alone("9007199254740993", "tools/list", ""), status: 400, want: `2^53`},
		{name: "batch", version: "2026-07-28", body: "[" + e + "]", status: 400, want: `"batch"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := post(t, testHTTP(behind()), tc.body, "Mcp-Protocol-Version", tc.version, "Mcp-Session-Id", tc.session)
			require.Equal(t, tc.status, w.Code, w.Body.String())
			require.Equal(t, tc.behind, w.Header().Get("X-Behind"))
			require.Contains(t, w.Body.String(), tc.want)
		})
	}
}

// post sends a body to a handler; header names come before their values, and an
// empty value is none.
func post(t *testing.T, h http.Handler, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
	r.Host = "127.0.0.1:80"
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		if header[i+1] != "" {
			r.Header.Set(header[i], header[i+1])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
