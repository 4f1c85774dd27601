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

// server is one server with its transport. Requests take virtual time and nothing else.
type server struct {
	name     string
	version  mcp.Version
	shape    shape
	history  *history
	schedule schedule
	began    time.Time
	// guard is the breaker of the server's client, once it exists.
	guard atomic.Pointer[breaker.Breaker]

	mu      sync.Mutex
	said    time.Time // when the server sent Retry-After
	hold    time.Time // no request may arrive before
	half    map[uint64]int
	under   map[int]int     // requests in flight, by call
	crowded int             // all of them
	lately  []time.Time     // arrival times of calls in the last second
	given   map[string]bool // accepted answers to questions
	started int             // programs
	// questions is the number of questions.
	questions int
}

// String implements [transport.Transport].
func (s *server) String() string { return s.name }

// Connect implements [transport.Transport].
func (s *server) Connect(context.Context, transport.Handler) (transport.Conn, error) {
	c := &conn{server: s, done: make(chan struct{})}
	if !s.shape.program {
		return c, nil
	}
	s.mu.Lock()
	s.started++
	again := s.started > 1
	s.mu.Unlock()
	if again {
		s.history.count(&s.history.report.Starts)
	}
	return &program{c}, nil
}

// conn is a connection: one with an exchange per request, as over HTTP, or the pipe of a
// [program].
type conn struct {
	*server
	once     sync.Once
	done     chan struct{}
	received atomic.Uint64
	lost     atomic.Bool  // it ended on its own
	session  atomic.Int64 // how often the server had lost its sessions when this one was opened
	ready    atomic.Bool  // the handshake is complete
}

// Received counts what arrives.
func (c *conn) Received() uint64 { return c.received.Load() }

// Late returns the number of answers without a waiting call.
func (c *conn) Late() uint64 { return 0 }

var errReset = errors.New("connection reset by peer")

// Call implements [transport.Conn].
func (c *conn) Call(ctx context.Context, req transport.Request) (transport.Answer, error) {
	asked := paramsOf(req)
	leave := c.arrive(asked.key, req.Method)
	defer leave()
	select {
	case <-c.done:
		f := c.ended()
		f.NotSent = true
		return transport.Answer{}, f
	default:
	}
	if req.Method != mcp.MethodInitialize && c.forgotten() {
		_, latency := c.schedule.at(time.Since(c.began), asked.key, 0)
		if err := c.wait(ctx, req.Wait, latency); err != nil {
			return transport.Answer{}, err
		}
		return transport.Answer{}, &transport.Failure{
			Reason: transport.ReasonSession, Rejected: true,
			HTTP: &mcperrors.HTTPEvidence{Status: http.StatusNotFound}, Err: errors.New("no such session"),
		}
	}
	if asked.key == 0 {
		return c.protocol(ctx, req)
	}
	if c.version.Era() == mcp.EraSession && !c.ready.Load() {
		c.history.count(&c.history.report.Hasty)
	}
	fault, latency := c.schedule.at(time.Since(c.began), asked.key, c.history.attempt(asked.key))
	if c.shape.program {
		fault = fault.overPipe()
	}
	if fault == Refused {
		return transport.Answer{}, &transport.Failure{Reason: transport.ReasonUnavailable, NotSent: true, Err: errReset}
	}
	question := c.question(asked)
	if fault.runs() {
		if err := c.wait(ctx, req.Wait, latency); err != nil {
			return transport.Answer{}, err
		}
		c.take(asked)
		if question == "" {
			c.history.run(asked.key)
		}
	}
	return c.answer(ctx, req, fault, latency, asked.key, question)
}

// forgotten reports whether the server has lost the connection's session.
func (c *conn) forgotten() bool {
	return c.shape.sessions && int(c.session.Load()) != c.schedule.sessions(time.Since(c.began))
}

// ended returns the failure of calls over an ended connection.
func (c *conn) ended() *transport.Failure {
	if c.lost.Load() {
		return &transport.Failure{Reason: transport.ReasonLost, Err: jsonrpc.ErrPeerClosed}
	}
	return &transport.Failure{Reason: transport.ReasonClosed, Err: jsonrpc.ErrClosed}
}

// answer returns the answer to a request that the server has or has not run.
func (c *conn) answer(ctx context.Context, req transport.Request, fault Fault, latency time.Duration, key int, question string) (transport.Answer, error) {
	if fault == Silent || fault == SilentAfter {
		latency = 1000 * time.Hour
	}
	if err := c.wait(ctx, req.Wait, latency); err != nil {
		return transport.Answer{}, err
	}
	const later = 3 * time.Second
	if !fault.loses() {
		c.received.Add(1)
	}
	switch fault {
	case LostBefore, LostAfter:
		if c.shape.program {
			c.lost.Store(true)
			_ = c.Close()
		}
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
		if question != "" {
			return result(req, question)
		}
		return result(req, done(req.Method, key, fault == ToolError))
	}
}

// protocol answers requests that are not an application's. A probe gets what a call would get at
// that time.
func (c *conn) protocol(ctx context.Context, req transport.Request) (transport.Answer, error) {
	fault, latency := c.schedule.at(time.Since(c.began), 1, int(time.Since(c.began)/time.Millisecond))
	if c.shape.program {
		fault = fault.overPipe()
	}
	if opens := req.Method == mcp.MethodInitialize || req.Method == mcp.MethodDiscover; opens && c.guard.Load() == nil {
		fault = None // no faults at the start
	}
	switch fault {
	case None, ToolError, Internal, Invalid: // faults of tools
	case Refused:
		return transport.Answer{}, &transport.Failure{Reason: transport.ReasonUnavailable, NotSent: true, Err: errReset}
	default:
		return c.answer(ctx, req, fault, latency, 0, "")
	}
	if err := c.wait(ctx, req.Wait, latency); err != nil {
		return transport.Answer{}, err
	}
	c.received.Add(1)
	const about = `"capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"sim","version":"1"}`
	switch req.Method {
	case mcp.MethodInitialize:
		if c.ready.Load() && c.shape.sessions && !c.forgotten() {
			c.history.count(&c.history.report.Needless)
		}
		c.ready.Store(false)
		c.session.Store(int64(c.schedule.sessions(time.Since(c.began))))
		if c.guard.Load() != nil && !c.shape.program {
			c.history.count(&c.history.report.Sessions)
		}
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
		Reason: transport.ReasonStatus, RetryAfter: later, Rejected: code == http.StatusTooManyRequests,
		HTTP: &mcperrors.HTTPEvidence{Status: code}, Err: fmt.Errorf("status %d", code),
	}
}

// wait lets time pass, until the caller gives up.
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
		return c.ended()
	}
}

// arrive checks a request against the circuit, the server and the client's limits.
func (c *conn) arrive(key int, method string) (leave func()) {
	now := time.Now()
	c.mu.Lock()
	// A request sent at the instant of the answer cannot consider it.
	early := c.said.Before(now) && now.Before(c.hold)
	c.mu.Unlock()
	if early {
		c.history.count(&c.history.report.Early)
	}
	depart := c.crowd(key, now)
	b := c.guard.Load()
	if b == nil || c.shape.program && (method == mcp.MethodInitialize || method == mcp.MethodDiscover) {
		return depart // the start of a program is a probe itself
	}
	s := b.Snapshot()
	switch {
	case s.State == breaker.Open && s.Since.Before(now):
		c.history.count(&c.history.report.Open)
	case s.State == breaker.HalfOpen:
		c.mu.Lock()
		c.half[s.Generation]++
		c.history.probes(c.half[s.Generation])
		c.mu.Unlock()
		return func() {
			depart()
			c.mu.Lock()
			c.half[s.Generation]--
			c.mu.Unlock()
		}
	}
	return depart
}

// crowd checks a call against the client's rate and bulkhead.
func (c *conn) crowd(key int, now time.Time) (depart func()) {
	if key == 0 {
		return func() {} // requests of the protocol have reserved places
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under[key]++; c.under[key] > 1 {
		c.history.count(&c.history.report.Hedges)
	}
	c.crowded++
	if c.shape.limited { // a second request counts as any other
		for len(c.lately) > 0 && now.Sub(c.lately[0]) >= time.Second {
			c.lately = c.lately[1:]
		}
		c.lately = append(c.lately, now)
		if len(c.lately) > perSecond+burst {
			c.history.count(&c.history.report.Fast)
		}
		if c.crowded > places {
			c.history.count(&c.history.report.Crowded)
		}
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.crowded--
		if c.under[key]--; c.under[key] == 0 {
			delete(c.under, key)
		}
	}
}

// Notify implements [transport.Conn].
func (c *conn) Notify(ctx context.Context, n jsonrpc.Notification) error {
	if n.Method != mcp.MethodInitialized {
		return nil
	}
	if err := c.wait(ctx, jsonrpc.Wait{}, 5*time.Millisecond); err != nil {
		return err
	}
	c.ready.Store(true)
	return nil
}

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

// done is the result of a call that ran.
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
