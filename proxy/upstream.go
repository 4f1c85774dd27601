package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// upstream is the server as one host uses it: a client that declares what the host declares, or
// the client of all hosts.
type upstream struct {
	*hostSide
	from *source // of a group, else nil
	*connection
	sharing
	cached  cached
	renewed func() // is called when the server has another process or session

	logs  levels
	calls openCalls
	away  atomic.Int32 // requests that wait because the server cannot be reached

	mu            sync.Mutex
	subscriptions map[string]*client.Subscription // of a session host, by URI
	owed          []string                        // URIs of the server before, to be subscribed to
	level         mcp.LoggingLevel                // that a session host has set, "" for none
}

// newUpstream returns the server for a host, which does not connect yet. ctx is that of the
// attempts to connect, and start runs them.
func newUpstream(ctx context.Context, side *hostSide, to source, start func(func())) *upstream {
	up := &upstream{hostSide: side, logs: levels{setting: make(chan struct{}, 1)}, subscriptions: map[string]*client.Subscription{}}
	up.renewed = up.listsChanged
	dial := func(ctx context.Context) (*client.Client, error) { return up.dial(ctx, to.Target) }
	if to.shared != nil {
		up.share(to.shared)
		dial = func(ctx context.Context) (*client.Client, error) { return to.shared.join(ctx, up) }
	}
	up.connection = newConnection(ctx, start, dial)
	up.settled, up.after, up.hasty = up.catchUp, side.ended, to.shared != nil
	return up
}

// open implements [Server].
func (to Target) open(side *hostSide) (backend, error) {
	up := newUpstream(side.host.ctx, side, source{Named: Named{Target: to}}, side.host.work.Go)
	up.inherit(side.before)
	return up, up.cached.init(side, side.host.identity)
}

// clientOptions returns options of each client. partition is that of its cache.
func (s settings) clientOptions(partition string) []client.Option {
	opts := []client.Option{
		client.WithLogger(s.log),
		client.WithRequiredCapabilities(), // the host judges what the server has
		client.WithCache(client.CacheConfig{NoPreload: !s.checkArguments, Partition: partition}),
	}
	if s.checkArguments {
		opts = append(opts, client.WithValidation(client.Validation{Arguments: client.ValidateStrict}))
	}
	return opts
}

// dial opens the client of one host.
func (up *upstream) dial(ctx context.Context, to Target) (*client.Client, error) {
	partition := ""
	if len(up.host.forward) > 0 && !up.host.strangers {
		partition = client.AllCallers // headers that differ are still those of one host
	}
	ctx = up.host.withOwnHeaders(ctx, headersOf(up.host.line))
	opts := append(up.host.clientOptions(partition),
		client.WithServerLimits(client.ServerLimits{Handlers: maxOpen, QuestionsPerMinute: 60 * maxOpen}),
		client.WithCapabilities(up.declared),
		client.OnNotification(up.notified),
		client.OnEvent(up.observed),
		client.OnAnyRequest(func(ctx context.Context, _ client.Requester, method string, params json.RawMessage) (json.RawMessage, error) {
			return up.askedOther(ctx, method, up.ownToken(params))
		}),
	)
	for method := range asking {
		opts = append(opts, client.OnRequest(method, func(ctx context.Context, _ client.Requester, params json.RawMessage) (json.RawMessage, error) {
			return up.asked(ctx, method, up.ownToken(params))
		}))
	}
	if up.info != nil {
		opts = append(opts, client.WithClientInfo(*up.info))
	}
	if up.from != nil {
		opts = append(opts, client.WithName(up.from.Name))
	}
	if up.version.Era() == mcp.EraSession {
		// In the host's own revision nothing has to be translated.
		c, err := to(ctx, append(slices.Clip(opts), client.WithProtocolVersion(string(up.version)))...)
		if err == nil || !otherRevision(err) {
			return c, err
		}
	}
	return to(ctx, opts...)
}

// withOwnHeaders returns the context for a Target. own are the headers of the one host of the
// server, nil if it has several.
func (s settings) withOwnHeaders(ctx context.Context, own http.Header) context.Context {
	if len(s.forward) == 0 {
		return ctx
	}
	return context.WithValue(ctx, ownHeadersKey{}, own)
}

// headersOf returns the headers that came with what a line is for.
func headersOf(on line) http.Header {
	switch on := on.(type) {
	case *stream:
		return on.forwarded
	case *session:
		return on.forwarded
	}
	return nil
}

// otherRevision reports whether a server refused a revision: it may speak others, unless it offered
// one that nobody knows.
func otherRevision(err error) bool {
	var mismatch *client.VersionError
	if errors.As(err, &mismatch) && mismatch.Offered != "" && !mismatch.Offered.Known() {
		return false
	}
	var e *mcperrors.Error
	return errors.As(err, &e) && (e.Kind == mcperrors.KindVersion || e.Delivery == mcperrors.Answered)
}

// A slot is a server of stateless hosts.
type slot struct {
	up     backend
	open   int       // requests that use it
	asking int       // those of them during which the server may ask the host
	used   time.Time // when the last one began
}

// Bounds of the servers of stateless hosts.
const (
	maxShared    = 8  // of one host
	maxStrangers = 32 // of all hosts of a URL
)

// stateless returns the server for a request of the stateless era: one for all requests that
// declare the same, because a client declares the same with each. If they may come from several
// hosts, one during which the server may ask has a server for itself: a session server does not
// say for which call it asks. release is to be called after the request.
func (h *host) stateless(r *request) (up backend, release func(), err error) {
	info, capabilities := r.info, r.capabilities
	if h.share {
		info, capabilities = nil, json.RawMessage(`{}`) // the server learns neither
	}
	declared, err := canonical(capabilities)
	if err != nil {
		return nil, nil, invalidParams("capabilities", err)
	}
	alone := h.strangers && !h.share && r.mayAsk()
	h.mu.Lock()
	defer h.mu.Unlock()
	var key string
	var s *slot
	for n := 0; ; n++ {
		key = fmt.Sprint(r.version, declared, n)
		if s = h.shared[key]; s == nil || !alone || s.asking == 0 && s.up.idle() || s.up.attributes() {
			break
		}
	}
	if s == nil {
		if !h.room() {
			return nil, nil, overloaded("this host uses the server with too many different capabilities at once")
		}
		s = &slot{}
		if s.up, err = h.open(r.version, info, capabilities); err != nil {
			return nil, nil, err
		}
		s.up.side().begin()
		h.shared[key] = s
	}
	s.open++
	if alone {
		s.asking++
	}
	s.used = time.Now()
	return s.up, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		s.open--
		if alone {
			s.asking--
		}
	}, nil
}

// room makes room for one more server, if it can: it closes the one that was not used for the
// longest time. Requires h.mu.
func (h *host) room() bool {
	if len(h.shared) < maxShared || h.strangers && len(h.shared) < maxStrangers {
		return true
	}
	var oldest string
	for key, s := range h.shared {
		if s.open == 0 && s.up.idle() && (oldest == "" || s.used.Before(h.shared[oldest].used)) {
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

// attributes implements [backend].
func (up *upstream) attributes() bool { return up.isConnected() && up.server() == mcp.EraStateless }

// idle implements [backend].
func (up *upstream) idle() bool { return up.calls.none() }

// serve answers a request of the host.
func (up *upstream) serve(ctx context.Context, r *request) (json.RawMessage, *jsonrpc.Error) {
	result, err := up.answer(ctx, r)
	if err != nil {
		return failure(r, up.server(), err)
	}
	return result, nil
}

// once returns the result of a request that is allowed, once the server is there.
func (up *upstream) once(ctx context.Context, r *request) (json.RawMessage, error) {
	if len(up.host.forward) > 0 {
		ctx = context.WithValue(ctx, callHeadersKey{}, headersOf(r.line))
	}
	if err := up.connected(ctx); err != nil {
		return nil, err
	}
	if strings.HasPrefix(r.Method, "tasks/") && up.version.Era() != up.server() { // each era has tasks of its own
		return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: "+r.Method+": the server has tasks of another era", nil)
	}
	if up.shared != nil && r.Method == mcp.MethodTasksList {
		return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: "+r.Method+": the server is shared, and its tasks may be those of other hosts", nil)
	}
	if info, _ := mcp.LookupMethod(r.Method, up.version); up.gone(info.Capability) {
		return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: the server no longer has the capability "+info.Capability+
			", which it had when it was last started; connect again", nil)
	}
	if up.version.Era() == mcp.EraStateless && r.Method != mcp.MethodSubscriptionsListen {
		if err := up.logs.begin(ctx, up.client, r); err != nil {
			return nil, err
		}
		defer up.logs.end(r)
	}
	if fault := up.checkTool(ctx, r); fault != nil {
		return nil, fault
	}
	var result json.RawMessage
	var err error
	if answer := rules[r.Method]; answer != nil {
		result, err = answer(up, ctx, r)
	} else {
		result, err = up.pass(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	result = up.result(r, result)
	up.keep(r, result)
	return result, nil
}

// allowed returns what is wrong with the method of a request.
func (r *request) allowed() *jsonrpc.Error {
	info, there := mcp.LookupMethod(r.Method, r.version)
	var text string
	switch {
	case there && (info.Sender == mcp.FromServer || info.Notification):
		text = r.Method + " is no request of clients"
	case !there && known(r.Method):
		text = r.Method + " is not in revision " + string(r.version)
	case strings.ContainsFunc(r.Method, func(c rune) bool { return c <= ' ' || c > '~' }): // HTTP cannot carry it
		text = jsonrpc.Printable(r.Method, 100)
	default:
		return nil
	}
	return jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: "+text, nil)
}

// verbatim are the options of most calls: only the first is for one during which the client asks.
var verbatim = []client.CallOption{client.WithTimeouts(-1, -1), client.WithVerbatim()}

// pass sends a request to the server and returns its result. How long to wait is for the host
// to decide.
func (up *upstream) pass(ctx context.Context, r *request, more ...client.CallOption) (json.RawMessage, error) {
	call, opts := r.Params, verbatim
	if up.asks(r) {
		call, opts = forClient(call), opts[:1:1]
	} else {
		if r.level != "" && up.server() == mcp.EraStateless {
			call = withLevel(call, r.level)
		}
	}
	if !r.token.IsZero() {
		opts = append(opts, client.WithProgress(func(p mcp.ProgressParams) { up.progress(r, p) }))
	}
	opts = append(opts, more...)
	var params any
	if call != nil {
		params = call
	}
	result, err := up.client.Call(ctx, r.Method, params, opts...)
	up.delivered(ctx)
	return result, err
}

// asks reports whether the client has to put questions of the server to the host, because their
// eras ask in other ways.
func (up *upstream) asks(r *request) bool {
	return up.version.Era() == mcp.EraSession && up.server() == mcp.EraStateless && r.attended()
}

// progress tells the host of the progress of its request, under its own token.
func (up *upstream) progress(r *request, p mcp.ProgressParams) {
	r.heartbeat.stop()
	p.ProgressToken = r.token
	if raw, err := mcp.Marshal(&p); err == nil {
		up.host.tell(r.line, jsonrpc.Notification{Method: mcp.MethodProgress, Params: raw})
	}
}

// notify passes a notification of a session host to the server.
func (up *upstream) notify(n jsonrpc.Notification) {
	if err := up.connected(up.host.ctx); err != nil {
		up.host.undelivered(n, err)
		return
	}
	if up.server() == mcp.EraStateless || up.shared != nil && known(n.Method) {
		return // it has asked for none, or what they were is in each request
	}
	ctx, cancel := context.WithTimeout(up.host.ctx, slow)
	defer cancel()
	if err := up.client.Notify(ctx, n.Method, n.Params); err != nil {
		up.host.undelivered(n, err)
	}
}

// server returns the era of the server, which is unknown until it is there.
func (up *upstream) server() mcp.Era {
	if !up.isConnected() {
		return mcp.EraUnknown
	}
	return up.client.ProtocolVersion().Era()
}
