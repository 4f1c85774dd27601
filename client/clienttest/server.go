package clienttest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Server is a scripted server. Use [NewServer] to make one. It is safe for
// concurrent use, also while clients are connected.
type Server struct {
	t    testing.TB
	ctx  context.Context // ends with Close
	end  context.CancelFunc
	work sync.WaitGroup

	mu        sync.Mutex
	caps      mcp.ServerCapabilities
	methods   map[string]Handler
	tools     []mcp.Tool
	calls     map[string]Handler // of tools
	resources []mcp.Resource
	texts     map[string]string // of resources
	prompts   []mcp.Prompt
	gets      map[string]Handler // of prompts
	faults    []error
	requests  []Request
	sinks     []*sink
	running   map[jsonrpc.ID]context.CancelFunc
	asked     map[jsonrpc.ID]chan jsonrpc.Response
	lastAsked int64
	sessions  map[string]chan struct{} // over HTTP; closed when a session is over
	opened    int                      // sessions so far
	connect   func(n int) error
	connected int                        // connections in memory so far
	runs      map[int]context.CancelFunc // their ends
	web       *httptest.Server
	mem       *memhttp.Server
	closed    bool
}

// Handler answers a request. The result may be any value that encodes to a JSON
// object. A json.RawMessage is sent unchanged except for white space, without the members
// that the server adds to other results in the stateless era. A [Raw] is sent unchanged.
//
// An error that is or wraps a *jsonrpc.Error is sent as that error. Any other
// error of a tool becomes a result with isError set, and of another method the
// JSON-RPC error -32603. [ErrSilent], [ErrCut] and [*HTTPError] have the same
// effect as in [Server.Fail]; with them, a tool can do its work and the client
// does not get the answer. A handler may fail the test, also with t.Fatal. If
// it does so or panics, the client gets -32603; a panic also fails the test.
type Handler func(call *Call) (any, error)

// Raw is a whole message that a [Handler] returns in place of a result, for example
// one that breaks the protocol. The client gets it unchanged. It has no line break.
type Raw string

// Request is a message that a client sent.
type Request struct {
	Method string
	// Params are the unchanged params with _meta, nil if absent.
	Params json.RawMessage
	// Notification reports that the message is a notification.
	Notification bool
	// Header has the headers of the HTTP request. It is nil without HTTP.
	Header http.Header
	// Connection is the number of the connection in memory, from 1; see
	// [Server.OnConnect]. It is 0 over HTTP.
	Connection int
}

// Errors for [Server.Fail] and for handlers, besides [*jsonrpc.Error] and [*HTTPError].
var (
	// ErrSilent: the request is never answered.
	ErrSilent = errors.New("clienttest: no answer")
	// ErrCut: the connection breaks before the answer. Over HTTP this breaks the
	// connection of the request. Over [Server.Transport] it ends the program that
	// the server plays, and all calls in flight. Clients can reconnect at once.
	ErrCut = errors.New("clienttest: the connection breaks")
)

// NewServer returns a server that declares tools, resources and prompts, and
// has none yet. It closes with the test.
func NewServer(t testing.TB) *Server {
	t.Helper()
	list := &mcp.ListChangedCapability{ListChanged: true}
	s := &Server{
		t: t, methods: map[string]Handler{}, calls: map[string]Handler{}, gets: map[string]Handler{}, texts: map[string]string{},
		running: map[jsonrpc.ID]context.CancelFunc{}, asked: map[jsonrpc.ID]chan jsonrpc.Response{},
		sessions: map[string]chan struct{}{}, runs: map[int]context.CancelFunc{},
		caps: mcp.ServerCapabilities{
			Tools: list, Prompts: list, Resources: &mcp.ResourcesCapability{Subscribe: true, ListChanged: true},
		},
	}
	s.ctx, s.end = context.WithCancel(context.Background()) //nolint:forbidigo,usetesting // ends with Close: other clean-ups may still need it
	t.Cleanup(s.Close)
	return s
}

// Close ends all connections and waits for the handlers. It may be called more
// than once. The end of the test also calls it.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.end()
	web, mem := s.web, s.mem
	s.mu.Unlock()
	if web != nil {
		web.CloseClientConnections()
		web.Close()
	}
	if mem != nil {
		mem.Close()
	}
	s.work.Wait()
}

// SetCapabilities sets the capabilities that the server declares to clients
// that connect later.
func (s *Server) SetCapabilities(caps mcp.ServerCapabilities) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caps = caps
}

// Tool adds a tool, or replaces the tool with that name. It does not notify
// clients: see [Server.Notify]. schema is the JSON Schema of the arguments, ""
// for any object.
func (s *Server) Tool(name, schema string, f Handler) {
	s.t.Helper()
	if schema == "" {
		schema = `{"type":"object"}`
	}
	s.AddTool(mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}, f)
}

// AddTool is [Server.Tool] with the full definition of a tool. A schema that is
// not a JSON object ends the test.
func (s *Server) AddTool(tool mcp.Tool, f Handler) {
	s.t.Helper()
	if err := jsonrpc.Members(tool.InputSchema, func(_, _ []byte) bool { return true }); err != nil {
		s.t.Fatalf("clienttest: the input schema of tool %q is not a JSON object: %v", tool.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = put(s.tools, tool, func(t mcp.Tool) string { return t.Name })
	s.calls[tool.Name] = f
}

// Resource adds a text resource, or replaces the resource with that URI.
func (s *Server) Resource(uri, mimeType, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resources = put(s.resources, mcp.Resource{URI: uri, Name: uri, MIMEType: mimeType}, func(r mcp.Resource) string { return r.URI })
	s.texts[uri] = text
}

// Prompt adds a prompt, or replaces the prompt with that name. f returns a
// *mcp.GetPromptResult; [Call.Bind] decodes the arguments.
func (s *Server) Prompt(prompt mcp.Prompt, f Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prompts = put(s.prompts, prompt, func(p mcp.Prompt) string { return p.Name })
	s.gets[prompt.Name] = f
}

// On sets the handler of a method, also of a method that the server answers
// automatically, such as initialize and server/discover. A nil f restores the
// answer of the server.
func (s *Server) On(method string, f Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.methods[method] = f
}

// Fail makes the next n requests fail before any handler runs, except
// initialize and server/discover. err is a *jsonrpc.Error, an [*HTTPError],
// [ErrSilent] or [ErrCut]. Failures of several calls are used in order. To fail
// a handshake, or only one method or tool, return the error from its [Handler].
func (s *Server) Fail(n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.faults = append(s.faults, err)
	}
}

// came records a message of a client.
func (s *Server) came(method string, params json.RawMessage, notification bool, from origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{
		Method: method, Params: slices.Clone(params), Notification: notification, Header: from.header.Clone(), Connection: from.connection,
	})
}

// Requests returns the messages that clients have sent, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Count returns how many messages of a method have arrived.
func (s *Server) Count(method string) int {
	n := 0
	for _, r := range s.Requests() {
		if r.Method == method {
			n++
		}
	}
	return n
}

// Text returns a tool result with one text.
func Text(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// put replaces the element with v's key, or appends v.
func put[T any](list []T, v T, key func(T) string) []T {
	for i := range list {
		if key(list[i]) == key(v) {
			list[i] = v
			return list
		}
	}
	return append(list, v)
}
