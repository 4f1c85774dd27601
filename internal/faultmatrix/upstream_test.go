package faultmatrix

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// upstream is a healthy server of both eras. It counts runs.
type upstream struct {
	written, read atomic.Int64
	sessions      atomic.Int64
}

const (
	offers = `"capabilities":{"tools":{},"resources":{}}`
	about  = `{"name":"upstream","version":"1"}`
	tools  = `[{"name":"write","inputSchema":{"type":"object"}},{"name":"peek","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]`
)

// answer runs a request.
func (u *upstream) answer(req jsonrpc.Request) jsonrpc.Response {
	result := func(text string) jsonrpc.Response {
		return jsonrpc.Response{ID: req.ID, Result: json.RawMessage(`{"resultType":"complete","ttlMs":0,"cacheScope":"private",` + text + `}`)}
	}
	switch req.Method {
	case mcp.MethodInitialize:
		return result(fmt.Sprintf(`"protocolVersion":%q,%s,"serverInfo":%s`, mcp.LatestSession, offers, about))
	case mcp.MethodDiscover:
		return result(fmt.Sprintf(`"supportedVersions":[%q],%s,"_meta":{"io.modelcontextprotocol/serverInfo":%s}`, mcp.Latest, offers, about))
	case mcp.MethodPing:
		return result(`"_meta":{}`)
	case mcp.MethodToolsList:
		return result(`"tools":` + tools)
	case mcp.MethodToolsCall:
		u.written.Add(1)
		return result(`"content":[{"type":"text","text":"written"}]`)
	case mcp.MethodResourcesRead:
		u.read.Add(1)
		return result(`"contents":[{"uri":"mem://a","text":"read"}]`)
	}
	return jsonrpc.Response{ID: req.ID, Error: jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil)}
}

// ServeHTTP is the server over streamable HTTP.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodDelete {
		w.WriteHeader(http.StatusOK)
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m, err := jsonrpc.Decode(body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	req, ok := m.(jsonrpc.Request)
	if !ok {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if req.Method == mcp.MethodInitialize {
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("session-", u.sessions.Add(1)))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(u.answer(req).AppendJSON(nil)) // fails only if the client is gone
}

// serve is the server over lines. It runs requests one by one and ends with in.
func (u *upstream) serve(in io.Reader, out io.WriteCloser) {
	var writes sync.Mutex
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			_ = out.Close()
			return
		}
		m, err := jsonrpc.Decode(line)
		if err != nil {
			continue
		}
		if req, ok := m.(jsonrpc.Request); ok {
			writes.Lock()
			_, _ = out.Write(append(u.answer(req).AppendJSON(nil), '\n')) // as above
			writes.Unlock()
		}
	}
}
