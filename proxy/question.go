package proxy

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// askable sends a request during which the server may ask the host for something.
func (up *upstream) askable(ctx context.Context, r *request) (json.RawMessage, error) {
	if up.version.Era() == mcp.EraStateless && up.server() == mcp.EraSession {
		return up.round(ctx, r)
	}
	return up.pass(ctx, r)
}

// asked passes a request of the server to the host.
func (up *upstream) asked(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if err := up.reached(ctx); err != nil {
		return nil, err
	}
	if !up.declared.Has(asking[method]) {
		return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: the host does not declare "+asking[method], nil)
	}
	if up.version.Era() == mcp.EraStateless {
		// Such a host cannot refuse a question.
		if missing := up.lacks(method, params); missing != "" {
			return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: the host does not declare "+missing, nil)
		}
		if of, ok := ctx.Value(pendingKey{}).(*pending); ok {
			result, ended, err := of.ask(ctx, method, params)
			if ended {
				return nil, errNobodyAsks
			}
			return result, err
		}
		return up.calls.ask(ctx, method, params)
	}
	return up.askHost(ctx, method, params)
}

// lacks returns the part of a capability that a question needs and the host does not declare, ""
// for none.
func (up *upstream) lacks(method string, params json.RawMessage) string {
	const form, tools = "elicitation.form", "sampling.tools"
	has, page := up.declared.Has, string(memberOf(params, "mode")) == `"url"`
	switch {
	case method == mcp.MethodElicitationCreate && page && !has(elicitsURLs):
		return elicitsURLs
	case method == mcp.MethodElicitationCreate && !page && has(elicitsURLs) && !has(form): // {} means forms
		return form
	case method == mcp.MethodSamplingCreateMessage && !has(tools) && (memberOf(params, "tools") != nil || memberOf(params, "toolChoice") != nil):
		return tools
	}
	return ""
}

// askedOther passes a request of the server to a session host whose revision may have it: a
// method that nobody knows.
func (up *upstream) askedOther(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if up.version.Era() != mcp.EraSession || known(method) {
		return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: "+jsonrpc.Printable(method, 100), nil)
	}
	if err := up.reached(ctx); err != nil {
		return nil, err
	}
	return up.askHost(ctx, method, params)
}

// askHost sends a request to a session host, on the stream of the call that it is for.
func (up *upstream) askHost(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	on := up.host.line
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		on = r.line
	}
	return up.host.ask(ctx, on, method, params)
}

// A pending is a call to a session server whose host is of the stateless era: it waits at the
// server while the host answers what the server asks.
type pending struct {
	method, params string                  // the host must make the same call again
	now            atomic.Pointer[request] // the host's request that waits for it, nil while the host answers
	cancel         context.CancelCauseFunc
	questions      chan question
	done           chan struct{} // closed when result and err are there
	result         json.RawMessage
	err            error

	asking *question // that the host is to answer
	asked  int       // questions so far
	expiry *time.Timer
}

// pendingKey is the key of a context for the *pending that it belongs to.
type pendingKey struct{}

type question struct {
	key    string // in inputRequests
	method string
	params json.RawMessage
	answer chan<- json.RawMessage
}

// Bounds of the calls that wait for their host.
const (
	maxPending   = 64
	answerWithin = 10 * time.Minute
)

var (
	errNotAnswered = errors.New("the host did not answer the server's question in time")
	errNobodyAsks  = jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found: the host can be asked only during tools/call, prompts/get and resources/read", nil)
)

// openCalls are the calls of stateless hosts that a session server works on.
type openCalls struct {
	mu   sync.Mutex
	open []*pending
}

// ask puts a question to the host as part of its oldest call, and of the next one if that call
// ends without an answer: a session server does not say which call it asks for.
func (o *openCalls) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	for {
		o.mu.Lock()
		if len(o.open) == 0 {
			o.mu.Unlock()
			return nil, errNobodyAsks
		}
		of := o.open[0]
		o.mu.Unlock()
		if result, ended, err := of.ask(ctx, method, params); !ended {
			return result, err
		}
	}
}

// ask asks as part of one call, which may end without an answer.
func (p *pending) ask(ctx context.Context, method string, params json.RawMessage) (result json.RawMessage, ended bool, err error) {
	answer := make(chan json.RawMessage, 1)
	select {
	case p.questions <- question{method: method, params: params, answer: answer}:
	case <-p.done:
		return nil, true, nil
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	select {
	case result := <-answer:
		return result, false, nil
	case <-p.done:
		return nil, true, nil
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
}

func (o *openCalls) none() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.open) == 0
}

// only reports whether no call is open but that of a request.
func (o *openCalls) only(r *request) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !slices.ContainsFunc(o.open, func(p *pending) bool { return p.now.Load() != r })
}

func (o *openCalls) add(p *pending) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = append(o.open, p)
}

func (o *openCalls) remove(p *pending) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = slices.DeleteFunc(o.open, func(q *pending) bool { return q == p })
}

// waiting are the calls that wait for their host, by the requestState that it was given.
type waiting struct {
	mu  sync.Mutex
	all map[string]*pending
}

// put keeps a call until its host answers, and returns the state for that.
func (w *waiting) put(p *pending) (state string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[string]*pending{}
	}
	if len(w.all) == maxPending {
		return "", false
	}
	state = rand.Text()
	w.all[state] = p
	p.expiry = time.AfterFunc(answerWithin, func() {
		if w.take(state) != nil {
			p.cancel(errNotAnswered)
		}
	})
	return state, true
}

// abandon cancels all calls that wait.
func (w *waiting) abandon(reason error) {
	w.mu.Lock()
	all := w.all
	w.all = nil
	w.mu.Unlock()
	for _, p := range all {
		p.expiry.Stop()
		p.cancel(reason)
	}
}

// take returns the call that waits under a state, once.
func (w *waiting) take(state string) *pending {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.all[state]
	if p != nil {
		delete(w.all, state)
		p.expiry.Stop()
	}
	return p
}

// round makes a call to a session server for a stateless host, or goes on with one: until its
// result, or the next question of the server.
func (up *upstream) round(ctx context.Context, r *request) (json.RawMessage, error) {
	n, err := splitRound(r.Params)
	if err != nil {
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: "+err.Error(), nil)
	}
	var p *pending
	if n.state == "" {
		p = up.start(ctx, r, n)
	} else {
		var answered bool
		if p, answered, err = up.resume(r, n); err != nil {
			return nil, err
		}
		if !answered {
			return up.ask(p)
		}
	}
	p.now.Store(r)
	defer p.now.Store(nil) // progress has nowhere to go while the host answers
	select {
	case <-p.done:
		return p.result, p.err
	case q := <-p.questions:
		p.asked++
		q.key = "question-" + strconv.Itoa(p.asked)
		p.asking = &q
		return up.ask(p)
	case <-ctx.Done():
		p.cancel(context.Cause(ctx))
		<-p.done
		return nil, p.err
	}
}

// ask answers the host's request with the server's question.
func (up *upstream) ask(p *pending) (json.RawMessage, error) {
	state, ok := up.host.waiting.put(p)
	if !ok {
		p.cancel(errNotAnswered)
		err := overloaded("too many calls wait for answers of this host")
		err.Delivery = mcperrors.Unknown
		return nil, err
	}
	return p.asking.inputRequired(state), nil
}

// start sends the call. It outlives the request of the host, which ends with a question.
func (up *upstream) start(ctx context.Context, r *request, n round) *pending {
	p := &pending{method: r.Method, params: n.same, questions: make(chan question), done: make(chan struct{})}
	own, cancel := context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), pendingKey{}, p))
	p.cancel = cancel
	stop := context.AfterFunc(up.host.ctx, func() { cancel(context.Cause(up.host.ctx)) })
	call := *r
	call.Params, call.token = n.call, jsonrpc.ID{}
	var opts []client.CallOption
	if !r.token.IsZero() {
		p.now.Store(r)
		opts = append(opts, client.WithProgress(func(progress mcp.ProgressParams) {
			if now := p.now.Load(); now != nil && !now.token.IsZero() {
				up.progress(now, progress)
			}
		}))
	}
	up.calls.add(p)
	up.host.work.Go(func() {
		defer stop()
		p.result, p.err = up.pass(own, &call, opts...)
		up.calls.remove(p)
		close(p.done)
		cancel(nil)
	})
	return p
}

// resume hands the host's answer to the server, if there is one for its question.
func (up *upstream) resume(r *request, n round) (p *pending, answered bool, err error) {
	p = up.host.waiting.take(n.state)
	switch {
	case p == nil:
		return nil, false, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: no call waits for this requestState. "+
			"It was answered, its time is over, or the proxy was started again; whether the call has run is unknown", nil)
	case p.method != r.Method || p.params != n.same:
		p.cancel(errNotAnswered)
		return nil, false, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: the requestState belongs to another call, which is cancelled", nil)
	}
	var answer json.RawMessage
	_ = jsonrpc.Members(n.responses, func(name, value []byte) bool {
		if string(name) == p.asking.key {
			answer = value
		}
		return answer == nil
	})
	if answer == nil {
		return p, false, nil
	}
	p.asking.answer <- answer
	return p, true, nil
}

// inputRequired returns the result that asks the host.
func (q *question) inputRequired(state string) json.RawMessage {
	ask := appendMember([]byte{'{'}, []byte("method"), quoted(q.method))
	params := q.params
	if params == nil { // hosts expect them here, which session servers may leave out
		params = json.RawMessage(`{}`)
	}
	ask = appendMember(ask, []byte("params"), params)
	requests := append(appendMember([]byte{'{'}, []byte(q.key), append(ask, '}')), '}')
	out := appendMember([]byte{'{'}, []byte("resultType"), quoted(string(mcp.ResultInputRequired)))
	out = appendMember(out, []byte("inputRequests"), requests)
	out = appendMember(out, []byte("requestState"), quoted(state))
	return append(out, '}')
}

// A round is the params of a call: those for the server, and those that continue a call.
type round struct {
	call      json.RawMessage
	same      string // of call, what all rounds must have in common: not _meta
	state     string // "" begins a call
	responses json.RawMessage
}

func splitRound(params json.RawMessage) (n round, err error) {
	var fault error
	call, same := []byte{'{'}, []byte{'{'}
	err = jsonrpc.Members(params, func(name, value []byte) bool {
		switch string(name) {
		case "requestState":
			if fault = jsonrpc.Unmarshal(value, &n.state); fault != nil || n.state == "" {
				fault = errors.New("requestState must be the text that the proxy has sent")
			}
			return fault == nil
		case "inputResponses":
			n.responses = value
			return true
		case "_meta":
		default:
			same = appendMember(same, name, value)
		}
		call = appendMember(call, name, value)
		return true
	})
	if fault == nil {
		fault = err
	}
	if fault == nil && n.state == "" && n.responses != nil {
		fault = errors.New("inputResponses without requestState")
	}
	n.call, n.same = append(call, '}'), string(same)
	return n, fault
}
