package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Bounds of one host.
const (
	maxOpen          = 1024 // requests that are not answered yet, and refusals that wait to be sent
	maxNotifications = 256  // that wait for the server
	slow             = 10 * time.Second
)

// host is the conversation with one host: its requests, and the servers that it uses.
type host struct {
	settings
	target Target
	conn   *jsonrpc.Conn
	open   chan struct{} // closed once conn is set
	// line ends when nothing can reach the host any more. ctx is that of its requests.
	line, ctx     context.Context
	lose, end     context.CancelCauseFunc
	ending        chan struct{} // closed by stop
	stop          func()        // ends the acceptance of messages
	work          sync.WaitGroup
	late          chan struct{}             // held by the answer that waits for room
	notifications chan jsonrpc.Notification // for the server of the session, in order
	asked         atomic.Int64              // requests to the host, for their ids
	initializing  sync.Mutex
	waiting       waiting

	mu          sync.Mutex
	stopped     bool
	requests    map[jsonrpc.ID]context.CancelCauseFunc
	refusals    int              // that wait to be sent
	opening     chan struct{}    // closed when initialize is answered, nil before it came
	initialized bool             // notifications/initialized came, maybe before the answer to initialize
	session     *upstream        // since then
	shared      map[string]*slot // of requests without a session, by what they declare
}

var (
	errHostGone      = errors.New("the host has ended the conversation")
	errHostCancelled = errors.New("the host cancelled the request")
	errHostSlow      = errors.New("the host sends requests and does not read the answers")
)

func newHost(ctx context.Context, to Target, set settings) *host {
	h := &host{
		settings: set, target: to, open: make(chan struct{}), ending: make(chan struct{}),
		late: make(chan struct{}, 1), notifications: make(chan jsonrpc.Notification, maxNotifications),
		requests: map[jsonrpc.ID]context.CancelCauseFunc{}, shared: map[string]*slot{},
	}
	h.line, h.lose = context.WithCancelCause(context.WithoutCancel(ctx))
	h.ctx, h.end = context.WithCancelCause(h.line)
	h.stop = sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.stopped = true
		close(h.ending)
		close(h.notifications)
	})
	h.work.Go(h.deliver)
	return h
}

// request begins to answer a request. It returns at once.
func (h *host) request(req jsonrpc.Request) {
	<-h.open
	ctx, cancel := context.WithCancelCause(h.ctx)
	opened, err := h.begin(req, cancel)
	if err != nil {
		cancel(nil)
		resp := jsonrpc.Response{ID: req.ID}
		r, fault := readRequest(req)
		if resp.Error = fault; fault == nil {
			resp.Result, resp.Error = failure(r, mcp.EraUnknown, err)
		}
		h.refuse(resp)
		return
	}
	go func() {
		defer h.work.Done()
		defer opened()
		result, err := h.serve(ctx, req)
		h.mu.Lock()
		delete(h.requests, req.ID)
		h.mu.Unlock()
		dropped := errors.Is(context.Cause(ctx), errHostCancelled)
		cancel(nil)
		if !dropped { // basic/utilities/cancellation: no response to a cancelled request
			h.answer(jsonrpc.Response{ID: req.ID, Result: result, Error: err})
		}
	}()
}

// begin adds a request to the work. opened is to be called when it is answered.
func (h *host) begin(req jsonrpc.Request, cancel context.CancelCauseFunc) (opened func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch _, twice := h.requests[req.ID]; {
	case h.stopped:
		return nil, mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindClosed, mcperrors.NotSent, "the proxy is ending", nil)
	case twice:
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Invalid Request: a request with this id is not answered yet", nil)
	case len(h.requests) == maxOpen:
		return nil, overloaded(strconv.Itoa(maxOpen) + " requests are not answered yet; wait for one")
	}
	h.work.Add(1)
	if req.Method != mcp.MethodInitialize {
		h.requests[req.ID] = cancel
		return func() {}, nil
	}
	h.requests[req.ID] = nil // basic/utilities/cancellation: it must not be cancelled
	opening := make(chan struct{})
	h.opening = opening
	return func() { close(opening) }, nil
}

// serve answers a request.
func (h *host) serve(ctx context.Context, req jsonrpc.Request) (json.RawMessage, *jsonrpc.Error) {
	r, fault := readRequest(req)
	switch {
	case fault != nil:
		return nil, fault
	case r.version == "" && r.Method == mcp.MethodPing: // also before initialize
		return json.RawMessage(`{}`), nil
	case r.version == "":
		return h.serveSession(ctx, r)
	}
	if fault := r.check(); fault != nil {
		return nil, fault
	}
	up, release, err := h.stateless(ctx, r)
	if err != nil {
		return failure(r, mcp.EraUnknown, err)
	}
	defer release()
	result, fault := up.serve(ctx, r)
	if r.level != "" {
		h.within(lateLogs, nil)
	}
	return result, fault
}

// lateLogs is how long a result waits for the log messages before it: the client passes them
// on from another goroutine.
const lateLogs = 5 * time.Millisecond

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
	select {
	case <-up.ready:
	default: // basic/lifecycle: no requests before notifications/initialized
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Invalid Request: send notifications/initialized first", map[string]string{"reason": "not_initialized"})
	}
	r.version = up.version
	return up.serve(ctx, r)
}

// opened returns the server of the host's session, nil if there is none. It waits for an
// initialize that is under way.
func (h *host) opened(ctx context.Context) *upstream {
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
	return h.session
}

// notification takes a notification of the host. It returns at once.
func (h *host) notification(n jsonrpc.Notification) {
	<-h.open
	switch n.Method {
	case mcp.MethodCancelled:
		h.cancelled(n)
		return
	case mcp.MethodInitialized:
		h.mu.Lock()
		defer h.mu.Unlock()
		h.initialized = h.opening != nil
		if h.session != nil {
			h.session.begin()
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
func (h *host) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	id := jsonrpc.StringID("proxy-" + strconv.FormatInt(h.asked.Add(1), 10))
	resp, err := h.conn.Call(ctx, jsonrpc.Request{ID: id, Method: method, Params: params}, jsonrpc.Wait{})
	switch {
	case err != nil && ctx.Err() != nil:
		raw, _ := jsonrpc.Marshal(map[string]any{"requestId": id, "reason": "the request is withdrawn"})
		h.tell(jsonrpc.Notification{Method: mcp.MethodCancelled, Params: raw})
		return nil, err
	case err != nil:
		return nil, err
	case resp.Error != nil:
		return nil, resp.Error
	}
	return resp.Result, nil
}

// tell sends a notification to the host. A host that reads nothing for some time loses it.
func (h *host) tell(n jsonrpc.Notification) {
	ctx, cancel := context.WithTimeout(h.line, slow)
	defer cancel()
	if err := h.conn.Notify(ctx, n); err != nil && h.line.Err() == nil {
		h.log.Warn("[MCP] a notification did not reach the host", "method", jsonrpc.Printable(n.Method, 100), "error", err)
	}
}

// answer sends a response. It waits while the host has not read what was sent before.
func (h *host) answer(resp jsonrpc.Response) {
	if h.conn.Respond(resp) == nil {
		return
	}
	select {
	case h.late <- struct{}{}:
		defer func() { <-h.late }()
	case <-h.line.Done():
	}
	for h.conn.Respond(resp) != nil {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-h.line.Done():
			h.log.Warn("[MCP] an answer did not reach the host", "id", resp.ID.String())
			return
		}
	}
}

// refuse answers what is not served. It returns at once.
func (h *host) refuse(resp jsonrpc.Response) {
	<-h.open
	if h.conn.Respond(resp) == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped || h.refusals == maxOpen {
		h.lose(errHostSlow)
		return
	}
	h.refusals++
	h.work.Go(func() {
		h.answer(resp)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.refusals--
	})
}

// drain accepts no more requests, gives the open ones d, then answers them with reason, and
// waits until the answers are written.
func (h *host) drain(d time.Duration, reason error) {
	<-h.open
	h.stop()
	answered := make(chan struct{})
	go func() {
		h.work.Wait()
		close(answered)
	}()
	h.within(d, answered)
	h.end(reason)
	h.within(flushTime, answered)
	for end := time.Now().Add(flushTime); h.line.Err() == nil && h.conn.Backlog().Waiting && time.Now().Before(end); {
		h.within(time.Millisecond, nil)
	}
}

// within waits until done is closed or the host is gone, for at most d.
func (h *host) within(d time.Duration, done <-chan struct{}) {
	select {
	case <-done:
	case <-time.After(d):
	case <-h.line.Done():
	}
}

// close cancels what the host has asked, ends its servers and waits for both.
func (h *host) close() {
	h.stop()
	h.lose(errHostGone)
	h.work.Wait()
	if h.session != nil {
		h.session.close()
	}
	for _, s := range h.shared {
		s.up.close()
	}
}
