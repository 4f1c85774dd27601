package authtest

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// OverSSE also serves the world over HTTP+SSE. The stream at /sse and the messages need a
// token.
func (w *World) OverSSE() {
	next := w.MCP.Config.Handler
	var streams sync.Map // channels of events, by the query of their endpoint: an old stream may still be open
	var opened atomic.Int64
	w.MCP.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		inner := httptest.NewRecorder()
		post := r.Clone(r.Context())
		post.Method, post.URL = http.MethodPost, &url.URL{Path: "/mcp"}
		switch r.URL.Path {
		default:
			next.ServeHTTP(rw, r)
		case "/messages":
			next.ServeHTTP(inner, post)
			if inner.Code >= 400 {
				maps.Copy(rw.Header(), inner.Header())
				rw.WriteHeader(inner.Code)
				return
			}
			if inner.Body.Len() > 0 {
				if events, ok := streams.Load(r.URL.RawQuery); ok {
					events.(chan []byte) <- inner.Body.Bytes()
				}
			}
			rw.WriteHeader(http.StatusAccepted)
		case "/sse":
			post.Body = io.NopCloser(strings.NewReader(`{"jsonrpc": "2.0", "method": "notifications/x"}`))
			if next.ServeHTTP(inner, post); r.Method != http.MethodGet || inner.Code >= 400 {
				maps.Copy(rw.Header(), inner.Header())
				rw.WriteHeader(max(inner.Code, http.StatusUnauthorized))
				return
			}
			name, events := "stream="+strconv.FormatInt(opened.Add(1), 10), make(chan []byte, 16)
			streams.Store(name, events)
			rw.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(rw, "event: endpoint\ndata: /messages?"+name+"\n\n")
			for {
				_ = http.NewResponseController(rw).Flush()
				select {
				case text := <-events:
					_, _ = io.WriteString(rw, "event: message\ndata: "+strings.TrimSpace(string(text))+"\n\n")
				case <-r.Context().Done():
					return
				}
			}
		}
	})
}
