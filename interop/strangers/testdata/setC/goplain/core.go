package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	v2024  = "2024-11-05"
	v2025a = "2025-03-26"
	v2025b = "2025-06-18"
	v2025c = "2025-11-25"
	v2026  = "2026-07-28"
)

var sessionVersions = []string{v2025c, v2025b, v2025a, v2024}
var allVersions = append([]string{v2026}, sessionVersions...)

const metaPrefix = "io.modelcontextprotocol/"

var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func levelIndex(name string) int {
	for i, l := range levels {
		if l == name {
			return i
		}
	}
	return -1
}

func has(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

type server struct {
	book     *book
	secret   []byte
	mu       sync.Mutex
	sessions map[*session]bool
	listens  map[*listen]bool
	visits   int

	lastToken json.RawMessage // used by one defect only
}

func newServer() *server {
	key := make([]byte, 32)
	rand.Read(key)
	return &server{book: newBook(), secret: key, sessions: map[*session]bool{}, listens: map[*listen]bool{}}
}

// session is what initialize opens.
type session struct {
	id          string
	version     string
	caps        map[string]json.RawMessage
	unsolicited func(any)

	mu      sync.Mutex
	level   int
	subs    map[string]bool
	pending map[string]chan *message
	nextID  int
	live    map[string]context.CancelFunc
	streams []*getStream
	backlog []any
}

func (s *server) addSession(sess *session) {
	s.mu.Lock()
	s.sessions[sess] = true
	s.mu.Unlock()
}

func (s *server) dropSession(sess *session) {
	s.mu.Lock()
	delete(s.sessions, sess)
	s.mu.Unlock()
}

// deliver hands a response of the client to the waiting tool.
func (s *session) deliver(m *message) {
	s.mu.Lock()
	ch := s.pending[idKey(m.ID)]
	delete(s.pending, idKey(m.ID))
	s.mu.Unlock()
	if ch != nil {
		ch <- m
	}
}

// listen is one subscriptions/listen stream.
type listen struct {
	id        json.RawMessage
	emit      func(any)
	resources bool
	uris      []string
}

func (l *listen) wants(uri string) bool {
	if defect("listen-all-updates") && len(l.uris) == 0 {
		return true
	}
	return has(l.uris, uri)
}

// call is one request under way.
type call struct {
	srv     *server
	ctx     context.Context
	sess    *session // nil in the stateless era
	version string
	modern  bool
	caps    map[string]json.RawMessage
	token   json.RawMessage
	level   int // stateless era: index of the asked level, or -1
	emit    func(any)

	answers map[string]json.RawMessage
	method  string
	digest  string
}

// since tells whether the call's revision is v or newer.
func (c *call) since(v string) bool { return c.version >= v }

// open finds out the era of a request and checks its metadata.
func (s *server) open(m *message, sess *session) (*call, *rpcError) {
	c := &call{srv: s, level: -1, method: m.Method, ctx: context.Background()}
	if t, ok := m.Meta["progressToken"]; ok {
		t = bytes.TrimSpace(t)
		if !validID(t) {
			return nil, invalidParams("progressToken must be a string or an integer")
		}
		c.token = t
	}
	if isModern(m) || (sess == nil && m.Method != "initialize" && m.Method != "ping") {
		c.modern, c.version = true, v2026
		var v string
		if raw, ok := m.Meta[metaPrefix+"protocolVersion"]; !ok || json.Unmarshal(raw, &v) != nil {
			return nil, badMeta("_meta lacks " + metaPrefix + "protocolVersion")
		}
		if v != v2026 {
			return nil, &rpcError{Code: -32022, Message: "Unsupported protocol version", Status: 400,
				Data: obj{"supported": allVersions, "requested": v}}
		}
		raw, ok := m.Meta[metaPrefix+"clientCapabilities"]
		if !ok || json.Unmarshal(raw, &c.caps) != nil || c.caps == nil {
			return nil, badMeta("_meta lacks " + metaPrefix + "clientCapabilities")
		}
		if raw, ok := m.Meta[metaPrefix+"logLevel"]; ok {
			var l string
			json.Unmarshal(raw, &l)
			if c.level = levelIndex(l); c.level < 0 {
				return nil, invalidParams("unknown log level")
			}
		}
		return c, nil
	}
	c.sess = sess
	if sess != nil {
		c.version, c.caps = sess.version, sess.caps
	}
	return c, nil
}

func isModern(m *message) bool {
	for k := range m.Meta {
		if strings.HasPrefix(k, metaPrefix+"protocolVersion") || strings.HasPrefix(k, metaPrefix+"client") {
			return true
		}
	}
	return m.Method == "server/discover" || m.Method == "subscriptions/listen"
}

func (s *server) capabilities(version string) obj {
	caps := obj{"tools": obj{}, "prompts": obj{}, "logging": obj{}, "resources": obj{"subscribe": true, "listChanged": true}}
	if version >= v2025a {
		caps["completions"] = obj{}
	}
	return caps
}

func serverInfo(version string) obj {
	info := obj{"name": "apiary-book", "version": "1.3.0"}
	if version >= v2025b {
		info["title"] = "Apiary record book"
	}
	if version >= v2025c {
		info["description"] = "Hives, notes and harvests of a small apiary"
	}
	return info
}

const instructions = "Hives are named H01 to H08. Notes are resources of the form hive://H01/notes."

func (s *server) initialize(m *message) (*session, obj, *rpcError) {
	var asked string
	if json.Unmarshal(m.Params["protocolVersion"], &asked) != nil || asked == "" {
		return nil, nil, invalidParams("protocolVersion is missing")
	}
	var caps map[string]json.RawMessage
	if json.Unmarshal(m.Params["capabilities"], &caps) != nil || caps == nil {
		return nil, nil, invalidParams("capabilities is missing")
	}
	version := v2025c
	if defect("version-by-comparison") {
		if asked < version {
			version = asked
		}
	} else if has(sessionVersions, asked) {
		version = asked
	}
	sess := &session{version: version, caps: caps, level: levelIndex("info"), subs: map[string]bool{},
		pending: map[string]chan *message{}, live: map[string]context.CancelFunc{}}
	return sess, obj{"protocolVersion": version, "capabilities": s.capabilities(version),
		"serverInfo": serverInfo(version), "instructions": instructions}, nil
}

// guard runs a request and turns a panic into an error. silent means that
// nothing must be sent.
func (s *server) guard(c *call, m *message) (res obj, rerr *rpcError, silent bool) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintln(os.Stderr, "goplain: recovered:", p)
			if defect("last-frame-no-answer") {
				silent = true
				return
			}
			res, rerr = nil, &rpcError{Code: -32603, Message: "internal error"}
		}
	}()
	res, rerr, silent = s.dispatch(c, m)
	if rerr == nil && !silent && c.modern {
		if _, ok := res["resultType"]; !ok && !(defect("tool-error-untyped") && res["isError"] == true) {
			res["resultType"] = "complete"
		}
		meta, _ := res["_meta"].(obj)
		if meta == nil {
			meta = obj{}
		}
		meta[metaPrefix+"serverInfo"] = serverInfo(c.version)
		res["_meta"] = meta
	}
	return
}

func cacheable(c *call, res obj, scope string, ttl int) obj {
	if c.modern {
		res["ttlMs"] = ttl
		res["cacheScope"] = scope
	}
	return res
}

func (s *server) dispatch(c *call, m *message) (obj, *rpcError, bool) {
	switch m.Method {
	case "tools/list":
		res, e := page(c, m, "tools", toolList(c), 4)
		return res, e, false
	case "tools/call":
		return s.callTool(c, m)
	case "resources/list":
		res, e := page(c, m, "resources", s.book.resources(), 3)
		return strip(c, res, "resources"), e, false
	case "resources/templates/list":
		list := make([]obj, len(templates))
		copy(list, templates)
		res, e := page(c, m, "resourceTemplates", list, 2)
		return strip(c, res, "resourceTemplates"), e, false
	case "resources/read":
		uri, e := uriParam(m)
		if e != nil {
			return nil, e, false
		}
		contents := s.book.read(uri)
		if contents == nil {
			return nil, notFound(c, uri), false
		}
		return cacheable(c, obj{"contents": contents}, "private", 1000), nil, false
	case "prompts/list":
		res, e := page(c, m, "prompts", promptList(), 2)
		return strip(c, res, "prompts"), e, false
	case "prompts/get":
		res, e := s.getPrompt(c, m)
		return res, e, false
	case "completion/complete":
		res, e := s.complete(c, m)
		return res, e, false
	}
	if c.modern {
		switch m.Method {
		case "server/discover":
			return cacheable(c, obj{"supportedVersions": allVersions, "capabilities": s.capabilities(v2026),
				"instructions": instructions}, "public", 3600000), nil, false
		case "subscriptions/listen":
			return s.listen(c, m)
		}
		return nil, noMethod(m.Method), false
	}
	switch m.Method {
	case "ping":
		return obj{}, nil, false
	case "logging/setLevel":
		var l string
		json.Unmarshal(m.Params["level"], &l)
		i := levelIndex(l)
		if i < 0 {
			return nil, invalidParams("unknown log level"), false
		}
		c.sess.mu.Lock()
		c.sess.level = i
		c.sess.mu.Unlock()
		return obj{}, nil, false
	case "resources/subscribe", "resources/unsubscribe":
		uri, e := uriParam(m)
		if e != nil {
			return nil, e, false
		}
		if m.Method == "resources/subscribe" && !s.book.known(uri) {
			return nil, notFound(c, uri), false
		}
		c.sess.mu.Lock()
		if m.Method == "resources/subscribe" {
			c.sess.subs[uri] = true
		} else {
			delete(c.sess.subs, uri)
		}
		c.sess.mu.Unlock()
		return obj{}, nil, false
	}
	return nil, noMethod(m.Method), false
}

func uriParam(m *message) (string, *rpcError) {
	var uri string
	if json.Unmarshal(m.Params["uri"], &uri) != nil || uri == "" {
		return "", invalidParams("uri must be a string")
	}
	return uri, nil
}

func notFound(c *call, uri string) *rpcError {
	e := &rpcError{Code: -32002, Message: "Resource not found", Data: obj{"uri": uri}}
	if c.modern && !defect("old-not-found-code") {
		e.Code = -32602
	}
	return e
}

// page cuts a list into pages. The cursor is the list's name and the number
// of the next entry.
func page(c *call, m *message, key string, list []obj, size int) (obj, *rpcError) {
	start := 0
	if raw, ok := m.Params["cursor"]; ok && string(raw) != "null" {
		var cur string
		if json.Unmarshal(raw, &cur) != nil {
			return nil, invalidParams("cursor must be a string")
		}
		b, err := base64.RawURLEncoding.DecodeString(cur)
		n, err2 := strconv.Atoi(strings.TrimPrefix(string(b), key+":"))
		if err != nil || err2 != nil || !strings.HasPrefix(string(b), key+":") || n <= 0 || n >= len(list) {
			return nil, invalidParams("unknown cursor")
		}
		start = n
	}
	end := min(start+size, len(list))
	res := obj{key: list[start:end]}
	if end < len(list) {
		next := end
		if defect("page-overlap") {
			next = end - 1
		}
		res["nextCursor"] = base64.RawURLEncoding.EncodeToString([]byte(key + ":" + strconv.Itoa(next)))
	}
	ttl := 60000
	if key == "resources" {
		ttl = 5000
	}
	return cacheable(c, res, "public", ttl), nil
}

// strip takes members away that the call's revision does not know.
func strip(c *call, res obj, key string) obj {
	if res == nil || c.since(v2025b) {
		return res
	}
	var out []obj
	for _, e := range res[key].([]obj) {
		n := obj{}
		for k, v := range e {
			if k != "title" {
				n[k] = v
			}
		}
		out = append(out, n)
	}
	res[key] = out
	return res
}

// progress tells the client how far the call is, if it asked for that.
func (c *call) progress(n, total float64, text string) {
	token := c.token
	if token == nil || c.ctx.Err() != nil {
		return
	}
	if defect("progress-token-shared") {
		c.srv.mu.Lock()
		token = c.srv.lastToken
		c.srv.mu.Unlock()
	}
	p := obj{"progressToken": token, "progress": n, "total": total}
	if c.since(v2025a) {
		p["message"] = text
	}
	if defect("progress-zero-dropped") && n == 0 {
		delete(p, "progress")
	}
	c.emit(notification("notifications/progress", p))
}

func (c *call) log(level string, data any) {
	if c.ctx.Err() != nil {
		return
	}
	i := levelIndex(level)
	if c.modern {
		if c.level < 0 || i < c.level {
			return
		}
	} else {
		c.sess.mu.Lock()
		low := i < c.sess.level
		c.sess.mu.Unlock()
		if low {
			return
		}
	}
	if defect("slog-level-name") && level == "warning" {
		level = "warn"
	}
	c.emit(notification("notifications/message", obj{"level": level, "logger": "apiary", "data": data}))
}

// sleep waits and tells whether the call goes on.
func (c *call) sleep(d time.Duration) bool {
	select {
	case <-c.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// sign protects the state of a multi round-trip call.
func (s *server) sign(payload string) string {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte(payload))
	return base64.RawURLEncoding.EncodeToString([]byte(payload)) + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (s *server) verify(state string) (string, bool) {
	a, b, ok := strings.Cut(state, ".")
	payload, err := base64.RawURLEncoding.DecodeString(a)
	if !ok || err != nil {
		return "", false
	}
	sum, err := base64.RawURLEncoding.DecodeString(b)
	mac := hmac.New(sha256.New, s.secret)
	mac.Write(payload)
	return string(payload), err == nil && hmac.Equal(sum, mac.Sum(nil))
}

// needInput is thrown by ask when the stateless client has to answer first.
type needInput struct {
	key, method string
	params      obj
}

// ask puts a question to the client: as a request of its own in the session
// era, as an input request in the stateless era.
func (c *call) ask(key, method string, params obj) (map[string]json.RawMessage, string) {
	if c.modern {
		if raw, ok := c.answers[key]; ok {
			var a map[string]json.RawMessage
			if json.Unmarshal(raw, &a) == nil && a != nil {
				return a, ""
			}
		}
		panic(needInput{key, method, params})
	}
	ch := make(chan *message, 1)
	c.sess.mu.Lock()
	c.sess.nextID++
	id := "apiary-" + strconv.Itoa(c.sess.nextID)
	raw := json.RawMessage(strconv.Quote(id))
	c.sess.pending[string(raw)] = ch
	c.sess.mu.Unlock()
	c.emit(obj{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	select {
	case m := <-ch:
		if m.Error != nil {
			return nil, "the client refused the question"
		}
		var a map[string]json.RawMessage
		if json.Unmarshal(m.Result, &a) != nil {
			return nil, "the client's answer is not an object"
		}
		return a, ""
	case <-c.ctx.Done():
		c.emit(notification("notifications/cancelled", obj{"requestId": id, "reason": "the call was cancelled"}))
	case <-time.After(120 * time.Second):
		c.emit(notification("notifications/cancelled", obj{"requestId": id, "reason": "no answer in time"}))
	}
	c.sess.mu.Lock()
	delete(c.sess.pending, string(raw))
	c.sess.mu.Unlock()
	return nil, "no answer from the client"
}

func (s *server) listen(c *call, m *message) (obj, *rpcError, bool) {
	var f map[string]json.RawMessage
	if json.Unmarshal(m.Params["notifications"], &f) != nil || f == nil {
		return nil, invalidParams("notifications must be an object"), false
	}
	l := &listen{id: m.ID, emit: c.emit}
	ack := obj{}
	if raw, ok := f["resourcesListChanged"]; ok {
		if json.Unmarshal(raw, &l.resources) != nil {
			return nil, invalidParams("resourcesListChanged must be a boolean"), false
		}
		if l.resources {
			ack["resourcesListChanged"] = true
		}
	}
	if raw, ok := f["resourceSubscriptions"]; ok {
		if json.Unmarshal(raw, &l.uris) != nil {
			return nil, invalidParams("resourceSubscriptions must be a list of strings"), false
		}
		ack["resourceSubscriptions"] = append([]string{}, l.uris...)
	}
	s.mu.Lock()
	c.emit(notification("notifications/subscriptions/acknowledged",
		obj{"_meta": obj{metaPrefix + "subscriptionId": l.id}, "notifications": ack}))
	s.listens[l] = true
	s.mu.Unlock()
	<-c.ctx.Done()
	s.mu.Lock()
	delete(s.listens, l)
	s.mu.Unlock()
	return nil, nil, true
}

// changed tells everybody who asked that a resource has changed.
func (s *server) changed(uri string, isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sess := range s.sessions {
		sess.mu.Lock()
		sub := sess.subs[uri]
		sess.mu.Unlock()
		if isNew {
			sess.unsolicited(notification("notifications/resources/list_changed", nil))
		}
		if sub {
			sess.unsolicited(notification("notifications/resources/updated", obj{"uri": uri}))
		}
	}
	for l := range s.listens {
		meta := obj{metaPrefix + "subscriptionId": l.id}
		if isNew && l.resources {
			l.emit(notification("notifications/resources/list_changed", obj{"_meta": meta}))
		}
		if l.wants(uri) {
			l.emit(notification("notifications/resources/updated", obj{"_meta": meta, "uri": uri}))
		}
	}
}
