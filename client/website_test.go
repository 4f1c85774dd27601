package client_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// website is an MCP server over HTTP with the tool echo and a session.
type website struct {
	url   string
	reply func(w http.ResponseWriter, r *http.Request, req jsonrpc.Request) bool

	mu  sync.Mutex
	got []string // every message, unchanged
}

// newWebsite starts a server. Where reply returns true it has answered.
func newWebsite(t *testing.T, reply func(w http.ResponseWriter, r *http.Request, req jsonrpc.Request) bool) *website {
	s := &website{reply: reply}
	srv := httptest.NewServer(onWire(t, s))
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

func (s *website) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	s.mu.Lock()
	s.got = append(s.got, string(body))
	s.mu.Unlock()
	m, err := jsonrpc.Decode(body)
	req, ok := m.(jsonrpc.Request)
	switch {
	case err != nil: // DELETE
		w.WriteHeader(http.StatusNoContent)
	case !ok:
		w.WriteHeader(http.StatusAccepted)
	case s.reply != nil && s.reply(w, r, req):
	default:
		if req.Method == "initialize" {
			w.Header().Set("Mcp-Session-Id", "s1")
		}
		writeJSON(w, wellAnswered(req))
	}
}

func writeJSON(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

// flush writes at once.
func flush(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

func (s *website) received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// dialWebsite connects with a small limit on messages.
func dialWebsite(t *testing.T, url string, opts ...client.Option) (*client.Client, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	h := &transport.HTTP{URL: url, Limits: transport.Limits{MessageBytes: 64 << 10}}
	c, err := client.Connect(ctx, h, append([]client.Option{sessionEra}, opts...)...)
	if err == nil {
		t.Cleanup(func() { require.NoError(t, c.Close()) })
	}
	require.NoError(t, ctx.Err(), "connecting hung")
	return c, err
}
