package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/conformance/server/front"
	"github.com/mainstay-mcp/mainstay/conformance/server/tasks"
)

// An endpoint is an MCP server of its own with some of the families: all of
// them at /mcp, each one alone at /mcp/<family>. Its sessions are its own.
//
// One go-sdk server serves both eras, over HTTP through two handlers (decisions
// 5). The endpoint is the [front.Backend] of both transports.
type endpoint struct {
	srv      *Server
	families []*family.Family
	mcp      *mcp.Server
	http     http.Handler
	methods  map[front.Era]map[string]bool
	tools    map[string]tool // by name; those a family registers itself have no [family.Tool]
	direct   map[string]tool
	sessions sessionSet
}

// tool is a tool and the family it is of.
type tool struct {
	family *family.Family
	*family.Tool
}

func newEndpoint(srv *Server, families []*family.Family) (*endpoint, error) {
	e := &endpoint{srv: srv, families: families, tools: map[string]tool{}, direct: map[string]tool{}}
	opts := &mcp.ServerOptions{
		Capabilities:              e.capabilities(),
		InitializedHandler:        e.initialized,
		SupportedProtocolVersions: versions(),
		GetSessionID:              rand.Text,
		SetCacheable:              e.cacheable,
		Logger:                    slog.New(slog.DiscardHandler), // go-sdk's own log is not in our form
	}
	for _, f := range families {
		if f.Configure != nil {
			f.Configure(opts)
		}
	}
	e.methods = methods(opts)
	for _, f := range families {
		for _, name := range f.Extends {
			e.methods[front.EraSession][name], e.methods[front.EraStateless][name] = true, true
		}
	}
	withTasks := slices.ContainsFunc(families, func(f *family.Family) bool { return f.Tasks })
	if withTasks {
		opts.Capabilities.AddExtension(tasks.Extension, nil)
		for _, name := range tasks.Methods() {
			e.methods[front.EraStateless][name] = true
		}
	}
	e.mcp = mcp.NewServer(&mcp.Implementation{Name: Name, Title: "Mainstay reference server", Version: Version}, opts)
	for _, f := range families {
		e.add(f)
	}
	if withTasks {
		if err := srv.tasks.Register(e.mcp); err != nil {
			return nil, err
		}
	}
	e.mcp.AddReceivingMiddleware(e.guard) // before all others, which are added first
	e.mcp.AddSendingMiddleware(merge, subscribed)
	e.http = e.handler()
	return e, nil
}

// add registers what f brings.
func (e *endpoint) add(f *family.Family) {
	for i := range f.Tools {
		t := tool{f, &f.Tools[i]}
		e.tools[t.Name] = t
		if f.Direct {
			e.direct[t.Name] = t
		}
		e.addTool(t)
	}
	for i := range f.Resources {
		e.addResource(f, &f.Resources[i])
	}
	for name, handle := range f.Methods {
		e.direct[name] = tool{f, &family.Tool{Name: name, Handle: handle}}
	}
	for _, name := range f.Registered {
		e.tools[name] = tool{family: f}
	}
	if f.Register != nil {
		f.Register(e.mcp)
	}
}

// handler returns the front of go-sdk's two handlers.
func (e *endpoint) handler() http.Handler {
	server := func(*http.Request) *mcp.Server { return e.mcp }
	session := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		EventStore:                 e.srv.events, // without one no priming event is sent
		MaxRequestBodyBytes:        -1,           // the front has read and bounded the body
		DisableLocalhostProtection: true,         // the gate checks Host, with AllowedHosts
		// No SessionTimeout: unused sessions end by our limit, which knows their streams.
	})
	stateless := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		MaxRequestBodyBytes:          -1,
		DisableLocalhostProtection:   true,
		PropagateRequestCancellation: true, // to close the stream is to cancel
	})
	return front.NewHTTP(front.HTTPOptions{
		Backend: e, Session: session, Stateless: stateless, MaxBytes: e.srv.opts.MaxMessageBytes,
	})
}

// capabilities announces the error profile of each tool and, when the data are temporary,
// that a conformance run may call every tool.
func (e *endpoint) capabilities() *mcp.ServerCapabilities {
	profiles := map[string]any{}
	for _, f := range e.families {
		for i := range f.Tools {
			profiles[f.Tools[i].Name] = f.Profile
		}
		for _, name := range f.Registered {
			profiles[name] = f.Profile
		}
	}
	experimental := map[string]any{"errorProfiles": profiles}
	if e.srv.sandbox {
		experimental["conformance"] = map[string]any{"sideEffects": "all"}
	}
	return &mcp.ServerCapabilities{
		Experimental: experimental,
		Tools:        &mcp.ToolCapabilities{},
		Resources:    &mcp.ResourceCapabilities{},
	}
}

// cacheable returns how long an answer of the stateless era may be cached. The lists are
// the same for all callers; a resource may change at any time and is private.
func (e *endpoint) cacheable(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
	if _, read := req.(*mcp.ReadResourceRequest); read || !stateless(req) {
		c.CacheScope = "private"
		return
	}
	c.TTLMs, c.CacheScope = int((5 * time.Minute).Milliseconds()), "public"
	if e.srv.opts.Token != "" || e.srv.guard != nil {
		c.CacheScope = "private"
	}
}

// serveSession serves a transport on a session of its own, of the session era or for
// one request of the stateless era, over stdio or the HTTP+SSE transport.
func (e *endpoint) serveSession(ctx context.Context, t mcp.Transport) error {
	session, err := e.mcp.Connect(ctx, t, nil)
	if err != nil {
		return err
	}
	return session.Wait()
}

// Versions implements [front.Backend].
func (e *endpoint) Versions() []string { return versions() }

// Serves implements [front.Backend].
func (e *endpoint) Serves(era front.Era, method string) bool { return e.methods[era][method] }

// Session implements [front.Backend].
func (e *endpoint) Session(id string) (version string, ok bool) { return e.sessions.find(id) }

// Forget implements [front.Backend].
func (e *endpoint) Forget(id string) { e.sessions.forget(id) }

// Open implements [front.Backend].
func (e *endpoint) Open(address string) (key string, done func(), ok bool) {
	s := e.srv.limit.reserve(address)
	if s == nil {
		return "", nil, false
	}
	return s.key, s.leave, true
}

// Enter implements [front.Backend].
func (e *endpoint) Enter(id string) (leave func()) { return e.sessions.enter(id) }

// IsDirect implements [front.Backend].
func (e *endpoint) IsDirect(method string) bool {
	_, ok := e.direct[method]
	return ok
}

// Admit implements [front.Backend].
func (e *endpoint) Admit(ctx context.Context, c *front.Call) *family.Quota {
	t, ok := e.tools[c.Tool]
	if !ok || t.family.Admit == nil {
		return nil
	}
	call := family.NewCall(c.Tool, c.Arguments, e.srv.log)
	call.Origin = c.Origin
	q := t.family.Admit(ctx, call)
	return &q
}

// Direct implements [front.Backend].
func (e *endpoint) Direct(ctx context.Context, c *front.Call) (raw json.RawMessage, failed *jsonrpc.Error) {
	ctx, cancel := e.srv.lives(ctx)
	defer cancel()
	t := e.direct[c.Tool]
	if len(c.Arguments) > 0 && c.Arguments[0] != '{' { // for the numeric tools, too
		return nil, family.Invalid("params", "params", "params must be an object").Wire(t.family.Profile)
	}
	out := e.run(ctx, t, c)
	switch {
	case out.failure != nil:
		return nil, out.failure.Wire(t.family.Profile)
	case out.payload != nil:
		return out.payload, nil
	}
	text, err := family.Encode(out.text)
	if err != nil { // a string always marshals
		return nil, family.Internal(err).Wire(t.family.Profile)
	}
	return text, nil
}

// methods returns what the server answers in each era, from the options it is
// made with.
func methods(opts *mcp.ServerOptions) map[front.Era]map[string]bool {
	both := []string{
		"tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read",
		"notifications/cancelled", "notifications/progress",
	}
	session := []string{"initialize", "ping", "notifications/initialized", "notifications/roots/list_changed"}
	stateless := []string{"server/discover", "subscriptions/listen"}
	if opts.Capabilities.Prompts != nil {
		both = append(both, "prompts/list", "prompts/get")
	}
	if opts.CompletionHandler != nil {
		both = append(both, "completion/complete")
	}
	if opts.Capabilities.Logging != nil { //nolint:staticcheck // in force in every revision before the last
		session = append(session, "logging/setLevel")
	}
	if opts.SubscribeHandler != nil {
		session = append(session, "resources/subscribe", "resources/unsubscribe")
	}
	set := func(names ...string) map[string]bool {
		m := make(map[string]bool, len(names))
		for _, name := range names {
			m[name] = true
		}
		return m
	}
	return map[front.Era]map[string]bool{
		front.EraSession:   set(slices.Concat(both, session)...),
		front.EraStateless: set(slices.Concat(both, stateless)...),
	}
}
