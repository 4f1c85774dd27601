package client

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/catalog"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/object"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/progress"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// CallOption sets up one call.
type CallOption interface{ applyCall(*callOptions) }

type callOptionFunc func(*callOptions)

func (f callOptionFunc) applyCall(o *callOptions) { f(o) }

type callOptions struct {
	idle, max  time.Duration
	timesSet   bool
	progress   func(mcp.ProgressParams)
	unverified bool
	cache      CacheMode
	freshness  *toolcache.Freshness // of what the cache answers, nil: not asked for
	shared     bool                 // what comes is not changed, and may be kept without a copy
	meta       map[string]any
	ttl        time.Duration // of a task
	cancelTask bool

	manualInput bool
	input       *givenInput

	policy    RetryPolicy
	policySet bool
	key       *string // of a call that is the same when made again
}

// WithProgress asks the server for progress and calls f with it, in order and on
// a goroutine of the call's own. f may make calls itself. It is not called any more
// once the call has returned. Where a call is hedged ([Hedge]) f hears of both
// requests, so progress may go back. Tool calls ask for progress without it, too; see
// [WithProgressTokens].
func WithProgress(f func(mcp.ProgressParams)) CallOption {
	return callOptionFunc(func(o *callOptions) { o.progress = f })
}

// WithTimeouts replaces the client's idle timeout and maximum time for one
// call; 0 means no bound.
func WithTimeouts(idle, maximum time.Duration) CallOption {
	return callOptionFunc(func(o *callOptions) { o.idle, o.max, o.timesSet = idle, maximum, true })
}

// WithoutValidation sends the arguments of one tool call unchecked, and the
// call even when the server's list has no such tool; its result is not checked
// either.
func WithoutValidation() CallOption {
	return callOptionFunc(func(o *callOptions) { o.unverified = true })
}

// request is what is asked of the server. It stays as it is once the call has begun.
type request struct {
	method string
	tool   string // for tools/call
	// name is what the request names, for headers: the tool, prompt, URI or task
	// (HTTP-31).
	name string
	// meta is the caller's members of _meta, without braces.
	meta    []byte
	opts    callOptions
	purpose link.Purpose
	// uncancelled says that giving the call up sends no notification, because a
	// task is behind it (UTIL-03, TASK-10). task is what else it has to do with
	// tasks.
	uncancelled bool
	task        taskPart
	// known is the definition of the tool, as far as it matters.
	known
}

// known is what a tool's definition says about calls of it. listed is false while
// it is not known.
type known struct {
	listed    bool
	output    json.RawMessage
	execution *mcp.ToolExecution
}

// attempt is one request on the wire: the last of a call.
type attempt struct {
	link *link.Link // nil before the first
	id   jsonrpc.ID
	// stamp is what it says of itself in _meta; see [WithIdempotencyKeys].
	stamp []byte
	// kept says that the transport holds on to its params, which are in the memory
	// of open: they are too large to be copied.
	kept bool
	// mirrored are the arguments that headers repeat (HDR-01), and schema what
	// they were found by.
	mirrored []transport.Param
	schema   *catalog.Mirror
	// progress is nil unless progress was asked for. token says that the request
	// asks for progress that nobody listens to: it shows that the server works.
	// The id is the token. follows is the same for a request about a task, which
	// has no token of its own.
	progress *progress.Call
	token    bool
	follows  *progress.Call
}

// call is a request on its way, through all its attempts.
type call struct {
	request
	attempt
	// open is the params as the caller gave them: an object without its closing
	// brace and without _meta; nil for none. Attempts are written behind it.
	open []byte
	// repaired are the arguments to send in place of the caller's, nil for those.
	repaired json.RawMessage
	// round is what the last round adds to the params, members without braces: the
	// answers to what the server asked (MRTR-04).
	round []byte
	asked ask.Tally
	// key is that of all attempts of a round, and earlier are the attempts of the
	// rounds before.
	key      string
	earlier  int
	attempts int
	began    time.Time // zero for what is one attempt only
	waited   bool      // for a place, a session or the like, before an attempt
	repairs  run.Repairs
	retries  *run.Retries // nil before something failed
	crashes  run.Crashes
}

// cancelable reports whether the server gets a notification when the request is given up.
func (q *request) cancelable() bool { return q.purpose != link.Handshake && !q.uncancelled }

// begin makes the next attempt of a call, over l.
func (cl *call) begin(l *link.Link, id jsonrpc.ID) {
	cl.link, cl.id = l, id
	if cl.progress != nil {
		cl.progress.Sending(id)
	}
	if cl.follows != nil {
		cl.follows.Sending(id)
	}
}

// subject is the call that an error or a signal is about.
type subject struct {
	method, tool string
	id           jsonrpc.ID // of the last request, zero before the first
	attempts     int
}

func (cl *call) subject() subject {
	return subject{method: cl.method, tool: cl.tool, id: cl.id, attempts: cl.attempts}
}

// callOf makes a call without options.
func callOf(method string) call { return call{request: request{method: method}} }

func newCall(method string, opts []CallOption) call {
	cl := callOf(method)
	if len(opts) > 0 { // without options nothing escapes to the heap
		cl.opts = collect(opts)
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

// Call sends any request and returns the result as it came. params is an
// object: nil to leave it out, JSON in a json.RawMessage or []byte as it is, or
// anything that encodes to one. The methods of the handshake are refused: the session is
// open.
func (c *Client) Call(ctx context.Context, method string, params any, opts ...CallOption) (json.RawMessage, error) {
	if err := reserved(method); err != nil {
		return nil, c.local(err, method)
	}
	cl := newCall(method, opts)
	raw, err := encodeObject("params", params)
	if err == nil {
		cl.open, cl.meta, err = openParams(raw)
		cl.aim(raw)
	}
	if err != nil {
		return nil, c.local(err, method)
	}
	if err := c.gate(cl.subject()); err != nil {
		return nil, err
	}
	if ask.CanAsk(method, c.live.Agreed().Version) {
		cl.takeRound()
	}
	if cl.tool != "" {
		if err := c.checkPin(ctx, &cl); err != nil {
			return nil, err
		}
	}
	return c.send(ctx, &cl)
}

// Notify sends any notification; see [Client.Call] for params. It returns once
// the server has accepted it (HTTP) or the transport has taken it (stdio).
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	if err := reserved(method); err != nil {
		return c.local(err, method)
	}
	raw, err := encodeObject("params", params)
	if err != nil {
		return c.local(err, method)
	}
	if err := mcp.CheckMeta(metaOf(raw)); err != nil {
		return c.local(badOption(err), method)
	}
	if c.isClosed() {
		return c.local(errClosed(), method)
	}
	if err := c.gateNotification(method); err != nil {
		return err
	}
	cl := callOf(method)
	if err := c.awaitLink(ctx, &cl); err != nil {
		return err
	}
	for {
		cl.link = c.live.Load()
		err := cl.link.Conn.Notify(ctx, jsonrpc.Notification{Method: method, Params: raw})
		if err == nil {
			return nil
		}
		out := outcome.Outcome{Err: c.failed(cl.subject(), err)}
		if again, err := c.repaired(ctx, &cl, &out); !again {
			return err
		}
	}
}

// Ping asks the server for a sign of life. Revisions of the stateless era have no
// ping: [Client.Alive] asks servers of both eras.
func (c *Client) Ping(ctx context.Context) error {
	cl := callOf(mcp.MethodPing)
	if err := c.gate(cl.subject()); err != nil {
		return err
	}
	_, err := c.do(ctx, &cl)
	return err
}

func errClosed() *mcperrors.Error {
	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindClosed, mcperrors.NotSent, "the client is closed", jsonrpc.ErrClosed)
	e.Retryable = false // it stays closed
	return e
}

// encodeObject encodes what must be a JSON object; nil stays nil.
func encodeObject(what string, v any) (json.RawMessage, error) {
	raw, err := appendObject(nil, what, v)
	if len(raw) == 0 {
		return nil, err
	}
	return raw, err
}

// appendObject appends what must be a JSON object, nothing for nil.
func appendObject(dst []byte, what string, v any) ([]byte, error) {
	start := len(dst)
	var err error
	switch v := v.(type) {
	case nil:
		return dst, nil
	case json.RawMessage:
		return appendRaw(dst, what, v)
	case []byte: // JSON too: as a value it would be base64, which is no object
		return appendRaw(dst, what, v)
	default:
		dst, err = jsonrpc.AppendMarshal(dst, v)
	}
	return checkObject(dst, start, what, err)
}

// appendRaw appends what is JSON already, nothing for nil.
func appendRaw(dst []byte, what string, v []byte) ([]byte, error) {
	if v == nil {
		return dst, nil
	}
	start := len(dst)
	// With room for what stands behind it, or a large value is copied for the sake
	// of a few bytes.
	dst, err := jsonrpc.AppendValue(slices.Grow(dst, len(v)+tailRoom), v)
	return checkObject(dst, start, what, err)
}

// checkObject refuses what was appended from start on unless it is an object.
func checkObject(dst []byte, start int, what string, err error) ([]byte, error) {
	if err != nil {
		return dst[:start], mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			"the "+what+" cannot be encoded: "+err.Error(), err)
	}
	if string(dst[start:]) == "null" { // a nil map or pointer
		return dst[:start], nil
	}
	if object.First(dst[start:]) != '{' {
		return dst[:start], mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			"the "+what+" must be a JSON object", nil)
	}
	return dst, nil
}
