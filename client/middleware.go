package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Invocation is one call as a [Middleware] sees it, with all its attempts and
// rounds. It belongs to one call and one goroutine. Do not use it after the
// call.
type Invocation struct {
	// Method is the MCP method. Name is its target: the tool, prompt, URI or
	// task, or "" if the method has none.
	Method, Name string
	// Server is the name of the server; see [WithName]. Address is its URL without the
	// query, or the path of its program. Version is the negotiated revision.
	Server  string
	Address string
	Version mcp.Version
	// Transport is "stdio" for a program that the client started, "http" or
	// "stream".
	Transport string
	// Meta is added to the _meta of all requests of the call, under the rules
	// of [WithMeta]. Members that the caller set take precedence. It is nil
	// until a middleware makes the map.
	Meta map[string]any

	// RequestID is the id of the last request, and Attempts the number of
	// requests. They are set when [Next] has returned.
	RequestID string
	Attempts  int

	c  *Client
	cl *call
	// before is a copy of the call, for a middleware that calls next again. given is the
	// context of the call. sent reports whether next was called.
	before call
	given  context.Context // only compared
	sent   bool
}

// Params returns a copy of the caller's params without _meta; nil for none.
func (inv *Invocation) Params() json.RawMessage {
	if inv.before.Params == nil {
		return nil
	}
	return append(bytes.Clone(inv.before.Params), '}')
}

// Next makes the call, or passes it to the next middleware. It returns the
// server's result unchanged; an error is a [*mcperrors.Error].
type Next func(ctx context.Context, inv *Invocation) (json.RawMessage, error)

// Middleware wraps every call except the handshake, for example to trace,
// audit or authorize it. Connect applies it once. The function that it returns
// runs for each call, on the caller's goroutine, concurrently with other
// calls.
//
// It may change ctx, add to Meta, refuse the call with its own error, answer
// with its own result, or call next again. The client's own retries run inside
// next; call next again only for errors that the client cannot handle itself.
// Pass it the same Invocation. A panic fails the call, with an error of kind
// app.
//
// If ctx is changed, the client calls HeaderFunc and the Authorizer of the transport once
// more, with the new context, and sends their new results.
type Middleware func(next Next) Next

// WithMiddleware wraps every call in the given middleware, the first
// outermost. Requests that the client makes for its own purposes do not pass
// through it: the handshake, probes of a circuit, and liveness probes of
// [Resilience].Silence. Shared cache fetches run under their own context, not
// the first caller's.
func WithMiddleware(links ...Middleware) Option {
	return optionFunc(func(c *config) { c.middleware = append(c.middleware, links...) })
}

// chainOf links the middleware to one chain, nil for none.
func chainOf(links []Middleware) (Next, error) {
	if len(links) == 0 {
		return nil, nil
	}
	next := Next(func(ctx context.Context, inv *Invocation) (json.RawMessage, error) { return inv.send(ctx) })
	for i := len(links) - 1; i >= 0; i-- {
		if links[i] == nil {
			return nil, errors.New("WithMiddleware: a middleware is nil")
		}
		var err error
		if !callback.Run("WithMiddleware", func(e *callback.Error) { err = e }, func() { next = links[i](next) }) {
			return nil, err
		}
		if next == nil {
			return nil, errors.New("WithMiddleware: a middleware returned nil")
		}
	}
	return next, nil
}

// runThroughMiddleware makes a call through the chain of middleware.
func (c *Client) runThroughMiddleware(ctx context.Context, cl *call) (json.RawMessage, error) {
	own := new(call) // not cl itself: the calls of other clients stay on the stack
	*own = *cl
	l := c.core.Links.Load()
	inv := &Invocation{
		Method: cl.Method, Name: cl.Name, Server: c.core.Server, Address: c.at, Version: l.Agreed.Version, Transport: transportOf(l),
		c: c, cl: own, before: *own, given: ctx,
	}
	var raw json.RawMessage
	var err error
	returned := callback.Run("WithMiddleware", func(e *callback.Error) {
		err = e
		c.callbackFailed(e)
	}, func() { raw, err = c.cfg.chain(ctx, inv) })
	delivery := mcperrors.Unknown
	if own.Attempts == 0 {
		delivery = mcperrors.NotSent
	}
	if !returned {
		err = outcome.CallbackFailed(err, delivery)
	}
	if own.Link == nil { // a middleware answered
		own.Link = l
	}
	*cl = *own
	if err == nil {
		return raw, nil
	}
	var known *mcperrors.Error
	if errors.As(err, &known) {
		return nil, err
	}
	return nil, c.core.About(cl.Subject(), errormap.From(err, delivery))
}

func transportOf(l *link.Link) string {
	switch {
	case l.Traits.Process:
		return "stdio"
	case l.Traits.Exchanges, l.Traits.SessionOnly:
		return "http"
	}
	return "stream"
}

// send is the end of the chain: the call itself.
func (inv *Invocation) send(ctx context.Context) (json.RawMessage, error) {
	if inv == nil || inv.c == nil {
		return nil, badOption(errors.New("a middleware called next with an Invocation of its own"))
	}
	kept, challenged := inv.cl.Kept, inv.cl.Challenged
	*inv.cl = inv.before
	inv.cl.Kept = kept             // what an earlier run sent may still be on its way
	inv.cl.Challenged = challenged // it is one call for the Authorizer
	if inv.sent || !sameContext(ctx, inv.given) {
		inv.cl.Caller = nil // a second call, or perhaps another caller
	}
	inv.sent = true
	if err := inv.addMeta(); err != nil {
		return nil, inv.c.core.Local(err, inv.cl.Method)
	}
	raw, err := inv.c.run(ctx, &inv.cl.Call)
	inv.Attempts = inv.cl.Attempts
	if !inv.cl.ID.IsZero() {
		inv.RequestID = inv.cl.ID.String()
	}
	return raw, err
}

// sameContext reports whether a middleware passed on its context unchanged.
func sameContext(a, b context.Context) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.ValueOf(a).Comparable() && a == b
}

// addMeta adds the Meta of the middleware, except members that the caller has set.
func (inv *Invocation) addMeta() error {
	if len(inv.Meta) == 0 {
		return nil
	}
	members := maps.Clone(inv.Meta)
	set := doc.AppendMembers([]byte{'{'}, inv.cl.Meta)
	if err := jsonrpc.Members(append(set, '}'), func(name, _ []byte) bool {
		delete(members, string(name))
		return true
	}); err != nil {
		return badOption(err)
	}
	if len(members) == 0 {
		return nil
	}
	inv.cl.opts.meta = members
	if err := inv.cl.takeMeta(); err != nil {
		return badOption(err)
	}
	return nil
}
