package client

import (
	"context"
	"encoding/json"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// progressTable knows which call a progress token belongs to. Tokens are
// integers that never repeat on a connection (UTIL-08).
type progressTable struct {
	mu    sync.Mutex
	last  int64
	calls map[jsonrpc.ID]*progressCall
}

// progressCall is a call that asked for progress.
type progressCall struct {
	token jsonrpc.ID
	f     func(mcp.ProgressParams)
	id    atomic.Pointer[jsonrpc.ID] // of the request now under way

	mu      sync.Mutex
	pending int           // notifications queued for f
	ended   bool          // f is not started any more
	last    float64       // progress of the request so far
	flagged bool          // it was said that progress does not grow
	quiet   chan struct{} // closed when nothing is pending; nil when nobody waits
}

// nothingYet is less than any progress.
var nothingYet = math.Inf(-1)

// progressGrace is how long a call that has its answer waits for the handler
// to see what came before the answer.
const progressGrace = time.Second

// withProgress makes a call whose params carry a progress token.
func (c *Client) withProgress(ctx context.Context, cl *call) (json.RawMessage, error) {
	p := c.progress.get().add(cl.opts.progress)
	defer p.finish(ctx)
	defer c.progress.get().remove(p)
	cl.progress = p
	return c.converse(ctx, cl)
}

func (t *progressTable) add(f func(mcp.ProgressParams)) *progressCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	p := &progressCall{token: jsonrpc.IntID(t.last), f: f, last: nothingYet}
	if t.calls == nil {
		t.calls = make(map[jsonrpc.ID]*progressCall)
	}
	t.calls[p.token] = p
	return p
}

// renew gives a call a token of its own for one more request.
func (t *progressTable) renew(p *progressCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.calls, p.token)
	t.last++
	p.token = jsonrpc.IntID(t.last)
	t.calls[p.token] = p
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = nothingYet
}

func (t *progressTable) remove(p *progressCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.calls, p.token)
}

func (t *progressTable) find(token jsonrpc.ID) *progressCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls[token]
}

// queued notes one notification for f, and reports whether it is the first of
// the call whose progress does not grow.
func (p *progressCall) queued(progress float64) (odd bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending++
	odd = !p.flagged && progress <= p.last
	p.flagged = p.flagged || odd
	p.last = progress
	return odd
}

// settled says that one queued notification was delivered or dropped.
func (p *progressCall) settled() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending--; p.pending == 0 && p.quiet != nil {
		close(p.quiet)
		p.quiet = nil
	}
}

func (p *progressCall) deliver(params mcp.ProgressParams) {
	defer p.settled()
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if !ended {
		p.f(params)
	}
}

// finish waits, not for long, until f has seen what came before the answer.
// f is not started any more after that.
func (p *progressCall) finish(ctx context.Context) {
	p.mu.Lock()
	if p.pending > 0 && ctx.Err() == nil {
		p.quiet = make(chan struct{})
		quiet := p.quiet
		p.mu.Unlock()
		timer := time.NewTimer(progressGrace)
		select {
		case <-quiet:
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
		p.mu.Lock()
	}
	p.ended = true
	p.mu.Unlock()
}

// onProgress starts the call's idle timeout anew, at once, and queues the
// notification for its handler. Unknown and finished tokens are dropped; a
// value that does not grow is delivered, and said once a call (UTIL-09).
func (c *Client) onProgress(n jsonrpc.Notification) {
	var params mcp.ProgressParams
	if err := mcp.Unmarshal([]byte(n.Params), &params); err != nil {
		c.log.Warn("[MCP] a progress notification of the server cannot be read", "server", c.server, "error", err)
		return
	}
	if p := c.progress.get().find(params.ProgressToken); p != nil {
		if id := p.id.Load(); id != nil {
			c.live.Load().conn.Touch(*id)
		}
		if p.queued(params.Progress) {
			c.log.Warn("[MCP] the progress of a call does not grow", "server", c.server)
		}
		c.inbox.get().put(c, item{progress: p, params: params, held: len(n.Params)})
	}
}
