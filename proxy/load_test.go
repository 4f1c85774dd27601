package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// at are hosts at another address.
func (w *web) at(address string) *web {
	return newWebFrom(w.t, w.h, address)
}

// stateless sends a call of the stateless era, and returns its response, whose body is open.
func (w *web) stateless(tool, text string) *http.Response {
	w.t.Helper()
	return w.do(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":{"text":"`+text+`"},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool)
}

// slowly is a server whose tool slow ends with its call.
func slowly(t *testing.T) *clienttest.Server {
	t.Helper()
	s := clienttest.NewServer(t)
	s.Tool("slow", "", slowTool)
	s.Tool("a", "", answers("I am a"))
	return s
}

// Stateless hosts at one address cannot keep out those at others, except on this machine, where
// all have the same.
func TestRequestsOfOneAddress(t *testing.T) {
	t.Parallel()
	for address, full := range map[string]bool{"192.0.2.1:1": true, "127.0.0.1:1": false} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWebFrom(t, proxy.NewHandler(pinned(slowly(t), mcp.Latest)), address)
				for range 256 {
					resp := w.stateless("slow", "")
					go func() { _, _ = io.Copy(io.Discard, resp.Body) }()
				}
				answer := body(t, w.stateless("a", ""))
				require.Equal(t, full, strings.Contains(answer, "256 requests of this address are not answered yet"), answer)
				if full {
					require.Contains(t, body(t, w.at("192.0.2.2:1").stateless("a", "")), "I am a")
				}
				w.srv.Cut() // the end of the connection cancels a stateless request
				time.Sleep(time.Second)
				require.Contains(t, body(t, w.stateless("a", "")), "I am a")
			})
		})
	}
}

// The messages that are worked on are bounded in bytes, also of calls whose connection broke.
func TestBytesInFlight(t *testing.T) {
	t.Parallel()
	for _, stateless := range []bool{true, false} {
		t.Run(fmt.Sprint("stateless ", stateless), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWebFrom(t, proxy.NewHandler(pinned(slowly(t), mcp.LatestSession)), "192.0.2.1:1")
				w.h.Occupy("192.0.2.1", 64<<20-100_000)
				id := w.session()
				send := func(size int) *http.Response {
					text := strings.Repeat("x", size)
					if stateless {
						return w.stateless("slow", text)
					}
					resp := w.do(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"slow","arguments":{"text":%q}}}`, size, text), "Mcp-Session-Id", id)
					require.NoError(t, resp.Body.Close()) // the call goes on
					return resp
				}
				refused := send(100_000)
				require.Equal(t, http.StatusServiceUnavailable, refused.StatusCode)
				require.NotEmpty(t, refused.Header.Get("Retry-After"))
				require.Equal(t, http.StatusOK, send(60_000).StatusCode)
				require.Equal(t, http.StatusServiceUnavailable, send(50_000).StatusCode)
				require.Equal(t, http.StatusOK, w.call(id, `"name":"a"`).StatusCode)
				require.Equal(t, http.StatusNotFound, w.at("192.0.2.2:1").call("no", `"name":"`+strings.Repeat("x", 100_000)+`"`).StatusCode)
				w.srv.Cut()
				require.Equal(t, http.StatusNoContent, w.do(http.MethodDelete, "", "Mcp-Session-Id", id).StatusCode)
				time.Sleep(10 * time.Second)
				id = w.session()
				require.Equal(t, http.StatusOK, send(50_000).StatusCode)
			})
		})
	}
}
