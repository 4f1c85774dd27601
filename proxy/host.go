package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// A line carries messages to a host.
type line interface {
	// notify sends a notification. It waits while the host does not read, until ctx ends.
	notify(ctx context.Context, n jsonrpc.Notification) error
	// call sends a request and returns the response.
	call(ctx context.Context, req jsonrpc.Request) (jsonrpc.Response, error)
}

// host is the conversation with one host: its requests, and the servers that it uses.
type host struct {
	settings
	target Server
	line   line              // for what belongs to no request of the host
	agreed func(mcp.Version) // learns the revision of the session
	// reach ends when nothing can reach the host any more. ctx is that of its requests.
	reach, ctx    context.Context
	lose, end     context.CancelCauseFunc
	ending        chan struct{} // closed by stop
	stop          func()        // ends the acceptance of messages
	work          sync.WaitGroup
	notifications chan jsonrpc.Notification // for the server of the session, in order
	asked         atomic.Int64              // requests to the host, for their ids
	unanswered    atomic.Int64              // requests of the host
	workers       workers[served]
	initializing  sync.Mutex
	waiting       waiting
	unreported    atomic.Int64 // refusals that wait for the observer
	links         links
	strangers     bool // requests without a session may come from several hosts
	sessions      bool // there are none without a session

	mu          sync.Mutex
	stopped     bool
	name        string // of the host, by its clientInfo in initialize
	single      int    // requests whose ids are not in requests
	requests    map[jsonrpc.ID]context.CancelCauseFunc
	opening     chan struct{}    // closed when initialize is answered, nil before it came
	initialized bool             // notifications/initialized came, maybe before the answer to initialize
	session     backend          // since then
	idled       <-chan struct{}  // of a session without server: closed when the last one has ended
	shared      map[string]*slot // of requests without a session, by what they declare
}

var (
	errHostGone      = errors.New("the host has ended the conversation")
	errHostCancelled = errors.New("the host cancelled the request")
	errHostSlow      = errors.New("the host sends requests and does not read the answers")
)

// newHost returns a host whose line is to be set before its first message.
func newHost(ctx context.Context, to Server, set settings) *host {
	h := &host{
		settings: set, target: to, agreed: func(mcp.Version) {}, ending: make(chan struct{}),
		notifications: make(chan jsonrpc.Notification, maxNotifications),
		requests:      map[jsonrpc.ID]context.CancelCauseFunc{}, shared: map[string]*slot{},
	}
	h.reach, h.lose = context.WithCancelCause(context.WithoutCancel(ctx))
	h.ctx, h.end = context.WithCancelCause(h.reach)
	h.stop = sync.OnceFunc(func() {
		h.mu.Lock()
		h.stopped = true
		close(h.ending)
		close(h.notifications)
		h.mu.Unlock()
		h.workers.stop()
	})
	h.workers = workers[served]{answer: h.answer, next: make(chan *served)}
	h.work.Go(h.deliver)
	return h
}

// request begins to answer a request and returns at once. What happens meanwhile goes to on.
// done gets the response on another goroutine, nil if the host cancelled the request. If the
// request is refused, request returns the response, and done is not called.
func (h *host) request(req jsonrpc.Request, on line, done func(*jsonrpc.Response)) (refusal *jsonrpc.Response) {
	ctx, cancel := context.WithCancelCause(h.ctx)
	opened, err := h.begin(req, cancel)
	if err != nil {
		cancel(nil)
		return h.refuse(ctx, req, err)
	}
	h.workers.give(&served{req: req, line: on, done: done, ctx: ctx, cancel: cancel, opened: opened, seen: h.observe(ctx, req)})
	return nil
}

// served is a request that is being answered.
type served struct {
	req    jsonrpc.Request
	line   line
	done   func(*jsonrpc.Response)
	ctx    context.Context
	cancel context.CancelCauseFunc
	opened func()
	seen   observation
}

// answer answers a request.
func (h *host) answer(s *served) {
	defer h.work.Done()
	defer s.seen.report()
	defer s.opened()
	resp := &jsonrpc.Response{ID: s.req.ID}
	r, fault := readRequest(s.req)
	if resp.Error = fault; fault == nil {
		r.line = s.line
		resp.Result, resp.Error = h.serve(s.ctx, r)
	}
	h.mu.Lock()
	delete(h.requests, s.req.ID)
	h.mu.Unlock()
	h.unanswered.Add(-1)
	dropped := errors.Is(context.Cause(s.ctx), errHostCancelled)
	s.seen.answered(r, resp, dropped)
	s.cancel(nil)
	if dropped { // basic/utilities/cancellation: no response to a cancelled request
		resp = nil
	}
	s.done(resp)
}

// refuse returns the response to a request that is not served.
func (h *host) refuse(ctx context.Context, req jsonrpc.Request, err error) *jsonrpc.Response {
	resp := &jsonrpc.Response{ID: req.ID}
	r, fault := readRequest(req)
	if resp.Error = fault; fault == nil {
		return h.refuseRead(ctx, r, err)
	}
	h.reportRefusal(ctx, req, nil, resp)
	return resp
}

// refuseRead is refuse for a request that is read.
func (h *host) refuseRead(ctx context.Context, r *request, err error) *jsonrpc.Response {
	resp := &jsonrpc.Response{ID: r.ID}
	resp.Result, resp.Error = failure(r, mcp.EraUnknown, err)
	h.reportRefusal(ctx, r.Request, r, resp)
	return resp
}

// begin adds a request to the work. opened is to be called when it is answered.
func (h *host) begin(req jsonrpc.Request, cancel context.CancelCauseFunc) (opened func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch _, twice := h.requests[req.ID]; {
	case h.stopped:
		return nil, errEnding()
	case twice:
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Invalid Request: a request with this id is not answered yet", nil)
	case len(h.requests) == maxOpen:
		return nil, overloaded(strconv.Itoa(maxOpen) + " requests are not answered yet; wait for one")
	}
	h.work.Add(1)
	h.unanswered.Add(1)
	if req.Method != mcp.MethodInitialize {
		h.requests[req.ID] = cancel
		return func() {}, nil
	}
	h.requests[req.ID] = nil // basic/utilities/cancellation: it must not be cancelled
	opening := make(chan struct{})
	h.opening = opening
	return func() { close(opening) }, nil
}

// background runs f as part of the work of the host. It returns false if the host is ending.
func (h *host) background(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return false
	}
	h.work.Go(f)
	return true
}

// busy reports whether requests of the host are open.
func (h *host) busy() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.requests) > 0
}

// serve answers a request.
func (h *host) serve(ctx context.Context, r *request) (json.RawMessage, *jsonrpc.Error) {
	r.host, r.ctx = h, ctx
	ctx = context.WithValue(ctx, requestKey{}, r)
	switch {
	case r.version == "" && r.Method == mcp.MethodPing: // also before initialize
		return json.RawMessage(`{}`), nil
	case r.version == "":
		return h.serveSession(ctx, r)
	case h.sessions:
		return nil, invalidRequest("_meta names revision " + string(r.version) + ", which has no sessions: leave out the session's headers")
	}
	if fault := r.check(); fault != nil {
		return nil, fault
	}
	return h.linked(ctx, r)
}

func (h *host) serveStateless(ctx context.Context, r *request) (json.RawMessage, *jsonrpc.Error) {
	up, release, err := h.stateless(r)
	if err != nil {
		return failure(r, mcp.EraUnknown, err)
	}
	defer release()
	return h.serveBy(ctx, up, r)
}

// serveBy answers a request with a server, or from the cache. The host hears what it waits for,
// and gets an answer before its own time-out.
func (h *host) serveBy(ctx context.Context, up backend, r *request) (json.RawMessage, *jsonrpc.Error) {
	if fault := r.allowed(); fault != nil {
		return nil, fault
	}
	if answer := up.early(r); answer != nil {
		return answer, nil
	}
	ctx, cancel := h.untilTimeout(ctx, r.Method)
	defer cancel()
	r.until = ctx
	defer r.beginHeartbeat(up.waitsFor)()
	return up.serve(ctx, r)
}

func (h *host) serveSession(ctx context.Context, r *request) (json.RawMessage, *jsonrpc.Error) {
	if r.Method == mcp.MethodInitialize {
		return h.initialize(ctx, r)
	}
	up := h.opened(ctx)
	switch {
	case up == nil && !known(r.Method):
		return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: "+jsonrpc.Printable(r.Method, 100)+"; send initialize first", nil)
	case up == nil:
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidRequest,
			"Invalid Request: send initialize first, or "+mcp.MetaProtocolVersion+" in _meta with each request", nil)
	}
	side := up.side()
	select {
	case <-side.ready:
	default: // basic/lifecycle: no requests before notifications/initialized
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Invalid Request: send notifications/initialized first", map[string]string{"reason": "not_initialized"})
	}
	r.version = side.version
	return h.serveBy(ctx, up, r)
}

// opened returns the server of the host's session, nil if there is none. It waits for an
// initialize that is under way.
func (h *host) opened(ctx context.Context) backend {
	h.mu.Lock()
	opening := h.opening
	h.mu.Unlock()
	if opening == nil {
		return nil
	}
	select {
	case <-opening:
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current()
}

// notification takes a notification of the host. It returns at once.
func (h *host) notification(n jsonrpc.Notification) {
	switch n.Method {
	case mcp.MethodCancelled:
		h.cancelled(n)
		return
	case mcp.MethodInitialized:
		h.mu.Lock()
		defer h.mu.Unlock()
		h.initialized = h.opening != nil
		if h.session != nil {
			h.session.side().begin()
		}
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opening == nil || h.stopped {
		return // a stateless host has none for its server
	}
	for {
		select {
		case h.notifications <- n:
			return
		default:
		}
		select {
		case old := <-h.notifications:
			h.undelivered(old, errors.New("the server does not read: too many wait"))
		default:
		}
	}
}

// deliver passes the notifications of a session host to its server.
func (h *host) deliver() {
	for n := range h.notifications {
		if up := h.opened(h.ctx); up != nil {
			up.notify(n)
		}
	}
}

func (h *host) undelivered(n jsonrpc.Notification, err error) {
	if h.ctx.Err() == nil {
		h.log.Warn("[MCP] a notification did not reach the server", "method", jsonrpc.Printable(n.Method, 100), "error", err)
	}
}

func (h *host) cancelled(n jsonrpc.Notification) {
	var params mcp.CancelledParams
	if mcp.Unmarshal(n.Params, &params) != nil {
		return // it names no request
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if cancel := h.requests[params.RequestID]; cancel != nil {
		cancel(errHostCancelled) // nil for initialize, which cannot be cancelled
	}
}

// ask sends a request to the host and returns its result, or its error as a *jsonrpc.Error.
func (h *host) ask(ctx context.Context, on line, method string, params json.RawMessage) (json.RawMessage, error) {
	id := jsonrpc.StringID("proxy-" + strconv.FormatInt(h.asked.Add(1), 10))
	resp, err := on.call(ctx, jsonrpc.Request{ID: id, Method: method, Params: params})
	switch {
	case err != nil && ctx.Err() != nil:
		raw, _ := jsonrpc.Marshal(map[string]any{"requestId": id, "reason": "the request is withdrawn"})
		h.tell(on, jsonrpc.Notification{Method: mcp.MethodCancelled, Params: raw})
		return nil, err
	case err != nil:
		return nil, err
	case resp.Error != nil:
		return nil, resp.Error
	}
	return resp.Result, nil
}

// tell sends a notification to the host. A host that reads nothing for some time loses it.
func (h *host) tell(on line, n jsonrpc.Notification) {
	ctx, cancel := context.WithTimeout(h.reach, slow)
	defer cancel()
	err := on.notify(ctx, n)
	if errors.Is(err, errEnded) { // its request is answered
		err = h.line.notify(ctx, n)
	}
	if err != nil && h.reach.Err() == nil {
		h.log.Warn("[MCP] a notification did not reach the host", "method", jsonrpc.Printable(n.Method, 100), "error", err)
	}
}

// drain accepts no more requests, gives the open ones d, then answers them with reason, and
// waits until they are answered.
func (h *host) drain(d time.Duration, reason error) {
	h.stop()
	answered := make(chan struct{})
	go func() {
		h.work.Wait()
		close(answered)
	}()
	h.within(d, answered)
	h.end(reason)
	h.within(flushTime, answered)
}

// within waits until done is closed or the host is gone, for at most d.
func (h *host) within(d time.Duration, done <-chan struct{}) {
	select {
	case <-done:
	case <-time.After(d):
	case <-h.reach.Done():
	}
}

// close cancels what the host has asked, ends its servers and waits for both.
func (h *host) close() {
	h.stop()
	h.lose(errHostGone)
	h.work.Wait()
	var closing sync.WaitGroup // a program may take seconds to end
	if h.session != nil {
		h.stats.sessions.Add(-1)
		if h.idled == nil {
			closing.Go(h.session.close)
		}
	}
	for _, s := range h.shared {
		closing.Go(s.up.close)
	}
	closing.Wait()
}
