// Package ask answers requests of servers for input: a message of the model (sampling), a form or
// a page for the user (elicitation), the list of roots. One [Dispatcher] answers them all,
// whether they arrive as requests of the session era, or in results of calls and tasks of the
// stateless era.
package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Config configures a [Dispatcher]. It is immutable.
type Config struct {
	// Offer is what the client offers to its server.
	Offer *Offer
	// OpenTime limits how long a request of the session era stays open; 0 means no limit.
	OpenTime time.Duration
}

// Respond sends the response to a request. It blocks until the response is sent or cannot be
// sent.
type Respond func(ctx context.Context, to Incoming, resp jsonrpc.Response)

// Dispatcher runs the application's handlers for requests of servers. Its methods may be called
// from many goroutines at once.
type Dispatcher struct {
	*core.Core
	Config
	Patience Patience
	respond  Respond
	gate     *gate
	open     openRequests
	held     taskTable
	visits   visits
	roots    atomic.Pointer[[]mcp.Root]
	replying atomic.Int32 // responses being sent
}

// New returns a dispatcher.
func New(c *core.Core, set Config, respond Respond) *Dispatcher {
	d := &Dispatcher{Core: c, Config: set, respond: respond, gate: newGate(set.Offer.Limits)}
	d.roots.Store(&set.Offer.Roots)
	return d
}

// ErrRejected is the error of a handler whose user refused.
var ErrRejected = errors.New("the user refused")

// ErrClosed is the error of questions to a closed client.
var ErrClosed = errors.New("the client is closed")

// Occasion is the context of a question: the agreement with the server, and the method and tool
// of the call that it belongs to, if known.
type Occasion struct {
	Agreed       *link.Agreement
	Method, Tool string
}

func (d *Dispatcher) requester(o Occasion) Requester {
	return Requester{Server: d.Server, Claimed: o.Agreed.Server(), Method: o.Method, Tool: o.Tool}
}

// question is a request for input that passed all checks: calling it runs the application's
// handler. The result has no envelope.
type question func(ctx context.Context) (json.RawMessage, *Refusal)

// Refusal is the reason why the server gets no result.
type Refusal struct {
	// rpc is the error for a server of the session era.
	rpc *jsonrpc.Error
	// cause is the handler's error. It is not sent to the server, since it may contain anything.
	cause error
}

func (r *Refusal) Error() string {
	if r.cause != nil {
		return r.cause.Error()
	}
	return r.rpc.Error()
}

// Unwrap returns the handler's error, nil if the server made the error.
func (r *Refusal) Unwrap() error { return r.cause }

// refuse returns a refusal whose text is about an error of the server.
func refuse(code int64, format string, args ...any) *Refusal {
	return &Refusal{rpc: jsonrpc.NewError(code, fmt.Sprintf(format, args...), nil)}
}

// handlerFailed returns the refusal for a failed handler. The server does not get the reason,
// unless the handler returned a [*jsonrpc.Error].
func handlerFailed(err error) *Refusal {
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) {
		rpc = jsonrpc.NewError(jsonrpc.CodeInternalError, "The request could not be handled", nil)
	}
	return &Refusal{rpc: rpc, cause: err}
}

// run runs a handler. A panic of the handler becomes an error.
func run[R any](d *Dispatcher, name string, handler func() (R, error)) (result R, err error) {
	var failure *callback.Error
	if !callback.Aside(name, func(e *callback.Error) {
		failure = e
		d.Failed(e)
	}, func() { result, err = handler() }) {
		err = failure
	}
	return result, err
}

// check checks one request for input and returns the question to ask. It does not involve the
// user yet.
func (d *Dispatcher) check(from Requester, v mcp.Version, method string, params json.RawMessage) (question, *Refusal) {
	if f, option := d.Offer.rawHandler(method); f != nil {
		return func(ctx context.Context) (json.RawMessage, *Refusal) {
			return d.answerRaw(ctx, method, option, func() (json.RawMessage, error) { return f(ctx, from, method, params) })
		}, nil
	}
	caps := d.Offer.Capabilities(v)
	switch {
	case method == mcp.MethodSamplingCreateMessage && caps.Sampling != nil:
		return d.checkSampling(from, v, caps.Sampling, params)
	case method == mcp.MethodElicitationCreate && caps.Elicitation != nil:
		return d.checkElicitation(from, caps.Elicitation, params)
	case method == mcp.MethodRootsList && caps.Roots != nil:
		return d.listRoots, nil
	}
	return nil, refuse(jsonrpc.CodeMethodNotFound, "Method not found: %s", jsonrpc.Printable(method, 100))
}

// answerRaw runs a raw handler and checks its result, which must not break the framing.
func (d *Dispatcher) answerRaw(ctx context.Context, method, option string, f func() (json.RawMessage, error)) (json.RawMessage, *Refusal) {
	result, err := run(d, option, f)
	switch {
	case err == nil && doc.First(result) != '{':
		err = errors.New("the result must be a JSON object")
	case err == nil:
		result, err = jsonrpc.AppendValue(nil, result)
	}
	if err == nil {
		return result, nil
	}
	if errors.Is(err, ErrRejected) {
		return nil, &Refusal{rpc: jsonrpc.NewError(mcp.CodeUserRejected, "User rejected the request", nil), cause: err}
	}
	if ctx.Err() == nil {
		d.Log.Warn("[MCP] a request of the server was not answered", "server", d.Server, "method", jsonrpc.Printable(method, 100), "error", err)
	}
	return nil, handlerFailed(err)
}

// Answer answers one request for input. All requests for input reach the application's handlers
// through Answer or AnswerAll. It returns when ctx ends, even if the handler is still running.
func (d *Dispatcher) Answer(ctx context.Context, o Occasion, method string, params json.RawMessage) (json.RawMessage, *Refusal) {
	q, no := d.check(d.requester(o), o.Agreed.Version, method, params)
	if no != nil {
		return nil, no
	}
	return d.put(ctx, method, q)
}

// maxRequests limits the questions of a server at one time.
const maxRequests = 100

// AnswerAll answers all requests for input concurrently, and returns the results by the same
// keys. If one cannot be answered, none is: all are checked before any handler runs, and the
// first refusal cancels the other handlers. The error is an [*Unanswered], [ErrClosed] or the
// error of ctx.
func (d *Dispatcher) AnswerAll(ctx context.Context, o Occasion, requests mcp.InputRequests) (mcp.InputResponses, error) {
	if len(requests) > maxRequests {
		return nil, &Unanswered{requests, refuse(jsonrpc.CodeInvalidParams, "%d questions at once are too many", len(requests))}
	}
	from := d.requester(o)
	keys := slices.Sorted(maps.Keys(requests))
	questions := make([]question, len(keys))
	for i, key := range keys {
		if ctx.Err() != nil { // decoding takes time, too
			return nil, ctx.Err()
		}
		var no *Refusal
		if questions[i], no = d.check(from, o.Agreed.Version, requests[key].Method, slices.Clone(requests[key].Params)); no != nil {
			return nil, &Unanswered{requests, no}
		}
	}
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		key    string
		result json.RawMessage
		no     *Refusal
	}
	answers := make(chan answer, len(keys))
	for i, key := range keys {
		go func() {
			result, no := d.put(ctx, requests[key].Method, questions[i])
			answers <- answer{key, result, no}
		}()
	}
	responses := make(mcp.InputResponses, len(keys))
	var first *Refusal
	for range keys { // put returns when ctx ends
		a := <-answers
		if a.no != nil && first == nil {
			first = a.no
			cancel()
		}
		responses[a.key] = a.result
	}
	switch {
	case first == nil:
		return responses, nil
	case d.Life.Closed():
		return nil, ErrClosed
	case outer.Err() != nil:
		return nil, outer.Err()
	}
	return nil, &Unanswered{requests, first}
}

// Unanswered is the error of requests for input that the client did not answer.
type Unanswered struct {
	// Requests are the requests for input; nil if the server only wants the call to be sent
	// again.
	Requests mcp.InputRequests
	// Reason is why there is no answer.
	Reason error
}

func (e *Unanswered) Error() string { return e.Reason.Error() }

// Unwrap returns the reason.
func (e *Unanswered) Unwrap() error { return e.Reason }
