package authtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// ScopeForEach makes the MCP server offer tools in both eras. It refuses a call with 403 while
// wants returns a scope for its tool and the scopes of its token.
func (w *World) ScopeForEach(tools []string, wants func(tool string, has []string) (scope string)) {
	next := w.MCP.Config.Handler
	var list []any
	for _, name := range tools {
		list = append(list, map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}})
	}
	w.MCP.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var m struct {
			ID     any                   `json:"id"`
			Method string                `json:"method"`
			Params struct{ Name string } `json:"params"`
		}
		_ = json.Unmarshal(body, &m)
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		w.mu.Lock()
		scopes, valid := w.Access[token]
		w.mu.Unlock()
		result := func(v map[string]any) {
			v["resultType"], v["ttlMs"], v["cacheScope"] = "complete", 60000, "private"
			answer(rw, 200, map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": v})
		}
		switch {
		case !valid:
			next.ServeHTTP(rw, r)
		case m.Method == "server/discover":
			result(map[string]any{"supportedVersions": []string{r.Header.Get("Mcp-Protocol-Version")}, "capabilities": map[string]any{"tools": map[string]any{}}})
		case m.Method == "tools/list":
			result(map[string]any{"tools": list})
		case m.Method == "tools/call":
			if scope := wants(m.Params.Name, strings.Fields(scopes)); scope != "" {
				rw.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+scope+`"`)
				rw.WriteHeader(http.StatusForbidden)
				return
			}
			result(map[string]any{"content": []any{}})
		default:
			next.ServeHTTP(rw, r)
		}
	})
}
