package client

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// progressTable knows which request a progress token belongs to. Tokens are
// integers that never repeat on a connection (UTIL-08).
type progressTable struct {
	mu    sync.Mutex
	last  int64
	calls map[jsonrpc.ID]*progressCall
}

// progressCall is a request that asked for progress.
type progressCall struct {
	token jsonrpc.ID
	id    atomic.Pointer[jsonrpc.ID] // of the request
	// listener is who hears of it, nil for nobody. The two requests of a hedged
	// call share one.
	listener *progressListener
	last     float64 // progress of the request so far; guarded by listener.mu
}

// progressListener is the application's function for the progress of one call.
type progressListener struct {
	f func(mcp.ProgressParams)
	// inbox is the call's own: f and the other handlers do not wait for each
	// other, and one of them may make calls with progress.
	inbox lazy[inbox]

	mu      sync.Mutex
	pending int           // notifications queued for f
	ended   bool          // f is not started any more
	flagged bool          // it was said that progress does not grow
	quiet   chan struct{} // closed when nothing is pending; nil when nobody waits
}

// nothingYet is less than any progress.
var nothingYet = math.Inf(-1)

// keepAlive makes id the request whose idle timeout progress of the call resets.
func (p *progressCall) keepAlive(id jsonrpc.ID) { p.id.Store(&id) }

// WithProgressTokens says whether every tools/call carries a progress token; the
// default is true. A server that reports progress shows that it works on, which
// resets the call's idle timeout (see [Resilience].IdleTimeout), whether or not
// the call has [WithProgress]. A call with a token of the caller's own in _meta
// gets none.
func WithProgressTokens(on bool) Option { return optionFunc(func(c *config) { c.noTokens = !on }) }

// wantsToken reports whether a call asks for progress that nobody listens to.
func (c *Client) wantsToken(cl *call) bool {
	return cl.method == mcp.MethodToolsCall && !c.cfg.noTokens && cl.opts.progress == nil && !cl.hasToken()
}

// progressGrace is how long a call that has its answer waits for the handler
// to see what came before the answer.
const progressGrace = time.Second

// withProgress makes a call whose params carry a progress token.
func (c *Client) withProgress(ctx context.Context, cl *call) (json.RawMessage, error) {
	cl.progress = c.progress.get().add(cl.opts.progress)
	defer cl.progress.listener.finish(ctx, c)
	defer func() { c.progress.get().remove(cl.progress) }() // the one of the last request
	return c.converse(ctx, cl)
}

// add makes what a call with progress needs, for its first request.
func (t *progressTable) add(f func(mcp.ProgressParams)) *progressCall {
	all := &struct { // one allocation
		progressCall
		progressListener
	}{}
	all.f = f
	all.listener = &all.progressListener
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(&all.progressCall)
	return &all.progressCall
}

// beside returns what a second request beside that of p needs.
func (t *progressTable) beside(p *progressCall) *progressCall {
	second := &progressCall{listener: p.listener}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(second)
	return second
}

// renew gives a call a token of its own for one more request.
func (t *progressTable) renew(p *progressCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.calls, p.token)
	t.put(p)
}

// put gives p the next token. Requires t.mu.
func (t *progressTable) put(p *progressCall) {
	t.last++
	p.token = jsonrpc.IntID(t.last)
	if t.calls == nil {
		t.calls = make(map[jsonrpc.ID]*progressCall)
	}
	t.calls[p.token] = p
	p.listener.mu.Lock()
	defer p.listener.mu.Unlock()
	p.last = nothingYet
}

func (t *progressTable) remove(p *progressCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.calls, p.token)
}

// follow has progress with a token that nobody listens to count for other
// requests, until the token is removed.
func (t *progressTable) follow(token jsonrpc.ID) *progressCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &progressCall{token: token}
	if t.calls == nil {
		t.calls = make(map[jsonrpc.ID]*progressCall)
	}
	t.calls[token] = p
	return p
}

func (t *progressTable) find(token jsonrpc.ID) *progressCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls[token]
}

// queued notes one notification for f, and reports whether it is the first of
// the call whose progress does not grow.
func (p *progressCall) queued(progress float64) (odd bool) {
	l := p.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending++
	odd = !l.flagged && progress <= p.last
	l.flagged = l.flagged || odd
	p.last = progress
	return odd
}

// settled says that one queued notification was delivered or dropped.
func (l *progressListener) settled() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending--; l.pending == 0 && l.quiet != nil {
		close(l.quiet)
		l.quiet = nil
	}
}

func (l *progressListener) deliver(params mcp.ProgressParams) {
	defer l.settled()
	l.mu.Lock()
	ended := l.ended
	l.mu.Unlock()
	if !ended {
		l.f(params)
	}
}

// finish waits, not for long, until f has seen what came before the answer.
// f is not started any more after that.
func (l *progressListener) finish(ctx context.Context, c *Client) {
	l.mu.Lock()
	if l.pending > 0 && ctx.Err() == nil {
		l.quiet = make(chan struct{})
		quiet := l.quiet
		l.mu.Unlock()
		timer := time.NewTimer(progressGrace)
		select {
		case <-quiet:
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		l.mu.Lock()
	}
	l.ended = true
	l.mu.Unlock()
	if b := l.inbox.peek(); b != nil {
		b.stop(c)
	}
}

// onProgress resets the call's idle timeout, at once, and queues the notification
// for its handler. Unknown and finished tokens are dropped; a value that does not
// grow is delivered, and said once a call (UTIL-09).
func (c *Client) onProgress(n jsonrpc.Notification) {
	p, token, err := c.progressOf(n)
	if err == nil && (p == nil || p.listener == nil) { // nobody listens: no more of it is read
		c.stillWorks(p, token)
		return
	}
	var params mcp.ProgressParams
	if err == nil {
		err = mcp.Unmarshal([]byte(n.Params), &params)
	}
	if err != nil {
		c.log.Warn("[MCP] a progress notification of the server cannot be read", "server", c.server, "error", err)
		return
	}
	c.stillWorks(p, token)
	if p.queued(params.Progress) {
		c.log.Warn("[MCP] the progress of a call does not grow", "server", c.server)
	}
	p.listener.inbox.get().put(c, item{progress: p.listener, params: params, held: len(n.Params)})
}

var errNoToken = errors.New("it has no progressToken")

// progressOf finds the call that a progress notification is for, nil for one that
// the table does not know.
func (c *Client) progressOf(n jsonrpc.Notification) (p *progressCall, token jsonrpc.ID, err error) {
	err = errNoToken
	if e := jsonrpc.Members(n.Params, func(name, value []byte) bool {
		if string(name) == mcp.MetaProgressToken {
			token, err = jsonrpc.ParseID(string(value))
			return false
		}
		return true
	}); e != nil {
		err = e
	}
	if t := c.progress.peek(); err == nil && t != nil {
		p = t.find(token)
	}
	return p, token, err
}

// stillWorks resets the idle timeout of the request that progress is about. A
// token that is not in the table may be a request's id.
func (c *Client) stillWorks(p *progressCall, token jsonrpc.ID) {
	if p != nil {
		id := p.id.Load()
		if id == nil {
			return
		}
		token = *id
	}
	c.live.Load().Conn.Touch(token)
}
