package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// server is one server and the way to it. It is a transport: what it is asked
// costs virtual time and nothing else.
type server struct {
	name     string
	version  mcp.Version
	history  *history
	schedule schedule
	began    time.Time
	// guard is the breaker of the server's client, once there is one.
	guard atomic.Pointer[breaker.Breaker]

	mu   sync.Mutex
	said time.Time // when the server asked to be left alone
	hold time.Time // nothing may come before
	half map[uint64]int
}

// String implements [transport.Transport].
func (s *server) String() string { return s.name }

// Connect implements [transport.Transport].
func (s *server) Connect(context.Context, transport.Handler) (transport.Conn, error) {
	return &conn{server: s, done: make(chan struct{})}, nil
}

// conn is a connection whose requests have exchanges of their own, as over HTTP.
type conn struct {
	*server
	once     sync.Once
	done     chan struct{}
	received atomic.Uint64
}

// Received implements [transport.Counter].
func (c *conn) Received() uint64 { return c.received.Load() }

// Late implements [transport.Counter].
func (c *conn) Late() uint64 { return 0 }

var errReset = errors.New("connection reset by peer")

// Call implements [transport.Conn].
func (c *conn) Call(ctx context.Context, req transport.Request) (transport.Answer, error) {
	leave := c.arrive()
	defer leave()
	key, ok := keyOf(req)
	if !ok {
		return c.protocol(ctx, req)
	}
	fault, latency := c.schedule.at(time.Since(c.began), key, c.history.attempt(key))
	if fault == Refused {
		return transport.Answer{}, &transport.Failure{Reason: transport.ReasonUnavailable, NotSent: true, Err: errReset}
	}
	if fault.runs() {
		if err := c.wait(ctx, req.Wait, latency); err != nil {
			return transport.Answer{}, err
		}
		c.history.run(key)
	}
	return c.answer(ctx, req, fault, latency, key)
}

// answer is what comes back of a request that the server has or has not run.
func (c *conn) answer(ctx context.Context, req transport.Request, fault Fault, latency time.Duration, key int) (transport.Answer, error) {
	if fault == Silent || fault == SilentAfter {
		latency = 1000 * time.Hour
	}
	if err := c.wait(ctx, req.Wait, latency); err != nil {
		return transport.Answer{}, err
	}
	const later = 3 * time.Second
	if fault != LostBefore && fault != LostAfter {
		c.received.Add(1)
	}
	switch fault {
	case LostBefore, LostAfter:
		return transport.Answer{}, &transport.Failure{Reason: transport.ReasonLost, Err: errReset}
	case Throttled:
		return transport.Answer{}, c.status(http.StatusTooManyRequests, later)
	case Unavailable:
		return transport.Answer{}, c.status(http.StatusServiceUnavailable, later)
	case Crashed:
		return transport.Answer{}, c.status(http.StatusInternalServerError, 0)
	case Internal:
		return refused(req, jsonrpc.CodeInternalError)
	case Invalid:
		return refused(req, jsonrpc.CodeInvalidParams)
	default:
		return result(req, done(req.Method, key, fault == ToolError))
	}
}

// protocol answers what is no call of an application. A probe gets what a call
// would get at that time.
func (c *conn) protocol(ctx context.Context, req transport.Request) (transport.Answer, error) {
	fault, latency := c.schedule.at(time.Since(c.began), 1, int(time.Since(c.began)/time.Millisecond))
	if req.Method == mcp.MethodInitialize || req.Method == mcp.MethodDiscover && c.guard.Load() == nil {
		fault = None // the world begins well
	}
	switch fault {
	case None, ToolError, Internal, Invalid: // faults of tools
	case Refused:
		return transport.Answer{}, &transport.Failure{Reason: transport.ReasonUnavailable, NotSent: true, Err: errReset}
	default:
		return c.answer(ctx, req, fault, latency, 0)
	}
	if err := c.wait(ctx, req.Wait, latency); err != nil {
		return transport.Answer{}, err
	}
	c.received.Add(1)
	const about = `"capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"sim","version":"1"}`
	switch req.Method {
	case mcp.MethodInitialize:
		return result(req, fmt.Sprintf(`{"protocolVersion":%q,%s}`, c.version, about))
	case mcp.MethodDiscover:
		return result(req, fmt.Sprintf(`{"resultType":"complete","supportedVersions":[%q],%s}`, c.version, about))
	case mcp.MethodPing:
		return result(req, `{"resultType":"complete"}`)
	}
	return refused(req, jsonrpc.CodeMethodNotFound)
}

// status is an HTTP status without a JSON-RPC error.
func (c *conn) status(code int, later time.Duration) error {
	if later > 0 {
		c.mu.Lock()
		c.said = time.Now()
		c.hold = c.said.Add(later)
		c.mu.Unlock()
	}
	return &transport.Failure{
		Reason: transport.ReasonStatus, RetryAfter: later,
		HTTP: &mcperrors.HTTPEvidence{Status: code}, Err: fmt.Errorf("status %d", code),
	}
}

// wait lets time pass, until whoever waits has had enough.
func (c *conn) wait(ctx context.Context, bound jsonrpc.Wait, d time.Duration) error {
	most, reason := bound.Max, jsonrpc.ErrMaxWait
	if bound.Idle > 0 && (most == 0 || bound.Idle < most) {
		most, reason = bound.Idle, jsonrpc.ErrIdle
	}
	over := most > 0 && most < d
	if over {
		d = most
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		if over {
			return &transport.Failure{Reason: transport.ReasonTimeout, Err: reason}
		}
		return nil
	case <-ctx.Done():
		return &transport.Failure{Reason: transport.ReasonCanceled, Err: context.Cause(ctx)}
	case <-c.done:
		return &transport.Failure{Reason: transport.ReasonClosed, Err: jsonrpc.ErrClosed}
	}
}

// arrive holds a request against what the breaker and the server have said.
func (c *conn) arrive() (leave func()) {
	now := time.Now()
	c.mu.Lock()
	// What left at the instant of the answer did not know of it.
	early := c.said.Before(now) && now.Before(c.hold)
	c.mu.Unlock()
	if early {
		c.history.wrongly(&c.history.report.Early)
	}
	b := c.guard.Load()
	if b == nil {
		return func() {}
	}
	s := b.Snapshot()
	switch {
	case s.State == breaker.Open && s.Since.Before(now):
		c.history.wrongly(&c.history.report.Open)
	case s.State == breaker.HalfOpen:
		c.mu.Lock()
		c.half[s.Generation]++
		c.history.probes(c.half[s.Generation])
		c.mu.Unlock()
		return func() {
			c.mu.Lock()
			c.half[s.Generation]--
			c.mu.Unlock()
		}
	}
	return func() {}
}

// Notify implements [transport.Conn].
func (c *conn) Notify(context.Context, jsonrpc.Notification) error { return nil }

// Respond implements [transport.Conn].
func (c *conn) Respond(context.Context, jsonrpc.Response) error { return nil }

// Touch implements [transport.Conn].
func (c *conn) Touch(jsonrpc.ID) {}

// UseVersion implements [transport.Conn].
func (c *conn) UseVersion(string) {}

// Traits implements [transport.Conn].
func (c *conn) Traits() transport.Traits { return transport.Traits{Exchanges: true} }

// Done implements [transport.Conn].
func (c *conn) Done() <-chan struct{} { return c.done }

// Close implements [transport.Conn].
func (c *conn) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}

// keyOf is the number of the application's call a request is for.
func keyOf(req transport.Request) (int, bool) {
	var params struct {
		URI       string `json:"uri"`
		Arguments struct {
			Key int `json:"key"`
		} `json:"arguments"`
	}
	if json.Unmarshal(req.Params, &params) != nil {
		return 0, false
	}
	key := params.Arguments.Key
	if params.URI != "" {
		if _, err := fmt.Sscanf(params.URI, "sim://%d", &key); err != nil {
			return 0, false
		}
	}
	return key, key > 0
}

// done is the result of a call that was run.
func done(method string, key int, failed bool) string {
	if method == mcp.MethodResourcesRead {
		return fmt.Sprintf(`{"resultType":"complete","contents":[{"uri":"sim://%d","text":%q}]}`, key, answerTo(key))
	}
	return fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":%q}],"isError":%t}`, answerTo(key), failed)
}

func result(req transport.Request, text string) (transport.Answer, error) {
	return transport.Answer{Response: jsonrpc.Response{ID: req.ID, Result: json.RawMessage(text)}}, nil
}

func refused(req transport.Request, code int64) (transport.Answer, error) {
	return transport.Answer{Response: jsonrpc.Response{ID: req.ID, Error: jsonrpc.NewError(code, "refused", nil)}}, nil
}
