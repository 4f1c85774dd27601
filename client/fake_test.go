package client_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// fakeServer plays a server over an in-memory pipe. What it answers is set by
// method; every message it gets is recorded in order.
type fakeServer struct {
	t    testing.TB
	conn net.Conn
	wire *wire

	mu      sync.Mutex
	answers map[string]answerFunc
	got     []json.RawMessage
	done    chan struct{}
	exited  <-chan struct{} // of a program that runs on without its pipe, else nil
}

// answerFunc returns a result, a *jsonrpc.Error, raw bytes of a whole line, or
// nil to stay silent.
type answerFunc func(req jsonrpc.Request) any

// rawLine is written as it is.
type rawLine string

// initResult is the answer to initialize of a well-behaved server.
const initResult = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake","version":"1.2.3"}}`

const oneTool = `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}}]}`

// newFake returns a transport and the server behind it, which answers
// initialize, tools/list, tools/call and ping.
func newFake(t testing.TB) (*transport.Stream, *fakeServer) {
	t.Helper()
	tr, conn := transport.InMemory()
	s := &fakeServer{t: t, conn: conn, wire: newWire(t), answers: map[string]answerFunc{}, done: make(chan struct{})}
	s.result("initialize", initResult)
	s.result("tools/list", oneTool)
	s.result("ping", `{}`)
	s.on("tools/call", func(req jsonrpc.Request) any {
		var p struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		if err := json.Unmarshal(req.Params, &p); err != nil {
			return jsonrpc.NewError(jsonrpc.CodeInvalidParams, err.Error(), nil)
		}
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": string(p.Arguments)}}}
	})
	go s.serve()
	t.Cleanup(func() {
		_ = conn.Close()
		<-s.done
	})
	return tr, s
}

func (s *fakeServer) on(method string, f answerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[method] = f
}

func (s *fakeServer) result(method, result string) {
	s.on(method, func(jsonrpc.Request) any { return json.RawMessage(result) })
}

func (s *fakeServer) serve() {
	defer close(s.done)
	lines := bufio.NewReader(s.conn)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		m, err := jsonrpc.Decode(line)
		if err != nil {
			s.t.Errorf("the client sent what is not a message: %v", err)
			return
		}
		s.mu.Lock()
		s.got = append(s.got, slices.Clone(line[:len(line)-1]))
		req, ok := m.(jsonrpc.Request)
		answer := s.answers[req.Method]
		s.mu.Unlock()
		s.wire.sent(line[:len(line)-1])
		if !ok {
			continue
		}
		if answer == nil {
			answer = func(jsonrpc.Request) any {
				return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil)
			}
		}
		// The answer is made before the next message is read, like in a server
		// that does one thing at a time; only its writing holds up nobody.
		go s.reply(req, answer(req))
	}
}

func (s *fakeServer) reply(req jsonrpc.Request, answer any) {
	resp := jsonrpc.Response{ID: req.ID}
	switch a := answer.(type) {
	case nil:
		return
	case rawLine:
		s.write(string(a))
		return
	case *jsonrpc.Error:
		resp.Error = a
	default:
		raw, err := json.Marshal(a)
		if err != nil {
			s.t.Errorf("answer: %v", err)
			return
		}
		resp.Result = raw
	}
	s.write(string(resp.AppendJSON(nil)))
}

// write sends one line. The client may be gone: then nobody misses it.
func (s *fakeServer) write(line string) {
	s.wire.received([]byte(line))
	_, _ = fmt.Fprintln(s.conn, line)
}

func (s *fakeServer) notify(method, params string) {
	s.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// received returns all messages so far, unchanged.
func (s *fakeServer) received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]string, len(s.got))
	for i, m := range s.got {
		out[i] = string(m)
	}
	return out
}

// methods returns the methods received, in order.
func (s *fakeServer) methods() []string {
	var out []string
	for _, line := range s.received() {
		var m struct{ Method string }
		require.NoError(s.t, json.Unmarshal([]byte(line), &m))
		out = append(out, m.Method)
	}
	return out
}

// asked returns how many messages came besides the one that ends the handshake,
// which the fake may still be reading when the client is connected.
func (s *fakeServer) asked() int {
	return len(slices.DeleteFunc(s.methods(), func(m string) bool { return m == "notifications/initialized" }))
}

// count returns how many messages of a method came.
func (s *fakeServer) count(method string) int {
	n := 0
	for _, m := range s.methods() {
		if m == method {
			n++
		}
	}
	return n
}

// sessionEra pins the revision that the servers of most tests speak, so that
// nothing is sent to find it out.
var sessionEra = client.WithProtocolVersion("2025-11-25")

// pinned puts sessionEra before options, which may say otherwise.
func pinned(opts []client.Option) []client.Option {
	return append([]client.Option{sessionEra}, opts...)
}

// connected returns a client of a fake server.
func connected(t testing.TB, opts ...client.Option) (*client.Client, *fakeServer) {
	t.Helper()
	tr, s := newFake(t)
	c, err := client.Connect(t.Context(), tr, pinned(opts)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ignoreClosed(c.Close())) })
	return c, s
}

// ignoreClosed drops the error of closing a pipe whose other end went first.
func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
