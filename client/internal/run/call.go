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

// Request is what a call asks of the server. It does not change once the call has
// begun.
type Request struct {
	Method string
	Tool   string // for tools/call
	// Name is what the request names, for headers: the tool, prompt, URI or task.
	//
	Name string
	// Meta is the caller's members of _meta, without braces.
	Meta    []byte
	Purpose link.Purpose
	// Uncancelled says that giving the call up sends no notification, because a
	// task is behind it. Task is what else it has to do with
	// tasks.
	Uncancelled bool
	Task        TaskPart
	// Known is the definition of the tool, as far as it matters.
	Known catalog.Known
	Options
}

// Options are the options of one call that its run depends on.
type Options struct {
	// Wait replaces the client's times. 0 leaves the client's, less is no bound.
	Wait jsonrpc.Wait
	// Policy replaces the client's retry policy if OwnPolicy is set.
	Policy    resilience.Policy
	OwnPolicy bool
	// Manual returns the questions of the server to the caller.
	Manual bool
	// CancelTask cancels the task that the call has become when the caller gives up.
	CancelTask bool
	// IdempotencyKey is the caller's, nil for none.
	IdempotencyKey *string
}

// Cancelable reports whether the server gets a notification when the request is
// given up.
func (q *Request) Cancelable() bool { return q.Purpose != link.Handshake && !q.Uncancelled }

// LatencyKey is what latencies are kept by.
func (q *Request) LatencyKey() string {
	if q.Tool != "" {
		return q.Tool
	}
	return q.Method
}

// Call is a request on its way, through all its attempts. It belongs to one
// goroutine.
type Call struct {
	Request
	Attempt
	// Params are the params as the caller gave them: an object without its closing
	// brace and without _meta; nil for none. Attempts are written behind it.
	Params []byte
	// Caller is what the application answered when it was asked who makes the call, nil if
	// it was not asked. The first attempt carries it, unless the call waited for long, and
	// each later one asks again.
	Caller *transport.Caller
	asked  time.Time     // when Ask asked the application, zero for never
	asking time.Duration // for how long
	// Challenged is that of its requests so far, nil if the server has refused no
	// credentials.
	Challenged *transport.ChallengedCall
	// Round is what the last round adds to the params, members without braces: the
	// answers to what the server asked.
	Round []byte
	Asked ask.Tally
	// Key is the idempotency key of all attempts of a round, and Earlier are the
	// attempts of the rounds before.
	Key      string
	Earlier  int
	Attempts int
	Began    time.Time // zero for what is one attempt only
	Waited   bool      // for a place, a session or the like, before an attempt
	Repairs  Repairs
	Retries  *Retries // nil before something failed
	Crashes  Crashes
}

// Attempt is one request on the wire: the last of a call.
type Attempt struct {
	Link *link.Link // nil before the first
	ID   jsonrpc.ID
	// Stamp is its own part of _meta: its idempotency key and number.
	Stamp []byte
	// Kept says that the transport holds on to its params, which are in the memory
	// of [Call.Params]: they are too large to be copied.
	Kept bool
	// Headers repeat some of the arguments.
	Headers catalog.Headers
	// Progress is nil unless progress was asked for. Token says that the request
	// asks for progress that nobody listens to: it shows that the server works.
	// The id is the token. Follows is the same for a request about a task, which
	// has no token of its own.
	Progress *inbound.Progress
	Token    bool
	Follows  *inbound.Progress
}

// New returns a call without options.
func New(method string) Call { return Call{Request: Request{Method: method}} }

// Ask finds out who makes the call, unless that is known. The error is that of an
// unknown caller, whose request fails: nobody else should wait for it.
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

// Tools returns what the caller of the call knows of the server's tools.
func (c *Call) Tools(ctx context.Context, known *catalog.Catalog) catalog.View {
	_ = c.Ask(ctx, known) // its request fails
	return known.For(c.Caller)
}

// Subject identifies the call in errors and signals.
func (c *Call) Subject() outcome.Subject {
	return outcome.Subject{Method: c.Method, Tool: c.Tool, ID: c.ID, Attempts: c.Attempts}
}
