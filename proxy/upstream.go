package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

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
	logs     levels
	calls    openCalls

	mu            sync.Mutex
	subscriptions map[string]*client.Subscription // of a session host, by URI
}

// connect opens a client for a host that declares these.
func (h *host) connect(ctx context.Context, version mcp.Version, info, capabilities json.RawMessage) (*upstream, error) {
	up := &upstream{host: h, version: version, ready: make(chan struct{}), logs: levels{setting: make(chan struct{}, 1)}, subscriptions: map[string]*client.Subscription{}}
	up.begin = sync.OnceFunc(func() { close(up.ready) })
	opts := []client.Option{
		client.WithLogger(h.log),
		client.WithRequiredCapabilities(), // the host judges what the server has
		client.WithCache(client.CacheConfig{NoPreload: true}),
		client.WithServerLimits(client.ServerLimits{Handlers: maxOpen, QuestionsPerMinute: 60 * maxOpen}),
		client.OnNotification(up.notified),
		client.OnEvent(up.observed),
	}
	for method := range asking {
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
	up.declared.Tasks = nil // those of the host cannot be followed from the server
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

// A slot is a server of stateless hosts, or of one that is being connected to.
type slot struct {
	ready chan struct{} // closed when up or err is set
	up    *upstream
	err   error
	open  int       // requests
	used  time.Time // when the last one began
}

// maxShared bounds the servers of one host of the stateless era.
const maxShared = 8

// stateless returns the server for a request of the stateless era: one for all requests that
// declare the same, because a client declares the same with each. The first one connects, the
// others wait and share its failure. release is to be called after the request.
func (h *host) stateless(ctx context.Context, r *request) (up *upstream, release func(), err error) {
	var declared any
	if err := jsonrpc.Unmarshal(r.capabilities, &declared); err != nil {
		return nil, nil, invalidParams("capabilities", err)
	}
	sorted, err := json.Marshal(declared)
	if err != nil {
		return nil, nil, err
	}
	key := fmt.Sprint(r.version, r.level != "", string(sorted))
	h.mu.Lock()
	s := h.shared[key]
	if s == nil {
		if !h.room() {
			h.mu.Unlock()
			return nil, nil, overloaded("this host uses the server with too many different capabilities at once")
		}
		s = &slot{ready: make(chan struct{})}
		h.shared[key] = s
		h.work.Go(func() { h.fill(s, key, r) })
	}
	s.open++
	s.used = time.Now()
	h.mu.Unlock()
	leave := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		s.open--
	}
	select {
	case <-s.ready:
		if err = s.err; err == nil {
			err = s.up.logs.begin(ctx, s.up.client, r.level)
		}
	case <-ctx.Done():
		err = mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindCanceled, mcperrors.NotSent, "the server was not ready in time", context.Cause(ctx))
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return s.up, func() {
		s.up.logs.end(r.level)
		leave()
	}, nil
}

// fill connects to the server of a slot. A slot that fails is forgotten: the next request
// tries again.
func (h *host) fill(s *slot, key string, r *request) {
	defer close(s.ready)
	up, err := h.connect(h.ctx, r.version, r.info, r.capabilities)
	if err == nil {
		up.begin()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.up, s.err = up, err; err != nil {
		s.up = nil
		delete(h.shared, key)
	}
}

// room makes room for one more server, if it can: it closes the one that was not used for the
// longest time. Requires h.mu.
func (h *host) room() bool {
	if len(h.shared) < maxShared {
		return true
	}
	var oldest string
	for key, s := range h.shared {
		if s.open == 0 && s.up != nil && s.up.calls.none() && (oldest == "" || s.used.Before(h.shared[oldest].used)) {
			oldest = key
		}
	}
	if oldest == "" {
		return false
	}
	h.work.Go(h.shared[oldest].up.close)
	delete(h.shared, oldest)
	return true
}

// overloaded is the error of a request that exceeds a bound of the proxy.
func overloaded(text string) *mcperrors.Error {
	e := mcperrors.New(mcperrors.CodeRateLimited, mcperrors.KindOverloaded, mcperrors.NotSent, text, nil)
	e.Retryable = true
	return e
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

// pass sends a request to the server and returns its result. How long to wait is for the host
// to decide.
func (up *upstream) pass(ctx context.Context, r *request, opts ...client.CallOption) (json.RawMessage, error) {
	opts = append(opts, client.WithTimeouts(-1, -1))
	if !r.token.IsZero() {
		opts = append(opts, client.WithProgress(func(p mcp.ProgressParams) { up.progress(r.token, p) }))
	}
	var params any
	if r.Params != nil {
		params = r.Params
	}
	return up.client.Call(ctx, r.Method, params, opts...)
}

// progress tells the host of the progress of its request, under its own token.
func (up *upstream) progress(token jsonrpc.ID, p mcp.ProgressParams) {
	p.ProgressToken = token
	if raw, err := mcp.Marshal(&p); err == nil {
		up.host.tell(jsonrpc.Notification{Method: mcp.MethodProgress, Params: raw})
	}
}

// notify passes a notification of a session host to the server.
func (up *upstream) notify(n jsonrpc.Notification) {
	if up.server() == mcp.EraStateless {
		return // its hosts send none: what they were is in each request
	}
	ctx, cancel := context.WithTimeout(up.host.ctx, slow)
	defer cancel()
	if err := up.client.Notify(ctx, n.Method, n.Params); err != nil {
		up.host.undelivered(n, err)
	}
}

func (up *upstream) server() mcp.Era { return up.client.ProtocolVersion().Era() }
