package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// useless is a server that can do everything, it says, and does nothing.
func useless(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		raw, err := io.ReadAll(r.Body)
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err != nil || r.Method != nethttp.MethodPost || json.Unmarshal(raw, &request) != nil {
			w.WriteHeader(nethttp.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		answer := `"error":{"code":-32603,"message":"no"}`
		switch {
		case request.ID == nil:
			w.WriteHeader(nethttp.StatusAccepted)
			return
		case request.Method == mcp.MethodInitialize:
			answer = `"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"useless","version":"1"},` +
				`"capabilities":{"tools":{},"prompts":{},"resources":{"subscribe":true},"completions":{}}}`
		case request.Method == mcp.MethodToolsList:
			answer = `"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`
		}
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(request.ID)+`,`+answer+`}`)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// TestEveryRowCanFail plays the rows with a server that does nothing.
func TestEveryRowCanFail(t *testing.T) {
	p := &peer{
		name: "useless", address: useless(t), menu: ours(), log: &tail{},
		path: map[mcp.Version]string{mcp.LatestSession: "/mcp", mcp.Latest: "/mcp"},
	}
	c := column{peer: p, way: http, era: mcp.LatestSession, newest: true}
	c.fill(t.Context())
	require.Len(t, c.cells, len(rows))
	for i, r := range rows {
		switch r.name {
		case "era", "close": // an honest session that ends well
			require.Equal(t, ok, c.cells[i].verdict, "%s: %s", r.name, c.cells[i].remark)
		default:
			require.Equal(t, failed, c.cells[i].verdict, r.name)
			require.NotEmpty(t, c.cells[i].remark, r.name)
		}
	}
	var out bytes.Buffer
	require.Equal(t, len(rows)-2, printMatrix(&out, []column{c}))
	require.Contains(t, out.String(), "FAIL useless HTTP 2025-11-25: subscribe: ")
}

func TestEraSeesTheWrongOne(t *testing.T) {
	p := &peer{address: useless(t), menu: ours(), path: map[mcp.Version]string{mcp.LatestSession: "/mcp", mcp.Latest: "/mcp"}}
	asked := &table{column: &column{peer: p, way: http, era: mcp.LatestSession}, wire: &wire{}, log: &tail{}}
	require.NoError(t, asked.open(t.Context(), string(mcp.LatestSession)))
	require.NoError(t, era(t.Context(), asked))
	asked.column.era = mcp.Latest
	require.ErrorContains(t, era(t.Context(), asked), "revision")
	require.NotEmpty(t, leftRunning(), "the open connection has goroutines")
	asked.column.era = mcp.LatestSession
	asked.wire.see([]byte(`{"method":"initialize"}`))
	require.ErrorContains(t, era(t.Context(), asked), "initialize")
	require.NoError(t, closing(t.Context(), asked))
}

func TestAChildThatLivesOnIsSeen(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("processes are looked up in /proc, which this system has not")
	}
	mark := newMark()
	ctx, stop := context.WithCancel(t.Context())
	child := exec.CommandContext(ctx, "sleep", "60")
	child.Env = append(os.Environ(), markName+"="+mark)
	require.NoError(t, child.Start())
	require.ErrorContains(t, childless(mark), "lives on")
	stop()
	require.Error(t, child.Wait())
	require.NoError(t, childless(mark))
}

func TestRemarks(t *testing.T) {
	remarks := []remark{{row: "cancel", in: "HTTP", text: "why"}}
	text, found := about(remarks, "cancel", "x HTTP 2025-11-25")
	require.True(t, found)
	require.Equal(t, "why", text)
	for _, other := range [][2]string{{"cancel", "x stdio 2025-11-25"}, {"call", "x HTTP 2025-11-25"}} {
		_, found = about(remarks, other[0], other[1])
		require.False(t, found, other)
	}
	c := column{peer: &peer{name: "x", cannot: remarks}, way: http, era: mcp.LatestSession}
	require.Equal(t, cell{notOffered, "why"}, c.play(t.Context(), &table{column: &c}, row{name: "cancel"}, nil))
}
