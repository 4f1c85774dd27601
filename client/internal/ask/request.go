package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Incoming is a request of the session era.
type Incoming struct {
	jsonrpc.Request
	// Caller is the caller of the call on whose stream the request came, nil if unknown. The
	// response is sent with the caller's credentials.
	Caller *transport.Caller
}

// openRequests are the requests of the session era without a response yet.
type openRequests struct {
	mu   sync.Mutex
	byID map[jsonrpc.ID]*openRequest
}

// openRequest is an open request. Another session may use the same id.
type openRequest struct{ cancel context.CancelCauseFunc }

// maxOpen limits the open requests. Further requests are refused at once.
const maxOpen = 100

var (
	errWithdrawn = errors.New("the server withdrew its request")
	errLinkEnded = errors.New("the connection of the request has ended")
)

// add adds a request, or returns why it is refused.
func (o *openRequests) add(id jsonrpc.ID, r *openRequest) *jsonrpc.Error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, twice := o.byID[id]; twice {
		return jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "This id is in use", nil)
	}
	if len(o.byID) == maxOpen {
		return jsonrpc.NewError(codeBusy, "Too many requests at once", nil)
	}
	if o.byID == nil {
		o.byID = map[jsonrpc.ID]*openRequest{}
	}
	o.byID[id] = r
	return nil
}

func (o *openRequests) remove(id jsonrpc.ID, r *openRequest) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byID[id] == r {
		delete(o.byID, id)
	}
}

// LinkEnded cancels the handlers of all open requests. Call it when a session or a program is
// lost: a response would reach another session.
func (d *Dispatcher) LinkEnded() {
	d.open.mu.Lock()
	defer d.open.mu.Unlock()
	for _, r := range d.open.byID {
		r.cancel(errLinkEnded)
	}
	d.open.byID = nil
	d.dropTasks(errLinkEnded)
}

// Cancelled cancels the handler of a request that the server withdrew.
func (d *Dispatcher) Cancelled(n jsonrpc.Notification) {
	var params mcp.CancelledParams
	if mcp.Unmarshal(bytes.Clone(n.Params), &params) != nil {
		return
	}
	d.open.mu.Lock()
	defer d.open.mu.Unlock()
	if r := d.open.byID[params.RequestID]; r != nil {
		r.cancel(errWithdrawn)
	}
}

// Request answers a request of the session era, and returns at once. Ping is answered at any time
// and never waits for handlers. from is the link of the request, nil before the client has one.
// ctx has the values for the handler.
func (d *Dispatcher) Request(ctx context.Context, from *link.Link, req Incoming) {
	switch {
	case req.Method == mcp.MethodPing:
		d.reply(ctx, req, jsonrpc.Response{ID: req.ID, Result: []byte(`{}`)})
	case from != nil && (d.Offer.Any != nil || d.Offer.Raw[req.Method] != nil || mcp.MethodIn(req.Method, from.Agreed.Version)):
		d.begin(ctx, from, req)
	default:
		d.reply(ctx, req, jsonrpc.Response{ID: req.ID, Error: jsonrpc.NewError(jsonrpc.CodeMethodNotFound,
			"Method not found: "+jsonrpc.Printable(req.Method, 100), nil)})
	}
}

// begin starts the application's handler for a request. It runs at most as long as a call.
func (d *Dispatcher) begin(ctx context.Context, from *link.Link, req Incoming) {
	own, release := d.Life.With(ctx)
	ctx, cancel := context.WithCancelCause(own)
	r := &openRequest{cancel: cancel}
	size := len(req.Params) + len(req.ID.String()) + len(req.Method)
	no := jsonrpc.NewError(codeBusy, "Too many requests are waiting for an answer", nil)
	if d.Budget.Take(size) {
		if no = d.open.add(req.ID, r); no != nil {
			d.Budget.Give(size)
		}
	}
	if no != nil {
		release()
		d.reply(ctx, req, jsonrpc.Response{ID: req.ID, Error: no})
		return
	}
	end := func() {
		d.open.remove(req.ID, r)
		d.Budget.Give(size)
		release()
	}
	if !d.Life.Go(func() {
		defer end()
		d.answerAndRespond(ctx, cancel, from, req)
	}) {
		end()
	}
}

// answerAndRespond answers a request and sends the response, unless the request was withdrawn or its link
// has ended.
func (d *Dispatcher) answerAndRespond(ctx context.Context, cancel context.CancelCauseFunc, from *link.Link, req Incoming) {
	bounded := ctx
	if d.OpenTime > 0 {
		var stop context.CancelFunc
		bounded, stop = context.WithTimeout(ctx, d.OpenTime)
		defer stop()
	}
	answered := make(chan struct{})
	watched := d.Life.Go(func() {
		select {
		case <-from.Conn.Done():
			cancel(errLinkEnded)
		case <-answered:
		case <-ctx.Done():
		}
	})
	result, no := d.answerRequest(bounded, from, req)
	close(answered)
	if !watched || ctx.Err() != nil {
		return // withdrawn, or the link has ended
	}
	resp := jsonrpc.Response{ID: req.ID, Result: result}
	switch {
	case no == nil:
	case req.Method == mcp.MethodElicitationCreate && bounded.Err() != nil:
		resp.Result = cancelElicitation // instead of an error
	default:
		resp.Error = no.rpc
	}
	resp.Result = related(req.Params, resp.Result)
	d.respond(ctx, req, resp)
}

// maxReplying limits the responses being sent.
const maxReplying = 100

// reply sends a response that needs no handler.
func (d *Dispatcher) reply(ctx context.Context, to Incoming, resp jsonrpc.Response) {
	size := len(resp.ID.String())
	if d.replying.Add(1) > maxReplying || !d.Budget.Take(size) {
		d.replying.Add(-1)
		d.Log.Warn("[MCP] the server sends requests faster than it reads responses; a request was dropped", "server", d.Server)
		return
	}
	d.Life.Background(func(context.Context) {
		ctx, end := d.Life.With(ctx)
		defer end()
		defer d.replying.Add(-1)
		defer d.Budget.Give(size)
		d.respond(ctx, to, resp)
	})
}

// related copies the related task of a request into its result.
func related(params, result json.RawMessage) json.RawMessage {
	if result == nil || !bytes.Contains(params, []byte(mcp.MetaRelatedTask)) {
		return result
	}
	var task json.RawMessage
	err := jsonrpc.Members(params, func(name, value []byte) bool {
		if string(name) == "_meta" {
			task, _ = mcp.MetaValue(value, mcp.MetaRelatedTask)
		}
		return true
	})
	if err != nil || task == nil {
		return result
	}
	return relate(task, result)
}

// relate puts the related task into a result. It leaves a result that it cannot read.
func relate(task, result json.RawMessage) json.RawMessage {
	if result == nil {
		return nil
	}
	open, own, err := doc.Cut(bytes.Clone(result), "_meta")
	if err != nil {
		return result
	}
	var meta []byte
	if own != nil {
		if mcp.CheckMeta(own) != nil {
			return result // the handler's own _meta is invalid
		}
		if meta, err = doc.MembersOf(own); err != nil {
			return result
		}
	}
	open = append(doc.AppendMembers(open, []byte(`"_meta":`)), '{')
	open = doc.AppendMembers(open, meta)
	open = doc.AppendMembers(open, doc.Pair(mcp.MetaRelatedTask, task))
	return append(open, '}', '}')
}
