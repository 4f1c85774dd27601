package families

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server"
)

// oldStream is a session over HTTP+SSE.
type oldStream struct {
	t      *testing.T
	site   *site
	post   string // the URL for messages
	events *bufio.Reader
	leave  context.CancelFunc
}

func withSSE(o *Options) { o.SSE = true }

// get asks for a stream.
func (s *site) get(ctx context.Context, path string, header ...string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(s.url, server.Path)+path, http.NoBody)
	require.NoError(s.t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := s.client.Do(r)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// stream opens a session over HTTP+SSE.
func (s *site) stream() *oldStream {
	s.t.Helper()
	ctx, leave := context.WithCancel(s.t.Context())
	s.t.Cleanup(leave)
	res := s.get(ctx, server.SSEPath)
	require.Equal(s.t, http.StatusOK, res.StatusCode)
	require.Equal(s.t, "text/event-stream", res.Header.Get("Content-Type"))
	o := &oldStream{t: s.t, site: s, events: bufio.NewReader(res.Body), leave: leave}
	name, data := o.next()
	require.Equal(s.t, "endpoint", name)
	o.post = strings.TrimSuffix(s.url, server.Path) + data
	return o
}

// next returns the next event, both empty at the end of the stream.
func (o *oldStream) next() (name, data string) {
	o.t.Helper()
	for {
		line, err := o.events.ReadString('\n')
		if err != nil {
			return "", ""
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "event: "):
			name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			data = line[len("data: "):]
		case line == "":
			return name, data
		}
	}
}

// send posts a message, which is taken.
func (o *oldStream) send(body string) {
	o.t.Helper()
	require.Equal(o.t, http.StatusAccepted, o.site.status(o.t.Context(), o.post, body))
}

// ask posts a request and returns what comes next.
func (o *oldStream) ask(body string) *answer {
	o.t.Helper()
	o.send(body)
	name, data := o.next()
	require.Equal(o.t, "message", name)
	a := &answer{}
	require.NoError(o.t, json.Unmarshal([]byte(data), a))
	return a
}

const oldInitialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func (o *oldStream) handshake() {
	o.t.Helper()
	a := o.ask(oldInitialize)
	require.Contains(o.t, string(a.Result), `"protocolVersion":"2024-11-05"`)
	o.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// A session over HTTP+SSE lives as long as its stream (OLD-01, OLD-05).
func TestSSE_OLD_01(t *testing.T) {
	t.Parallel()
	s := serve(t, withSSE)
	one, two := s.stream(), s.stream()
	require.NotEqual(t, one.post, two.post)
	one.handshake()
	two.handshake()
	require.Contains(t, string(one.ask(`{"jsonrpc":"2.0","id":"l","method":"tools/list"}`).Result), "validate_artifact")
	require.EqualValues(t, -32601, one.ask(`{"jsonrpc":"2.0","id":3,"method":"server/discover"}`).Error.Code)
	require.EqualValues(t, -32600, one.ask(`{"jsonrpc":"2.0","id":4,"method":7}`).Error.Code)
	one.leave()
	for s.status(t.Context(), one.post, ping) != http.StatusNotFound { // the server sees the end soon
	}
	require.Contains(t, string(two.ask(ping).Result), "{}", "the other one goes on")
	require.EqualValues(t, -32022, two.ask(`{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`).Error.Code,
		"the stateless era does not come this way (OLD-04)")
}

// What cannot be a message is refused by its status, and so is who may not come
// in (X-SEC-02).
func TestSSE_Refusals(t *testing.T) {
	t.Parallel()
	s := serve(t, withSSE, func(o *Options) { o.MaxMessageBytes, o.MaxSessions = 2000, 2 })
	o := s.stream()
	o.handshake()
	base := strings.TrimSuffix(s.url, server.Path)
	for name, c := range map[string]struct {
		url, body string
		want      int
	}{
		"no session":     {base + server.SSEPath, ping, http.StatusBadRequest},
		"unknown":        {base + server.SSEPath + "?session=NOT", ping, http.StatusNotFound},
		"not JSON":       {o.post, `{"jsonrpc":`, http.StatusBadRequest},
		"nothing":        {o.post, ``, http.StatusBadRequest},
		"too large":      {o.post, `"` + strings.Repeat("x", 2000) + `"`, http.StatusRequestEntityTooLarge},
		"another's path": {base + "/sse/x", ping, http.StatusNotFound},
	} {
		require.Equal(t, c.want, s.status(t.Context(), c.url, c.body), name)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, o.post, strings.NewReader(ping))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "text/plain")
	res, err := s.client.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusUnsupportedMediaType, res.StatusCode)
	require.Equal(t, http.StatusForbidden, s.get(t.Context(), server.SSEPath, "Origin", "http://evil.example").StatusCode)
	s.stream()
	full := s.get(t.Context(), server.SSEPath)
	require.Equal(t, http.StatusServiceUnavailable, full.StatusCode)
	require.Equal(t, "1", full.Header.Get("Retry-After"))
	require.Contains(t, string(o.ask(ping).Result), "{}")
	require.Equal(t, http.StatusNotFound, serve(t).get(t.Context(), server.SSEPath).StatusCode, "only where it is asked for (OLD-06)")
}

// A call that runs when the server is asked to end is answered, and then the
// stream ends (X-SHUT-01).
func TestX_SHUT_01_SSE(t *testing.T) {
	t.Parallel()
	s := serve(t, withSSE)
	o := s.stream()
	o.handshake()
	o.send(`{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"wait","arguments":{}}}`)
	require.Contains(t, string(o.ask(ping).Result), "{}", "the call has begun")
	s.stop()
	for s.status(t.Context(), o.post, ping) == http.StatusAccepted { // until the end has begun
		o.next()
	}
	close(s.release)
	_, data := o.next()
	require.Contains(t, data, `"id":"w","result"`)
	rest, err := io.ReadAll(o.events)
	require.NoError(t, err)
	require.Empty(t, string(rest))
	require.NoError(t, <-s.ended)
}
