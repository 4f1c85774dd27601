package client

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
)

// OnRequest registers the handler for requests of servers with this method, in both eras. It
// passes params and result unchanged, with members that this package does not know. Use it
// for a proxy, or for methods of extensions. For the methods of MCP it replaces [OnSampling],
// [OnElicitForm], [OnElicitURL] and [WithRoots], and checks nothing. The client always answers
// ping itself. nil removes the handler.
//
// OnRequest declares no capability: use [WithCapabilities]. Servers of the
// session era send requests; those of the stateless era ask for input while they answer a
// call.
//
// The result must be a JSON object. Return [ErrRejected] if the user refused, or a
// [*jsonrpc.Error], which reaches a server of the session era unchanged. Any other error, or a
// panic, is reported to the server without details.
//
// Each request has a goroutine of its own, within the limits of [WithServerLimits]. The handler
// may call the server. ctx ends when the server withdraws the request, its call ends or the
// client is closed. It has the values of the context of the call that the request belongs to,
// if that is known: in the stateless era, and when the request came on the stream of a call
// (streamable HTTP).
func OnRequest(method string, f func(ctx context.Context, from Requester, params json.RawMessage) (json.RawMessage, error)) Option {
	return optionFunc(func(c *config) {
		if f == nil {
			c.offer.HandleRaw(method, nil)
			return
		}
		c.offer.HandleRaw(method, func(ctx context.Context, from ask.Requester, _ string, params json.RawMessage) (json.RawMessage, error) {
			return f(ctx, Requester(from), params)
		})
	})
}

// OnAnyRequest registers the handler for requests of servers that have no other handler,
// including methods that MCP does not define. Otherwise it is like [OnRequest]: params and
// result are unchanged, nothing is checked, no capability is declared, and the client answers
// ping. Use it for a proxy. nil removes the handler.
//
// # Experimental
//
// OnAnyRequest may change or go.
func OnAnyRequest(f func(ctx context.Context, from Requester, method string, params json.RawMessage) (json.RawMessage, error)) Option {
	return optionFunc(func(c *config) {
		if c.offer.Any = nil; f == nil {
			return
		}
		c.offer.Any = func(ctx context.Context, from ask.Requester, method string, params json.RawMessage) (json.RawMessage, error) {
			return f(ctx, Requester(from), method, params)
		}
	})
}
