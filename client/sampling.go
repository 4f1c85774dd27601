package client

import (
	"context"
	"slices"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// SamplingRequest asks the application's model for a message.
type SamplingRequest struct {
	// From is the server that sends the request.
	From Requester
	// Params is the request. Respect MaxTokens; the rest is advice.
	Params *mcp.CreateMessageParams
}

// SamplingFeature is an optional ability of a sampling handler.
type SamplingFeature uint8

const (
	// SamplingTools means that the handler passes the tools of the request to
	// its model.
	SamplingTools SamplingFeature = iota + 1
	// SamplingContext means that the handler honors IncludeContext.
	SamplingContext
)

// OnSampling registers the handler for sampling requests of servers, in both
// eras. Let a person review the request and the answer: the server is
// untrusted.
//
// Each request has a goroutine of its own; the handler may call the server.
// ctx ends when the server withdraws the request, its call ends or the client
// is closed.
//
// Return [ErrRejected] if the user refused. The server learns the text of an
// error only if it is a [*jsonrpc.Error]. Any other error, or a panic, is
// reported without details.
func OnSampling(f func(ctx context.Context, r SamplingRequest) (*mcp.CreateMessageResult, error), features ...SamplingFeature) Option {
	return optionFunc(func(c *config) {
		c.offer.Sampling = nil
		if f != nil {
			c.offer.Sampling = func(ctx context.Context, from ask.Requester, params *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				return f(ctx, SamplingRequest{From: Requester(from), Params: params})
			}
		}
		c.offer.SamplingTools = slices.Contains(features, SamplingTools)
		c.offer.SamplingContext = slices.Contains(features, SamplingContext)
	})
}
