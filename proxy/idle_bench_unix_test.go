//go:build unix

package proxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// BenchmarkIdleSession is the memory of a session of a [proxy.Handler] that has called a tool and
// is idle: live heap and stacks, with the client of the server, which is reached by a URL. The
// connections of hosts are not in it. Run:
//
//	go test ./proxy -run '^$' -bench Idle -benchtime 1000x
func BenchmarkIdleSession(b *testing.B) {
	srv := memhttp.New(http.HandlerFunc(benchHTTP))
	hosts := srv.Transport()
	h := proxy.NewHandler(proxy.Target(func(ctx context.Context, opts ...client.Option) (*client.Client, error) {
		return client.Connect(ctx, &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: hosts}, opts...)
	}), proxy.WithSessionLimit(b.N+1))
	visit(b, h)
	before, goroutines := inUse(), runtime.NumGoroutine()
	b.ResetTimer()
	for range b.N {
		visit(b, h)
	}
	b.StopTimer()
	b.ReportMetric(float64(inUse()-before)/float64(b.N), "B/session")
	b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/float64(b.N), "goroutines/session")
	require.NoError(b, h.Close(b.Context()))
	srv.Close()
}

// inUse returns the bytes of live objects and stacks.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // what finalizers freed, and stacks that shrank
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// visit opens a session and calls a tool.
func visit(tb testing.TB, h http.Handler) {
	tb.Helper()
	id := postTo(tb, h, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"sampling":{},"elicitation":{}},"clientInfo":{"name":"bench","version":"1"}}}`)
	postTo(tb, h, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	postTo(tb, h, id, `{"jsonrpc":"2.0","id":1`+strings.TrimSpace(benchCall))
}

// postTo sends a message and returns the session.
func postTo(tb testing.TB, h http.Handler, session, body string) string {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:1" // one address that is not loopback may have a quarter of the sessions
	r.Header.Set("Content-Type", "application/json")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Less(tb, w.Code, http.StatusMultipleChoices, w.Body)
	return w.Header().Get("Mcp-Session-Id")
}

// benchHTTP is a session server that answers each request with the same result.
func benchHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	raw, _ := io.ReadAll(r.Body) // a broken body has no id
	if json.Unmarshal(raw, &m) != nil || m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	result := strings.TrimSpace(benchAnswer)
	if m.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", "bench")
		result = `,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}}`
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s%s`, m.ID, result)
}
