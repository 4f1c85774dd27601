package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/object"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Invocation is one call on its way to the server, as a [Middleware] sees it:
// the whole call, with all the attempts and rounds it takes. It belongs to one
// call and one goroutine, and must not be used after the call.
type Invocation struct {
	// Method is the MCP method; Name is what it is about: the tool, prompt, URI
	// or task, "" where the method has none.
	Method, Name string
	// Server names the server, Version is the revision that was agreed with it.
	Server  string
	Version mcp.Version
	// Transport is "stdio" for a program of ours, "http", or "stream".
	Transport string
	// Meta is added to _meta of all the call sends, under the rules of
	// [WithMeta]. What the caller set himself wins. nil adds nothing; make the map
	// before writing to it.
	Meta map[string]any

	// RequestID is the id of the last request, Attempts how many were made. They
	// are set when [Next] has returned.
	RequestID string
	Attempts  int

	c  *Client
	cl *call
	// before is the call as it was, for a Next that is called again.
	before call
}

// Params returns the params as the caller gave them, without _meta; nil for
// none. They are a copy.
func (inv *Invocation) Params() json.RawMessage {
	if inv.before.open == nil {
		return nil
	}
	return append(bytes.Clone(inv.before.open), '}')
}

// Next makes the call, or goes to the next link of the chain. The result is as
// the server gave it; an error is a [*mcperrors.Error].
type Next func(ctx context.Context, inv *Invocation) (json.RawMessage, error)

// Middleware puts a link of one's own around every call but those of the
// handshake: a trace, an audit, a check of who may call what. It is applied
// once, when the client is made, and what it returns is called for each call, on
// the goroutine of its caller, from many at once. It may change ctx, add to
// Meta, refuse the call by an error of its own, answer it with a result of its
// own, or call next again: retries of the client's own are inside, so that is
// for what it alone knows how to mend. next must get the Invocation that came. A
// link that panics fails the call, with an error of kind app.
type Middleware func(next Next) Next

// WithMiddleware puts links around every call, the first outermost. Requests
// that the client makes for its own purposes (the handshake, probes of the
// circuit, signs of life of [Resilience].Silence) do not pass through them. What
// fills a cache for many callers has a context of its own, not that of the one
// who came first.
func WithMiddleware(links ...Middleware) Option {
	return optionFunc(func(c *config) { c.middleware = append(c.middleware, links...) })
}

// chainOf is what calls go through, nil for none.
func chainOf(links []Middleware) (Next, error) {
	if len(links) == 0 {
		return nil, nil
	}
	next := Next(func(ctx context.Context, inv *Invocation) (json.RawMessage, error) { return inv.send(ctx) })
	for i := len(links) - 1; i >= 0; i-- {
		if links[i] == nil {
			return nil, errors.New("WithMiddleware: a link is nil")
		}
		if err := made("WithMiddleware", func() { next = links[i](next) }); err != nil {
			return nil, err
		}
		if next == nil {
			return nil, errors.New("WithMiddleware: a link made nothing of what is next")
		}
	}
	return next, nil
}

// through makes a call through the chain of the application.
func (c *Client) runThroughMiddleware(ctx context.Context, cl *call) (json.RawMessage, error) {
	own := new(call) // not cl itself: the calls of other clients stay on the stack
	*own = *cl
	l := c.live.Load()
	inv := &Invocation{
		Method: cl.method, Name: cl.name, Server: c.server, Version: l.Agreed.Version, Transport: transportOf(l),
		c: c, cl: own, before: *own,
	}
	var raw json.RawMessage
	var err error
	if !callback.Run("WithMiddleware", func(e *callback.Error) {
		err = e
		c.callbackFailed(e)
	}, func() { raw, err = c.cfg.chain(ctx, inv) }) {
		fate := mcperrors.Unknown
		if own.attempts == 0 {
			fate = mcperrors.NotSent
		}
		err = outcome.CallbackFailed(err, fate)
	}
	if own.link == nil { // a link of the chain answered
		own.link = l
	}
	*cl = *own
	if err == nil {
		return raw, nil
	}
	var known *mcperrors.Error
	if errors.As(err, &known) {
		return nil, err
	}
	delivery := mcperrors.Unknown
	if cl.attempts == 0 {
		delivery = mcperrors.NotSent
	}
	return nil, c.about(cl.subject(), errormap.From(err, delivery))
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
	kept := inv.cl.kept
	*inv.cl = inv.before
	inv.cl.kept = kept // what an earlier run sent may still be on its way
	if err := inv.addMeta(); err != nil {
		return nil, inv.c.local(err, inv.cl.method)
	}
	raw, err := inv.c.run(ctx, inv.cl)
	inv.Attempts = inv.cl.attempts
	if !inv.cl.id.IsZero() {
		inv.RequestID = inv.cl.id.String()
	}
	return raw, err
}

// addMeta adds what the links of the chain want to say, but for what the caller
// has said himself.
func (inv *Invocation) addMeta() error {
	if len(inv.Meta) == 0 {
		return nil
	}
	members := maps.Clone(inv.Meta)
	said := object.Append([]byte{'{'}, inv.cl.meta)
	if err := jsonrpc.Members(append(said, '}'), func(name, _ []byte) bool {
		delete(members, string(name))
		return true
	}); err != nil {
		return badOption(err)
	}
	if len(members) == 0 {
		return nil
	}
	inv.cl.opts.meta = members
	return inv.cl.checkedMeta()
}
