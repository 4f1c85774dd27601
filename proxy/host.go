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

// maxOpen bounds the requests of a host that are not answered yet.
const maxOpen = 1024

// host is the conversation with one host: its requests, and the servers that it uses.
type host struct {
	settings
	target     Target
	conn       *jsonrpc.Conn
	open       chan struct{} // closed once conn is set
	ending     chan struct{} // closed when the host has closed its stream
	ctx        context.Context
	end        context.CancelCauseFunc
	work       sync.WaitGroup
	asked      atomic.Int64 // requests to the host, for their ids
	connecting sync.Mutex   // held while a server of the stateless era is opened
	waiting    waiting

	mu          sync.Mutex
	requests    map[jsonrpc.ID]context.CancelCauseFunc
	opening     chan struct{}        // closed when initialize is answered, nil before it came
	initialized bool                 // notifications/initialized came, maybe before the answer to initialize
	session     *upstream            // since then
	shared      map[string]*upstream // of requests without a session, by revision and declared capabilities
	closed      bool
}

var (
	errHostGone      = errors.New("the host has ended the conversation")
	errHostCancelled = errors.New("the host cancelled the request")
)

func newHost(ctx context.Context, to Target, set settings) *host {
	h := &host{settings: set, target: to, open: make(chan struct{}), ending: make(chan struct{}), requests: map[jsonrpc.ID]context.CancelCauseFunc{}, shared: map[string]*upstream{}}
	h.ctx, h.end = context.WithCancelCause(ctx)
	return h
}

// request begins to answer a request. It returns at once.
func (h *host) request(req jsonrpc.Request) {
	<-h.open
	ctx, cancel := context.WithCancelCause(h.ctx)
	opened, err := h.begin(req, cancel)
	if err != nil {
		cancel(nil)
		h.refuse(req.ID, err)
		return
	}
	h.work.Go(func() {
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
	})
}

// begin notes a request that is to be answered. opened is to be called when it is.
func (h *host) begin(req jsonrpc.Request, cancel context.CancelCauseFunc) (opened func(), err *jsonrpc.Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch _, twice := h.requests[req.ID]; {
	case h.closed:
		return nil, jsonrpc.NewError(codeFailed, "The proxy is ending", nil)
	case twice:
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Invalid Request: a request with this id is not answered yet", nil)
	case len(h.requests) == maxOpen:
		return nil, jsonrpc.NewError(codeFailed, "Not sent: "+strconv.Itoa(maxOpen)+" requests are not answered yet; wait for one", nil)
	}
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
	up, err := h.stateless(ctx, r)
	if err != nil {
		return failure(r, mcp.EraUnknown, err)
	}
	return up.serve(ctx, r)
}

func (h *host) serveSession(ctx context.Context, r *request) (json.RawMessage, *jsonrpc.Error) {
	if r.Method == mcp.MethodInitialize {
		return h.initialize(ctx, r)
	}
	up := h.opened(ctx)
	switch {
	case up == nil && !known(r.Method):
		return h.serveCold(ctx, r)
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

// serveCold answers a method that is not of MCP before any handshake, as a server may that
// has such methods.
func (h *host) serveCold(ctx context.Context, r *request) (json.RawMessage, *jsonrpc.Error) {
	r.version, r.capabilities = mcp.LatestSession, json.RawMessage(`{}`)
	up, err := h.stateless(ctx, r)
	if err != nil {
		return failure(r, mcp.EraUnknown, err)
	}
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
	up := h.session
	h.mu.Unlock()
	if up != nil {
		h.work.Go(func() { up.notify(n) })
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
		raw, _ := jsonrpc.Marshal(map[string]any{"requestId": id, "reason": "the server withdrew the request"})
		h.tell(jsonrpc.Notification{Method: mcp.MethodCancelled, Params: raw})
		return nil, err
	case err != nil:
		return nil, err
	case resp.Error != nil:
		return nil, resp.Error
	}
	return resp.Result, nil
}

// tell sends a notification to the host. A host that reads nothing for slowHost loses it.
func (h *host) tell(n jsonrpc.Notification) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), slowHost)
	defer cancel()
	if err := h.conn.Notify(ctx, n); err != nil && h.ctx.Err() == nil {
		h.log.Warn("[MCP] a notification did not reach the host", "method", jsonrpc.Printable(n.Method, 100), "error", err)
	}
}

const slowHost = 10 * time.Second

// answer sends a response. If the host has not read the answers before it, it is dropped.
func (h *host) answer(resp jsonrpc.Response) {
	if err := h.conn.Respond(resp); err != nil && h.ctx.Err() == nil {
		h.log.Warn("[MCP] an answer did not reach the host", "id", resp.ID.String(), "error", err)
	}
}

func (h *host) refuse(id jsonrpc.ID, err *jsonrpc.Error) {
	<-h.open
	h.answer(jsonrpc.Response{ID: id, Error: err})
}

// drain waits until every request is answered and the answers are written, for at most d.
func (h *host) drain(d time.Duration) {
	end := time.Now().Add(d)
	close(h.ending)
	answered := make(chan struct{})
	go func() {
		h.work.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(d):
	}
	for h.conn.Backlog().Waiting && time.Now().Before(end) {
		time.Sleep(time.Millisecond)
	}
}

// close cancels what the host has asked, ends its servers and waits for both.
func (h *host) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end(errHostGone)
	h.work.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.session != nil {
		h.session.close()
	}
	for _, up := range h.shared {
		up.close()
	}
}
