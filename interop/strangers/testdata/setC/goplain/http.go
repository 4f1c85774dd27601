package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

type httpServer struct {
	srv      *server
	mu       sync.Mutex
	sessions map[string]*session
}

func serveHTTP(srv *server, addr string) error {
	h := &httpServer{srv: srv, sessions: map[string]*session{}}
	mux := http.NewServeMux()
	mux.Handle("/", h)
	return http.ListenAndServe(addr, mux)
}

// getStream is an open GET stream of a session.
type getStream struct {
	ch chan any
}

// goodOrigin allows pages of this machine only.
func goodOrigin(origin string) bool {
	if defect("origin-by-prefix") {
		return strings.HasPrefix(origin, "http://localhost") || strings.HasPrefix(origin, "http://127.0.0.1")
	}
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

func sendJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(encode(v))
}

// refuse answers with an HTTP error and a JSON-RPC error without id.
func refuse(w http.ResponseWriter, status, code int, text string) {
	refuseID(w, status, code, text, nil)
}

// refuseID does the same for a request whose id is known.
func refuseID(w http.ResponseWriter, status, code int, text string, id json.RawMessage) {
	sendJSON(w, status, errorReply(id, &rpcError{Code: code, Message: text}, ""))
}

func (h *httpServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" && r.URL.Path != "/mcp" {
		http.NotFound(w, r)
		return
	}
	if o := r.Header.Get("Origin"); o != "" && !goodOrigin(o) {
		refuse(w, http.StatusForbidden, -32600, "this origin is not allowed")
		return
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet, http.MethodDelete:
		if r.Header.Get("MCP-Protocol-Version") == v2026 {
			w.Header().Set("Allow", "POST")
			refuse(w, http.StatusMethodNotAllowed, -32600, "this revision has POST only")
			return
		}
		sess := h.session(w, r, nil)
		if sess == nil {
			return
		}
		if r.Method == http.MethodGet {
			h.get(w, r, sess)
			return
		}
		key := sess.id
		if defect("deleted-session-lives") {
			key = strings.ToLower(key)
		}
		h.mu.Lock()
		delete(h.sessions, key)
		h.mu.Unlock()
		if !defect("deleted-session-lives") {
			h.srv.dropSession(sess)
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, -32600, "method not allowed")
	}
}

// session finds the session of a request of the session era; when it answers
// nil the refusal has been written.
func (h *httpServer) session(w http.ResponseWriter, r *http.Request, msgID json.RawMessage) *session {
	id := r.Header.Get("Mcp-Session-Id")
	if id == "" {
		refuseID(w, http.StatusBadRequest, -32600, "Mcp-Session-Id is missing", msgID)
		return nil
	}
	h.mu.Lock()
	sess := h.sessions[id]
	h.mu.Unlock()
	if sess == nil {
		refuseID(w, http.StatusNotFound, -32600, "there is no such session", msgID)
		return nil
	}
	if v := r.Header.Get("MCP-Protocol-Version"); v != "" && !has(sessionVersions, v) {
		refuseID(w, http.StatusBadRequest, -32600, "unsupported MCP-Protocol-Version", msgID)
		return nil
	}
	return sess
}

// stream writes the messages of one POST. It turns into an event stream with
// the first message before the answer.
type stream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	r       *http.Request
	events  bool
	closed  bool
	modern  bool
	version string
}

func (s *stream) start() {
	head := s.w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-cache")
	head.Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
	s.events = true
}

func (s *stream) event(v any) {
	s.w.Write([]byte("event: message\ndata: "))
	s.w.Write(encode(v))
	s.w.Write([]byte("\n\n"))
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (s *stream) emit(v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.r.Context().Err() != nil {
		return
	}
	if !s.events {
		s.start()
	}
	s.event(v)
}

func (s *stream) finish(status int, v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	if s.r.Context().Err() != nil {
		return
	}
	if s.events {
		s.event(v)
		return
	}
	sendJSON(s.w, status, v)
}

// end closes the stream without an answer.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.events && !s.closed && s.r.Context().Err() == nil {
		s.start()
	}
	s.closed = true
}

func (s *stream) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
}

func (h *httpServer) post(w http.ResponseWriter, r *http.Request) {
	if mt, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mt != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, -32600, "the body must be application/json")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 32<<20))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, -32600, "the body is too large")
		return
	}
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' {
		h.postBatch(w, r, body)
		return
	}
	m, rerr := parseMessage(body)
	if rerr != nil {
		sendJSON(w, http.StatusBadRequest, errorReply(m.ID, rerr, ""))
		return
	}
	head := r.Header.Get("MCP-Protocol-Version")
	if isModern(m) || (head == v2026 && m.Method != "") || (head != "" && !has(allVersions, head) && r.Header.Get("Mcp-Session-Id") == "") {
		h.postModern(w, r, m, head)
		return
	}
	if m.Method == "initialize" && m.isRequest() && r.Header.Get("Mcp-Session-Id") == "" {
		sess, res, rerr := h.srv.initialize(m)
		if rerr != nil {
			sendJSON(w, http.StatusOK, errorReply(m.ID, rerr, ""))
			return
		}
		id := make([]byte, 16)
		rand.Read(id)
		sess.id = strings.ToUpper(hex.EncodeToString(id))
		sess.unsolicited = sess.queue
		h.mu.Lock()
		h.sessions[sess.id] = sess
		h.mu.Unlock()
		h.srv.addSession(sess)
		w.Header().Set("Mcp-Session-Id", sess.id)
		sendJSON(w, http.StatusOK, resultReply(m.ID, res))
		return
	}
	var msgID json.RawMessage
	if m.isRequest() {
		msgID = m.ID
	}
	sess := h.session(w, r, msgID)
	if sess == nil {
		return
	}
	if !m.isRequest() {
		h.takeNote(sess, m)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	st := &stream{w: w, r: r, version: sess.version}
	if reply := h.run(sess, m, st.emit); reply != nil {
		st.finish(http.StatusOK, reply)
		return
	}
	st.end()
}

// takeNote handles notifications and responses of the session era.
func (h *httpServer) takeNote(sess *session, m *message) {
	if m.isResponse() {
		sess.deliver(m)
		return
	}
	if m.Method == "notifications/cancelled" {
		sess.mu.Lock()
		cancel := sess.live[cancelKey(m)]
		sess.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	}
}

// run serves a request of the session era. It gives nil when the request was
// cancelled.
func (h *httpServer) run(sess *session, m *message, emit func(any)) any {
	if m.Method == "initialize" {
		return errorReply(m.ID, invalidRequest("the session is open already"), sess.version)
	}
	c, rerr := h.srv.open(m, sess)
	if rerr != nil {
		return errorReply(m.ID, rerr, sess.version)
	}
	// A lost connection does not cancel the call in this era.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c.ctx, c.emit = ctx, emit
	key := idKey(m.ID)
	sess.mu.Lock()
	sess.live[key] = cancel
	sess.mu.Unlock()
	res, rerr, silent := h.srv.guard(c, m)
	sess.mu.Lock()
	delete(sess.live, key)
	sess.mu.Unlock()
	if silent || ctx.Err() != nil {
		return nil
	}
	if rerr != nil {
		return errorReply(m.ID, rerr, sess.version)
	}
	return resultReply(m.ID, res)
}

func (h *httpServer) postBatch(w http.ResponseWriter, r *http.Request, body []byte) {
	list, rerr := parseBatch(body)
	if rerr != nil {
		refuse(w, http.StatusBadRequest, rerr.Code, rerr.Message)
		return
	}
	if r.Header.Get("Mcp-Session-Id") == "" {
		refuse(w, http.StatusBadRequest, -32600, "batches are not supported here")
		return
	}
	sess := h.session(w, r, nil)
	if sess == nil {
		return
	}
	if sess.version != v2025a {
		refuse(w, http.StatusBadRequest, -32600, "batches are not supported in this revision")
		return
	}
	st := &stream{w: w, r: r, version: sess.version}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var replies []any
	asked := false
	for _, raw := range list {
		m, rerr := parseMessage(raw)
		if rerr != nil {
			mu.Lock()
			replies = append(replies, errorReply(m.ID, rerr, sess.version))
			mu.Unlock()
			continue
		}
		if !m.isRequest() {
			h.takeNote(sess, m)
			continue
		}
		asked = true
		wg.Add(1)
		go func() {
			defer wg.Done()
			if reply := h.run(sess, m, st.emit); reply != nil {
				mu.Lock()
				replies = append(replies, reply)
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	if len(replies) > 0 {
		st.finish(http.StatusOK, replies)
		return
	}
	st.close()
	if !asked {
		w.WriteHeader(http.StatusAccepted)
	}
}

func mismatch(s string) *rpcError {
	return &rpcError{Code: -32020, Message: "Header mismatch: " + s, Status: 400}
}

// plain undoes the base64 form of a header value.
func plain(v string) (string, bool) {
	if strings.HasPrefix(v, "=?base64?") && strings.HasSuffix(v, "?=") && len(v) >= len("=?base64??=") {
		b, err := base64.StdEncoding.DecodeString(v[len("=?base64?") : len(v)-2])
		return string(b), err == nil
	}
	for i := 0; i < len(v); i++ {
		if v[i] != '\t' && (v[i] < 0x20 || v[i] > 0x7e) {
			return v, false
		}
	}
	return v, true
}

// checkHeaders compares the headers of a stateless request with its body.
func checkHeaders(r *http.Request, m *message, head string) *rpcError {
	var v string
	if json.Unmarshal(m.Meta[metaPrefix+"protocolVersion"], &v) != nil {
		return badMeta("_meta lacks " + metaPrefix + "protocolVersion")
	}
	if _, ok := m.Meta[metaPrefix+"clientCapabilities"]; !ok {
		return badMeta("_meta lacks " + metaPrefix + "clientCapabilities")
	}
	if head == "" {
		return mismatch("MCP-Protocol-Version is missing")
	}
	if head != v {
		return mismatch("MCP-Protocol-Version differs from the body")
	}
	if v != v2026 {
		return nil // the version error comes first
	}
	if r.Header.Get("Mcp-Method") != m.Method {
		return mismatch("Mcp-Method is missing or differs from the body")
	}
	field := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[m.Method]
	if field == "" {
		return nil
	}
	var name string
	json.Unmarshal(m.Params[field], &name)
	vals := r.Header.Values("Mcp-Name")
	if len(vals) != 1 {
		return mismatch("Mcp-Name is missing")
	}
	got, ok := plain(vals[0])
	if defect("raw-mcp-name") {
		got = vals[0]
	}
	if !ok || got != name {
		return mismatch("Mcp-Name differs from the body")
	}
	if m.Method != "tools/call" {
		return nil
	}
	t := findTool(name)
	if t == nil {
		return nil
	}
	args, _ := decode(orNull(m.Params["arguments"]))
	a, _ := args.(map[string]any)
	for prop, schema := range t.input["properties"].(obj) {
		suffix, ok := schema.(obj)["x-mcp-header"].(string)
		if !ok {
			continue
		}
		vals := r.Header.Values("Mcp-Param-" + suffix)
		val := a[prop]
		if val == nil {
			if len(vals) > 0 {
				return mismatch("Mcp-Param-" + suffix + " has no counterpart in the body")
			}
			continue
		}
		if len(vals) != 1 {
			return mismatch("Mcp-Param-" + suffix + " is missing")
		}
		got, ok := plain(vals[0])
		if !ok {
			return mismatch("Mcp-Param-" + suffix + " is malformed")
		}
		same := false
		switch x := val.(type) {
		case string:
			same = got == x
		case bool:
			same = got == strconv.FormatBool(x)
		case json.Number:
			f, e1 := x.Float64()
			g, e2 := strconv.ParseFloat(got, 64)
			same = e1 == nil && e2 == nil && f == g
		}
		if !same {
			return mismatch("Mcp-Param-" + suffix + " differs from the body")
		}
	}
	return nil
}

func (h *httpServer) postModern(w http.ResponseWriter, r *http.Request, m *message, head string) {
	if m.isResponse() {
		refuse(w, http.StatusBadRequest, -32600, "responses are not accepted")
		return
	}
	if !m.isRequest() {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if rerr := checkHeaders(r, m, head); rerr != nil {
		sendJSON(w, rerr.Status, errorReply(m.ID, rerr, v2026))
		return
	}
	c, rerr := h.srv.open(m, nil)
	if rerr == nil {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		st := &stream{w: w, r: r, modern: true, version: v2026}
		c.ctx, c.emit = ctx, st.emit
		if m.Method == "subscriptions/listen" {
			go st.keepAlive(ctx)
		}
		res, e, silent := h.srv.guard(c, m)
		if silent {
			st.end()
			return
		}
		if e == nil {
			st.finish(http.StatusOK, resultReply(m.ID, res))
			return
		}
		status := http.StatusOK
		if e.Status != 0 {
			status = e.Status
		}
		st.finish(status, errorReply(m.ID, e, v2026))
		return
	}
	status := http.StatusOK
	if rerr.Status != 0 {
		status = rerr.Status
	}
	sendJSON(w, status, errorReply(m.ID, rerr, v2026))
}

func (s *stream) keepAlive(ctx context.Context) {
	t := time.NewTicker(15 * time.Second)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			s.mu.Lock()
			if s.events && !s.closed {
				io.WriteString(s.w, ":\n\n")
				if f, ok := s.w.(http.Flusher); ok {
					f.Flush()
				}
			}
			s.mu.Unlock()
		}
	}
}

// queue keeps an unsolicited message for one GET stream of the session.
func (s *session) queue(v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.streams) > 0 {
		select {
		case s.streams[len(s.streams)-1].ch <- v:
		default:
		}
		return
	}
	if len(s.backlog) < 100 {
		s.backlog = append(s.backlog, v)
	}
}

func (h *httpServer) get(w http.ResponseWriter, r *http.Request, sess *session) {
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") && !strings.Contains(r.Header.Get("Accept"), "*/*") {
		refuse(w, http.StatusNotAcceptable, -32600, "the client must accept text/event-stream")
		return
	}
	g := &getStream{ch: make(chan any, 256)}
	sess.mu.Lock()
	for _, v := range sess.backlog {
		g.ch <- v
	}
	sess.backlog = nil
	sess.streams = append(sess.streams, g)
	sess.mu.Unlock()
	defer func() {
		sess.mu.Lock()
		for i, x := range sess.streams {
			if x == g {
				sess.streams = append(sess.streams[:i:i], sess.streams[i+1:]...)
				break
			}
		}
		sess.mu.Unlock()
	}()
	st := &stream{w: w, r: r}
	st.mu.Lock()
	st.start()
	io.WriteString(w, ": open\n\n")
	w.(http.Flusher).Flush()
	st.mu.Unlock()
	go st.keepAlive(r.Context())
	defer st.close()
	for {
		select {
		case <-r.Context().Done():
			return
		case v := <-g.ch:
			st.emit(v)
		}
	}
}
