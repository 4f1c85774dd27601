package clienttest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// URL returns the address of the server for client.Dial: streamable HTTP on
// loopback. The first call opens it. It does not work inside a synctest bubble;
// use [Server.HTTP] or [Server.Transport] there.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.web == nil {
		s.web = httptest.NewServer(http.HandlerFunc(s.serveHTTP))
	}
	return s.web.URL
}

// HTTP returns a transport for client.Connect that speaks streamable HTTP to
// the server in memory. It works inside a testing/synctest bubble if the server
// was made there, so that a Retry-After of an hour takes no real time. Each
// call returns a new transport; you may add headers to it before use.
func (s *Server) HTTP() *transport.HTTP {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mem == nil {
		s.mem = memhttp.New(http.HandlerFunc(s.serveHTTP))
	}
	return &transport.HTTP{URL: memhttp.URL, RoundTripper: s.mem.Transport()}
}

const maxBody = 64 << 20

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		panic(http.ErrAbortHandler) //nolint:forbidigo // how a handler breaks its connection
	}
	s.work.Add(1)
	s.mu.Unlock()
	defer s.work.Done()
	id := r.Header.Get(sessionHeader)
	over, known := s.session(id)
	switch r.Method {
	case http.MethodPost:
		s.post(w, r, known)
	case http.MethodGet:
		if !known {
			noSession(w)
			return
		}
		out := &httpStream{w: w}
		out.begin()
		defer out.end()
		defer s.open(&sink{push: out.push})()
		select {
		case <-r.Context().Done():
		case <-s.ctx.Done():
		case <-over:
		}
	case http.MethodDelete:
		s.endSession(id)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// post answers a POST. known reports whether the server knows its session.
func (s *Server) post(w http.ResponseWriter, r *http.Request, known bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return
	}
	m, err := jsonrpc.Decode(body)
	switch m := m.(type) {
	case jsonrpc.Request:
		if !known {
			s.came(m.Method, m.Params, false, origin{header: r.Header})
			noSession(w)
			return
		}
		s.answerPost(w, r, m)
	case jsonrpc.Notification:
		s.note(m, origin{header: r.Header})
		if !known {
			noSession(w)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	case jsonrpc.Response:
		s.answered(m)
		w.WriteHeader(http.StatusAccepted)
	default:
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// answerPost answers a request as the test says.
func (s *Server) answerPost(w http.ResponseWriter, r *http.Request, req jsonrpc.Request) {
	out := &httpStream{w: w}
	resp, err := s.answer(r.Context(), req, origin{header: r.Header}, out.push)
	var web *HTTPError
	switch {
	case errors.As(err, &web):
		err = out.refuse(web, req.ID)
		if err == nil {
			return
		}
		s.t.Errorf("clienttest: the answer to %s: %v", req.Method, err)
		fallthrough
	case err != nil:
		out.end()
		panic(http.ErrAbortHandler) //nolint:forbidigo // how a handler breaks its connection
	}
	if req.Method == mcp.MethodInitialize && resp.Error == nil {
		w.Header().Set(sessionHeader, s.newSession())
	}
	out.answer(resp.frame())
}

// httpStream is the answer to one HTTP request: an event stream as soon as
// something comes before the answer, JSON otherwise.
type httpStream struct {
	mu     sync.Mutex
	w      http.ResponseWriter
	stream bool
	over   bool
}

func (h *httpStream) begin() {
	h.w.Header().Set("Content-Type", "text/event-stream")
	h.stream = true
	_ = http.NewResponseController(h.w).Flush() // fails only if the client is gone
}

func (h *httpStream) push(m jsonrpc.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return
	}
	if !h.stream {
		h.begin()
	}
	h.event(m.AppendJSON(nil))
}

// end drops messages that come after the answer.
func (h *httpStream) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

func (h *httpStream) event(frame []byte) {
	fmt.Fprintf(h.w, "event: message\ndata: %s\n\n", frame)
	_ = http.NewResponseController(h.w).Flush()
}

func (h *httpStream) answer(frame []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	if h.stream {
		h.event(frame)
		return
	}
	h.w.Header().Set("Content-Type", "application/json")
	_, _ = h.w.Write(frame)
}

// refuse answers with the status, headers and body of the test.
func (h *httpStream) refuse(e *HTTPError, id jsonrpc.ID) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.stream:
		return fmt.Errorf("%w cannot be sent: the answer has begun, for example with progress", e)
	case e.Status < 200 || e.Status > 999:
		return fmt.Errorf("%w cannot be sent; Status is from 200 to 999", e)
	}
	h.over = true
	maps.Copy(h.w.Header(), e.Header)
	body := []byte(e.Body)
	if e.RPC != nil {
		body = jsonrpc.Response{ID: id, Error: e.RPC}.AppendJSON(nil)
		if h.w.Header().Get("Content-Type") == "" {
			h.w.Header().Set("Content-Type", "application/json")
		}
	}
	h.w.WriteHeader(e.Status)
	_, _ = h.w.Write(body) // fails only if the client is gone
	return nil
}
