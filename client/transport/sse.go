package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/sse"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// SSE reaches a server over the HTTP+SSE transport of 2024: one event stream
// carries all messages of the server, and names the URL for POST requests. Use
// it only for servers that support nothing newer. See [Fallback].
type SSE struct {
	// URL is the URL of the event stream, http or https. A user and password in it
	// are sent as basic credentials.
	URL string
	// Header is sent with every request; see [HTTP].
	Header http.Header
	// HeaderFunc returns additional headers for a request; see [HTTP]. It does not learn which
	// call a response to a request of the server belongs to.
	HeaderFunc func(ctx context.Context) (http.Header, error)
	// Authorizer provides the credentials of each request; see [HTTP].
	Authorizer Authorizer
	// RoundTripper sends the requests. nil means the pool that [HTTP] uses.
	RoundTripper http.RoundTripper
	// Limits bound what the client accepts from the server.
	Limits Limits
}

// endpointTimeout limits the wait for the URL for messages, which is the first event (transports
// of 2024-11-05, "HTTP with SSE").
const endpointTimeout = 10 * time.Second

var (
	errNoEndpoint  = errors.New("the server did not name the URL for messages in time")
	errStreamEnded = errors.New("the server's event stream ended, and with it the connection")
	errStreamLost  = errors.New("the server has lost the session of its event stream")
)

// lostAfter is how many calls in a row the server must refuse for an unknown session before its
// stream is closed. One may be a mix-up of several servers behind one address.
const lostAfter = 2

// String implements [Transport]. It returns the URL without user, query and
// fragment.
func (s *SSE) String() string { return (&HTTP{URL: s.URL}).String() }

// Connect implements [Transport]. It opens the event stream within ctx and ten
// seconds. The stream is never resumed: its end is the end of the connection.
// The client then connects again with a new session.
func (s *SSE) Connect(ctx context.Context, handler Handler) (Conn, error) {
	h, err := (&HTTP{URL: s.URL, Header: s.Header, HeaderFunc: s.HeaderFunc, Authorizer: s.Authorizer, RoundTripper: s.RoundTripper, Limits: s.Limits}).connect(handler)
	if err != nil {
		return nil, err
	}
	h.oneStream = true
	c := &sseConn{h: h, gone: make(chan struct{})}
	c.end = sync.OnceFunc(func() { close(c.gone) })
	x, err := h.begin(context.Background(), Request{}) //nolint:forbidigo // lives until Close
	if err != nil {
		return nil, err
	}
	events, err := c.open(ctx, x)
	if err != nil {
		x.end()
		_ = h.Close() // never fails
		return nil, err
	}
	h.mu.Lock()
	h.own = &ownStream{x: x}
	h.mu.Unlock()
	c.stream = x
	go c.listen(x, events)
	return c, nil
}

// sseConn is a connection whose answers all arrive on one stream.
type sseConn struct {
	h    *httpConn
	gone chan struct{}
	end  func() // closes gone
	// stream is the event stream. taken counts the calls that the server has accepted and may
	// still answer on it. refused counts the calls in a row that it refused because it does not
	// know their session.
	stream         *exchange
	taken, refused atomic.Int64
}

// open opens the stream. No message is sent before it is open.
func (c *sseConn) open(ctx context.Context, x *exchange) (*sse.Reader, error) {
	x.header = streamHeader(c.h.session.first)
	release := context.AfterFunc(ctx, func() { x.cancel(context.Cause(ctx)) })
	var settled atomic.Bool
	stop := x.afterPassed(endpointTimeout, func() {
		if settled.CompareAndSwap(false, true) {
			x.cancel(errNoEndpoint)
		}
	})
	events, err := x.endpoint()
	stop()
	inTime, wanted := settled.CompareAndSwap(false, true), release()
	switch {
	case !wanted:
		return nil, &Failure{Reason: ReasonCanceled, NotSent: true, Err: endOf(ctx)}
	case !inTime:
		return nil, &Failure{Reason: ReasonTimeout, NotSent: true, HTTP: x.evidence(nil), Err: errNoEndpoint}
	}
	var f *Failure
	if errors.As(err, &f) {
		f.NotSent = true
		return nil, f
	}
	x.body.none()
	x.challenged.Succeed()
	return events, nil
}

// afterPassed calls f once the exchange has run for d, without the time in which its timers are
// paused.
func (x *exchange) afterPassed(d time.Duration, f func()) (stop func()) {
	ctx, cancel := context.WithCancel(x.ctx)
	go func() {
		for left := d; !within(ctx.Done(), left); {
			passed := x.passed()
			if passed >= d {
				f()
				return
			}
			left = max(d-passed, d/10) // the timers may be paused just before the end
		}
	}()
	return cancel
}

// endpoint requests the stream and reads its first event (transports of 2024-11-05, "HTTP with
// SSE").
func (x *exchange) endpoint() (*sse.Reader, error) {
	resp, err := x.send(x.ctx, http.MethodGet) //nolint:bodyclose // end closes it
	var f *Failure
	switch {
	case errors.As(err, &f):
		return nil, f
	case err != nil:
		return nil, x.broken(err)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, x.accepted(resp) // always an error
	case mediaType(resp.Header) != typeEvents:
		f := x.failure(ReasonNotMCP, fmt.Errorf("the server answered with %s instead of an event stream", contentName(resp)))
		head, _ := x.head(drainBytes)
		f.HTTP = x.evidence(head)
		return nil, f
	}
	events := x.newEvents()
	for {
		event, err := events.Next()
		switch {
		case err != nil && !errors.Is(err, sse.ErrTooLong):
			return nil, x.failure(ReasonNotMCP, fmt.Errorf("the event stream ended before it named the URL for messages: %w", err))
		case err == nil && event.Name == "endpoint":
			return events, x.adopt(string(event.Data))
		}
	}
}

// adopt sets the URL for messages that the server has named. It must have the same origin,
// because the headers have credentials (transports of 2024-11-05, "HTTP with SSE").
func (x *exchange) adopt(named string) error {
	to, err := x.c.url.Parse(named)
	if err != nil {
		return x.failure(ReasonProtocol, errors.New("the URL for messages that the server named cannot be read"))
	}
	to.User = nil
	if !sameOrigin(x.c.url, to) {
		return x.failure(ReasonConfig, fmt.Errorf("the server names another origin for messages, %s, where credentials must not go", endpoint(to)))
	}
	x.c.url = to
	return nil
}

// listen delivers messages until the stream ends, which ends all calls.
func (c *sseConn) listen(x *exchange, events *sse.Reader) {
	defer c.end()
	defer x.end()
	defer events.Free()
	events.SkipEndless()
	why := errStreamEnded
	_, err := x.read(events, nil)
	switch {
	case errors.Is(context.Cause(x.ctx), errStreamLost):
		why = fmt.Errorf("%w: %w", errStreamEnded, errStreamLost)
	case !errors.Is(err, errNoAnswer):
		why = fmt.Errorf("%w: %w", errStreamEnded, err)
	}
	c.h.endCalls(&Failure{Reason: ReasonLost, NotSent: true, Err: why})
}

// Call implements [Conn]: the reply to the POST only reports whether the server has accepted the
// message (transports of 2024-11-05, "HTTP with SSE").
func (c *sseConn) Call(ctx context.Context, req Request) (Answer, error) {
	x, err := c.h.begin(ctx, req)
	if err != nil {
		return Answer{}, err
	}
	defer x.end()
	answer, err := c.call(x, req)
	answer.Challenged = x.challenged
	return answer, err
}

// call sends a request and waits for its answer on the stream.
func (c *sseConn) call(x *exchange, req Request) (Answer, error) {
	resp, err := x.post(req.Request, req.Params, nil) //nolint:bodyclose // as above
	if err != nil {
		return x.late(err)
	}
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
	default:
		answer, err := x.refused(resp)
		if err != nil { // unless the answer has arrived
			c.lost(err)
			return x.late(err)
		}
		answer.Caller = x.who
		return answer, nil
	}
	c.refused.Store(0)
	c.taken.Add(1)
	defer func() {
		c.taken.Add(-1)
		c.lost(nil)
	}()
	body := resp.Body
	timer := time.AfterFunc(drainTime, func() { _ = body.Close() })
	_, _ = io.CopyN(io.Discard, body, drainBytes) // frees its connection
	timer.Stop()
	select {
	case <-x.answered:
		return x.found(nil)
	case <-x.ctx.Done():
		return x.found(x.broken(context.Cause(x.ctx)))
	}
}

// lateTime limits the wait for the answer after the POST of a call has failed.
const lateTime = 2 * time.Second

// late returns the answer of a call whose POST failed with err. The server may have accepted the
// call, for example if a proxy cut the POST, and answer it on the stream.
func (x *exchange) late(err error) (Answer, error) {
	var f *Failure
	if errors.As(err, &f) && !f.NotSent && !f.Rejected && !f.Answered {
		timer := time.NewTimer(lateTime)
		defer timer.Stop()
		select {
		case <-x.answered:
		case <-timer.C:
		case <-x.ctx.Done():
			err = x.broken(context.Cause(x.ctx))
		}
	}
	return x.found(err)
}

// lost records the error of a refused call, nil for an accepted one. It closes a stream whose
// session the server has lost, once no accepted call can be answered on it any more: the server
// would never close it.
func (c *sseConn) lost(err error) {
	if errors.Is(err, errStreamLost) {
		c.refused.Add(1)
	}
	if c.refused.Load() >= lostAfter && c.taken.Load() == 0 {
		c.stream.cancel(errStreamLost)
	}
}

// Notify implements [Conn].
func (c *sseConn) Notify(ctx context.Context, n jsonrpc.Notification) error {
	return c.h.Notify(ctx, n)
}

// NotifyAs is Notify for a caller, nil if unknown.
func (c *sseConn) NotifyAs(ctx context.Context, n jsonrpc.Notification, who *Caller) error {
	return c.h.NotifyAs(ctx, n, who)
}

// Respond implements [Conn].
func (c *sseConn) Respond(ctx context.Context, resp jsonrpc.Response) error {
	return c.h.Respond(ctx, resp)
}

// Received counts what arrives.
func (c *sseConn) Received() uint64 { return c.h.Received() }

// Late returns the number of answers without a waiting call.
func (c *sseConn) Late() uint64 { return c.h.Late() }

// Touch implements [Conn].
func (c *sseConn) Touch(id jsonrpc.ID) { c.h.Touch(id) }

// UseVersion implements [Conn]. Messages have no version header here.
func (c *sseConn) UseVersion(version string) { c.h.batches.Store(hasBatches(version)) }

// Traits implements [Conn].
func (c *sseConn) Traits() Traits { return Traits{SessionOnly: true} }

// Done implements [Conn].
func (c *sseConn) Done() <-chan struct{} { return c.gone }

// Ended returns why the connection ended.
func (c *sseConn) Ended() *Failure {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	why := *c.h.ended
	return &why
}

// Close implements [Conn].
func (c *sseConn) Close() error {
	err := c.h.Close()
	c.end()
	return err
}
