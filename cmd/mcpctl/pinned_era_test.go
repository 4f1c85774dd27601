package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// An era that the flags demand and the server does not speak is named as the reason, or
// as a possible one, in the words of the flag.
func TestDemandedEra(t *testing.T) {
	t.Parallel()
	rpc := func(code int, text, data string) string {
		return fmt.Sprintf(`"error":{"code":%d,"message":%q%s}`, code, text, data)
	}
	for name, tt := range map[string]struct {
		flags  []string
		status int
		answer string // a result or an error, "" for a text
		want   []string
	}{
		"stateless, lists sessions": {
			[]string{"--era", "stateless"},
			200, `"result":{"supportedVersions":["2025-11-25"]}`,
			[]string{"error: --era stateless demands revision 2026-07-28, of the stateless era; the server speaks the session era: its answer to server/discover names [2025-11-25] "},
		},
		"session, refused with a list": {
			[]string{"--era", "session"},
			400, rpc(-32022, "Unsupported protocol version", `,"data":{"supported":["2026-07-28"]}`),
			[]string{"error: --era session demands revision 2025-11-25, of the session era; the server speaks the stateless era: its answer to initialize names [2026-07-28] "},
		},
		"stateless, 404": {
			[]string{"--era", "stateless"},
			404, "",
			[]string{"error: there is no MCP endpoint for the stateless era at this address (HTTP 404) ", "--era stateless demands revision 2026-07-28, of the stateless era; the server may speak only the session era"},
		},
		"a revision, 404": {
			[]string{"--protocol-version", "2025-06-18"},
			404, "",
			[]string{"error: there is no MCP endpoint for the session era at this address (HTTP 404) ", "--protocol-version 2025-06-18 demands revision 2025-06-18, of the session era; the server may speak only the stateless era"},
		},
		"stateless, refused": {
			[]string{"--era", "2026-07-28"},
			400, rpc(-32000, "Bad Request: Server not initialized", ""),
			[]string{"error: Bad Request: Server not initialized ", "--era 2026-07-28 demands revision 2026-07-28, of the stateless era; the server may speak only the session era"},
		},
		"stateless, no such method": {
			[]string{"--era", "stateless"},
			200, rpc(-32601, "Method not found", ""),
			[]string{"error: Method not found ", "--era stateless demands revision 2026-07-28, of the stateless era; the server may speak only the session era"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				var req struct{ ID json.RawMessage }
				if json.NewDecoder(r.Body).Decode(&req) != nil || tt.answer == "" {
					w.Header().Set("Content-Type", "text/plain")
					w.WriteHeader(tt.status)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(req.ID)+`,`+tt.answer+`}`)
			}))
			t.Cleanup(web.Close)
			got := inProcess(t.Context(), false, append([]string{"ls", web.URL + "/mcp"}, tt.flags...)...)
			for _, part := range tt.want {
				require.Contains(t, got.err, part)
			}
			require.Contains(t, got.err, "\n  try       --era auto\n")
			require.NotContains(t, got.err, "WithProtocolVersion")
		})
	}
}

// The revision of the host does not overrule the one that the flags demand of a server.
func TestDemandedEraOfAProxy(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		flags []string
		first string
	}{
		"a revision": {[]string{"--protocol-version", "2026-07-28"}, "server/discover"},
		"stateless":  {[]string{"--era", "stateless"}, "server/discover"},
		"session":    {[]string{"--era", "session"}, "initialize 2025-06-18"},
		"none":       {nil, "initialize 2025-06-18"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var asked []string
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var req struct {
					Method string
					Params struct{ ProtocolVersion string }
				}
				mu.Lock()
				if json.NewDecoder(r.Body).Decode(&req) == nil {
					asked = append(asked, strings.TrimSpace(req.Method+" "+req.Params.ProtocolVersion))
				}
				mu.Unlock()
				w.WriteHeader(http.StatusNotFound)
			}))
			t.Cleanup(web.Close)
			const host = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}`
			args := append([]string{"proxy", "--no-cache", "--auth", "none", web.URL + "/mcp"}, tt.flags...)
			_, stdout, _ := script(t, t.TempDir(), host+"\n", args...)
			require.Contains(t, stdout, `"error"`)
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, tt.first, asked[0], asked)
		})
	}
}
