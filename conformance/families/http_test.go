package families

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// site is a raw HTTP client on a served server.
type site struct {
	t       *testing.T
	url     string
	session string
	client  *http.Client
	stop    context.CancelFunc
	release chan struct{}
	ended   chan error
}

func serve(t *testing.T, change ...func(*Options)) *site {
	t.Helper()
	s := &site{t: t, release: make(chan struct{}), ended: make(chan error, 1), client: &http.Client{Transport: &http.Transport{}}}
	opts := Options{Options: server.Options{Families: []string{"artifact"}, Extra: []*family.Family{probe(s.release)}}}
	for _, c := range change {
		c(&opts)
	}
	srv, err := New(opts)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.url = "http://" + l.Addr().String() + server.Path
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	go func() {
		s.ended <- srv.Serve(ctx, l)
		close(s.ended)
	}()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-s.ended)
		s.client.CloseIdleConnections()
		require.NoError(t, srv.Close())
	})
	return s
}

func (s *site) do(method, body string, header ...string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.session != "" {
		r.Header.Set("Mcp-Session-Id", s.session)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	res, err := s.client.Do(r)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// post sends a message and returns the status and the answer in the body, if any.
func (s *site) post(body string, header ...string) (int, *answer) {
	s.t.Helper()
	res := s.do(http.MethodPost, body, header...)
	raw, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	if res.Header.Get("Mcp-Session-Id") != "" {
		s.session = res.Header.Get("Mcp-Session-Id")
	}
	text := string(raw)
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		_, text, _ = strings.Cut(text[strings.LastIndex(text, "\ndata: "):], ": ")
	}
	if strings.TrimSpace(text) == "" {
		return res.StatusCode, nil
	}
	var a answer
	require.NoError(s.t, json.Unmarshal([]byte(text), &a), text)
	return res.StatusCode, &a
}

func (s *site) handshake() {
	s.t.Helper()
	status, a := s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	require.Equal(s.t, http.StatusOK, status)
	require.Nil(s.t, a.Error)
	require.NotEmpty(s.t, s.session)
	status, a = s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	require.Equal(s.t, http.StatusAccepted, status, "X-WIRE-05")
	require.Nil(s.t, a)
}

const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`

func TestHTTPSession(t *testing.T) {
	t.Parallel()
	s := serve(t)
	status, a := s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "not_initialized", a.Error.Data["reason"])
	s.handshake()

	status, a = s.post(callLine(t, "validate_artifact", example(t, "prd-006-validate.json")))
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(a.Result), `24/24`)
	require.Contains(t, string(a.Result), `"structuredContent"`)

	status, a = s.post(`{oops`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, int64(-32700), a.Error.Code)
	require.Equal(t, "null", string(a.ID))
	_, a = s.post(`{"jsonrpc":"2.0","id":"n","method":"nope"}`)
	require.Equal(t, int64(-32601), a.Error.Code)
	_, a = s.post(callLine(t, "nope", map[string]any{}))
	require.Equal(t, "nope", a.Error.Data["tool"])
	_, a = s.post(callLine(t, "panic", map[string]any{}))
	require.Equal(t, int64(-32603), a.Error.Code)
	_, a = s.post(`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	require.Equal(t, "already_initialized", a.Error.Data["reason"], "X-GATE-02")
	_, a = s.post(ping)
	require.Nil(t, a.Error, "and the session goes on")
	known := s.session
	s.session = ""
	s.handshake()
	require.NotEqual(t, known, s.session, "without the id it opens another session")
	s.session = known
	_, a = s.post(ping)
	require.Nil(t, a.Error, "beside the first")

	require.Equal(t, http.StatusNoContent, s.do(http.MethodDelete, "").StatusCode)
	status, a = s.post(ping)
	require.Equal(t, http.StatusNotFound, status)
	require.NotNil(t, a.Error)
	require.Equal(t, http.StatusNotFound, s.do(http.MethodGet, "").StatusCode)
	s.session = ""
	s.handshake()
	require.NotEqual(t, known, s.session)
}

func TestHTTPGate(t *testing.T) {
	t.Parallel()
	s := serve(t)
	_, a := s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	require.Nil(t, a.Error)
	_, a = s.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	require.Equal(t, "not_initialized", a.Error.Data["reason"])
	_, a = s.post(ping)
	require.Nil(t, a.Error)
}

func TestHTTPPrimingEventAndPath(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.handshake()
	res := s.do(http.MethodPost, ping, "MCP-Protocol-Version", "2025-11-25")
	stream := bufio.NewReader(res.Body)
	first, err := stream.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "event: prime\n", first, "2025-11-25 streams begin with an event that has an id and no data")
	_, err = io.Copy(io.Discard, stream) // the next ping has the same id
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, s.do(http.MethodPost, ping, "MCP-Protocol-Version", "1999-01-01").StatusCode)

	s.url += "/"
	status, _ := s.post(ping)
	require.Equal(t, http.StatusOK, status)
	s.url += "mcp"
	require.Equal(t, http.StatusNotFound, s.do(http.MethodPost, ping).StatusCode)
}

func TestX_SEC_02_ForeignOriginAndHost(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.handshake()
	for _, header := range [][]string{{"Origin", "https://evil.example"}, {"Host", "evil.example"}} {
		status, a := s.post(ping, header...)
		require.Equal(t, http.StatusForbidden, status)
		require.NotNil(t, a.Error)
		require.Equal(t, http.StatusForbidden, s.do(http.MethodGet, "", header...).StatusCode)
		require.Equal(t, http.StatusForbidden, s.do(http.MethodDelete, "", header...).StatusCode)
	}
	status, _ := s.post(ping, "Origin", "http://localhost:5173")
	require.Equal(t, http.StatusOK, status)
}

// Over 4 MiB go-sdk's handler alone would refuse; over 16 MiB the front does.
func TestHTTPBodyLimit(t *testing.T) {
	t.Parallel()
	testmain.SkipLarge(t)
	s := serve(t)
	s.handshake()
	args := func(n int) map[string]any {
		return map[string]any{"artifact_content": strings.Repeat("x", n), "artifact_id": "ADR-001", "task_id": "t"}
	}
	_, a := s.post(callLine(t, "validate_artifact", args(5<<20)))
	require.Nil(t, a.Error)
	require.Contains(t, string(a.Result), "automated_pass_rate", "the tool has answered")
	status, a := s.post(callLine(t, "validate_artifact", args(16<<20)))
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	require.Equal(t, `"call"`, string(a.ID))
	require.Equal(t, "too_large", a.Error.Data["reason"])
	_, a = s.post(ping)
	require.Nil(t, a.Error)
}

// The end of the server answers what runs, and does not wait for open streams.
func TestX_SHUT_01_HTTP(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.handshake()
	stream := s.do(http.MethodGet, "")
	require.Equal(t, http.StatusOK, stream.StatusCode)
	running := s.do(http.MethodPost, callLine(t, "wait", map[string]any{}), "MCP-Protocol-Version", "2025-11-25")
	s.stop() // the call is running: its headers and priming event have come
	close(s.release)
	body, err := io.ReadAll(running.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), "waited")
	require.NoError(t, <-s.ended)
	_, err = io.ReadAll(stream.Body)
	require.NoError(t, err, "the stream ended in order")
}

// A call that does not end is cancelled when the grace is over.
func TestX_SHUT_01_HTTPGraceIsBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.ShutdownGrace = time.Millisecond })
	s.handshake()
	s.do(http.MethodPost, callLine(t, "wait", map[string]any{}), "MCP-Protocol-Version", "2025-11-25")
	s.stop()
	require.NoError(t, <-s.ended)
}
