package families_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families"
	"github.com/mainstay-mcp/mainstay/conformance/families/assistant"
	"github.com/mainstay-mcp/mainstay/conformance/server"
)

// mount is the family on the real server, spoken to over plain HTTP.
type mount struct {
	url, session string
	client       *http.Client
}

const sessionToken = "0b5f7f0e-5f4e-4a53-9a3f-2f3f6c1b7a10"

func newMount(t *testing.T) *mount {
	t.Helper()
	srv, err := families.New(families.Options{
		Options:   server.Options{Families: []string{assistant.Name}, DataDir: t.TempDir()},
		Assistant: assistant.Options{SessionToken: sessionToken},
	})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, l) }()
	m := &mount{url: "http://" + l.Addr().String(), client: &http.Client{
		Transport:     &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
		m.client.CloseIdleConnections()
		require.NoError(t, srv.Close())
	})
	return m
}

func (m *mount) do(t *testing.T, method, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, m.url+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if m.session != "" {
		req.Header.Set("Mcp-Session-Id", m.session)
	}
	res, err := m.client.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// result posts a request and returns the result in the answer.
func (m *mount) result(t *testing.T, path, method string, params any) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	require.NoError(t, err)
	res := m.do(t, http.MethodPost, path, string(body))
	raw, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode, "answered here, by no redirect: %s", raw)
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		m.session = id
	}
	text := string(raw)
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		text = text[strings.LastIndex(text, "data: ")+len("data: "):]
	}
	var answer struct{ Result, Error json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(text), &answer), text)
	require.Empty(t, answer.Error)
	return string(answer.Result)
}

func (m *mount) handshake(t *testing.T, path string) {
	t.Helper()
	require.Contains(t, m.result(t, path, "initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"},
	}), `"2025-06-18"`)
	require.NotEmpty(t, m.session)
	require.Equal(t, http.StatusAccepted, m.do(t, http.MethodPost, path, `{"jsonrpc":"2.0","method":"notifications/initialized"}`).StatusCode)
}

func TestMount_S4_MOUNT_01_BothPaths(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/mcp", "/mcp/"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			m := newMount(t)
			m.handshake(t, path)
			require.Contains(t, m.result(t, path, "tools/list", map[string]any{}), `"save_artifact"`)
			saved := m.result(t, path, "tools/call", map[string]any{
				"name": "save_artifact", "arguments": map[string]any{"session_token": sessionToken, "title": "x", "content_markdown": "y"},
			})
			require.Contains(t, saved, "ARTIFACT_CREATED:")
		})
	}
}

func TestMount_S4_MOUNT_03_GetAndDelete(t *testing.T) {
	t.Parallel()
	m := newMount(t)
	m.handshake(t, "/mcp")
	stream := m.do(t, http.MethodGet, "/mcp", "")
	if stream.StatusCode != http.StatusMethodNotAllowed {
		require.Equal(t, http.StatusOK, stream.StatusCode)
		require.Equal(t, "text/event-stream", stream.Header.Get("Content-Type"))
	}
	deleted := m.do(t, http.MethodDelete, "/mcp", "").StatusCode
	require.Equal(t, http.StatusNoContent, deleted)
	const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	ended := m.session
	for _, id := range []string{ended, "no-such-session"} {
		m.session = id
		require.Equal(t, http.StatusNotFound, m.do(t, http.MethodPost, "/mcp", ping).StatusCode, id)
		require.Equal(t, http.StatusNotFound, m.do(t, http.MethodGet, "/mcp", "").StatusCode, id)
	}
	m.session = ""
	m.handshake(t, "/mcp")
	require.NotEqual(t, ended, m.session)
}
