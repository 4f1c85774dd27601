package clienttest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// URL returns the server's address for client.Dial, streamable HTTP on loopback.
// The first call opens it. A synctest bubble cannot wait for the network: use
// [Server.Transport] there.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http == nil {
		s.http = httptest.NewServer(http.HandlerFunc(s.serveHTTP))
	}
	return s.http.URL
}

const maxBody = 64 << 20

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
	case http.MethodGet:
		out := &httpStream{w: w}
		out.begin()
		defer out.end()
		defer s.open(&sink{push: out.push})()
		select {
		case <-r.Context().Done():
		case <-s.ctx.Done():
		}
		return
	case http.MethodDelete:
		return
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return
	}
	m, err := jsonrpc.Decode(body)
	switch m := m.(type) {
	case jsonrpc.Request:
		out := &httpStream{w: w}
		resp, err := s.answer(r.Context(), m, out.push)
		if errors.Is(err, ErrCut) || errors.Is(err, ErrSilent) {
			out.end()
			panic(http.ErrAbortHandler) //nolint:forbidigo // how a handler breaks its connection
		}
		if m.Method == mcp.MethodInitialize {
			w.Header().Set("Mcp-Session-Id", "clienttest")
		}
		out.answer(resp)
	case jsonrpc.Notification:
		s.note(m)
		w.WriteHeader(http.StatusAccepted)
	case jsonrpc.Response:
		s.answered(m)
		w.WriteHeader(http.StatusAccepted)
	default:
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
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
	_ = http.NewResponseController(h.w).Flush() // the client is gone if not
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
	h.event(m)
}

// end keeps what still comes from an answer that is over.
func (h *httpStream) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

func (h *httpStream) event(m jsonrpc.Message) {
	fmt.Fprintf(h.w, "event: message\ndata: %s\n\n", m.AppendJSON(nil))
	_ = http.NewResponseController(h.w).Flush()
}

func (h *httpStream) answer(resp jsonrpc.Response) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
	if h.stream {
		h.event(resp)
		return
	}
	h.w.Header().Set("Content-Type", "application/json")
	_, _ = h.w.Write(resp.AppendJSON(nil))
}
