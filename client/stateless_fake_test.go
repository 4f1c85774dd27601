package client_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// statelessEra pins the era of most tests in files that begin with its name.
var statelessEra = client.WithProtocolVersion("2026-07-28")

// discoverAll is the answer to server/discover of a well-behaved server.
const discoverAll = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"completions":{},"logging":{}},` +
	`"resultType":"complete","ttlMs":300000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1.2.3"}}}`

// aTool is a tool that headers repeat arguments of.
const aTool = `{"name":"echo","inputSchema":{"type":"object","properties":{"message":{"type":"string"},"region":{"type":"string","x-mcp-header":"Region"}}}}`

const doneResult = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`

// listing is a page of tools.
func listing(tools string) string { return `{"resultType":"complete","tools":[` + tools + `]}` }

// posted is one HTTP request as a server got it.
type posted struct {
	verb   string
	header http.Header
	body   string
	req    jsonrpc.Request
}

// lone plays a server of the stateless era over HTTP in memory. Every request
// it gets is recorded.
type lone struct {
	t   testing.TB
	mem *memhttp.Server

	mu      sync.Mutex
	answers map[string]answerFunc
	got     []posted
}

// replyFunc writes a reply of its own; see [answerFunc].
type replyFunc func(w http.ResponseWriter, r *http.Request)

// newLone starts a server that answers server/discover, tools/list and
// tools/call.
func newLone(t testing.TB) *lone {
	t.Helper()
	s := &lone{t: t, answers: map[string]answerFunc{}}
	s.result("server/discover", discoverAll)
	s.result("tools/list", listing(aTool))
	s.result("tools/call", doneResult)
	s.mem = memhttp.New(onWire(t, s))
	return s
}

func (s *lone) on(method string, f answerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[method] = f
}

func (s *lone) result(method, result string) {
	s.on(method, func(jsonrpc.Request) any { return json.RawMessage(result) })
}

// script answers a method with one answer after the other, and with the last
// from then on.
func script(answers ...any) answerFunc {
	var mu sync.Mutex
	return func(jsonrpc.Request) any {
		mu.Lock()
		defer mu.Unlock()
		a := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		if text, ok := a.(string); ok {
			return json.RawMessage(text)
		}
		return a
	}
}

func (s *lone) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	m, _ := jsonrpc.Decode(slices.Clone(body))
	req, isRequest := m.(jsonrpc.Request)
	s.mu.Lock()
	s.got = append(s.got, posted{r.Method, r.Header.Clone(), string(body), req})
	answer := s.answers[req.Method]
	s.mu.Unlock()
	if !isRequest {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	var a any = jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil)
	if answer != nil {
		a = answer(req)
	}
	resp, status := jsonrpc.Response{ID: req.ID}, http.StatusOK
	switch a := a.(type) {
	case nil: // silence, until the client goes
		<-r.Context().Done()
		return
	case replyFunc:
		a(w, r)
		return
	case *jsonrpc.Error:
		resp.Error = a
		switch a.Code {
		case jsonrpc.CodeMethodNotFound:
			status = http.StatusNotFound
		case -32020, -32021, -32022:
			status = http.StatusBadRequest
		}
	case json.RawMessage:
		resp.Result = a
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(resp.AppendJSON(nil))
}

// dial connects to the server.
func (s *lone) dial(opts ...client.Option) (*client.Client, error) {
	return client.Connect(s.t.Context(), s.transport(), append([]client.Option{statelessEra}, opts...)...)
}

func (s *lone) transport() *transport.HTTP {
	return &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: s.mem.Transport()}
}

// alone returns a client of a new server, both gone with the test.
func alone(t testing.TB, opts ...client.Option) (*client.Client, *lone) {
	t.Helper()
	s := newLone(t)
	c, err := s.dial(opts...)
	if err != nil {
		s.mem.Close()
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		s.mem.Close()
	})
	return c, s
}

func (s *lone) received() []posted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// of returns the requests of one method.
func (s *lone) of(method string) []posted {
	return slices.DeleteFunc(s.received(), func(p posted) bool { return p.req.Method != method })
}

// last returns the latest request of a method.
func (s *lone) last(method string) posted {
	s.t.Helper()
	all := s.of(method)
	require.NotEmpty(s.t, all, method)
	return all[len(all)-1]
}

// meta returns the _meta of a request.
func (p posted) meta(t testing.TB) map[string]json.RawMessage {
	t.Helper()
	return metaIn(t, p.body)
}

func metaIn(t testing.TB, message string) map[string]json.RawMessage {
	t.Helper()
	var m struct {
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	require.NoError(t, json.Unmarshal([]byte(message), &m))
	return m.Params.Meta
}

// statelessPipe returns a client of a fake server of the stateless era over a
// pipe.
func statelessPipe(t testing.TB, opts ...client.Option) (*client.Client, *fakeServer) {
	t.Helper()
	tr, s := newFake(t)
	s.result("server/discover", discoverAll)
	s.result("tools/list", listing(aTool))
	s.result("tools/call", doneResult)
	c, err := client.Connect(t.Context(), tr, append([]client.Option{statelessEra}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ignoreClosed(c.Close())) })
	return c, s
}
