package families

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

const statelessMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// alone returns a request of the stateless era.
func alone(method, params string) string {
	if params != "" {
		params = "," + params
	}
	return `{"jsonrpc":"2.0","id":"e","method":"` + method + `","params":{` + statelessMeta + params + `}}`
}

func aloneCall(t *testing.T, tool string, args any) string {
	t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	return alone("tools/call", `"name":"`+tool+`","arguments":`+string(raw))
}

// postAlone posts a request of the stateless era with the headers it must have.
func (s *site) postAlone(body string, header ...string) (int, *answer) {
	s.t.Helper()
	var m struct {
		Method string
		Params struct{ Name, URI string }
	}
	require.NoError(s.t, json.Unmarshal([]byte(body), &m))
	header = append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", m.Method}, header...)
	if name := m.Params.Name + m.Params.URI; name != "" {
		header = append(header, "Mcp-Name", name)
	}
	return s.post(body, header...)
}

func TestStateless_DISC_01_Stdio(t *testing.T) {
	t.Parallel()
	w := dial(t)
	var found struct {
		SupportedVersions []string
		ResultType        string
		TTLMs             *int `json:"ttlMs"`
		CacheScope        string
		Capabilities      struct {
			Experimental struct{ ErrorProfiles map[string]string }
		}
	}
	require.NoError(t, json.Unmarshal(w.ask(alone("server/discover", "")).Result, &found))
	require.Equal(t, []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}, found.SupportedVersions)
	require.Equal(t, "complete", found.ResultType)
	require.Equal(t, 300_000, *found.TTLMs)
	require.Equal(t, "public", found.CacheScope)
	require.Equal(t, "artifact", found.Capabilities.Experimental.ErrorProfiles["store_artifact"])

	a := w.ask(aloneCall(t, "validate_artifact", example(t, "prd-006-validate.json")))
	require.Nil(t, a.Error)
	require.Contains(t, string(a.Result), `"structuredContent":{`)
	require.Equal(t, "artifact", w.ask(aloneCall(t, "validate_artifact", map[string]any{})).Error.Data["profile"])
	require.Equal(t, "nope", w.ask(aloneCall(t, "nope", map[string]any{})).Error.Data["tool"])
	require.Equal(t, int64(-32603), w.ask(aloneCall(t, "panic", map[string]any{})).Error.Code)

	// The session era is where it was.
	require.Equal(t, "not_initialized", w.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Error.Data["reason"])
	w.handshake("2026-07-28") // asked for, but not to be had by initialize
	a = w.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	require.Nil(t, a.Error)
	require.NotContains(t, string(a.Result), "resultType")
}

// DISC-11: callers that share a pipe share nothing else.
func TestStateless_DISC_11_ConcurrentCallers(t *testing.T) {
	t.Parallel()
	w := dial(t)
	n := testmain.Fewer(200, 4)
	line := alone("tools/call", `"name":"validate_artifact","arguments":{"artifact_content":"# x","artifact_id":"PRD-001","task_id":"t"}`) + "\n"
	go func() {
		for i := range n {
			_, _ = io.WriteString(w.in, strings.Replace(line, `"e"`, strconv.Itoa(i), 1))
		}
	}()
	seen := map[string]bool{}
	for range n {
		a := w.recv()
		require.Nil(t, a.Error)
		seen[string(a.ID)] = true
	}
	require.Len(t, seen, n)
}

func TestUnknownResource_DecisionsTwentyNine(t *testing.T) {
	t.Parallel()
	w := dial(t)
	for _, uri := range []string{"mcp://resources/artifacts/prds/PRD-999_v1.md", "mcp://resources/elsewhere", "file:///etc/passwd"} {
		a := w.ask(alone("resources/read", `"uri":"`+uri+`"`))
		require.Equal(t, int64(-32602), a.Error.Code)
		require.Equal(t, uri, a.Error.Data["uri"])
	}
}

func TestStateless_HTTP_33_Status(t *testing.T) {
	t.Parallel()
	s := serve(t)
	list := alone("tools/list", "")
	status, a := s.postAlone(list)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(a.Result), `"ttlMs":300000,"cacheScope":"public"`)
	require.Empty(t, s.session, "no session")
	status, a = s.postAlone(aloneCall(t, "validate_artifact", example(t, "prd-006-validate.json")))
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(a.Result), `"structuredContent":{`)
	for _, tc := range []struct {
		name, body string
		header     []string
		status     int
		code       int64
	}{
		{"no _meta", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}, 400, -32602},
		{"no capabilities", strings.Replace(list, "clientCapabilities", "x", 1), []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}, 400, -32602},
		{"no version header", list, []string{"Mcp-Method", "tools/list"}, 400, -32020},
		{"another version header", list, []string{"MCP-Protocol-Version", "2025-11-25", "Mcp-Method", "tools/list"}, 400, -32020},
		{"no method header", list, []string{"MCP-Protocol-Version", "2026-07-28"}, 400, -32020},
		{"another method header", list, []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call"}, 400, -32020},
		{"unsupported", strings.Replace(list, "2026-07-28", "2031-01-01", 1), []string{"MCP-Protocol-Version", "2031-01-01", "Mcp-Method", "tools/list"}, 400, -32022},
		{"unknown method", alone("nope", ""), []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "nope"}, 404, -32601},
		{"removed method", alone("ping", ""), []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "ping"}, 404, -32601},
	} {
		status, a := s.post(tc.body, tc.header...)
		require.Equal(t, tc.status, status, tc.name)
		require.NotNil(t, a.Error, tc.name)
		require.Equal(t, tc.code, a.Error.Code, tc.name)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		require.Equal(t, http.StatusMethodNotAllowed, s.do(method, "", "MCP-Protocol-Version", "2026-07-28").StatusCode)
	}
	s.handshake() // the same URL serves sessions
	_, a = s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "MCP-Protocol-Version", "2025-11-25")
	require.Nil(t, a.Error)
}

// An open subscription does not hold up the end of the server; it ends with a
// result.
func TestStateless_SubscriptionEndsWithTheServer(t *testing.T) {
	t.Parallel()
	s := serve(t)
	res := s.do(http.MethodPost, alone("subscriptions/listen", `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["test://watched-resource"]}`),
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	require.Equal(t, http.StatusOK, res.StatusCode)
	s.stop()
	require.NoError(t, <-s.ended)
}

func TestMounts(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.Families = []string{"artifact", "fixtures"} })
	root := s.url
	tools := func() string {
		_, a := s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		return string(a.Result)
	}
	s.handshake()
	all, known := tools(), s.session
	for _, name := range []string{`"store_artifact"`, `"panic"`, `"test_simple_text"`} {
		require.Contains(t, all, name)
	}
	s.url = root + "/artifact"
	status, a := s.post(ping)
	require.Equal(t, http.StatusNotFound, status, "a session of one mount is unknown at another")
	require.Equal(t, "unknown_session", a.Error.Data["reason"])
	s.session = ""
	s.handshake()
	require.Contains(t, tools(), `"store_artifact"`)
	require.NotContains(t, tools(), `"test_simple_text"`)
	_, a = s.post(`{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`)
	require.Equal(t, int64(-32601), a.Error.Code, "prompts are of the fixtures alone")
	_, a = s.post(callLine(t, "panic", map[string]any{}))
	require.Equal(t, "Unknown tool: panic", a.Error.Message)

	s.url, s.session = root+"/fixtures/", ""
	s.handshake()
	require.NotContains(t, tools(), `"store_artifact"`)
	_, a = s.post(`{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`)
	require.Nil(t, a.Error)

	s.url, s.session = root+"/cheese", ""
	require.Equal(t, http.StatusNotFound, s.do(http.MethodPost, ping).StatusCode)
	s.url, s.session = root, known
	_, a = s.post(ping)
	require.Nil(t, a.Error)
}

// HTTP-34: to close the stream is to cancel the call.
func TestStateless_HTTP_34_ClosedStreamCancels(t *testing.T) {
	t.Parallel()
	log := &logs{}
	s := serve(t, func(o *Options) { o.Logger = server.NewLogger(log, slog.LevelDebug) })
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(aloneCall(t, "wait", map[string]any{})))
	require.NoError(t, err)
	for name, value := range map[string]string{
		"Accept": "application/json, text/event-stream", "Content-Type": "application/json",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "wait",
	} {
		r.Header.Set(name, value)
	}
	gone := make(chan error, 1)
	go func() {
		res, err := s.client.Do(r)
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
		gone <- err
	}()
	await := func(event string) {
		require.Eventually(t, func() bool { return strings.Contains(log.String(), event) }, 10*time.Second, time.Millisecond)
	}
	await(`"method":"tools/call"`)
	leave()
	require.ErrorIs(t, <-gone, context.Canceled)
	await("wait_invocation_cancelled")
}
