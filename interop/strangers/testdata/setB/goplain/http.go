package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

var (
	sessionsMu sync.Mutex
	sessions   = map[string]*session{}
)

func goodOrigin(r *http.Request) bool {
	o := r.Header.Get("Origin")
	if o == "" {
		return true
	}
	if defect("origin-prefix") {
		return strings.HasPrefix(o, "http://localhost") || strings.HasPrefix(o, "http://127.0.0.1")
	}
	u, err := url.Parse(o)
	return err == nil && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
}

func accepts(r *http.Request, kinds ...string) bool {
	a := strings.ToLower(strings.Join(r.Header.Values("Accept"), ","))
	for _, k := range kinds {
		family, _, _ := strings.Cut(k, "/")
		if !strings.Contains(a, k) && !strings.Contains(a, "*/*") && !strings.Contains(a, family+"/*") {
			return false
		}
	}
	return true
}

func refuse(w http.ResponseWriter, status int, id json.RawMessage, e *rpcError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(reply(id, nil, e))
}

// stream turns the answer to a POST into SSE once something precedes it.
type stream struct {
	mu     sync.Mutex
	w      http.ResponseWriter
	opened bool
	closed bool
}

func (s *stream) open() {
	if !s.opened {
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("Cache-Control", "no-store")
		s.w.Header().Set("X-Accel-Buffering", "no")
		s.w.WriteHeader(http.StatusOK)
		s.opened = true
	}
}

func (s *stream) event(v any, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.open()
	b, err := json.Marshal(v)
	if err != nil {
		log.Print(err)
		return
	}
	end := "\n\n"
	if last && defect("sse-unfinished") {
		end = "\n"
	}
	fmt.Fprintf(s.w, "event: message\ndata: %s%s", b, end)
	s.w.(http.Flusher).Flush()
}

func (s *stream) close() { s.mu.Lock(); s.closed = true; s.mu.Unlock() }

func handler(w http.ResponseWriter, r *http.Request) {
	if !goodOrigin(r) {
		http.Error(w, "origin not allowed", http.StatusForbidden)
		return
	}
	switch r.Method {
	case http.MethodPost:
		post(w, r)
	case http.MethodGet, http.MethodDelete:
		if r.Header.Get("MCP-Protocol-Version") == modernVersion {
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		s := find(w, r, nil)
		if s == nil {
			return
		}
		if r.Method == http.MethodGet {
			get(w, r, s)
			return
		}
		sessionsMu.Lock()
		delete(sessions, s.id)
		sessionsMu.Unlock()
		if defect("delete-keeps-serving") {
			sessionsMu.Lock()
			sessions[s.id] = s
			sessionsMu.Unlock()
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// find gives the session a legacy HTTP request belongs to, or refuses it.
func find(w http.ResponseWriter, r *http.Request, id json.RawMessage) *session {
	if v := r.Header.Get("MCP-Protocol-Version"); v != "" && !slices.Contains(legacyVersions, v) && !defect("any-version-header") {
		refuse(w, 400, id, fail(-32600, "Unsupported MCP-Protocol-Version: %s", v))
		return nil
	}
	sid := r.Header.Get("Mcp-Session-Id")
	if sid == "" {
		refuse(w, 400, id, fail(-32600, "An Mcp-Session-Id is needed"))
		return nil
	}
	sessionsMu.Lock()
	s := sessions[sid]
	sessionsMu.Unlock()
	if s == nil {
		status := 404
		if defect("gone-session-400") {
			status = 400
		}
		refuse(w, status, id, fail(-32600, "No such session"))
	}
	return s
}

func get(w http.ResponseWriter, r *http.Request, s *session) {
	if !accepts(r, "text/event-stream") {
		http.Error(w, "text/event-stream must be acceptable", http.StatusNotAcceptable)
		return
	}
	st := &stream{w: w}
	st.open()
	w.(http.Flusher).Flush()
	for {
		select {
		case n := <-s.streamed:
			st.event(n, false)
		case <-r.Context().Done():
			return
		}
	}
}

func decodeHeader(v string) (string, bool) {
	if inner, ok := strings.CutPrefix(v, "=?base64?"); ok && strings.HasSuffix(inner, "?=") && !defect("stateless-raw-name") {
		b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, "?="))
		return string(b), err == nil
	}
	return v, true
}

// headersAgree checks the headers of a modern request against its body.
func headersAgree(r *http.Request, m *message) *rpcError {
	var p struct {
		Name string                     `json:"name"`
		URI  string                     `json:"uri"`
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	json.Unmarshal(m.Params, &p)
	mismatch := func(h, got, want string) *rpcError {
		e := fail(-32020, "Header mismatch: %s is %q, the body says %q", h, got, want)
		e.status = 400
		return e
	}
	var v string
	if raw, ok := p.Meta["io.modelcontextprotocol/protocolVersion"]; ok {
		json.Unmarshal(raw, &v)
		if h := r.Header.Get("MCP-Protocol-Version"); h != v {
			return mismatch("MCP-Protocol-Version", h, v)
		}
	}
	if h := r.Header.Get("Mcp-Method"); h != m.Method {
		return mismatch("Mcp-Method", h, m.Method)
	}
	want := ""
	switch m.Method {
	case "tools/call", "prompts/get":
		want = p.Name
	case "resources/read":
		want = p.URI
	default:
		return nil
	}
	if h, ok := decodeHeader(r.Header.Get("Mcp-Name")); !ok || h != want {
		return mismatch("Mcp-Name", h, want)
	}
	return nil
}

func post(w http.ResponseWriter, hr *http.Request) {
	if !strings.HasPrefix(strings.ToLower(hr.Header.Get("Content-Type")), "application/json") {
		http.Error(w, "application/json is expected", http.StatusUnsupportedMediaType)
		return
	}
	if !accepts(hr, "application/json", "text/event-stream") {
		http.Error(w, "both application/json and text/event-stream must be acceptable", http.StatusNotAcceptable)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, 8<<20))
	if err != nil {
		http.Error(w, "body too large", http.StatusRequestEntityTooLarge)
		return
	}
	m, e := parse(body)
	if e != nil {
		var id json.RawMessage
		if m != nil {
			id = m.ID
		}
		refuse(w, 400, id, e)
		return
	}
	header := hr.Header.Get("MCP-Protocol-Version")
	carries := bytes.Contains(m.Params, []byte(`"io.modelcontextprotocol/protocolVersion"`))
	modern := header == modernVersion || carries ||
		header != "" && !slices.Contains(legacyVersions, header) && hr.Header.Get("Mcp-Session-Id") == ""
	var s *session
	switch {
	case modern:
		s = newSession("")
		if m.isRequest() {
			if e := headersAgree(hr, m); e != nil {
				refuse(w, 400, m.ID, e)
				return
			}
		}
	case m.isRequest() && m.Method == "initialize":
		s = newSession(rand.Text())
		s.streamed = make(chan M, 256)
		s.unasked = func(n M) {
			select {
			case s.streamed <- n:
			default: // nobody reads; the oldest news is the least use
			}
		}
	default:
		if s = find(w, hr, m.ID); s == nil {
			return
		}
	}
	if !m.isRequest() {
		if m.Method == "" {
			s.answered(m)
		} else {
			s.notified(m)
			if defect("answers-notifications") && m.Method != "notifications/initialized" && m.Method != "notifications/cancelled" {
				refuse(w, 200, nil, fail(-32601, "Method not found: %s", m.Method))
				return
			}
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	st := &stream{w: w}
	defer st.close()
	ctx := context.Background()
	if modern {
		ctx = hr.Context()
	}
	q := &request{message: m, ctx: ctx, sess: s, modern: modern, send: func(v any) { st.event(v, false) }}
	answer, e := q.serve()
	if answer == nil {
		if !st.opened { // cancelled before anything was said
			st.open()
		}
		return
	}
	if st.opened {
		st.event(answer, true)
		return
	}
	status := http.StatusOK
	if e != nil && modern && e.status != 0 {
		status = e.status
	}
	if m.Method == "initialize" && e == nil {
		sessionsMu.Lock()
		sessions[s.id] = s
		sessionsMu.Unlock()
		listen(&listener{wants: func(k, u string) bool { return s.wants(k, u) && alive(s) }, send: s.unasked})
		w.Header().Set("Mcp-Session-Id", s.id)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(answer)
}

func alive(s *session) bool {
	sessionsMu.Lock()
	defer sessionsMu.Unlock()
	return sessions[s.id] == s
}

func serveHTTP(addr string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", handler)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	log.Printf("listening on http://%s/mcp", l.Addr())
	return (&http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}).Serve(l)
}
