package checks

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/officialschema"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// watchful is a server of both eras that has a little of everything, and notes all that a careful
// client would not send.
type watchful struct {
	// stateless: it has the stateless era, too.
	stateless bool
	// answer, if set, replaces the answer to a request; nil is silence.
	answer func(method string, good object) object
	// hangsUp is a method during which the server is lost.
	hangsUp string

	schemas map[mcp.Version]*clientSchemas

	mu       sync.Mutex
	faults   []string
	times    []time.Time
	bytes    int
	called   map[string]int // by tool
	methods  map[string]int
	sessions map[string]*toldSession
}

type object = map[string]any

// toldSession is what a client has said in a session.
type toldSession struct {
	revision    mcp.Version
	initialized bool
	ids         []string
	open        []string // requests without an answer
}

func newWatchful(t *testing.T) *watchful {
	t.Helper()
	return &watchful{
		stateless: true, called: map[string]int{}, methods: map[string]int{}, sessions: map[string]*toldSession{},
		schemas: map[mcp.Version]*clientSchemas{mcp.LatestSession: readSchemas(t, mcp.LatestSession), mcp.Latest: readSchemas(t, mcp.Latest)},
	}
}

// clientSchemas judge the messages of one revision.
type clientSchemas struct {
	*officialschema.Schema
	byMethod map[string]string // the definition of a request or notification
}

func readSchemas(t *testing.T, v mcp.Version) *clientSchemas {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "internal", "observe", "schemas", string(v)+".json.gz"))
	require.NoError(t, err)
	defer func() { _ = f.Close() }() // it is only read
	packed, err := gzip.NewReader(f)
	require.NoError(t, err)
	text, err := io.ReadAll(packed)
	require.NoError(t, err)
	var doc struct {
		Defs map[string]struct {
			Properties struct{ Method struct{ Const string } }
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	schema, err := officialschema.New(text)
	require.NoError(t, err)
	s := &clientSchemas{schema, map[string]string{}}
	for name, d := range doc.Defs {
		s.byMethod[d.Properties.Method.Const] = name
	}
	return s
}

func (w *watchful) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// arrived notes a message or a request.
func (w *watchful) arrived(size int) {
	w.times = append(w.times, time.Now())
	w.bytes += size
}

// most is how many messages came within a span of time.
func (w *watchful) most(span time.Duration) int {
	most := 0
	for i, begin := range w.times {
		n := 0
		for _, at := range w.times[i:] {
			if at.Sub(begin) < span {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// The server's own things. What is marked as read-only may be called.
var (
	readOnly     = []string{"search", "clock"}
	toolsOfPage1 = []any{
		object{"name": "search", "description": "Searches.", "annotations": object{"readOnlyHint": true}, "inputSchema": object{
			"type": "object", "required": []any{"query"}, "additionalProperties": false,
			"properties": object{"query": object{"type": "string", "maxLength": 5000.0}, "most": object{"type": "integer", "minimum": 1.0, "maximum": 10.0}},
		}},
		object{"name": "delete_all", "description": "Deletes.", "annotations": object{"readOnlyHint": false}, "inputSchema": object{"type": "object"}},
		object{"name": "test_simple_text", "description": "Has the name of a fixture.", "inputSchema": object{"type": "object"}},
	}
	toolsOfPage2 = []any{
		object{"name": "clock", "description": "Tells the time.", "annotations": object{"readOnlyHint": true}, "inputSchema": object{"type": "object"}},
		object{"name": "restart", "description": "Restarts.", "inputSchema": object{"type": "object"}},
	}
	uris = []string{"doc://a", "doc://b"}
)

const cursor = "page-2"

// known reports whether a request is about what the server has, and how it is answered.
func (w *watchful) known(method string, params object) (known bool, result object) {
	name, _ := params["name"].(string)
	uri, _ := params["uri"].(string)
	arguments, _ := params["arguments"].(object)
	if at, there := params["cursor"]; there && (method != mcp.MethodToolsList || at != cursor) {
		return false, nil
	}
	switch method {
	case mcp.MethodPing, mcp.MethodLoggingSetLevel, mcp.MethodResourcesSubscribe, mcp.MethodResourcesUnsubscribe:
		return true, object{}
	case mcp.MethodToolsList:
		if params["cursor"] == cursor {
			return true, object{"tools": toolsOfPage2}
		}
		return true, object{"tools": toolsOfPage1, "nextCursor": cursor}
	case mcp.MethodToolsCall:
		w.called[name]++
		query, isText := arguments["query"].(string)
		fits := name != "search" || isText && len(query) <= 5000
		return slices.Contains(readOnly, name) && fits, object{"content": []any{object{"type": "text", "text": "found " + query}}}
	case mcp.MethodPromptsList:
		return true, object{"prompts": []any{
			object{"name": "greet"}, object{"name": "letter", "arguments": []any{object{"name": "to", "required": true}}},
		}}
	case mcp.MethodPromptsGet:
		to, isText := arguments["to"].(string)
		return name == "greet" || name == "letter" && isText, object{"messages": []any{object{"role": "user", "content": object{"type": "text", "text": "Dear " + to}}}}
	case mcp.MethodResourcesList:
		return true, object{"resources": []any{object{"uri": uris[0], "name": "a"}, object{"uri": uris[1], "name": "b"}}}
	case mcp.MethodResourceTemplatesList:
		return true, object{"resourceTemplates": []any{object{"uriTemplate": "doc://{name}", "name": "docs"}}}
	case mcp.MethodResourcesRead:
		return slices.Contains(uris, uri), object{"contents": []any{object{"uri": uri, "text": "text"}}}
	case mcp.MethodCompletionComplete:
		ref, _ := params["ref"].(object)
		return ref["name"] == "letter" || ref["uri"] == "doc://{name}", object{"completion": object{"values": []any{"a"}}}
	case mcp.MethodTasksList:
		return true, object{"tasks": []any{}}
	}
	return false, nil
}

func capabilities() object {
	return object{
		"tools": object{"listChanged": true}, "prompts": object{"listChanged": true}, "resources": object{"subscribe": true, "listChanged": true}, "completions": object{}, "logging": object{},
		"tasks": object{"list": object{}, "cancel": object{}, "requests": object{"tools": object{"call": object{}}}},
	}
}

var serverInfo = object{"name": "watchful", "version": "1"}

// message judges one message of a client, and returns the answer, nil for none. s is its session.
func (w *watchful) message(s *toldSession, data []byte) (method string, answer object) {
	var in object
	if err := json.Unmarshal(data, &in); err != nil || !utf8.Valid(data) || in["jsonrpc"] != "2.0" {
		w.fault("malformed: %.100q", data)
		return "", nil
	}
	method, isRequest := in["method"].(string)
	id, hasID := in["id"]
	if !isRequest {
		w.fault("a response, and nothing was asked: %s", data)
		return "", nil
	}
	w.methods[method]++
	params, _ := in["params"].(object)
	meta, _ := params["_meta"].(object)
	said, _ := meta[mcp.MetaProtocolVersion].(string)
	stateless := mcp.Version(said).Era() == mcp.EraStateless
	revision := mcp.LatestSession
	if stateless {
		revision = mcp.Latest
	}
	if method != mcp.MethodDiscover || stateless { // which a server of sessions alone is asked once
		if err := w.schemas[revision].Validate(w.schemas[revision].byMethod[method], data); err != nil {
			w.fault("%s: %v", data, err)
		}
	}
	if info, known := mcp.LookupMethod(method, revision); !known || info.Sender&mcp.FromClient == 0 {
		w.fault("no client sends %s in %s", method, revision)
	}
	if hasID {
		text := fmt.Sprintf("%T %v", id, id)
		if slices.Contains(s.ids, text) && !stateless {
			w.fault("the id %v a second time", id)
		}
		s.ids = append(s.ids, text)
	}
	result := object{}
	known := true
	switch {
	case method == mcp.MethodDiscover && !(stateless && w.stateless):
		return method, object{"jsonrpc": "2.0", "id": id, "error": object{"code": mcpMethodNotFound, "message": "Method not found"}}
	case method == mcp.MethodDiscover:
		result = object{"supportedVersions": []any{string(mcp.Latest), string(mcp.LatestSession)}, "capabilities": capabilities(), "_meta": object{mcp.MetaServerInfo: serverInfo}}
	case method == mcp.MethodInitialize:
		version, _ := params["protocolVersion"].(string)
		if s.revision != "" || mcp.Version(version).Era() != mcp.EraSession || !mcp.Version(version).Known() {
			w.fault("initialize in %q: %s", s.revision, data)
		}
		s.revision = mcp.Version(version)
		result = object{"protocolVersion": version, "capabilities": capabilities(), "serverInfo": serverInfo}
	case method == mcp.MethodInitialized:
		if s.initialized || s.revision == "" {
			w.fault("initialized a second time, or too early")
		}
		s.initialized = true
	case method == mcp.MethodSubscriptionsListen:
		filter, _ := params["notifications"].(object)
		return method, object{"jsonrpc": "2.0", "method": mcp.MethodSubscriptionsAcknowledged, "params": object{
			"notifications": filter, "_meta": object{mcp.MetaSubscriptionID: id},
		}}
	case method == mcp.MethodCancelled:
		if !slices.Contains(s.open, fmt.Sprint(params["requestId"])) {
			w.fault("cancels what was never sent: %s", data)
		}
	case !hasID:
		w.fault("a notification that says nothing: %s", data)
	default:
		if !stateless && !s.initialized && method != mcp.MethodPing {
			w.fault("%s before the handshake", method)
		}
		known, result = w.known(method, params)
	}
	if !known {
		w.fault("the server has no such thing: %s", data)
	}
	if !hasID {
		return method, nil
	}
	if stateless {
		result["resultType"], result["ttlMs"], result["cacheScope"] = "complete", 1000, "private"
	}
	good := object{"jsonrpc": "2.0", "id": id, "result": result}
	if w.answer != nil {
		good = w.answer(method, good)
	}
	return method, good
}

const mcpMethodNotFound = -32601

// serve is the server over lines.
func (w *watchful) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s := &toldSession{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			w.mu.Lock()
			if len(line) > 0 {
				w.fault("half a message: %.100q", line)
			}
			w.mu.Unlock()
			return nil
		}
		w.mu.Lock()
		w.arrived(len(line))
		method, answer := w.message(s, line)
		if answer != nil && method == mcp.MethodSubscriptionsListen {
			s.open = append(s.open, fmt.Sprint(answer["params"].(object)["_meta"].(object)[mcp.MetaSubscriptionID]))
		}
		w.mu.Unlock()
		if method == w.hangsUp && method != "" {
			return nil
		}
		if answer != nil {
			if err := json.NewEncoder(out).Encode(answer); err != nil || ctx.Err() != nil {
				return err
			}
		}
	}
}

// headers judges the headers of a request.
func (w *watchful) headers(r *http.Request, body []byte) {
	has := func(name string, want ...string) {
		if got := r.Header.Get(name); !slices.Contains(want, got) {
			w.fault("%s %s: %s is %q and not one of %q", r.Method, body, name, got, want)
		}
	}
	has("Origin", "")
	has("Authorization", "")
	has("Last-Event-ID", "")
	if r.URL.RequestURI() != "/mcp" || r.Host != "server.test" {
		w.fault("%s %s of %s", r.Method, r.URL, r.Host)
	}
	switch r.Method {
	case http.MethodPost:
		has("Content-Type", "application/json", "application/json; charset=utf-8")
		has("Accept", "application/json, text/event-stream")
		if r.ContentLength != int64(len(body)) || len(body) == 0 {
			w.fault("a body of length %d", r.ContentLength)
		}
	case http.MethodGet:
		has("Accept", "text/event-stream")
	case http.MethodDelete:
	default:
		w.fault("method %s", r.Method)
	}
	var in struct {
		Method string
		Params struct {
			Name, URI string
			Meta      map[string]any `json:"_meta"`
		}
	}
	_ = json.Unmarshal(body, &in) // message judges it
	said, _ := in.Params.Meta[mcp.MetaProtocolVersion].(string)
	if said == "" {
		has("Mcp-Method", "")
		return
	}
	has("Mcp-Protocol-Version", said)
	has("Mcp-Method", in.Method)
	name := in.Params.Name + in.Params.URI
	if in.Method != mcp.MethodToolsCall && in.Method != mcp.MethodPromptsGet && in.Method != mcp.MethodResourcesRead {
		name = ""
	}
	has("Mcp-Name", name, "=?base64?"+base64.StdEncoding.EncodeToString([]byte(name))+"?=")
	has("Mcp-Session-Id", "")
}

// ServeHTTP is the server over streamable HTTP.
func (w *watchful) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	size := len(body) + len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		size += len(name) + len(strings.Join(values, ", ")) + 4
	}
	w.mu.Lock()
	w.arrived(size)
	w.headers(r, body)
	if err != nil {
		w.fault("%v", err)
	}
	id := r.Header.Get("Mcp-Session-Id")
	s, there := w.sessions[id]
	isSession := r.Header.Get("Mcp-Protocol-Version") != string(mcp.Latest)
	if isSession && !there && (id != "" || !strings.Contains(string(body), `"initialize"`)) {
		w.fault("%s with the session %q: %s", r.Method, id, body)
	}
	if there && isSession && r.Header.Get("Mcp-Protocol-Version") != string(s.revision) {
		w.fault("%s with the revision %q", r.Method, r.Header.Get("Mcp-Protocol-Version"))
	}
	if s == nil {
		s = &toldSession{}
	}
	if r.Method != http.MethodPost {
		delete(w.sessions, map[string]string{http.MethodDelete: id}[r.Method])
		w.mu.Unlock()
		if r.Method == http.MethodGet {
			hold(to, r, nil)
		}
		return
	}
	method, answer := w.message(s, body)
	if method == mcp.MethodInitialize {
		id = fmt.Sprintf("session-%d-0123456789abcdef%x", len(w.times), len(w.times)*0x9E3779B97F4A7C1)
		w.sessions[id] = s
		to.Header().Set("Mcp-Session-Id", id)
	}
	w.mu.Unlock()
	switch {
	case method == w.hangsUp && method != "":
		panic(http.ErrAbortHandler)
	case method == mcp.MethodSubscriptionsListen:
		hold(to, r, answer)
	case answer == nil:
		to.WriteHeader(http.StatusAccepted)
	default:
		to.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(to).Encode(answer) // the client's loss
	}
}

// hold opens a stream that the client ends.
func hold(to http.ResponseWriter, r *http.Request, first object) {
	to.Header().Set("Content-Type", "text/event-stream")
	to.Header().Set("X-Accel-Buffering", "no")
	if first != nil {
		text, _ := json.Marshal(first)
		_, _ = fmt.Fprintf(to, "data: %s\n\n", text)
	}
	_ = http.NewResponseController(to).Flush()
	<-r.Context().Done()
}
