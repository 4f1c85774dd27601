package proxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// serveLines answers a client until it closes the stream. Unlike clienttest.Server it remembers
// nothing.
func serveLines(on net.Conn) {
	lines := bufio.NewReader(on)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			_ = on.Close()
			return
		}
		var r struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &r) != nil || r.ID == nil {
			continue
		}
		result := `{"content":[{"type":"text","text":"done"}]}`
		if r.Method == mcp.MethodInitialize {
			result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`, mcp.LatestSession)
		}
		_, _ = fmt.Fprintf(on, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", r.ID, result) // a client that is gone is seen above
	}
}

// churnHost is a host of the session era, which leaves in one of three ways.
type churnHost struct {
	t      *testing.T
	client *http.Client
}

// send sends a request and returns the response, whose body is open.
func (h *churnHost) send(ctx context.Context, method, session, body string) *http.Response {
	h.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost/mcp", strings.NewReader(body))
	require.NoError(h.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := h.client.Do(r)
	require.NoError(h.t, err)
	return resp
}

// read sends a request and returns the body of the response.
func (h *churnHost) read(method, session, body string) (text, opened string) {
	h.t.Helper()
	resp := h.send(h.t.Context(), method, session, body)
	raw, err := io.ReadAll(resp.Body)
	require.NoError(h.t, err)
	require.NoError(h.t, resp.Body.Close())
	require.Less(h.t, resp.StatusCode, http.StatusBadRequest, string(raw))
	return string(raw), resp.Header.Get("Mcp-Session-Id")
}

// visit comes, calls once and goes.
func (h *churnHost) visit(n int) {
	h.t.Helper()
	_, id := h.read(http.MethodPost, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"h","version":"1"},"capabilities":{}}}`)
	require.NotEmpty(h.t, id)
	h.read(http.MethodPost, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	text, _ := h.read(http.MethodPost, id, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}`)
	require.Contains(h.t, text, "done")
	switch n % 3 {
	case 0:
		h.read(http.MethodDelete, id, "")
	case 1: // it just goes
	case 2: // a broken stream
		ctx, cancel := context.WithCancel(h.t.Context())
		resp := h.send(ctx, http.MethodGet, id, "")
		cancel()
		require.NoError(h.t, resp.Body.Close())
	}
}

// memory returns the size of what is reachable.
func memory() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc) //nolint:gosec // fits
}

// Hosts that come, call once and go cost nothing for long, however they go: 200 of them, or
// 100,000 with MAINSTAY_SOAK=all. Not parallel, because it counts the goroutines of the process.
func TestHostsComeAndGo(t *testing.T) { //nolint:paralleltest // see above
	rounds, each := 2, testmain.Fewer(100, 2)
	switch os.Getenv("MAINSTAY_SOAK") {
	case "all":
		rounds, each = 100, 1000
	case "":
	default:
		rounds, each = 10, 500
	}
	const limit = 16 // sessions at once
	// Not in a bubble of synctest, where stopped timers keep what they would have called.
	var servers sync.WaitGroup
	to := func(ctx context.Context, own ...client.Option) (*client.Client, error) {
		stream, end := transport.InMemory()
		servers.Go(func() { serveLines(end) })
		return client.Connect(ctx, stream, append(own, client.WithProtocolVersion(string(mcp.LatestSession)))...)
	}
	h := proxy.NewHandler(proxy.Target(to), proxy.WithSessionLimit(limit))
	var firstMemory, firstGoroutines int
	for round := range rounds {
		srv := memhttp.New(h) // a new one each time: it remembers its connections
		host := &churnHost{t, &http.Client{Transport: srv.Transport()}}
		for n := range each {
			host.visit(n)
		}
		srv.Close()
		switch round {
		case 0:
			firstMemory, firstGoroutines = memory(), runtime.NumGoroutine()
		case rounds - 1:
			require.Eventually(t, func() bool { // the last sessions take a moment to end
				return runtime.NumGoroutine() <= firstGoroutines+limit && memory() < firstMemory+16<<20
			}, time.Minute, 10*time.Millisecond)
			t.Logf("%d hosts: memory %d KiB after %d, %d KiB at the end", rounds*each, firstMemory>>10, each, memory()>>10)
		}
	}
	require.NoError(t, h.Close(t.Context()))
	servers.Wait()
}
