package inbound

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/internal/inbox"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// ProgressTable has the requests of one client that asked for progress. Tokens are integers that
// never repeat on a connection. Its methods may be called from many goroutines at once.
type ProgressTable struct {
	*core.Core

	mu    sync.Mutex
	last  int64
	calls map[jsonrpc.ID]*Progress
}

// Progress is a request that asked for progress.
type Progress struct {
	token jsonrpc.ID
	id    atomic.Pointer[jsonrpc.ID] // of the request
	// listener receives the progress; nil if the application wants none. The two requests of a
	// hedged call share one.
	listener *listener
	last     float64 // last progress of the request; guarded by listener.mu
}

// listener is the application's progress handler of one call.
type listener struct {
	f     func(mcp.ProgressParams)
	table *ProgressTable

	mu sync.Mutex
	// queue belongs to the call: f and other handlers do not wait for each other, and f may make
	// calls with progress. It is nil before the first report.
	queue   *inbox.Queue[report]
	pending int           // reports queued for f
	ended   bool          // f is not called any more
	flagged bool          // progress that does not grow was logged
	quiet   chan struct{} // closed when nothing is pending; nil unless Finish waits
}

// report is a queued notification for a listener.
type report struct {
	to     *listener
	params mcp.ProgressParams
	bytes  int // size of the message whose memory params share
}

// Size implements [inbox.Item].
func (r report) Size() int { return r.bytes }

// Drop implements [inbox.Item].
func (r report) Drop() { r.to.settled() }

// nothingYet is less than any progress.
var nothingYet = math.Inf(-1)

// Token returns the progress token of the request.
func (p *Progress) Token() jsonrpc.ID { return p.token }

// Sending sets the request whose idle timeout the progress of the call resets.
func (p *Progress) Sending(id jsonrpc.ID) { p.id.Store(&id) }

// Add registers the first request of a call with progress.
func (t *ProgressTable) Add(f func(mcp.ProgressParams)) *Progress {
	both := &struct { // one allocation
		Progress
		listener
	}{}
	both.f, both.table = f, t
	both.Progress.listener = &both.listener
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(&both.Progress)
	return &both.Progress
}

// Beside registers a second request beside that of p.
func (t *ProgressTable) Beside(p *Progress) *Progress {
	second := &Progress{listener: p.listener}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(second)
	return second
}

// Renew replaces the token of a call for another request.
func (t *ProgressTable) Renew(p *Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.calls, p.token)
	t.put(p)
}

// put gives p the next token. Requires t.mu.
func (t *ProgressTable) put(p *Progress) {
	t.last++
	p.token = jsonrpc.IntID(t.last)
	t.keep(p)
	p.listener.mu.Lock()
	defer p.listener.mu.Unlock()
	p.last = nothingYet
}

// keep stores p under its token. Requires t.mu.
func (t *ProgressTable) keep(p *Progress) {
	if t.calls == nil {
		t.calls = make(map[jsonrpc.ID]*Progress)
	}
	t.calls[p.token] = p
}

// Remove removes a token.
func (t *ProgressTable) Remove(p *Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.calls, p.token)
}

// Follow registers a token without a listener: until it is removed, its progress counts as that
// of other requests.
func (t *ProgressTable) Follow(token jsonrpc.ID) *Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &Progress{token: token}
	t.keep(p)
	return p
}

func (t *ProgressTable) find(token jsonrpc.ID) *Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls[token]
}

// grace is how long [Progress.Finish] waits for the listener.
const grace = time.Second

// Finish waits, for one second at most, until the listener has received all progress that came
// before the answer. The listener is not called any more after that.
func (p *Progress) Finish(ctx context.Context) {
	l := p.listener
	l.mu.Lock()
	if l.pending > 0 && ctx.Err() == nil {
		l.quiet = make(chan struct{})
		quiet := l.quiet
		l.mu.Unlock()
		life.Wait(quiet, grace, ctx.Done())
		l.mu.Lock()
	}
	l.ended = true
	queue := l.queue
	l.mu.Unlock()
	if queue != nil {
		queue.Stop() // calls settled for each queued report
	}
}

// Notify receives a progress notification: it resets the idle timeout of its request at once, and
// queues the progress for the listener. Progress with an unknown token is dropped. Progress that
// does not grow is delivered, and logged once per call.
func (t *ProgressTable) Notify(n jsonrpc.Notification) {
	token, err := tokenOf(n)
	var p *Progress
	if err == nil {
		p = t.find(token)
	}
	if err == nil && (p == nil || p.listener == nil) { // without a listener, the rest is not decoded
		t.touch(p, token)
		return
	}
	var params mcp.ProgressParams
	if err == nil {
		err = mcp.Unmarshal([]byte(n.Params), &params)
	}
	if err != nil {
		t.Log.Warn("[MCP] a progress notification of the server cannot be read", "server", t.Server, "error", err)
		return
	}
	t.touch(p, token)
	queue, odd := p.queued(params.Progress)
	if odd {
		t.Log.Warn("[MCP] the progress of a call does not increase", "server", t.Server)
	}
	queue.Put(report{to: p.listener, params: params, bytes: len(n.Params)})
}

var errNoToken = errors.New("it has no progressToken")

func tokenOf(n jsonrpc.Notification) (token jsonrpc.ID, err error) {
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
	return token, err
}

// touch resets the idle timeout of the request that progress belongs to. A token that is not in
// the table may be the id of a request.
func (t *ProgressTable) touch(p *Progress, token jsonrpc.ID) {
	if p != nil {
		id := p.id.Load()
		if id == nil {
			return
		}
		token = *id
	}
	t.Links.Load().Conn.Touch(token)
}

// host returns the host of a listener's queue.
func (t *ProgressTable) host() inbox.Host[report] {
	return inbox.Host[report]{
		Budget: &t.Budget, Go: t.Life.Always,
		Deliver: func(r report) {
			callback.Run("WithProgress", t.Failed, func() { r.to.deliver(r.params) })
		},
		Dropped: func(count int) {
			t.Log.Warn("[MCP] notifications dropped: a handler is too slow", "server", t.Server, "count", count)
		},
	}
}

// queued counts one report for the listener. odd is true for the first report of the call whose
// progress does not grow.
func (p *Progress) queued(progress float64) (queue *inbox.Queue[report], odd bool) {
	l := p.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue == nil {
		l.queue = inbox.New(l.table.host())
	}
	l.pending++
	odd = !l.flagged && progress <= p.last
	l.flagged = l.flagged || odd
	p.last = progress
	return l.queue, odd
}

// settled records that one queued report was delivered or dropped.
func (l *listener) settled() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending--; l.pending == 0 && l.quiet != nil {
		close(l.quiet)
		l.quiet = nil
	}
}

func (l *listener) deliver(params mcp.ProgressParams) {
	defer l.settled()
	l.mu.Lock()
	ended := l.ended
	l.mu.Unlock()
	if !ended {
		l.f(params)
	}
}
