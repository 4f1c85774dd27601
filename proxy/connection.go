package proxy

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// connection is the client of an upstream. It may come later than the upstream, which answers
// from the cache meanwhile. What needs the client waits in [connection.connected].
type connection struct {
	client *client.Client // once there is closed
	there  chan struct{}

	ctx     context.Context // of the attempts to connect
	end     context.CancelCauseFunc
	dial    func(context.Context) (*client.Client, error)
	start   func(func())          // runs a goroutine that the host waits for
	settled func(context.Context) // runs once after the client is there
	after   <-chan struct{}       // closed when the server before has ended, nil for none
	mu      sync.Mutex
	attempt *attempt // the last one; a failed one is forgotten
	// hasty is set for servers that are tried again elsewhere.
	hasty bool
}

// attempt is one attempt to connect, with several tries if the server is away.
type attempt struct {
	done chan struct{} // closed when err is set
	err  error
	last error         // of the tries so far, nil if none has failed
	next chan struct{} // closed when last changes
	asks time.Time     // when the last caller came
	// attended is the request for which a person may log in, nil if it began for another one.
	attended *request
}

func newConnection(ctx context.Context, start func(func()), dial func(context.Context) (*client.Client, error)) *connection {
	c := &connection{there: make(chan struct{}), dial: dial, start: start}
	c.ctx, c.end = context.WithCancelCause(ctx)
	return c
}

func (c *connection) isConnected() bool {
	select {
	case <-c.there:
		return true
	default:
		return false
	}
}

// connected waits for the client. The first caller starts to connect, also after a failure. The
// others share the outcome, except that a person may log in for one of them if the server wants
// that and the first caller had nobody.
func (c *connection) connected(ctx context.Context) error {
	if c.isConnected() {
		return nil
	}
	r, _ := ctx.Value(requestKey{}).(*request)
	if r != nil && !r.attended() {
		r = nil
	}
	a, began := c.connect(r), time.Now()
	for {
		next, last := c.tried(a)
		if last != nil && time.Since(began)+maxRetry > away(mcp.MethodInitialize, last, false) {
			return tooLong(last, began)
		}
		select {
		case <-next:
		case <-c.there:
			return nil
		case <-a.done:
			if r != nil && a.attended == nil && mcperrors.KindOf(a.err) == mcperrors.KindAuth {
				return c.connected(ctx)
			}
			return a.err
		case <-ctx.Done():
			text := "the server was not ready in time"
			if last != nil {
				text += ": " + last.Error()
			}
			return mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindCanceled, mcperrors.NotSent, text, context.Cause(ctx))
		}
	}
}

// tried returns why the last try of an attempt failed, nil if none has. next is closed when another
// one does.
func (c *connection) tried(a *attempt) (next <-chan struct{}, last error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return a.next, a.last
}

// isAway reports whether the server cannot be reached, and is waited for.
func (c *connection) isAway() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attempt != nil && c.attempt.last != nil
}

// connect starts to connect, unless that is under way or done. It returns at once. attended is the
// request for which a person may log in, nil for none.
func (c *connection) connect(attended *request) *attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.attempt == nil {
		c.attempt = &attempt{done: make(chan struct{}), next: make(chan struct{}), attended: attended}
		a := c.attempt
		c.start(func() { c.try(a) })
	}
	c.attempt.asks = time.Now()
	return c.attempt
}

// again notes the failure of a try, and reports whether another one may help those that wait.
func (c *connection) again(a *attempt, err error) bool {
	if c.hasty {
		return false
	}
	wait := away(mcp.MethodInitialize, err, false)
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait == 0 || time.Since(a.asks)+maxRetry > wait {
		return false
	}
	a.last = err
	close(a.next)
	a.next = make(chan struct{})
	return true
}

func (c *connection) try(a *attempt) {
	if c.after != nil { // two of them could be in each other's way
		select {
		case <-c.after:
		case <-c.ctx.Done():
		}
	}
	err := context.Cause(c.ctx)
	var made *client.Client
	if err == nil {
		ctx := c.ctx
		if a.attended != nil {
			ctx = context.WithValue(ctx, requestKey{}, a.attended)
		}
		began := time.Now()
		for pause := minRetry; ; pause = min(2*pause, maxRetry) {
			if made, err = c.dial(ctx); err == nil || !c.again(a, err) || !sleep(c.ctx, pause) {
				break
			}
		}
		if err != nil && a.last != nil {
			err = tooLong(err, began)
		}
	}
	c.mu.Lock()
	if err == nil {
		c.client = made
		a.last = nil
		close(c.there)
	} else {
		c.attempt = nil
	}
	a.err = err
	close(a.done)
	c.mu.Unlock()
	if err == nil && c.settled != nil {
		c.settled(c.ctx)
	}
}

// abandon ends the attempt to connect.
func (c *connection) abandon() {
	c.end(errHostGone)
	c.mu.Lock()
	a := c.attempt
	c.mu.Unlock()
	if a != nil {
		<-a.done
	}
}

// close ends the server, or the attempt to connect to it. It is called once.
func (c *connection) close() {
	c.abandon()
	if c.isConnected() {
		_ = c.client.Close() // nothing is left that an error could matter to
	}
}

// reached waits until the server's messages may reach the host: both have begun.
func (up *upstream) reached(ctx context.Context) error {
	for _, begun := range [...]<-chan struct{}{up.ready, up.there} {
		select {
		case <-begun:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// answer is [upstream.once] for a server that may be away for a while: the request waits for it.
func (up *upstream) answer(ctx context.Context, r *request) (json.RawMessage, error) {
	began := time.Now()
	result, err := up.once(ctx, r)
	_, err = up.behindCircuit(err)
	if err == nil || !up.isConnected() || away(r.Method, err, true) == 0 {
		return result, err
	}
	if n, fault := splitRound(r.Params); fault == nil && n.state != "" && up.version.Era() != up.server() {
		return nil, err // the call that it goes on with has ended
	}
	up.away.Add(1)
	defer up.away.Add(-1)
	for pause := minRetry; ; pause = min(2*pause, maxRetry) {
		if time.Since(began)+pause > patience {
			return nil, tooLong(err, began)
		}
		if !sleep(ctx, pause) {
			return nil, err
		}
		var failed error
		if result, failed = up.once(ctx, r); failed == nil {
			return result, nil
		}
		refused, failed := up.behindCircuit(failed)
		switch {
		case ctx.Err() != nil && mcperrors.DeliveryOf(failed) == mcperrors.NotSent:
			return nil, err // it says why
		case away(r.Method, failed, true) == 0:
			return nil, failed
		case !refused:
			err = failed
		}
	}
}

// behindCircuit returns the error of a request, which an open circuit may have refused, as the
// one that opened the circuit: that the server cannot be reached. refused reports whether it did.
func (c *connection) behindCircuit(err error) (refused bool, _ error) {
	if mcperrors.KindOf(err) != mcperrors.KindCircuitOpen || !c.isConnected() {
		return false, err
	}
	b := c.client.Breaker()
	if b == nil {
		return false, err
	}
	now := b.Snapshot()
	if now.Throttled || now.Mode != 0 || now.LastFailure != "nothing listens" && now.LastFailure != "unavailable" {
		return false, err
	}
	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, "the server cannot be reached: "+now.LastFailure, unreachable(now.LastFailure))
	e.Retryable, e.Server, e.RetryAfter = true, now.Name, mcperrors.RetryAfter(err)
	return true, e
}
