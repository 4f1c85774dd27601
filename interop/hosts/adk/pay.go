package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
)

// till is an MCP server (streamable HTTP with sessions, the revision of its client) with one tool, pay, which
// adds a line to a file. The first payment is made, but its answer is cut off.
type till struct {
	file string
	cut  atomic.Bool
}

const payTool = `{"tools":[{"name":"pay","description":"Pays an amount.","inputSchema":` +
	`{"type":"object","properties":{"amount":{"type":"integer"}},"required":["amount"]}}]}`

// ServeHTTP implements [http.Handler].
func (t *till) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed) // no stream, and sessions do not end
		return
	}
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if request.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	member, value := "result", "{}"
	switch request.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "till-1")
		value = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"till","version":"1"}}`, request.Params.ProtocolVersion)
	case "ping":
	case "tools/list":
		value = payTool
	case "tools/call":
		if err := t.pay(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if t.cut.CompareAndSwap(false, true) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_ = conn.Close() // without an answer
			}
			return
		}
		value = `{"content":[{"type":"text","text":"paid"}]}`
	default:
		member, value = "error", `{"code":-32601,"message":"Method not found"}`
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%q:%s}`, request.ID, member, value) // a client that is gone needs nothing
}

func (t *till) pay() error {
	f, err := os.OpenFile(t.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString("paid\n"); err != nil {
		return err
	}
	return f.Close()
}

func (t *till) payments() (int, error) {
	lines, err := os.ReadFile(t.file)
	return bytes.Count(lines, []byte("\n")), err
}
