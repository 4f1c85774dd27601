package proxy_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// web is a handler behind a server in memory.
type web struct {
	t   *testing.T
	h   *proxy.Handler
	srv *memhttp.Server
}

func newWeb(t *testing.T, to proxy.Server, opts ...proxy.Option) *web {
	t.Helper()
	return newWebFrom(t, proxy.NewHandler(to, opts...), "127.0.0.1:1")
}

// newWebFrom is newWeb for hosts at an address.
func newWebFrom(t *testing.T, h *proxy.Handler, address string) *web {
	t.Helper()
	w := &web{t, h, memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = address
		h.ServeHTTP(w, r)
	}))}
	t.Cleanup(func() {
		require.NoError(t, h.Close(context.WithoutCancel(t.Context())))
		w.srv.Close()
	})
	return w
}

// host connects a host.
func (w *web) host(opts ...client.Option) *client.Client {
	w.t.Helper()
	c, err := client.Connect(w.t.Context(), &transport.HTTP{URL: "http://localhost/mcp", RoundTripper: w.srv.Transport()},
		append(opts, client.WithLogger(slog.New(slog.DiscardHandler)))...)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, c.Close()) })
	return c
}

// do sends a request, with headers as pairs of name and value.
func (w *web) do(method, body string, headers ...string) *http.Response {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, "http://localhost/mcp", strings.NewReader(body))
	require.NoError(w.t, err)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.srv.Transport().RoundTrip(req)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// session opens a session by hand and returns its id.
func (w *web) session() string {
	w.t.Helper()
	resp := w.do(http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`)
	require.Equal(w.t, http.StatusOK, resp.StatusCode)
	id := resp.Header.Get("Mcp-Session-Id")
	require.NotEmpty(w.t, id)
	require.Equal(w.t, http.StatusAccepted, w.do(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", id).StatusCode)
	return id
}

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(raw)
}

// Stateless hosts of one URL share a session server, and yet a question reaches only the host
// whose call it is for.
func TestQuestionsOfStrangers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.Tool("greet", "", func(c *clienttest.Call) (any, error) {
			answer, err := c.Ask(mcp.MethodElicitationCreate, json.RawMessage(`{"message":"Who?","mode":"form","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}`))
			if err != nil {
				return nil, err
			}
			return clienttest.Text(string(answer)), nil
		})
		w := newWeb(t, pinned(s, mcp.LatestSession))
		type answer struct {
			name string
			res  *mcp.CallToolResult
			err  error
		}
		answers := make(chan answer)
		for _, name := range []string{"Ada", "Grace", "Edsger"} {
			c := w.host(client.WithProtocolVersion(string(mcp.Latest)), client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
				<-time.After(time.Second) // until all are asked
				return client.AcceptForm(map[string]any{"name": name})
			}))
			go func() {
				res, err := c.CallTool(t.Context(), "greet", nil)
				answers <- answer{name, res, err}
			}()
		}
		for range 3 {
			a := <-answers
			require.NoError(t, a.err)
			require.Contains(t, text(t, a.res), a.name)
		}
	})
}

// A response whose connection broke is read in another one, from the first event that the host
// has not got.
func TestResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		release := make(chan struct{})
		s.Tool("slow", "", func(*clienttest.Call) (any, error) {
			<-release
			return clienttest.Text("done"), nil
		})
		w := newWeb(t, pinned(s, mcp.LatestSession))
		id := w.session()
		resp := w.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`, "Mcp-Session-Id", id)
		require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
		line := make([]byte, len("id: 1-0\n"))
		_, err := io.ReadFull(resp.Body, line)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		close(release)
		synctest.Wait()
		event := strings.TrimSpace(strings.TrimPrefix(string(line), "id: "))
		again := w.do(http.MethodGet, "", "Mcp-Session-Id", id, "Accept", "text/event-stream", "Last-Event-Id", event)
		require.Contains(t, body(t, again), `"text":"done"`)
		require.Equal(t, 1, s.Count(mcp.MethodToolsCall))
		require.Equal(t, http.StatusBadRequest, w.do(http.MethodGet, "", "Mcp-Session-Id", id, "Accept", "text/event-stream", "Last-Event-Id", "77-1").StatusCode)
		require.Equal(t, http.StatusNotFound, w.do(http.MethodGet, "", "Mcp-Session-Id", "other", "Accept", "text/event-stream", "Last-Event-Id", event).StatusCode)
	})
}

// What a page of another site, a host without the token, and a host after its session gets.
func TestRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		w := newWeb(t, pinned(s, mcp.LatestSession), proxy.WithToken("secret"), proxy.WithAllowedHosts("proxy.example"))
		with := func(status int, headers ...string) {
			t.Helper()
			require.Equal(t, status, w.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, headers...).StatusCode)
		}
		with(http.StatusUnauthorized)
		with(http.StatusUnauthorized, "Authorization", "Bearer other")
		with(http.StatusForbidden, "Authorization", "Bearer secret", "Host", "evil.example")
		with(http.StatusForbidden, "Authorization", "Bearer secret", "Origin", "https://evil.example")
		with(http.StatusForbidden, "Authorization", "Bearer secret", "Origin", "null")
		with(http.StatusBadRequest, "Authorization", "Bearer secret", "Origin", "https://proxy.example:8443", "Host", "Proxy.Example:80") // no session
		with(http.StatusNotFound, "Authorization", "Bearer secret", "Mcp-Session-Id", "none")
		with(http.StatusUnsupportedMediaType, "Authorization", "Bearer secret", "Content-Type", "text/plain")
	})
}

// Sessions that nobody uses end, and the newest gets the place of the one unused for longest.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		w := newWeb(t, pinned(s, mcp.LatestSession), proxy.WithSessionLimit(2), proxy.WithSessionTimeout(time.Minute))
		ping := func(id string) int {
			return w.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Mcp-Session-Id", id).StatusCode
		}
		first, second := w.session(), w.session()
		<-time.After(time.Second)
		require.Equal(t, http.StatusOK, ping(first))
		third := w.session()
		require.Equal(t, http.StatusNotFound, ping(second))
		require.Equal(t, http.StatusOK, ping(first))
		<-time.After(50 * time.Second)
		require.Equal(t, http.StatusOK, ping(third))
		<-time.After(50 * time.Second)
		require.Equal(t, http.StatusNotFound, ping(first))
		require.Equal(t, http.StatusOK, ping(third))
		require.Equal(t, http.StatusNoContent, w.do(http.MethodDelete, "", "Mcp-Session-Id", third).StatusCode)
		require.Equal(t, http.StatusNotFound, ping(third))
	})
}

// Close gives open requests time, but not more than its context has.
func TestCloseWithin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.Tool("slow", "", slowTool)
		w := newWeb(t, pinned(s, mcp.LatestSession))
		id := w.session()
		resp := w.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}`, "Mcp-Session-Id", id)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		closed := make(chan error, 1)
		go func() { closed <- w.h.Close(ctx) }()
		require.Contains(t, body(t, resp), `"isError":true`)
		require.NoError(t, <-closed)
		require.Less(t, time.Since(began), 3*time.Second)
	})
}

// A session's MCP-Protocol-Version is the revision that it agreed on, or is missing.
func TestRevisionOfSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, pinned(clienttest.NewServer(t), mcp.LatestSession))
		id := w.session() // of 2025-11-25
		for version, status := range map[string]int{
			"": http.StatusOK, "2025-11-25": http.StatusOK, "2025-06-18": http.StatusBadRequest, "2024-11-05": http.StatusBadRequest,
			"2026-07-28": http.StatusBadRequest, "1900-01-01": http.StatusBadRequest,
		} {
			headers := []string{"Mcp-Session-Id", id}
			if version != "" {
				headers = append(headers, "Mcp-Protocol-Version", version)
			}
			require.Equal(t, status, w.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, headers...).StatusCode, version)
			if status == http.StatusBadRequest && mcp.Version(version).Era() != mcp.EraStateless { // which has neither
				require.Equal(t, status, w.do(http.MethodGet, "", headers...).StatusCode, version)
				require.Equal(t, status, w.do(http.MethodDelete, "", headers...).StatusCode, version)
			}
		}
		require.Equal(t, http.StatusNoContent, w.do(http.MethodDelete, "", "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25").StatusCode)
	})
}
