package run

import (
	"context"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/client/internal/catalog"
	"github.com/mainstay-mcp/mainstay/client/internal/inbound"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Request is what a call asks of the server. It is immutable once the call has begun.
type Request struct {
	Method string
	Tool   string // for tools/call
	// Name is the tool, prompt, URI or task of the request, which headers repeat.
	Name string
	// Meta is the caller's members of _meta, without braces.
	Meta    []byte
	Purpose link.Purpose
	// Uncancelled is set if abandoning the call sends no notification, because a task runs behind
	// it. Task is how the call uses tasks.
	Uncancelled bool
	Task        TaskPart
	// Verbatim is set if the caller gets every result unchanged, whatever its type, and may set
	// keys of _meta that are reserved. OwnLevel is set if one of them is the log level.
	Verbatim, OwnLevel bool
	// Known is what the catalog knows of the tool's definition.
	Known catalog.Known
	Options
}

// Options are the per-call options that Runner uses.
type Options struct {
	// Wait replaces the client's timeouts. 0 keeps the client's, and a negative value means no
	// limit.
	Wait jsonrpc.Wait
	// Policy replaces the client's retry policy if OwnPolicy is set.
	Policy    resilience.Policy
	OwnPolicy bool
	// Manual returns the server's requests for input to the caller.
	Manual bool
	// CancelTask cancels the task of the call when the caller gives up.
	CancelTask bool
	// IdempotencyKey is the caller's key, nil for none.
	IdempotencyKey *string
}

// Cancelable reports whether the server gets a notification when the request is abandoned.
func (q *Request) Cancelable() bool { return q.Purpose != link.Handshake && !q.Uncancelled }

// LatencyKey is the key under which latencies are recorded.
func (q *Request) LatencyKey() string {
	if q.Tool != "" {
		return q.Tool
	}
	return q.Method
}

// Call is a call with all its attempts. It belongs to one goroutine.
type Call struct {
	Request
	Attempt
	// Params are the caller's params: an object without its closing brace and without _meta; nil
	// for none. Each attempt is written behind them, in the same memory.
	Params []byte
	// Caller is the application's answer to who makes the call, nil if it was not asked. The
	// first attempt carries it, unless the call waited for long. Each later attempt asks again.
	Caller *transport.Caller
	asked  time.Time     // when Ask asked the application, zero if it did not
	asking time.Duration // how long that took
	// Challenged has the credentials that the server refused during the call, nil for none.
	Challenged *transport.ChallengedCall
	// Round has the members that the last round adds to the params: the answers to the server's
	// questions. It has no braces.
	Round []byte
	Asked ask.Tally
	// Key is the idempotency key of all attempts of a round, and Earlier is the number of
	// attempts in earlier rounds.
	Key      string
	Earlier  int
	Attempts int
	Began    time.Time // zero for a request with a single attempt
	Waited   bool      // for a place, a session or the like, before an attempt
	Repairs  Repairs
	Retries  *Retries // nil before the first failure
	Crashes  Crashes
}

// Attempt is one request of a call: the last one sent.
type Attempt struct {
	Link *link.Link // nil before the first attempt
	ID   jsonrpc.ID
	// Stamp is the attempt's own part of _meta: its idempotency key and number.
	Stamp []byte
	// Kept is set if the transport keeps the params, which are in the memory of [Call.Params]:
	// they are too large to copy.
	Kept bool
	// Headers are the arguments that HTTP headers repeat.
	Headers catalog.Headers
	// Progress is nil unless progress was requested. Token is set if the request asks for
	// progress only as a liveness signal, which has the id as its token. Follows is the progress
	// of a task that the request is about.
	Progress *inbound.Progress
	Token    bool
	Follows  *inbound.Progress
}

// New returns a call without options.
func New(method string) Call { return Call{Request: Request{Method: method}} }

// Ask asks the application who makes the call, unless that is known. It returns an error if the
// caller is unknown: the request will fail, and other calls should not wait for it.
func (c *Call) Ask(ctx context.Context, known *catalog.Catalog) error {
	if c.Caller == nil {
		began := time.Now()
		c.Caller = known.Lists.Ask(ctx, c.Options.Wait.Max)
		if c.Caller == nil {
			return nil
		}
		c.asked = time.Now()
		c.asking = c.asked.Sub(began)
	}
	return c.Caller.Err
}

// Tools returns the tools of the server that the caller of the call can see.
func (c *Call) Tools(ctx context.Context, known *catalog.Catalog) catalog.View {
	_ = c.Ask(ctx, known) // the request will fail
	return known.For(c.Caller)
}

// Subject identifies the call in errors and signals.
func (c *Call) Subject() outcome.Subject {
	return outcome.Subject{Method: c.Method, Tool: c.Tool, ID: c.ID, Attempts: c.Attempts}
}
