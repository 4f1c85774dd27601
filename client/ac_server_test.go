package client_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
)

// seedServer is a session-era server written from the specification alone: it
// shares no code with the client. The acceptance tests (ac_*_test.go) meet it
// over a pipe and over HTTP, with JSON and with SSE answers, in virtual time.
type seedServer struct {
	over string // one of seedWays

	mu       sync.Mutex
	answers  map[string]func(params json.RawMessage) any
	statuses map[string]int           // HTTP status instead of an answer
	slow     map[string]time.Duration // how long a message takes to be accepted
	session  int                      // the number of the session, over HTTP
	got      []heard
	conns    []net.Conn
	clients  []*client.Client
	work     sync.WaitGroup
	web      *memhttp.Server
}

// heard is one message as the server got it.
type heard struct {
	line     string
	method   string
	members  []string // names of the message's members, sorted
	id       json.RawMessage
	params   json.RawMessage
	came     time.Time // when the server began to read it
	accepted time.Time // when it had accepted it; for a request, when it had answered
}

// refusal is a JSON-RPC error.
type refusal struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// garbage is sent in place of a message.
type garbage string

const (
	overPipe = "pipe"
	overJSON = "HTTP with JSON"
	overSSE  = "HTTP with SSE"
)

var seedWays = []string{overPipe, overJSON, overSSE}

// inBubbleEveryWay runs f with a server behind each transport, in a bubble of its own.
func inBubbleEveryWay(t *testing.T, f func(t *testing.T, s *seedServer)) {
	t.Helper()
	for _, over := range seedWays {
		t.Run(over, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSeedServer(over)
				defer s.stop()
				f(t, s)
			})
		})
	}
}

func newSeedServer(over string) *seedServer {
	s := &seedServer{
		over: over, answers: map[string]func(json.RawMessage) any{},
		statuses: map[string]int{}, slow: map[string]time.Duration{},
	}
	s.answer("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"docling","version":"1.2.3"}}`)
	s.answer("tools/list", `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
	s.answer("tools/call", `{"content":[{"type":"text","text":"done"}]}`)
	s.answer("ping", `{}`)
	if over != overPipe {
		s.web = memhttp.New(s)
	}
	return s
}

// stop ends the server and its clients: a test that fails leaves nothing behind.
func (s *seedServer) stop() {
	for _, c := range s.clients {
		_ = c.Close()
	}
	s.mu.Lock()
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	if s.web != nil {
		s.web.Close()
	}
	s.work.Wait()
}

// connect opens a client of this server, pinned to the session era. The server's
// end closes it. Only the test's own goroutine may connect.
func (s *seedServer) connect(t *testing.T, opts ...client.Option) (*client.Client, error) {
	t.Helper()
	c, err := s.open(t, pinned(opts))
	if err == nil {
		s.clients = append(s.clients, c)
	}
	return c, err
}

func (s *seedServer) open(t *testing.T, opts []client.Option) (*client.Client, error) {
	t.Helper()
	if s.over != overPipe {
		return client.Connect(t.Context(), &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: s.web.Transport()}, opts...)
	}
	tr, conn := transport.InMemory()
	s.mu.Lock()
	s.conns = append(s.conns, conn)
	s.mu.Unlock()
	s.work.Go(func() { s.serve(conn) })
	return client.Connect(t.Context(), tr, opts...)
}

// connected is connect for what must not fail.
func (s *seedServer) connected(t *testing.T, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := s.connect(t, opts...)
	require.NoError(t, err)
	return c
}

func (s *seedServer) answer(method, result string) {
	s.on(method, func(json.RawMessage) any { return json.RawMessage(result) })
}

// on sets the answer to a method: a json.RawMessage is its result, a refusal its
// error, garbage replaces the message, nil is silence.
func (s *seedServer) on(method string, f func(params json.RawMessage) any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[method] = f
}

// always answers a method with the same thing.
func (s *seedServer) always(method string, answer any) {
	s.on(method, func(json.RawMessage) any { return answer })
}

// takes makes a message take its time to be accepted.
func (s *seedServer) takes(method string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow[method] = d
}

func (s *seedServer) wait(method string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slow[method]
}

// status answers a method with an HTTP status and no body; 0 ends that.
func (s *seedServer) status(method string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses[method] = code
}

// forget loses the session, as a restart does.
func (s *seedServer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session++
}

// read notes a message and returns its place among those heard.
func (s *seedServer) read(line []byte) (int, heard) {
	h := heard{line: string(line), came: time.Now()}
	var members map[string]json.RawMessage
	if json.Unmarshal(line, &members) == nil {
		for name := range members {
			h.members = append(h.members, name)
		}
		slices.Sort(h.members)
		_ = json.Unmarshal(members["method"], &h.method)
		h.id, h.params = members["id"], members["params"]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, h)
	return len(s.got) - 1, h
}

// reply makes the answer to a message, nil for none.
func (s *seedServer) reply(h heard) any {
	<-time.After(s.wait(h.method))
	s.mu.Lock()
	f := s.answers[h.method]
	s.mu.Unlock()
	if h.id == nil {
		return nil
	}
	if f == nil {
		return refusal{Code: -32601, Message: "Method not found"}
	}
	return f(h.params)
}

func (s *seedServer) accept(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got[n].accepted = time.Now()
}

// encode is an answer as one line.
func encode(id json.RawMessage, answer any) string {
	switch a := answer.(type) {
	case garbage:
		return string(a)
	case refusal:
		text, err := json.Marshal(a)
		if err != nil {
			panic(err)
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, id, text)
	default:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, a)
	}
}

// serve answers one message after the other, as a program with one thread does.
func (s *seedServer) serve(conn net.Conn) {
	for lines := bufio.NewReader(conn); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		n, h := s.read(line)
		answer := s.reply(h)
		if answer != nil {
			if _, err := fmt.Fprintln(conn, encode(h.id, answer)); err != nil {
				return
			}
		}
		s.accept(n)
	}
}

// ServeHTTP implements [http.Handler].
func (s *seedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.work.Add(1)
	defer s.work.Done()
	switch r.Method {
	case http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case http.MethodDelete:
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	n, h := s.read(body)
	defer s.accept(n)
	s.mu.Lock()
	code, session := s.statuses[h.method], fmt.Sprintf("session-%d", s.session)
	s.mu.Unlock()
	if code == 0 && h.method != "initialize" && r.Header.Get("Mcp-Session-Id") != session {
		code = http.StatusNotFound
		<-time.After(s.wait(h.method))
	}
	if code != 0 {
		if code == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "3")
		}
		w.WriteHeader(code)
		return
	}
	answer := s.reply(h)
	switch {
	case h.id == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case answer == nil:
		<-r.Context().Done()
		return
	}
	w.Header().Set("Mcp-Session-Id", session)
	text := encode(h.id, answer)
	if s.over == overSSE {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: %s\n\n", text)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

// heard returns the messages so far, in order.
func (s *seedServer) heard() []heard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// methods returns the methods of the messages so far, in order.
func (s *seedServer) methods() []string {
	var out []string
	for _, h := range s.heard() {
		out = append(out, h.method)
	}
	return out
}

// count returns how many messages of a method came.
func (s *seedServer) count(method string) int {
	n := 0
	for _, m := range s.methods() {
		if m == method {
			n++
		}
	}
	return n
}
