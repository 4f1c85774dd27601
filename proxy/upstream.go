package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// upstream is the server as one host uses it: a client that declares what the host declares.
type upstream struct {
	host    *host
	client  *client.Client
	version mcp.Version // of the host
	ready   chan struct{}
	begin   func() // closes ready: the server's messages may reach the host

	declared mcp.ClientCapabilities // of the host
	logs     bool                   // the server's log messages are for the host
	calls    openCalls

	mu            sync.Mutex
	subscriptions map[string]*client.Subscription // of a session host, by URI
}

// connect opens a client for a host that declares these.
func (h *host) connect(ctx context.Context, version mcp.Version, info, capabilities json.RawMessage) (*upstream, error) {
	up := &upstream{host: h, version: version, ready: make(chan struct{}), subscriptions: map[string]*client.Subscription{}}
	up.begin = sync.OnceFunc(func() { close(up.ready) })
	opts := []client.Option{
		client.WithLogger(h.log),
		client.WithCache(client.CacheConfig{NoPreload: true}),
		client.WithServerLimits(client.ServerLimits{Handlers: maxOpen, QuestionsPerMinute: 60 * maxOpen}),
		client.OnNotification(up.notified),
		client.OnEvent(up.observed),
	}
	for _, method := range []string{mcp.MethodSamplingCreateMessage, mcp.MethodElicitationCreate, mcp.MethodRootsList} {
		opts = append(opts, client.OnRequest(method, func(ctx context.Context, _ client.Requester, params json.RawMessage) (json.RawMessage, error) {
			return up.asked(ctx, method, params)
		}))
	}
	if info != nil {
		var v mcp.Implementation
		if err := mcp.Unmarshal(slices.Clone(info), &v); err != nil {
			return nil, invalidParams("clientInfo", err)
		}
		v.Name, v.Version = cmp.Or(v.Name, "unknown"), cmp.Or(v.Version, "unknown") // servers want both
		opts = append(opts, client.WithClientInfo(v))
	}
	if err := mcp.Unmarshal(slices.Clone(capabilities), &up.declared); err != nil {
		return nil, invalidParams("capabilities", err)
	}
	opts = append(opts, client.WithCapabilities(up.declared))
	var err error
	if version.Era() == mcp.EraSession {
		// In the host's own revision nothing has to be translated.
		up.client, err = h.target(ctx, append(slices.Clip(opts), client.WithProtocolVersion(string(version)))...)
		if err == nil || !otherRevision(err) {
			return up, err
		}
	}
	up.client, err = h.target(ctx, opts...)
	return up, err
}

// otherRevision reports whether a server refused a revision: it may speak others.
func otherRevision(err error) bool {
	var e *mcperrors.Error
	return errors.As(err, &e) && (e.Kind == mcperrors.KindVersion || e.Delivery == mcperrors.Answered)
}

func invalidParams(member string, err error) error {
	return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: "+member+": "+err.Error(), nil)
}

// stateless returns the server for a request of the stateless era: one for all requests that
// declare the same capabilities and log level, which a client has for all its requests. The first request connects; the others wait for it.
func (h *host) stateless(ctx context.Context, r *request) (*upstream, error) {
	h.connecting.Lock()
	defer h.connecting.Unlock()
	key := string(r.version) + string(r.level) + string(r.capabilities)
	h.mu.Lock()
	up := h.shared[key]
	full := up == nil && len(h.shared) == maxShared
	h.mu.Unlock()
	switch {
	case up != nil:
		return up, nil
	case full:
		return nil, jsonrpc.NewError(codeFailed, "Not sent: this host has declared too many different capabilities", nil)
	}
	up, err := h.connect(ctx, r.version, r.info, r.capabilities)
	if err != nil {
		return nil, err
	}
	if up.logs = r.level != "" && up.client.HasCapability("logging"); up.logs {
		err = up.client.SetLogLevel(ctx, r.level)
	}
	if err != nil {
		up.close()
		return nil, err
	}
	up.begin()
	return up, h.keep(up, func() { h.shared[key] = up })
}

// maxShared bounds the servers of one host of the stateless era.
const maxShared = 8

// keep stores a server, or closes it if the host is gone meanwhile.
func (h *host) keep(up *upstream, store func()) error {
	h.mu.Lock()
	gone := h.closed
	if !gone {
		store()
	}
	h.mu.Unlock()
	if gone {
		up.close()
		return errHostGone
	}
	return nil
}

func (up *upstream) close() {
	_ = up.client.Close() // nothing is left that an error could matter to
}

// serve answers a request of the host.
func (up *upstream) serve(ctx context.Context, r *request) (json.RawMessage, *jsonrpc.Error) {
	info, there := mcp.LookupMethod(r.Method, up.version)
	switch {
	case there && (info.Sender == mcp.FromServer || info.Notification):
		return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: "+r.Method+" is no request of clients", nil)
	case !there && known(r.Method):
		return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: "+r.Method+" is not in revision "+string(up.version), nil)
	case strings.HasPrefix(r.Method, "tasks/") && up.version.Era() != up.server(): // each era has tasks of its own
		return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: "+r.Method+": the server has tasks of another era", nil)
	case strings.ContainsFunc(r.Method, func(c rune) bool { return c <= ' ' || c > '~' }): // HTTP cannot carry it
		return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: "+jsonrpc.Printable(r.Method, 100), nil)
	}
	var result json.RawMessage
	var err error
	if answer := rules[r.Method]; answer != nil {
		result, err = answer(up, ctx, r)
	} else {
		result, err = up.pass(ctx, r)
	}
	if err != nil {
		return failure(r, up.server(), err)
	}
	return up.result(r, result), nil
}

// known reports whether some revision has the method.
func known(method string) bool {
	for _, v := range mcp.Versions() {
		if mcp.MethodIn(method, v) {
			return true
		}
	}
	return false
}

// pass sends a request to the server and returns its result.
func (up *upstream) pass(ctx context.Context, r *request, opts ...client.CallOption) (json.RawMessage, error) {
	if r.token != nil {
		opts = append(opts, client.WithProgress(func(p mcp.ProgressParams) { up.progress(r.token, p) }))
	}
	var params any
	if r.Params != nil {
		params = r.Params
	}
	return up.client.Call(ctx, r.Method, params, opts...)
}

// progress tells the host of the progress of its request, under its own token.
func (up *upstream) progress(token json.RawMessage, p mcp.ProgressParams) {
	var id jsonrpc.ID
	if id.UnmarshalJSON(token) != nil {
		return // it asked with a token that cannot be one
	}
	p.ProgressToken = id
	if raw, err := mcp.Marshal(&p); err == nil {
		up.host.tell(jsonrpc.Notification{Method: mcp.MethodProgress, Params: raw})
	}
}

// notify passes a notification of a session host to the server.
func (up *upstream) notify(n jsonrpc.Notification) {
	if up.server() == mcp.EraStateless {
		return // its hosts send none: what they were is in each request
	}
	if err := up.client.Notify(up.host.ctx, n.Method, n.Params); err != nil {
		up.host.log.Warn("[MCP] a notification did not reach the server", "method", jsonrpc.Printable(n.Method, 100), "error", err)
	}
}

func (up *upstream) server() mcp.Era { return up.client.ProtocolVersion().Era() }
