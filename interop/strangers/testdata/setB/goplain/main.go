// Command parcels is the MCP server of a small parcel depot, written with the
// standard library only. It speaks stdio by default and streamable HTTP with
// -http ADDR, in revisions 2025-06-18 and 2025-11-25 (with sessions) and in the
// stateless revision 2026-07-28 on the same URL. DEFECT=name switches on one
// mistake; without it the server is meant to be right.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

type M = map[string]any

const modernVersion = "2026-07-28"

var (
	legacyVersions = []string{"2025-11-25", "2025-06-18"}
	allVersions    = []string{modernVersion, "2025-11-25", "2025-06-18"}
	serverInfo     = M{"name": "parcel-depot", "title": "Parcel depot", "version": "3.1.0"}
	levels         = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
)

func defect(name string) bool { return os.Getenv("DEFECT") == name }

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
	status  int    // HTTP status in the modern revision, 0 for 200
}

func fail(code int, format string, a ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, a...)}
}

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

func (m *message) isRequest() bool { return m.Method != "" && len(m.ID) > 0 }

// parse reads one message; the error it gives is what the peer should be told.
func parse(b []byte) (*message, *rpcError) {
	if !json.Valid(b) {
		return nil, fail(-32700, "Parse error")
	}
	var m message
	if err := json.Unmarshal(b, &m); err != nil || m.JSONRPC != "2.0" {
		return &m, fail(-32600, "Invalid request")
	}
	if len(m.ID) > 0 {
		var s string
		_, floaty := strconv.ParseInt(string(m.ID), 10, 64)
		if json.Unmarshal(m.ID, &s) != nil && floaty != nil || string(m.ID) == "null" {
			m.ID = nil
			return &m, fail(-32600, "Invalid request: the id must be a string or an integer")
		}
	}
	if m.Method == "" && len(m.Result) == 0 && len(m.Error) == 0 {
		return &m, fail(-32600, "Invalid request: no method")
	}
	return &m, nil
}

func reply(id json.RawMessage, result any, e *rpcError) any {
	var answer M
	if e != nil {
		answer = M{"jsonrpc": "2.0", "error": e}
	} else {
		answer = M{"jsonrpc": "2.0", "result": result}
	}
	if len(id) > 0 {
		answer["id"] = id
		if defect("float-ids") {
			var n float64
			if json.Unmarshal(id, &n) == nil {
				answer["id"] = n
			}
		}
	}
	return answer
}

func notification(method string, params M) M {
	return M{"jsonrpc": "2.0", "method": method, "params": params}
}

// session is what one legacy client has agreed with us; on stdio there is one.
type session struct {
	mu       sync.Mutex
	id       string
	version  string
	caps     map[string]json.RawMessage
	level    string
	ready    bool
	subs     map[string]bool
	running  map[string]context.CancelFunc
	waiting  map[string]chan *message
	asked    int
	unasked  func(M) // sends outside of any request
	streamed chan M  // HTTP: what the GET stream delivers
}

func newSession(id string) *session {
	return &session{id: id, level: "info", subs: map[string]bool{},
		running: map[string]context.CancelFunc{}, waiting: map[string]chan *message{}}
}

// request is one call being served.
type request struct {
	*message
	ctx    context.Context
	sess   *session
	modern bool
	send   func(any) // on the stream that belongs to this request
	meta   map[string]json.RawMessage
	caps   map[string]json.RawMessage
	level  string
}

// listener is one subscriptions/listen request, or one legacy session.
type listener struct {
	wants func(kind, uri string) bool
	send  func(M)
}

var (
	hubMu     sync.Mutex
	listeners = map[*listener]bool{}
)

func listen(l *listener) func() {
	hubMu.Lock()
	defer hubMu.Unlock()
	listeners[l] = true
	return func() { hubMu.Lock(); delete(listeners, l); hubMu.Unlock() }
}

func publish(kind, uri string) {
	method, params := "notifications/resources/list_changed", M{}
	if kind == "updated" {
		method, params["uri"] = "notifications/resources/updated", uri
	}
	hubMu.Lock()
	defer hubMu.Unlock()
	for l := range listeners {
		if l.wants(kind, uri) {
			p := M{}
			for k, v := range params {
				p[k] = v
			}
			l.send(notification(method, p))
		}
	}
}

func (s *session) wants(kind, uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready && (kind == "list" || s.subs[uri])
}

var sharedLevel string

func (r *request) log(level, text string) {
	min := r.level
	if !r.modern {
		r.sess.mu.Lock()
		min = r.sess.level
		r.sess.mu.Unlock()
		if defect("shared-log-level") && sharedLevel != "" {
			min = sharedLevel
		}
	}
	if min == "" || slices.Index(levels, level) < slices.Index(levels, min) {
		return
	}
	r.send(notification("notifications/message", M{"level": level, "logger": "depot", "data": text}))
}

var lastToken any

func (r *request) progress(done, total int, text string) {
	raw, ok := r.meta["progressToken"]
	if !ok {
		return
	}
	var token any = raw
	if defect("token-as-text") {
		token = strings.Trim(string(raw), `"`)
	}
	if defect("one-token") {
		token = lastToken
	}
	var amount any = done
	if defect("halved-progress") {
		amount = done / 2
	}
	r.send(notification("notifications/progress", M{"progressToken": token, "progress": amount, "total": total, "message": text}))
}

// ask sends a legacy request to the client and waits for what it says.
func (r *request) ask(method string, params M) (json.RawMessage, error) {
	s := r.sess
	s.mu.Lock()
	s.asked++
	id := fmt.Sprintf("depot-%d", s.asked)
	ch := make(chan *message, 1)
	s.waiting[id] = ch
	s.mu.Unlock()
	defer func() { s.mu.Lock(); delete(s.waiting, id); s.mu.Unlock() }()
	r.send(M{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	select {
	case m := <-ch:
		if len(m.Error) > 0 {
			return nil, errors.New("the client refused: " + string(m.Error))
		}
		return m.Result, nil
	case <-r.ctx.Done():
		return nil, r.ctx.Err()
	case <-time.After(60 * time.Second):
		return nil, errors.New("no answer from the client")
	}
}

func (s *session) answered(m *message) {
	var id string
	json.Unmarshal(m.ID, &id)
	s.mu.Lock()
	ch := s.waiting[id]
	s.mu.Unlock()
	if ch != nil {
		select {
		case ch <- m:
		default:
		}
	}
}

func (s *session) notified(m *message) {
	switch m.Method {
	case "notifications/initialized":
		s.mu.Lock()
		s.ready = true
		s.mu.Unlock()
	case "notifications/cancelled":
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		json.Unmarshal(m.Params, &p)
		s.mu.Lock()
		cancel := s.running[string(p.RequestID)]
		s.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	}
}

// serve answers one request; nil means that nothing is to be sent.
func (r *request) serve() (any, *rpcError) {
	if e := r.readMeta(); e != nil {
		return reply(r.ID, nil, e), e
	}
	key := string(r.ID)
	ctx, cancel := context.WithCancel(r.ctx)
	r.ctx = ctx
	r.sess.mu.Lock()
	r.sess.running[key] = cancel
	r.sess.mu.Unlock()
	defer func() {
		r.sess.mu.Lock()
		delete(r.sess.running, key)
		r.sess.mu.Unlock()
		cancel()
	}()
	if defect("one-token") {
		lastToken = r.meta["progressToken"]
	}
	result, e := r.dispatch()
	if ctx.Err() != nil && r.Method != "initialize" {
		if !defect("cancelled-answers") {
			return nil, nil
		}
		result, e = nil, fail(-32800, "Request cancelled")
	}
	if e != nil {
		return reply(r.ID, nil, e), e
	}
	if r.modern {
		if _, ok := result["resultType"]; !ok && !(defect("stateless-error-untyped") && result["isError"] == true) {
			result["resultType"] = "complete"
		}
		if _, ok := result["_meta"]; !ok {
			result["_meta"] = M{"io.modelcontextprotocol/serverInfo": serverInfo}
		}
		switch r.Method {
		case "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read":
			if result["resultType"] == "complete" && !(defect("stateless-read-uncached") && r.Method == "resources/read") {
				result["ttlMs"], result["cacheScope"] = 5000, "public"
			}
		}
	}
	return reply(r.ID, result, nil), nil
}

func (r *request) readMeta() *rpcError {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if len(r.Params) > 0 {
		if r.Params[0] != '{' || json.Unmarshal(r.Params, &p) != nil {
			return fail(-32602, "Invalid params: an object is expected")
		}
	}
	r.meta = p.Meta
	const ns = "io.modelcontextprotocol/"
	version, has := p.Meta[ns+"protocolVersion"]
	if !r.modern && !has {
		if r.sess.version == "" && r.Method != "initialize" && r.Method != "ping" {
			if r.Method == "server/discover" {
				e := fail(-32602, "Invalid params: _meta lacks the protocol version")
				e.status = 400
				return e
			}
			return fail(-32600, "Invalid request: initialize first")
		}
		r.caps = r.sess.caps
		return nil
	}
	r.modern = true
	var v string
	if json.Unmarshal(version, &v) != nil || v == "" {
		return &rpcError{Code: -32602, Message: "Invalid params: _meta lacks the protocol version", status: 400}
	}
	if v != modernVersion {
		return &rpcError{Code: -32022, Message: "Unsupported protocol version", status: 400,
			Data: M{"supported": allVersions, "requested": v}}
	}
	if json.Unmarshal(p.Meta[ns+"clientCapabilities"], &r.caps) != nil {
		return &rpcError{Code: -32602, Message: "Invalid params: _meta lacks the client's capabilities", status: 400}
	}
	json.Unmarshal(p.Meta[ns+"logLevel"], &r.level)
	return nil
}

func (r *request) capabilities() M {
	c := M{"tools": M{}, "prompts": M{}, "completions": M{}, "logging": M{},
		"resources": M{"subscribe": true, "listChanged": true}}
	return c
}

func (r *request) dispatch() (M, *rpcError) {
	var p struct {
		ProtocolVersion string                     `json:"protocolVersion"`
		Capabilities    map[string]json.RawMessage `json:"capabilities"`
		ClientInfo      json.RawMessage            `json:"clientInfo"`
		Cursor          *string                    `json:"cursor"`
		URI             string                     `json:"uri"`
		Name            string                     `json:"name"`
		Level           string                     `json:"level"`
		Arguments       json.RawMessage            `json:"arguments"`
		Ref             struct{ Type, Name, URI string }
		Argument        struct{ Name, Value string }
		Notifications   struct {
			ResourcesListChanged  bool     `json:"resourcesListChanged"`
			ResourceSubscriptions []string `json:"resourceSubscriptions"`
		} `json:"notifications"`
		InputResponses map[string]json.RawMessage `json:"inputResponses"`
	}
	if len(r.Params) > 0 {
		if err := json.Unmarshal(r.Params, &p); err != nil {
			return nil, fail(-32602, "Invalid params: %v", err)
		}
	}
	method := r.Method
	if r.modern {
		switch method {
		case "server/discover":
			return M{"supportedVersions": allVersions, "capabilities": r.capabilities(), "instructions": "Ask for parcels by number."}, nil
		case "subscriptions/listen":
			r.listen(p.Notifications.ResourcesListChanged, p.Notifications.ResourceSubscriptions)
			return M{}, nil
		case "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
			method = ""
		}
	}
	switch method {
	case "initialize":
		if p.ProtocolVersion == "" || p.Capabilities == nil || len(p.ClientInfo) == 0 {
			return nil, fail(-32602, "Invalid params: protocolVersion, capabilities and clientInfo are needed")
		}
		v := legacyVersions[0]
		if slices.Contains(legacyVersions, p.ProtocolVersion) {
			v = p.ProtocolVersion
		}
		r.sess.mu.Lock()
		r.sess.version, r.sess.caps = v, p.Capabilities
		r.sess.mu.Unlock()
		return M{"protocolVersion": v, "capabilities": r.capabilities(), "serverInfo": serverInfo,
			"instructions": "Ask for parcels by number."}, nil
	case "ping":
		return M{}, nil
	case "logging/setLevel":
		if !slices.Contains(levels, p.Level) {
			return nil, fail(-32602, "Invalid log level: %q", p.Level)
		}
		r.sess.mu.Lock()
		r.sess.level, sharedLevel = p.Level, p.Level
		r.sess.mu.Unlock()
		return M{}, nil
	case "tools/list":
		return r.page("tools", toolList(), p.Cursor, 50)
	case "resources/list":
		return r.page("resources", resourceList(), p.Cursor, 4)
	case "resources/templates/list":
		return r.page("resourceTemplates", templateList(), p.Cursor, 50)
	case "prompts/list":
		return r.page("prompts", promptList(), p.Cursor, 50)
	case "resources/read":
		return r.read(p.URI)
	case "resources/subscribe", "resources/unsubscribe":
		if _, e := r.read(p.URI); e != nil {
			return nil, e
		}
		r.sess.mu.Lock()
		defer r.sess.mu.Unlock()
		if method == "resources/subscribe" {
			r.sess.subs[p.URI] = true
		} else {
			delete(r.sess.subs, p.URI)
		}
		return M{}, nil
	case "prompts/get":
		var args map[string]string
		if len(p.Arguments) > 0 && json.Unmarshal(p.Arguments, &args) != nil {
			return nil, fail(-32602, "Invalid params: prompt arguments are strings")
		}
		return prompt(p.Name, args)
	case "completion/complete":
		return complete(p.Ref.Type, p.Ref.Name, p.Ref.URI, p.Argument.Name, p.Argument.Value)
	case "tools/call":
		args := M{}
		if len(p.Arguments) > 0 {
			d := json.NewDecoder(bytes.NewReader(p.Arguments))
			if d.Decode(&args) != nil || args == nil {
				return nil, fail(-32602, "Invalid params: arguments must be an object")
			}
		}
		return r.call(p.Name, args, p.InputResponses)
	}
	e := fail(-32601, "Method not found: %s", r.Method)
	if e.status = 404; defect("stateless-unknown-method-ok") {
		e.status = 200
	}
	return nil, e
}

// listen is the modern subscription: it holds on until the client goes away.
func (r *request) listen(list bool, uris []string) {
	honoured := M{}
	if list {
		honoured["resourcesListChanged"] = true
	}
	if len(uris) > 0 {
		honoured["resourceSubscriptions"] = uris
	}
	tag := func(n M) M {
		if !defect("stateless-untagged") || n["method"] == "notifications/subscriptions/acknowledged" {
			n["params"].(M)["_meta"] = M{"io.modelcontextprotocol/subscriptionId": r.ID}
		}
		return n
	}
	r.send(tag(notification("notifications/subscriptions/acknowledged", M{"notifications": honoured})))
	stop := listen(&listener{
		wants: func(kind, uri string) bool {
			return kind == "list" && list || kind == "updated" && slices.Contains(uris, uri)
		},
		send: func(n M) { r.send(tag(n)) },
	})
	<-r.ctx.Done()
	stop()
}

func (r *request) page(field string, all []M, cursor *string, size int) (M, *rpcError) {
	start := 0
	if cursor != nil {
		n, err := strconv.Atoi(strings.TrimPrefix(*cursor, "from-"))
		if err != nil || n <= 0 || n > len(all) || !strings.HasPrefix(*cursor, "from-") {
			if !defect("number-cursor") || err != nil {
				return nil, fail(-32602, "Invalid cursor: %q", *cursor)
			}
		}
		start = n
	}
	end := min(start+size, len(all))
	result := M{field: all[start:end]}
	if end < len(all) {
		result["nextCursor"] = fmt.Sprintf("from-%d", end)
		if defect("number-cursor") {
			result["nextCursor"] = end
		}
	}
	return result, nil
}

// serveStdio reads one message a line until the client closes the input.
func serveStdio() {
	var mu sync.Mutex
	write := func(v any) {
		b, err := json.Marshal(v)
		if m, ok := v.(M); ok && m["error"] != nil && defect("pretty-errors") {
			b, err = json.MarshalIndent(v, "", "  ")
		}
		if err != nil {
			log.Print(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		os.Stdout.Write(append(b, '\n'))
	}
	s := newSession("")
	s.unasked = func(n M) { write(n) }
	defer listen(&listener{wants: s.wants, send: s.unasked})()
	var working sync.WaitGroup
	handle := func(line []byte) {
		if len(bytes.TrimSpace(line)) == 0 {
			return
		}
		m, e := parse(line)
		switch {
		case e != nil:
			var id json.RawMessage
			if m != nil {
				id = m.ID
			}
			write(reply(id, nil, e))
		case m.isRequest():
			r := &request{message: m, ctx: context.Background(), sess: s, send: write}
			run := func() {
				if answer, _ := r.serve(); answer != nil {
					write(answer)
				}
			}
			if m.Method == "initialize" {
				run()
				return
			}
			working.Add(1)
			go func() { defer working.Done(); run() }()
		case m.Method != "":
			s.notified(m)
			if defect("answers-notifications") && m.Method != "notifications/initialized" && m.Method != "notifications/cancelled" {
				write(reply(nil, nil, fail(-32601, "Method not found: %s", m.Method)))
			}
		default:
			s.answered(m)
		}
	}
	if defect("short-lines") {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			handle(bytes.Clone(lines.Bytes()))
		}
	} else {
		in := bufio.NewReader(os.Stdin)
		for {
			line, err := in.ReadBytes('\n')
			handle(line)
			if err != nil {
				if err != io.EOF {
					log.Print(err)
				}
				break
			}
		}
	}
	done := make(chan struct{})
	go func() { working.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(500 * time.Millisecond):
	}
}

func main() {
	addr := flag.String("http", "", "serve streamable HTTP on this address, at /mcp")
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix("parcels: ")
	if *addr != "" {
		log.Fatal(serveHTTP(*addr))
	}
	serveStdio()
}
