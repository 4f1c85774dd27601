package client

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// asked is what the server of the session era has asked and not been answered.
type asked struct {
	mu   sync.Mutex
	open map[jsonrpc.ID]*pending
}

// pending is one of them. Another session may ask under the same id.
type pending struct{ cancel context.CancelCauseFunc }

// maxAsked bounds it. One more is refused at once.
const maxAsked = 100

var (
	errWithdrawn = errors.New("the server withdrew its request")
	errLinkEnded = errors.New("the connection that the request came on has ended")
)

// add notes a request. The refusal says why it is not taken.
func (a *asked) add(id jsonrpc.ID, q *pending) *jsonrpc.Error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, twice := a.open[id]; twice {
		return jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "This id is in use", nil)
	}
	if len(a.open) == maxAsked {
		return jsonrpc.NewError(codeBusy, "Too many requests at once", nil)
	}
	if a.open == nil {
		a.open = map[jsonrpc.ID]*pending{}
	}
	a.open[id] = q
	return nil
}

func (a *asked) remove(id jsonrpc.ID, q *pending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[id] == q {
		delete(a.open, id)
	}
}

// end ends the handlers of all requests: the session that asked is gone, and an
// answer would be another session's (LC-17).
func (a *asked) end(cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.open {
		q.cancel(cause)
	}
	a.open = nil
}

// cancel ends the handler of a request, if there is one.
func (a *asked) cancel(id jsonrpc.ID, cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.open[id]; q != nil {
		q.cancel(cause)
	}
}

// onQuestion answers a request of the session era by the application's handlers.
// Nobody answers for longer than a call may take.
func (c *Client) onQuestion(req jsonrpc.Request) {
	from := c.live.Newest()
	ctx, cancel := context.WithCancelCause(c.life)
	q := &pending{cancel: cancel}
	size := len(req.Params) + len(req.ID.String()) + len(req.Method)
	no := jsonrpc.NewError(codeBusy, "Too much waits to be answered", nil)
	if c.budget.Take(size) {
		if no = c.inputs.get().asked.add(req.ID, q); no != nil {
			c.budget.Give(size)
		}
	}
	if no != nil {
		cancel(nil)
		c.reply(req.Method, jsonrpc.Response{ID: req.ID, Error: no})
		return
	}
	started := c.within(func() {
		defer cancel(nil)
		defer c.budget.Give(size)
		defer c.inputs.get().asked.remove(req.ID, q)
		c.answerQuestion(ctx, cancel, from, req)
	})
	if !started {
		cancel(nil)
		c.budget.Give(size)
		c.inputs.get().asked.remove(req.ID, q)
	}
}

func (c *Client) answerQuestion(ctx context.Context, cancel context.CancelCauseFunc, from *link.Link, req jsonrpc.Request) {
	bounded := ctx
	if c.res.MaxTime > 0 {
		var stop context.CancelFunc
		bounded, stop = context.WithTimeout(ctx, c.res.MaxTime)
		defer stop()
	}
	answered := make(chan struct{})
	watched := c.within(func() {
		select {
		case <-from.Conn.Done():
			cancel(errLinkEnded)
		case <-answered:
		case <-ctx.Done():
		}
	})
	result, no := c.fulfil(bounded, c.asker(from.Agreed, "", ""), req.Method, req.Params)
	close(answered)
	if !watched || ctx.Err() != nil {
		return // withdrawn, or nobody is there any more (UTIL-06)
	}
	resp := jsonrpc.Response{ID: req.ID, Result: result}
	switch {
	case no == nil:
	case req.Method == mcp.MethodElicitationCreate && bounded.Err() != nil:
		resp.Result = cancelElicitation // ELIC-09
	default:
		resp.Error = no.rpc
	}
	resp.Result = related(req.Params, resp.Result)
	c.respond(ctx, req.Method, resp)
}

// withdraw ends the handler of a request that the server gave up (UTIL-06).
func (c *Client) withdraw(n jsonrpc.Notification) {
	var params mcp.CancelledParams
	if mcp.Unmarshal(bytes.Clone(n.Params), &params) == nil {
		c.inputs.get().asked.cancel(params.RequestID, errWithdrawn)
	}
}
