package proxy

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// pipe is the connection to a host over a pair of streams.
type pipe struct {
	host     *host
	conn     *jsonrpc.Conn
	answered func(*jsonrpc.Response) // answer, bound once
	open     chan struct{}           // closed once conn is set
	late     chan struct{}           // held by the answer that waits for room
	deaf     chan struct{}           // closed when the host has closed its stream: it answers nothing more

	mu       sync.Mutex
	closed   bool // no refusal is sent any more
	refusals int  // that wait to be sent
}

// newPipe starts to read messages for h.
func newPipe(h *host, in io.ReadCloser, out io.WriteCloser) *pipe {
	p := &pipe{host: h, open: make(chan struct{}), late: make(chan struct{}, 1), deaf: make(chan struct{})}
	h.line, p.answered = p, p.answer
	h.agreed = func(v mcp.Version) { p.conn.AcceptBatches(v == mcp.Version2025_03_26) }
	drain := sync.OnceFunc(func() {
		close(p.deaf)
		h.waiting.abandon(errHostGone)
		p.drain(drainTime, errHostGone)
	})
	p.conn = jsonrpc.NewConn(&drainedReader{ReadCloser: in, drain: drain}, out, jsonrpc.Config{
		OnRequest: p.request, OnNotification: func(n jsonrpc.Notification) {
			<-p.open
			h.notification(n)
		},
		OnNoise:  p.noise,
		OnFault:  p.fault,
		OnBroken: h.lose,
	})
	p.conn.AcceptBatches(true) // until a revision is agreed on
	close(p.open)
	return p
}

func (p *pipe) request(req jsonrpc.Request) {
	<-p.open
	if refusal := p.host.request(req, p, p.answered); refusal != nil {
		p.refuse(*refusal)
	}
}

// notify implements [line].
func (p *pipe) notify(ctx context.Context, n jsonrpc.Notification) error {
	return p.conn.Notify(ctx, n)
}

// call implements [line].
func (p *pipe) call(ctx context.Context, req jsonrpc.Request) (jsonrpc.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.deaf:
			cancel(errHostGone)
		case <-ctx.Done():
		}
	}()
	return p.conn.Call(ctx, req, jsonrpc.Wait{})
}

// answer sends a response, nil if a request gets none. It waits while the host has not read what
// was sent before.
func (p *pipe) answer(resp *jsonrpc.Response) {
	if resp == nil || p.conn.RespondAmong(*resp, int(p.host.unanswered.Load())) == nil {
		return
	}
	gone := p.host.reach.Done()
	select {
	case p.late <- struct{}{}:
		defer func() { <-p.late }()
	case <-gone:
	}
	for p.conn.Respond(*resp) != nil {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-gone:
			p.host.log.Warn("[MCP] an answer did not reach the host", "id", resp.ID.String())
			return
		}
	}
}

// refuse answers what is not served. It returns at once.
func (p *pipe) refuse(resp jsonrpc.Response) {
	<-p.open
	if p.conn.Respond(resp) == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.refusals == maxOpen {
		p.host.lose(errHostSlow)
		return
	}
	p.refusals++
	p.host.work.Go(func() {
		p.answer(&resp)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.refusals--
	})
}

// drain is [host.drain], and waits until the answers are written.
func (p *pipe) drain(d time.Duration, reason error) {
	<-p.open
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	h := p.host
	h.drain(d, reason)
	for end := time.Now().Add(flushTime); h.reach.Err() == nil && p.conn.Backlog().Waiting && time.Now().Before(end); {
		h.within(time.Millisecond, nil)
	}
}

// drainedReader keeps the end of the host's stream back until its requests are answered: a
// connection whose input has ended answers nothing any more. The last line may lack its end.
type drainedReader struct {
	io.ReadCloser
	drain func()
	err   error
	begun bool // the last line is complete
}

// Read implements [io.Reader].
func (r *drainedReader) Read(p []byte) (int, error) {
	if r.err == nil {
		n, err := r.ReadCloser.Read(p)
		if err == nil || n > 0 {
			r.err = err
			return n, nil
		}
		r.err = err
	}
	if !r.begun && len(p) > 0 {
		r.begun = true
		p[0] = '\n'
		return 1, nil
	}
	r.drain()
	return 0, r.err
}

// noise answers a line that is no message.
func (p *pipe) noise(line []byte) {
	if json.Valid(line) {
		p.refuse(jsonrpc.Response{ID: idOf(line), Error: jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Invalid Request: each line must be one JSON-RPC message", nil)})
		return
	}
	p.refuse(jsonrpc.Response{Error: jsonrpc.NewError(jsonrpc.CodeParseError, "Parse error: each line must be one JSON-RPC message", nil)})
}

// idOf returns the id of a request that does not say its version of JSON-RPC.
func idOf(line []byte) (id jsonrpc.ID) {
	asks := false
	_ = jsonrpc.Members(line, func(name, value []byte) bool {
		switch string(name) {
		case "id":
			_ = id.UnmarshalJSON(value)
		case "method":
			asks = true
		}
		return true
	})
	if !asks {
		return jsonrpc.ID{}
	}
	return id
}

// fault answers what is JSON, or nearly, and no message.
func (p *pipe) fault(e *jsonrpc.DecodeError) {
	id, err := faultOf(e)
	p.refuse(jsonrpc.Response{ID: id, Error: err})
}
