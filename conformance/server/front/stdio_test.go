package front

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// peer is the other end of a stdio session with a go-sdk server that has the
// tools echo (answers its arguments), wait (until released or cancelled) and
// ask (pings the client).
type peer struct {
	t       *testing.T
	backend *backend
	server  *mcp.Server
	in      *io.PipeWriter
	out     *bufio.Reader
	stop    chan struct{}
	release chan struct{}
	ended   chan error
}

const initialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}}`

func newPeer(t *testing.T, most int) *peer {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &peer{t: t, in: inW, out: bufio.NewReader(outR), stop: make(chan struct{}), release: make(chan struct{}), ended: make(chan error, 1)}
	server := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object"}`)
	server.AddTool(&mcp.Tool{Name: "echo", InputSchema: schema}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	})
	server.AddTool(&mcp.Tool{Name: "wait", InputSchema: schema}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-p.release:
			return &mcp.CallToolResult{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	server.AddTool(&mcp.Tool{Name: "ask", InputSchema: schema}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, r.Session.Ping(ctx, nil)
	})
	p.backend = &backend{}
	transport := &Stdio{In: inR, Out: outW, Backend: p.backend, Session: sessions(server), MaxBytes: most, Stop: p.stop}
	p.server = server
	go func() {
		p.ended <- transport.Serve(t.Context())
		_ = outW.Close()
	}()
	return p
}

// sessions serves each transport on a session of server.
func sessions(server *mcp.Server) func(context.Context, mcp.Transport) error {
	return func(ctx context.Context, t mcp.Transport) error {
		session, err := server.Connect(ctx, t, nil)
		if err != nil {
			return err
		}
		return session.Wait()
	}
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	_, err := io.WriteString(p.in, strings.Join(lines, "\n")+"\n")
	require.NoError(p.t, err)
}

func (p *peer) recv() string {
	p.t.Helper()
	l, err := p.out.ReadString('\n')
	require.NoError(p.t, err)
	return strings.TrimSuffix(l, "\n")
}

func (p *peer) ask(line, want string) {
	p.t.Helper()
	p.send(line)
	require.JSONEq(p.t, want, p.recv())
}

func (p *peer) handshake() {
	p.t.Helper()
	p.send(initialize)
	require.Contains(p.t, p.recv(), `"id":"init","result"`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (p *peer) end() {
	p.t.Helper()
	require.NoError(p.t, p.in.Close())
	rest, err := io.ReadAll(p.out)
	require.NoError(p.t, err)
	require.Empty(p.t, string(rest))
	require.NoError(p.t, <-p.ended)
}

func call(id, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

func echoed(id, args string) string {
	text, _ := json.Marshal(args)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, id, text)
}

func TestStdioBadMessagesCostThemselvesOnly(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	p.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: server not initialized","data":{"reason":"not_initialized"}}}`)
	p.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)
	p.ask(`{"jsonrpc":"2.0","id":3,"method":"initialize"}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Invalid params: initialize needs params","data":{"reason":"params","field":"params"}}}`)
	p.ask(`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{"protocolVersion":7}}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Invalid params: protocolVersion has a wrong type","data":{"reason":"params","field":"protocolVersion"}}}`)
	p.handshake()
	p.ask(`{oops`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)
	p.ask(`{"id":4,"method":"ping"}`, `{"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"Invalid Request: jsonrpc must be \"2.0\"","data":{"reason":"jsonrpc"}}}`)
	p.ask(`{"jsonrpc":"2.0","id":"n","method":"nope"}`, `{"jsonrpc":"2.0","id":"n","error":{"code":-32601,"message":"Method not found: nope","data":{"method":"nope"}}}`)
	p.ask(`[{"jsonrpc":"2.0","id":5,"method":"ping"}]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: a batch is served in revision 2025-03-26 only, and not inside another","data":{"reason":"batch"}}}`)
	// Notifications are never answered, whatever is wrong with them.
	p.send(`{"jsonrpc":"2.0","method":"nope"}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":[]}`,
		`{"jsonrpc":"2.0","method":"tools/list"}`, `{"jsonrpc":"2.0","id":99,"result":{}}`)
	p.ask(call("6", "echo", `{"a":1}`), echoed("6", `{"a":1}`))
	p.end()
}

func TestStdioIDsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	p.handshake()
	for _, id := range []string{`0`, `-7`, `9007199254740993`, `123456789012345678901234567890`, `"1"`, `""`, `"a\"b<é"`, `"550e8400-e29b-41d4-a716-446655440000"`} {
		p.send(call(id, "echo", `{}`))
		var out struct{ ID json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(p.recv()), &out))
		var want, got any
		dec := func(b []byte, v *any) {
			d := json.NewDecoder(bytes.NewReader(b))
			d.UseNumber()
			require.NoError(t, d.Decode(v))
		}
		dec([]byte(id), &want)
		dec(out.ID, &got)
		require.Equal(t, want, got)
	}
	p.end()
}

func TestStdioLineOverTheLimit_S1_TRANS_09(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 300)
	p.handshake()
	long := strings.Repeat("x", 100_000)
	p.ask(call(`"big"`, "echo", `{"a":"`+long+`"}`), `{"jsonrpc":"2.0","id":"big","error":{"code":-32600,"message":"Invalid Request: message is larger than 300 bytes","data":{"reason":"too_large","limit":300}}}`)
	p.ask(call("7", "echo", `{}`), echoed("7", `{}`))
	exact := call("8", "echo", `{"a":""}`)
	exact = strings.Replace(exact, `""`, `"`+strings.Repeat("y", 300-len(exact))+`"`, 1)
	require.Len(t, exact, 300)
	p.send(exact)
	require.Contains(t, p.recv(), `"id":8,"result"`)
	p.end()
}

func TestStdioDuplicateID(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	p.handshake()
	p.send(call("1", "wait", `{}`))
	p.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request: id is already in use","data":{"reason":"duplicate_id"}}}`)
	p.ask(`{"jsonrpc":"2.0","id":"1","method":"ping"}`, `{"jsonrpc":"2.0","id":"1","result":{}}`)
	close(p.release)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, p.recv())
	p.end()
}

func TestStdioCancelledCallIsNotAnswered(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	p.handshake()
	p.send(call(`"w"`, "wait", `{}`))
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody"}}`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w","reason":"x"}}`)
	p.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)
	p.end() // the call has ended, or this would wait for it, and left no line
}

func TestStdioServerAsksClient(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	p.handshake()
	p.send(call("1", "ask", `{}`))
	var req struct {
		ID     json.RawMessage
		Method string
	}
	require.NoError(t, json.Unmarshal([]byte(p.recv()), &req))
	require.Equal(t, "ping", req.Method)
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, req.ID))
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, p.recv())
	p.end()
}

// Everything that was sent before the end of the input is answered, although
// go-sdk drops what is still running at the end.
func TestStdioEndOfInputWaitsForCalls(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	go func() {
		_, _ = io.WriteString(p.in, initialize+"\n"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+
			call("1", "wait", `{}`)+"\n"+call("2", "echo", `{}`)) // no newline at the end
		_ = p.in.Close()
	}()
	require.Contains(t, p.recv(), `"id":"init"`)
	require.JSONEq(t, echoed("2", "{}"), p.recv())
	close(p.release)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, p.recv())
	require.NoError(t, <-p.ended)
}

func TestStdioStopDrains(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	p.handshake()
	p.send(call("1", "wait", `{}`))
	p.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"result":{}}`)
	close(p.stop)
	close(p.release)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, p.recv())
	require.NoError(t, <-p.ended)
}

func TestStdioDrainIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, 0)
		p.handshake()
		p.send(call("1", "wait", `{}`))
		begin := time.Now()
		require.NoError(t, p.in.Close())
		require.NoError(t, <-p.ended)
		require.Equal(t, defaultGrace, time.Since(begin))
	})
}

// A failed initialize leaves the session where it was.
func TestStdioInitializeAgainAfterFailure(t *testing.T) {
	t.Parallel()
	p := newPeer(t, 0)
	p.send(strings.Replace(initialize, `{"roots":{}}`, `{"roots":1}`, 1), `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	require.Contains(t, p.recv(), `"id":"init","error"`)
	require.Contains(t, p.recv(), "not_initialized")
	p.handshake()
	p.end()
}
