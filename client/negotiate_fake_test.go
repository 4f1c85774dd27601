package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// discoverAnswer is the answer to server/discover of a well-behaved server.
const discoverAnswer = `{"supportedVersions":["2025-11-25","2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","ttlMs":0,"cacheScope":"private",` +
	`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1.2.3"}}}`

// rpcError is an answer that is an error, with raw data or none.
func rpcError(code int64, text, data string) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: code, Message: text}
	if data != "" {
		e.Data = json.RawMessage(data)
	}
	return e
}

// program is a transport whose every Connect starts a fresh server, as that of
// a program does.
type program struct {
	t *testing.T
	// script sets up the server of the n-th start, from 0.
	script func(n int, s *fakeServer)
	// id is its identity, of the test's own when empty.
	id      string
	started []*fakeServer
}

func (p *program) String() string { return "program" }

func (p *program) Identity() string { return p.t.Name() + p.id }

func (p *program) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	tr, s := newFake(p.t)
	p.script(len(p.started), s)
	p.started = append(p.started, s)
	conn, err := tr.Connect(ctx, h)
	return programConn{conn}, err
}

// wire is what each start received, by method.
func (p *program) wire() [][]string {
	var out [][]string
	for _, s := range p.started {
		out = append(out, s.methods())
	}
	return out
}

type programConn struct{ transport.Conn }

func (programConn) Traits() transport.Traits { return transport.Traits{Process: true} }

// probedSite is an HTTP server in memory. What it answers is set by method, and by
// "GET"; what it gets is recorded.
type probedSite struct {
	t   *testing.T
	srv *memhttp.Server

	mu      sync.Mutex
	answers map[string]probedAnswer
	got     []probedRequest
}

type probedRequest struct {
	method string // of the message, or the verb
	header http.Header
	body   string
}

// probedAnswer returns a status and a body, in which ID stands for the id of the
// request. The content type follows from the body. Status 0 breaks the
// connection, 1 never answers.
type probedAnswer func(req probedRequest) (status int, body string)

func newProbedSite(t *testing.T) *probedSite {
	s := &probedSite{t: t, answers: map[string]probedAnswer{}}
	s.srv = memhttp.New(onWire(t, http.HandlerFunc(s.serve)))
	t.Cleanup(s.srv.Close)
	s.result("initialize", initResult)
	s.result("tools/list", oneTool)
	s.on("notifications/initialized", func(probedRequest) (int, string) { return http.StatusAccepted, "" })
	s.on("GET", func(probedRequest) (int, string) { return http.StatusMethodNotAllowed, "" })
	return s
}

func (s *probedSite) on(method string, f probedAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[method] = f
}

func (s *probedSite) result(method, result string) {
	s.on(method, func(probedRequest) (int, string) {
		return http.StatusOK, `{"jsonrpc":"2.0","id":ID,"result":` + result + `}`
	})
}

func (s *probedSite) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m struct {
		Method string
		ID     json.RawMessage
	}
	_ = json.Unmarshal(body, &m)
	req := probedRequest{method: m.Method, header: r.Header, body: string(body)}
	if req.method == "" {
		req.method = r.Method
	}
	s.mu.Lock()
	s.got = append(s.got, req)
	answer := s.answers[req.method]
	s.mu.Unlock()
	if answer == nil {
		answer = func(probedRequest) (int, string) {
			return http.StatusOK, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"Method not found"}}`
		}
	}
	status, text := answer(req)
	switch status {
	case 0:
		panic(http.ErrAbortHandler)
	case 1:
		<-r.Context().Done()
		return
	}
	kind := "text/plain"
	if strings.HasPrefix(text, "{") {
		kind = "application/json"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	fmt.Fprint(w, strings.Replace(text, "ID", string(m.ID), 1))
}

func (s *probedSite) transport() *transport.HTTP {
	return &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: s.srv.Transport()}
}

func (s *probedSite) requests() []probedRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]probedRequest(nil), s.got...)
}

func (s *probedSite) methods() []string {
	var out []string
	for _, r := range s.requests() {
		out = append(out, r.method)
	}
	return out
}

// find connects without saying which era, and remembers nothing unless an
// option says so.
func find(t *testing.T, tr transport.Transport, opts ...client.Option) (*client.Client, error) {
	t.Helper()
	base := []client.Option{
		client.WithProtocolVersion(client.AutoVersion), client.WithEraStore(nil),
		client.WithCache(client.CacheConfig{NoPreload: true}), client.WithRequiredCapabilities(),
	}
	return client.Connect(t.Context(), tr, append(base, opts...)...)
}

// found is find that must succeed, and closes the client.
func found(t *testing.T, tr transport.Transport, opts ...client.Option) client.Negotiated {
	t.Helper()
	c, err := find(t, tr, opts...)
	require.NoError(t, err)
	require.NoError(t, ignoreClosed(c.Close()))
	return c.Negotiated()
}
