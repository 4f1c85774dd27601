package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// FuzzPost: whatever a host posts, it gets a status of HTTP and, with a body, JSON.
func FuzzPost(f *testing.F) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, seed := range [][4]string{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",` + meta + `}}`, "2026-07-28", "tools/call", "a"},
		{`{"jsonrpc":"2.0","id":"x","method":"resources/read","params":{"uri":"ä",` + meta + `}}`, "2026-07-28", "resources/read", "=?base64?w6Q=?="},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}}`, "", "", ""},
		{`[{"jsonrpc":"2.0","method":"notifications/cancelled"}]`, "2025-03-26", "", ""},
		{`{"jsonrpc":"2.0","id":null,"result":{}}`, "2026-07-28", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	nowhere := func(context.Context, ...client.Option) (*client.Client, error) {
		return nil, mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, "nothing listens there", errors.New("refused"))
	}
	h := proxy.NewHandler(proxy.Target(nowhere))
	f.Cleanup(func() { require.NoError(f, h.Close(context.WithoutCancel(f.Context()))) })
	f.Fuzz(func(t *testing.T, body, version, method, name string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		for key, value := range map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name} {
			if value != "" {
				r.Header.Set(key, value)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.GreaterOrEqual(t, w.Code, http.StatusOK)
		if w.Header().Get("Content-Type") == "application/json" {
			require.True(t, json.Valid(w.Body.Bytes()), w.Body.String())
		}
	})
}
