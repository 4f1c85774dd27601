package transport

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// HTTP reaches a server over streamable HTTP: each message is a POST to one
// URL, and each answer is a JSON body or an event stream.
type HTTP struct {
	// URL is the endpoint, http or https. A user and password in it are sent as
	// basic credentials.
	URL string
	// Header is sent with every request. It cannot set the headers of the
	// protocol: Accept, Content-Type and Mcp-*.
	Header http.Header
	// HeaderFunc returns additional headers, which override Header. Use it for
	// credentials that depend on the caller or must be renewed. If it fails, the
	// request is not sent.
	//
	// It is called once for each call, when the call starts, and the whole call uses
	// the result: the cache, a list of tools that the call fetches first, and the
	// request. A call that is answered from the cache calls it, too. A retry, a hedged
	// request, a round of input, and a request that is sent again after a challenge call
	// it once more. So does a call that waited for more than ten seconds before its
	// request, and one whose Middleware passes on another context.
	//
	// A request that belongs to no call calls it once: each request of the handshake, each
	// page of the list of tools that Connect fetches, a notification, the opening of a
	// stream and the end of a session. So Dial calls it two times for a server of the
	// stateless era, and four times for one of the session era.
	//
	// The answer to a question that the server asked on the stream of a call, and the
	// cancellation of a call, belong to that call. They use the result of the call for
	// ten seconds, and call the function with the values of its context after that. Over
	// [SSE] all questions come on one stream, so no answer belongs to a call.
	//
	// It runs on a goroutine of its own, many at a time, while its call waits without a
	// lock. ctx has the values of the context of the call. It ends with the call, when the
	// client is closed, when the maximum time of the call is over, and when the function
	// returns. The function must honor ctx: a call waits for one that does not, and Close
	// leaves it behind. Requests that belong to no call, such as the end of a session, have
	// a context without values, except the stream of a subscription, which has those of
	// Subscribe. By default, cached results are not shared between callers
	// with different headers; CacheConfig.Partition of package client overrides this.
	HeaderFunc func(ctx context.Context) (http.Header, error)
	// Authorizer, when set, returns the credentials of requests and logs in when the
	// server asks for it. Authorize is called as often as HeaderFunc, except after a challenge:
	// then Challenged returns the credentials instead. Programs with a client set
	// it with client.WithAuthorizer. Its headers override Header. By default, cached results are
	// not shared between different scopes of credentials.
	Authorizer Authorizer
	// RoundTripper sends the requests. nil means a pool that all connections
	// without a RoundTripper share. The pool keeps as many idle connections as
	// were in use at the same time, and closes them with its last user. (The
	// default of net/http keeps two for each host.) It is called once for each HTTP
	// request, a redirect and a request after a challenge included. If it is not a
	// [*http.Transport], it runs on a goroutine of its own.
	RoundTripper http.RoundTripper
	// CloseTimeout limits the DELETE request that ends a session. 0 means 2 s.
	CloseTimeout time.Duration
	// Limits bound what the client accepts from the server.
	Limits Limits
}

// defaultClosing limits the DELETE request that ends a session.
const defaultClosing = 2 * time.Second

// Fallback returns an [SSE] for the same URL, to try when the server rejects
// initialize in the way of an older server.
func (h *HTTP) Fallback() Transport {
	return &SSE{URL: h.URL, Header: h.Header, HeaderFunc: h.HeaderFunc, Authorizer: h.Authorizer, RoundTripper: h.RoundTripper, Limits: h.Limits}
}

// String implements [Transport]. It returns the URL without user, query and
// fragment, which may contain secrets.
func (h *HTTP) String() string {
	u, err := url.Parse(h.URL)
	if err != nil {
		return "an unreadable URL"
	}
	return endpoint(u)
}

func endpoint(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Connect implements [Transport]. It sends nothing before the first call.
func (h *HTTP) Connect(_ context.Context, handler Handler) (Conn, error) {
	return h.connect(handler)
}

func (h *HTTP) connect(handler Handler) (*httpConn, error) {
	u, err := h.check()
	if err != nil {
		return nil, err
	}
	c := &httpConn{
		url: u, handler: handler, limits: h.Limits.withDefaults(),
		rt: h.RoundTripper, closeTimeout: orDefault(h.CloseTimeout, defaultClosing),
	}
	if c.rt == nil {
		c.rt, c.shares = shared.join(), true
	}
	var layer *http.Transport
	if layer, c.standard = c.rt.(*http.Transport); c.standard {
		c.http1 = layer.Protocols == nil || !layer.Protocols.UnencryptedHTTP2()
		c.http2.Store(!c.http1 && !layer.Protocols.HTTP1() && u.Scheme == "http")
	}
	if h.HeaderFunc != nil || h.Authorizer != nil {
		c.asking = &asking{asker: asker{headers: h.HeaderFunc, by: h.Authorizer, at: u}, failed: c.handler.callbackFailed}
	}
	c.handler.Budget.fit(c.limits.MessageBytes)
	c.session.start(h.Header, u.User)
	u.User = nil // it is in the header, and round trippers log URLs
	return c, nil
}

func (h *HTTP) check() (*url.URL, error) {
	u, err := url.Parse(h.URL)
	if err != nil {
		return nil, optionError("the URL cannot be read; write it as https://host/path")
	}
	port, _, _ := strings.Cut(u.Opaque, "/")
	if _, err := strconv.ParseUint(port, 10, 16); err == nil { // "localhost:3000/mcp" has the scheme localhost
		return nil, optionError("the URL has no scheme; did you mean http://%s:%s?", u.Scheme, u.Opaque)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, optionError("the URL %q is not http or https; write it as https://host/path", endpoint(u))
	}
	if err := checkHeader(h.Header); err != nil {
		return nil, err
	}
	if h.CloseTimeout < 0 {
		return nil, optionError("CloseTimeout must not be negative")
	}
	return u, h.Limits.check()
}

// breaksHeader reports whether a value would end its line.
func breaksHeader(value string) bool { return strings.ContainsAny(value, "\r\n\x00") }

func reserved(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "accept", "content-type", "content-length", "last-event-id":
		return true
	case "idempotency-key", "x-idempotency-key":
		// The HTTP layer would send such a POST again automatically, see [sentBody.rewinds].
		return true
	}
	return strings.HasPrefix(name, "mcp-")
}

// httpConn is the connection to one endpoint. It holds no socket while nothing is in flight.
type httpConn struct {
	url          *url.URL
	handler      Handler
	limits       Limits
	rt           http.RoundTripper
	asking       *asking // nil if all requests have the same headers
	closeTimeout time.Duration
	shares       bool // rt is the shared pool, else the caller's
	standard     bool // rt is of the standard library
	http1        bool // rt uses HTTP/1 without TLS
	oneStream    bool // answers never come in the reply to a POST, see sseConn
	batches      atomic.Bool
	received     atomic.Uint64 // counts replies and reads of bodies
	paused       atomic.Int64  // exchanges that wait for space
	session

	mirrors mirrorHeaders

	mu    sync.Mutex
	calls exchanges
	own   *ownStream
	ended *Failure       // the failure of all later calls, once the connection has ended
	work  sync.WaitGroup // exchanges, and goroutines that outlive them
	done  chan struct{}
	doubt bool // see streamDoubted
	close sync.Once
}

// Call implements [Conn].
func (c *httpConn) Call(ctx context.Context, req Request) (Answer, error) {
	x, err := c.begin(ctx, req)
	if err != nil {
		return Answer{}, err
	}
	defer x.end()
	answer, err := x.call(req)
	answer.Challenged = x.challenged
	return answer, err
}

// call sends the request of the exchange and returns its answer.
func (x *exchange) call(req Request) (Answer, error) {
	resp, err := x.post(req.Request, req.Params, req.Mirror) //nolint:bodyclose // end closes it
	if err != nil {
		return x.found(err)
	}
	answer, err := x.answer(req.Request, resp)
	if err != nil {
		return x.found(err)
	}
	answer.Caller = x.who
	return answer, nil
}

// Notify implements [Conn] (transports, "Sending Messages to the Server").
func (c *httpConn) Notify(ctx context.Context, n jsonrpc.Notification) error {
	return c.tell(ctx, n, n.Params, nil)
}

// NotifyAs is Notify for a caller, nil if unknown.
func (c *httpConn) NotifyAs(ctx context.Context, n jsonrpc.Notification, who *Caller) error {
	return c.tell(ctx, n, n.Params, who)
}

// Respond implements [Conn] (transports, "Sending Messages to the Server").
func (c *httpConn) Respond(ctx context.Context, resp jsonrpc.Response) error {
	return c.tell(ctx, resp, nil, nil)
}

// RespondAs is Respond for a caller, nil if unknown.
func (c *httpConn) RespondAs(ctx context.Context, resp jsonrpc.Response, who *Caller) error {
	return c.tell(ctx, resp, nil, who)
}

// tell sends a message whose only answer is a status. It uses the credentials of who if they can
// be used again.
func (c *httpConn) tell(ctx context.Context, m jsonrpc.Message, params []byte, who *Caller) error {
	mirror := c.mirrorOf(m)
	req := Request{Wait: jsonrpc.Wait{Max: tellTimeout}, Mirror: mirror}
	if who.lasts() {
		req.Caller = who
	}
	x, err := c.begin(ctx, req)
	if err != nil {
		return err
	}
	defer x.end()
	x.background = true
	resp, err := x.post(m, params, mirror) //nolint:bodyclose // as above
	if err != nil {
		return err
	}
	return x.accepted(resp)
}

// tellTimeout limits a POST whose only answer is a status.
const tellTimeout = 30 * time.Second

// Touch implements [Conn].
func (c *httpConn) Touch(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.waiting(id); x != nil {
		x.touch()
	}
}

// Received counts what arrives. Data that is not read for lack of space counts as arrived: the
// server is not silent.
func (c *httpConn) Received() uint64 {
	if c.paused.Load() > 0 {
		return c.received.Add(1)
	}
	return c.received.Load()
}

// Late returns 0: an answer arrives on its own exchange, and is not read after its call has
// ended.
func (c *httpConn) Late() uint64 { return 0 }

// Traits implements [Conn].
func (c *httpConn) Traits() Traits { return Traits{Exchanges: true} }

// Done implements [Conn].
func (c *httpConn) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil { // few callers need it, and an idle connection is to be small
		c.done = make(chan struct{})
	}
	return c.done
}

// noMore closes the channel of Done, now or later.
func (c *httpConn) noMore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = nothingToSay
		return
	}
	close(c.done)
}

// Close implements [Conn]: it cancels the exchanges, then ends the session.
func (c *httpConn) Close() error {
	c.close.Do(func() {
		c.endCalls(errNoExchange)
		if !waitFor(&c.work, closeGrace) {
			c.fault(errStuckTripper)
		}
		c.endSession()
		if c.shares {
			shared.leave()
		}
		c.noMore()
	})
	return nil
}

// closeGrace limits the wait of Close for canceled exchanges. Only a RoundTripper that ignores
// its context takes longer.
const closeGrace = time.Second

var errStuckTripper = errors.New("the HTTP round tripper does not return when its request is cancelled")

var errNoExchange = &Failure{Reason: ReasonClosed, NotSent: true, Err: jsonrpc.ErrClosed}

// endCalls cancels the exchanges in flight, and makes later ones fail with why. The reason of
// Close takes precedence.
func (c *httpConn) endCalls(why *Failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil || why == errNoExchange {
		c.ended = why
	}
	for x := c.calls.first; x != nil; x = x.after {
		x.cancel(why.Err)
	}
}

// begin registers an exchange, so that Close can cancel it.
func (c *httpConn) begin(ctx context.Context, req Request) (*exchange, error) {
	if ctx.Err() != nil {
		return nil, &Failure{Reason: ReasonCanceled, NotSent: true, Err: endOf(ctx)}
	}
	x := newExchange(ctx, c, req)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		x.cancel(c.ended.Err)
		return nil, c.ended
	}
	c.calls.add(x)
	c.work.Add(1)
	x.startTimer()
	return x, nil
}

// fault reports a violation of the protocol that belongs to no call.
func (c *httpConn) fault(err error) {
	if c.handler.OnFault != nil {
		c.handler.OnFault(err)
	}
}

// traceReceived passes a received message to the trace.
func (c *httpConn) traceReceived(frame []byte) {
	if c.handler.Trace.Received != nil {
		c.handler.Trace.Received(frame)
	}
}

var errSession = errors.New("the server has lost this session")
