package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// web is an HTTP server that keeps its requests.
type web struct {
	url string

	mu  sync.Mutex
	got []posted
}

// posted is one received request.
type posted struct {
	verb   string
	path   string
	header http.Header
	body   string
	msg    jsonrpc.Message // nil if the body is not a message
}

// method returns the JSON-RPC method, or the HTTP method.
func (p posted) method() string {
	switch m := p.msg.(type) {
	case jsonrpc.Request:
		return m.Method
	case jsonrpc.Notification:
		return m.Method
	case jsonrpc.Response:
		return "response " + m.ID.String()
	}
	return p.verb
}

// id returns the JSON text of the request's id.
func (p posted) id() string {
	req, _ := p.msg.(jsonrpc.Request)
	return string(req.ID.AppendJSON(nil))
}

// handlerOf keeps requests and answers them with reply.
func (s *web) handlerOf(reply func(w http.ResponseWriter, r *http.Request, p posted)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		p := posted{verb: r.Method, path: r.URL.Path, header: r.Header.Clone(), body: string(body)}
		if m, err := jsonrpc.Decode(body); err == nil {
			p.msg = m
		}
		s.mu.Lock()
		s.got = append(s.got, p)
		s.mu.Unlock()
		reply(w, r, p)
	})
}

// serve starts a web server on the loopback.
func serve(t *testing.T, reply func(w http.ResponseWriter, r *http.Request, p posted)) *web {
	s := &web{}
	srv := httptest.NewServer(s.handlerOf(reply))
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

func (s *web) received() []posted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]posted(nil), s.got...)
}

// find returns the requests with a method.
func (s *web) find(method string) []posted {
	var out []posted
	for _, p := range s.received() {
		if p.method() == method {
			out = append(out, p)
		}
	}
	return out
}

// page is an open connection to a web server.
type page struct {
	*testing.T
	transport.Conn
	mu     sync.Mutex
	last   int64
	faults []error
	notes  []string
	asked  []jsonrpc.Request
	lost   int // sessions
	gaps   int
}

func dial(t *testing.T, h *transport.HTTP) *page {
	t.Helper()
	return dialWithin(t, h, nil)
}

// dialWithin is dial with a memory limit.
func dialWithin(t *testing.T, h *transport.HTTP, budget *transport.Budget) *page {
	t.Helper()
	p := &page{T: t}
	conn, err := h.Connect(t.Context(), transport.Handler{
		Budget:  budget,
		OnFault: func(err error) { p.locked(func() { p.faults = append(p.faults, err) }) },
		OnNotification: func(_ context.Context, n jsonrpc.Notification, id jsonrpc.ID) {
			p.locked(func() { p.notes = append(p.notes, fmt.Sprintf("%s for %s", n.Method, id)) })
		},
		OnRequest: func(_ context.Context, req jsonrpc.Request, _ *transport.Caller) {
			p.locked(func() { p.asked = append(p.asked, req) })
		},
		OnSessionLost: func() { p.locked(func() { p.lost++ }) },
		OnGap:         func() { p.locked(func() { p.gaps++ }) },
	})
	require.NoError(t, err)
	p.Conn = conn
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return p
}

func (p *page) locked(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *page) count() (faults, notes, asked int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.faults), len(p.notes), len(p.asked)
}

func (p *page) request(method string) transport.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	return transport.Request{Request: jsonrpc.Request{ID: jsonrpc.IntID(p.last), Method: method}}
}

// try makes a call that ends soon.
func (p *page) try(method string) (transport.Answer, error) {
	p.Helper()
	ctx, cancel := context.WithTimeoutCause(p.Context(), 20*time.Second, errors.New("the call hung"))
	defer cancel()
	return p.Call(ctx, p.request(method))
}

// answers makes a call that must be answered.
func (p *page) answers(method string) transport.Answer {
	p.Helper()
	answer, err := p.try(method)
	require.NoError(p, err)
	return answer
}

// fails makes a call that must fail.
func (p *page) fails(method string, reason transport.Reason) *transport.Failure {
	p.Helper()
	_, err := p.try(method)
	return failure(p.T, err, reason)
}

// answerJSON answers with an empty result.
func answerJSON(w http.ResponseWriter, p posted) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, p.id())
}

// answerAll is a server without a session that answers everything.
func answerAll(w http.ResponseWriter, _ *http.Request, p posted) {
	if _, ok := p.msg.(jsonrpc.Request); !ok {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answerJSON(w, p)
}

// withSession gives out a session id in the answer to initialize.
func withSession(id string) func(w http.ResponseWriter, r *http.Request, p posted) {
	return func(w http.ResponseWriter, r *http.Request, p posted) {
		if p.method() == "initialize" {
			w.Header().Set("mcp-session-id", id)
		}
		answerAll(w, r, p)
	}
}
