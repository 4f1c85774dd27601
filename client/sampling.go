package client

import (
	"context"
	"slices"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// SamplingRequest asks the application's model for a message.
type SamplingRequest struct {
	// From is the server that asks.
	From Requester
	// Params is what it asks. Respect MaxTokens; the rest may be changed or ignored.
	Params *mcp.CreateMessageParams
}

// SamplingFeature is what a sampling handler can do besides answering texts.
type SamplingFeature uint8

const (
	// SamplingTools: the handler gives its model the tools of the request.
	SamplingTools SamplingFeature = iota + 1
	// SamplingContext: the handler follows IncludeContext.
	SamplingContext
)

// OnSampling answers sampling requests of servers, in both eras. Let a person see
// the request and the answer: the server is untrusted, and so is its request.
//
// The handler runs on a goroutine of its own, concurrently with others, and may
// call the server. Its ctx ends when the server withdraws the request, the call
// that it belongs to ends or the client is closed. [ErrRejected] says that the
// user refused. The server learns nothing of other errors and of panics but that
// there was one, unless the error is a [*jsonrpc.Error].
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
