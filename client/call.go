package client

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/catalog"
	"github.com/mainstay-mcp/mainstay/client/internal/inbound"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// CallOption configures one call.
type CallOption interface{ applyCall(*callOptions) }

type callOptionFunc func(*callOptions)

func (f callOptionFunc) applyCall(o *callOptions) { f(o) }

type callOptions struct {
	run.Options
	ownOptions
}

// ownOptions are the options of a call that its attempts do not depend on.
type ownOptions struct {
	progress   func(mcp.ProgressParams)
	unverified bool
	verbatim   bool
	cache      CacheMode
	freshness  *toolcache.Freshness // where to store how fresh a cached answer is; nil for nowhere
	shared     bool                 // nobody changes the result, so the cache keeps it without a copy
	meta       map[string]any
	ttl        time.Duration // of a task
	input      *givenInput
}

// WithProgress calls f with the server's progress, in order, on a goroutine of
// the call. f may make calls. It is not called after the call has returned. If
// the call is hedged ([Hedge]), f gets the progress of both requests, which
// may go backwards. Tool calls ask for progress even without it; see
// [Resilience].NoProgressTokens.
func WithProgress(f func(mcp.ProgressParams)) CallOption {
	return callOptionFunc(func(o *callOptions) { o.progress = f })
}

// WithTimeouts replaces the client's idle timeout and maximum time for one call; see
// [Resilience]. 0 leaves the client's, a negative value removes the bound.
func WithTimeouts(idle, maximum time.Duration) CallOption {
	return callOptionFunc(func(o *callOptions) { o.Wait = jsonrpc.Wait{Idle: idle, Max: maximum} })
}

// WithoutValidation disables validation for one tool call: arguments, tool
// name and result are not checked.
func WithoutValidation() CallOption {
	return callOptionFunc(func(o *callOptions) { o.unverified = true })
}

// WithVerbatim makes [Client.Call] pass messages on as they are, for a proxy. Other methods
// ignore it.
//
// _meta in the params may have keys that the protocol reserves, except those that the client
// sets itself: the revision, its info and capabilities, and the progress token; see
// [WithProgress]. A log level replaces that of [Client.SetLogLevel] for this call. Everything
// else in the params is sent unchanged, too.
//
// The result is what the server sent, whatever its type: the client answers no questions, shows
// no URLs, follows no task and checks nothing. Only a list of tools lacks those that must be
// rejected over HTTP, because their header annotations are invalid. Retries, restarts, limits and
// the circuit breaker are those of any call.
//
// The call returns after the handlers of [OnNotification] have returned for each notification
// that came before the answer, or after ctx has ended, or after one more second. So do not make
// the call from such a handler. Progress is not ordered with other notifications.
//
// # Experimental
//
// WithVerbatim may change or go.
func WithVerbatim() CallOption {
	return callOptionFunc(func(o *callOptions) { o.verbatim = true })
}

// call is a call of the application.
type call struct {
	run.Call
	opts ownOptions
}

func newCall(method string, opts []CallOption) call {
	cl := call{Call: run.New(method)}
	if len(opts) > 0 { // without options nothing escapes to the heap
		o := collect(opts)
		cl.Options, cl.opts = o.Options, o.ownOptions
	}
	return cl
}

func collect(opts []CallOption) callOptions {
	var o callOptions
	for _, opt := range opts {
		if opt != nil {
			opt.applyCall(&o)
		}
	}
	return o
}

// takeMeta adds the members that options set to those in the params.
func (cl *call) takeMeta() error {
	if cl.opts.meta != nil {
		if err := cl.AddMeta(cl.opts.meta); err != nil {
			return err
		}
		cl.opts.meta = nil // added once
	}
	if cl.Meta == nil {
		return nil
	}
	return cl.CheckMeta(cl.opts.progress != nil)
}

// Call sends any request and returns the result unchanged. params is an
// object: nil for none, JSON in a json.RawMessage or []byte, or any value that
// encodes to an object. The methods of the handshake are rejected.
//
// If [Validation].Arguments is set, also to its default, Call checks the arguments of a tool
// before it sends them. Tools that the server does not list are for the server to judge.
func (c *Client) Call(ctx context.Context, method string, params any, opts ...CallOption) (json.RawMessage, error) {
	if err := link.CheckMethod(method); err != nil {
		return nil, c.core.Local(err, method)
	}
	cl := newCall(method, opts)
	cl.Verbatim = cl.opts.verbatim
	raw, err := encodeObject("params", params)
	if err == nil {
		err = cl.SetParams(raw)
		cl.SetTarget(raw)
	}
	if err != nil {
		return nil, c.core.Local(err, method)
	}
	if err := c.gate(cl.Subject()); err != nil {
		return nil, err
	}
	if ask.CanAsk(method, c.core.Links.Agreed().Version) {
		cl.CutRound()
	}
	if cl.Tool != "" {
		if mode := c.cfg.validation.Arguments; mode != 0 && mode != ValidateOff && !cl.opts.unverified {
			if err := c.checkRaw(ctx, &cl, raw); err != nil {
				return nil, err
			}
		}
		if err := c.checkPin(ctx, &cl); err != nil {
			return nil, err
		}
	}
	if cl.Verbatim {
		defer func() { c.incoming.Peek().AwaitHandlers(ctx) }()
	}
	raw, err = c.send(ctx, &cl)
	if err != nil || method != mcp.MethodToolsList || !c.core.Links.Load().StatelessHTTP() {
		return raw, err
	}
	if cl.Verbatim {
		raw = c.catalog().Usable(raw)
	}
	c.catalog().Show(raw)
	return raw, nil
}

// checkRaw returns the error of a tool call whose arguments do not match.
func (c *Client) checkRaw(ctx context.Context, cl *call, params json.RawMessage) error {
	var args json.RawMessage
	_ = jsonrpc.Members(params, func(name, value []byte) bool { // it was encoded or checked above
		if string(name) == "arguments" {
			args = value
		}
		return args == nil
	})
	tools := cl.Tools(ctx, c.catalog())
	_, _, err := tools.CheckArguments(ctx, cl.Tool, args, false)
	cl.Caller = tools.Caller()
	if mcperrors.KindOf(err) == mcperrors.KindInvalidArguments || ctx.Err() != nil {
		return err
	}
	return nil
}

// Notify sends any notification; see [Client.Call] for params. It returns once
// the server has accepted it (HTTP) or the transport has taken it (stdio).
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	if err := link.CheckMethod(method); err != nil {
		return c.core.Local(err, method)
	}
	raw, err := encodeObject("params", params)
	if err != nil {
		return c.core.Local(err, method)
	}
	if err := mcp.CheckMeta(metaOf(raw)); err != nil {
		return c.core.Local(badOption(err), method)
	}
	if c.core.Life.Closed() {
		return c.core.Local(life.ErrClosed(), method)
	}
	if err := c.core.Refusal(outcome.Subject{Method: method}, link.CheckNotification(c.core.Links.Agreed(), method)); err != nil {
		return err
	}
	return c.calls.Notify(ctx, method, raw)
}

// Ping sends a ping. The stateless era has no ping; [Client.Alive] works in
// both eras.
func (c *Client) Ping(ctx context.Context) error {
	cl := newCall(mcp.MethodPing, nil)
	if err := c.gate(cl.Subject()); err != nil {
		return err
	}
	_, err := c.do(ctx, &cl)
	return err
}

// withProgress makes a call whose params carry a progress token.
func (c *Client) withProgress(ctx context.Context, cl *call) (json.RawMessage, error) {
	cl.Progress = c.inbound().Progress().Add(cl.opts.progress)
	defer func() {
		c.inbound().Progress().Remove(cl.Progress) // that of the last request
		cl.Progress.Finish(ctx)
	}()
	return c.do(ctx, cl)
}

// send makes a call, with progress if it was asked for.
func (c *Client) send(ctx context.Context, cl *call) (json.RawMessage, error) {
	if err := c.takeOptions(cl); err != nil {
		return nil, err
	}
	if cl.opts.progress != nil {
		return c.withProgress(ctx, cl)
	}
	return c.do(ctx, cl)
}

var errNoPrefix = errors.New("WithIdempotencyKey needs WithIdempotency, which names its place in _meta")

// takeOptions adds the options of a call to its params.
func (c *Client) takeOptions(cl *call) error {
	if cl.Meta != nil || cl.opts.meta != nil {
		if err := cl.takeMeta(); err != nil {
			return c.core.Local(badOption(err), cl.Method)
		}
	}
	if cl.IdempotencyKey != nil && c.cfg.keyPrefix == "" && cl.Method == mcp.MethodToolsCall {
		return c.core.Local(badOption(errNoPrefix), cl.Method)
	}
	if given := cl.opts.input; given != nil {
		if err := cl.Resume(c.core.Links.Agreed().Version, given.responses, given.state); err != nil {
			return c.core.About(cl.Subject(), err)
		}
	}
	return nil
}

// do makes one call of the application, through its middleware.
func (c *Client) do(ctx context.Context, cl *call) (raw json.RawMessage, err error) {
	if err := c.calls.Unasked(&cl.Call); err != nil {
		return nil, err
	}
	var began time.Time
	if c.cfg.meter != nil {
		began = time.Now()
	}
	if c.cfg.chain != nil {
		raw, err = c.runThroughMiddleware(ctx, cl)
	} else {
		raw, err = c.run(ctx, &cl.Call)
	}
	if c.cfg.meter != nil {
		cl.ended(c, began, err)
	}
	return raw, err
}

// run makes a call of the application. If the server makes it a task, run returns the
// result of the task.
func (c *Client) run(ctx context.Context, cl *run.Call) (json.RawMessage, error) {
	raw, err := c.calls.Do(ctx, cl)
	if err != nil || cl.Task == 0 || cl.Task&run.TaskHandle != 0 {
		return raw, err
	}
	t, err := c.taskOf(cl, nil, raw) // the call reports its own progress
	if err != nil {
		return nil, err
	}
	left, bounded := c.calls.Span(cl).Left()
	if bounded {
		left = max(left, 1)
	}
	return t.task.Wait(ctx, left)
}

// callSupport is the part of the client that its calls use.
type callSupport Client

func (s *callSupport) client() *Client { return (*Client)(s) }

// Catalog implements [run.Client].
func (s *callSupport) Catalog() *catalog.Catalog { return s.client().catalog() }

// Inbound implements [run.Client].
func (s *callSupport) Inbound() *inbound.Inbound { return s.client().inbound() }

// encodeObject encodes v, which must become a JSON object; nil stays nil.
func encodeObject(what string, v any) (json.RawMessage, error) {
	raw, err := appendObject(nil, what, v)
	if len(raw) == 0 {
		return nil, err
	}
	return raw, err
}

// appendObject appends v, which must become a JSON object, and nothing for nil.
func appendObject(dst []byte, what string, v any) ([]byte, error) {
	start := len(dst)
	var err error
	switch v := v.(type) {
	case nil:
		return dst, nil
	case json.RawMessage:
		return appendRaw(dst, what, v)
	case []byte: // JSON too: encoded as a value it would be base64
		return appendRaw(dst, what, v)
	default:
		dst, err = jsonrpc.AppendMarshal(dst, v)
	}
	return checkObject(dst, start, what, err)
}

// tailRoom is how many bytes to reserve behind params of n bytes. In the stateless era an attempt
// adds about 1 KiB, _meta with the capabilities of this client; else a progress token. Adding a
// few bytes must not copy large params; small ones are copied sooner than so much is reserved.
func tailRoom(n int) int {
	if n < 4<<10 {
		return 192
	}
	return 1 << 10
}

// appendRaw appends v, which is JSON already, and nothing for nil.
func appendRaw(dst []byte, what string, v []byte) ([]byte, error) {
	if v == nil {
		return dst, nil
	}
	start := len(dst)
	dst, err := jsonrpc.AppendValue(slices.Grow(dst, len(v)+tailRoom(len(v))), v)
	return checkObject(dst, start, what, err)
}

// checkObject returns an error unless the bytes from start on are an object.
func checkObject(dst []byte, start int, what string, err error) ([]byte, error) {
	if err != nil {
		return dst[:start], mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			"the "+what+" cannot be encoded: "+err.Error(), err)
	}
	if string(dst[start:]) == "null" { // a nil map or pointer
		return dst[:start], nil
	}
	if doc.First(dst[start:]) != '{' {
		return dst[:start], mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			"the "+what+" must be a JSON object", nil)
	}
	return dst, nil
}

// badOption returns the error for an invalid request or option.
func badOption(err error) error {
	return mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, err.Error(), err)
}
