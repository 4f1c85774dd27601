package front

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// behind replaces go-sdk's handler and echoes its input.
func behind() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Behind", r.Method)
		_, _ = w.Write(b)
	})
}

// site is the front of session and of what answers "stateless", behind a gate.
func site(session http.Handler) (http.Handler, *Gate, *backend) {
	b := &backend{sessions: map[string]string{"known": "2025-11-25", "old": "2025-03-26"}}
	stateless := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Behind", "stateless"+r.Header.Get(sessionHeader))
		_, _ = io.Copy(w, r.Body)
	})
	gate := NewGate(GateOptions{AllowedHosts: []string{"mcp.example"}})
	return gate.Wrap(NewHTTP(HTTPOptions{Backend: b, Session: session, Stateless: stateless, MaxBytes: 400})), gate, b
}

func testHTTP(session http.Handler) http.Handler {
	h, _, _ := site(session)
	return h
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, tc := range []struct {
		name, session, body string
		header              []string // name, value pairs
		host                string
		status              int
		want                string // part of the body; "" for an empty one
		through             bool
	}{
		{name: "ping", session: "known", body: ping, status: 200, want: ping, through: true},
		{name: "ping without a session", body: ping, status: 400, want: `"not_initialized"`},
		{name: "list without a session", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, status: 400, want: `"not_initialized"`},
		{name: "call without params", session: "known", body: `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, status: 200, want: `-32602`},
		{name: "initialize", body: initialize, status: 200, want: initialize, through: true},
		{name: "initialize without version", body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, status: 400, want: `-32602`},
		{name: "unknown session", session: "other", body: ping, status: 404, want: `"id":null,"error":{"code":-32001`},
		{name: "unknown method", session: "known", body: `{"jsonrpc":"2.0","id":1,"method":"nope"}`, status: 200, want: `-32601`},
		{name: "unknown method of unknown session", session: "other", body: `{"jsonrpc":"2.0","id":1,"method":"nope"}`, status: 404, want: `Session not found`},
		{name: "probe of the stateless era", body: `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, status: 200, want: `-32601`},
		{name: "unknown notification", session: "known", body: `{"jsonrpc":"2.0","method":"nope"}`, status: 202},
		{name: "notification", session: "known", body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, status: 200, through: true, want: "initialized"},
		{name: "bad notification", session: "known", body: `{"jsonrpc":"2.0","method":"nope","params":1}`, status: 400},
		{name: "response", session: "known", body: `{"jsonrpc":"2.0","id":1,"result":{}}`, status: 200, through: true, want: "result"},
		{name: "response without a session", body: `{"jsonrpc":"2.0","id":1,"result":{}}`, status: 400, want: "not_initialized"},
		{name: "no JSON", session: "known", body: `{oops`, status: 400, want: `"id":null,"error":{"code":-32700`},
		{name: "empty", session: "known", body: ``, status: 400, want: `-32700`},
		{name: "batch", session: "known", body: `[` + ping + `]`, status: 400, want: `"batch"`},
		{name: "no jsonrpc", session: "known", body: `{"id":"q","method":"ping"}`, status: 400, want: `"id":"q","error":{"code":-32600`},
		{name: "id beyond float64", session: "known", body: `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, status: 400, want: `"id":9007199254740993`},
		{name: "over the limit", session: "known", body: `{"jsonrpc":"2.0","id":"big","x":"` + strings.Repeat("x", 400) + `"}`, status: 413, want: `"id":"big"`},
		{name: "not JSON by its type", session: "known", body: "x", header: []string{"Content-Type", "text/plain"}, status: 200, through: true, want: "x"},
		{name: "local origin", session: "known", body: ping, header: []string{"Origin", "http://localhost:3000"}, status: 200, through: true, want: ping},
		{name: "allowed origin", session: "known", body: ping, header: []string{"Origin", "https://MCP.example"}, host: "mcp.example:443", status: 200, through: true, want: ping},
		{name: "foreign origin", session: "known", body: ping, header: []string{"Origin", "https://evil.example"}, status: 403, want: "Origin"},
		{name: "null origin", session: "known", body: ping, header: []string{"Origin", "null"}, status: 403, want: "Origin"},
		{name: "tricky origin", session: "known", body: ping, header: []string{"Origin", "http://localhost.evil.example"}, status: 403, want: "Origin"},
		{name: "origin that ends in ours", session: "known", body: ping, header: []string{"Origin", "http://evillocalhost"}, status: 403, want: "Origin"},
		{name: "host that ends in ours", session: "known", body: ping, host: "evillocalhost:80", status: 403, want: "Host"},
		{name: "foreign host", session: "known", body: ping, host: "evil.example:80", status: 403, want: "Host"},
		{name: "loopback host v6", session: "known", body: ping, host: "[::1]:80", status: 200, through: true, want: ping},
		{name: "loopback host without port", session: "known", body: ping, host: "127.0.0.2", status: 200, through: true, want: ping},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(tc.body))
			r.Host = "127.0.0.1:80"
			if tc.host != "" {
				r.Host = tc.host
			}
			r.Header.Set("Content-Type", "application/json; charset=utf-8")
			if tc.session != "" {
				r.Header.Set("Mcp-Session-Id", tc.session)
			}
			for i := 0; i < len(tc.header); i += 2 {
				r.Header.Set(tc.header[i], tc.header[i+1])
			}
			w := httptest.NewRecorder()
			testHTTP(behind()).ServeHTTP(w, r)
			require.Equal(t, tc.status, w.Code, w.Body.String())
			require.Equal(t, tc.through, w.Header().Get("X-Behind") != "")
			if tc.want == "" {
				require.Empty(t, w.Body.String())
			}
			require.Contains(t, w.Body.String(), tc.want)
		})
	}
}

func TestHTTPOtherMethodsCheckOrigin(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		r := httptest.NewRequest(method, "/mcp", nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		testHTTP(behind()).ServeHTTP(w, r)
		require.Equal(t, method, w.Header().Get("X-Behind"))
		r.Header.Set("Origin", "http://evil.example")
		w = httptest.NewRecorder()
		testHTTP(behind()).ServeHTTP(w, r)
		require.Equal(t, http.StatusForbidden, w.Code)
		require.Empty(t, w.Header().Get("X-Behind"))
	}
}

// Of several origins one that is foreign is enough.
func TestHTTPEveryOriginIsChecked(t *testing.T) {
	t.Parallel()
	for _, origins := range [][]string{{"http://localhost", "http://evil.example"}, {"http://evil.example", "http://localhost"}} {
		r := httptest.NewRequest(http.MethodGet, "/mcp", nil)
		r.Host, r.Header["Origin"] = "localhost", origins
		w := httptest.NewRecorder()
		testHTTP(behind()).ServeHTTP(w, r)
		require.Equal(t, http.StatusForbidden, w.Code, origins)
	}
}

// A session that its client has ended is unknown at once, whatever go-sdk still
// has to do.
func TestHTTPDeletedSessionIsForgotten(t *testing.T) {
	t.Parallel()
	h, _, b := site(behind())
	r := httptest.NewRequest(http.MethodDelete, "/mcp", nil)
	r.Host = "localhost"
	r.Header.Set(sessionHeader, "known")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.MethodDelete, w.Header().Get("X-Behind"))
	require.NotContains(t, b.sessions, "known")
	require.Equal(t, http.StatusNotFound, post(t, h, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, sessionHeader, "known").Code)
}

// The response to a canceled request is omitted, and no other message of its stream.
func TestHTTPCancelledIsNotAnswered(t *testing.T) {
	t.Parallel()
	const events = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"id\":\"a\"}\n\n"
	const answer = "event: message\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32603,\"message\":\"context canceled\"}}\n\n"
	for _, tc := range []struct {
		name, session, cancelled, media, want string
	}{
		{"the request", "known", `"\u0061"`, "text/event-stream", events},
		{"an id of another type", "known", `1`, "text/event-stream", events + answer},
		{"no id", "known", `null`, "text/event-stream", events + answer},
		{"of another session", "old", `"a"`, "text/event-stream", events + answer},
		{"a body of JSON", "known", `"a"`, "application/json", events + answer},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			begun, cancelled := make(chan bool), make(chan bool)
			h := testHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				if !strings.Contains(string(b), "tools/list") {
					return
				}
				w.Header().Set("Content-Type", tc.media)
				close(begun)
				<-cancelled
				_, _ = io.WriteString(w, events)
				_, _ = io.WriteString(w, answer)
			}))
			got := make(chan string)
			go func() {
				got <- post(t, h, `{"jsonrpc":"2.0","id":"a","method":"tools/list"}`, sessionHeader, "known").Body.String()
			}()
			<-begun
			post(t, h, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+tc.cancelled+`}}`, sessionHeader, tc.session)
			close(cancelled)
			require.Equal(t, tc.want, <-got)
		})
	}
}

func TestHTTPDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h, gate, _ := site(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
		post := func() int {
			r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(initialize))
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w.Code
		}
		first := make(chan int, 1)
		go func() { first <- post() }()
		synctest.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		gate.Drain(ctx)
		require.Equal(t, time.Second, time.Since(begin), "the running call holds it up, ctx bounds it")
		require.Equal(t, http.StatusServiceUnavailable, post())
		close(release)
		gate.Drain(t.Context())
		require.Equal(t, http.StatusOK, <-first)
	})
}
