package main

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/conformance/clientdriver"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// calls are the methods of the client.
func calls(c *client.Client) map[string]clientdriver.Call {
	subscription := func(ctx context.Context, s *clientdriver.Step) (any, error) { return subscribe(ctx, c, s) }
	return map[string]clientdriver.Call{
		mcp.MethodToolsList:     list("tools", c.Tools),
		mcp.MethodResourcesList: list("resources", c.Resources),
		mcp.MethodPromptsList:   list("prompts", c.Prompts),
		mcp.MethodToolsCall: func(ctx context.Context, s *clientdriver.Step) (any, error) {
			var args any // none at all, not an empty object
			if s.Arguments != nil {
				args = s.Arguments
			}
			return c.CallTool(ctx, s.Name, args, options(s)...)
		},
		mcp.MethodResourcesRead: func(ctx context.Context, s *clientdriver.Step) (any, error) {
			return c.ReadResource(ctx, s.URI, options(s)...)
		},
		mcp.MethodPromptsGet: func(ctx context.Context, s *clientdriver.Step) (any, error) {
			var arguments map[string]string
			if s.Arguments != nil {
				if err := json.Unmarshal(s.Arguments, &arguments); err != nil {
					return nil, err
				}
			}
			return c.GetPrompt(ctx, s.Name, arguments, options(s)...)
		},
		mcp.MethodCompletionComplete: func(ctx context.Context, s *clientdriver.Step) (any, error) {
			return complete(ctx, c, s.Params)
		},
		mcp.MethodLoggingSetLevel: clientdriver.Action(func(ctx context.Context, params *mcp.SetLevelParams) error {
			return c.SetLogLevel(ctx, params.Level)
		}),
		mcp.MethodSubscriptionsListen: subscription, mcp.MethodResourcesSubscribe: subscription,
		mcp.MethodPing: func(ctx context.Context, _ *clientdriver.Step) (any, error) { return nil, c.Ping(ctx) },
	}
}

func options(s *clientdriver.Step) []client.CallOption {
	if !s.Progress {
		return nil
	}
	return []client.CallOption{client.WithProgress(func(mcp.ProgressParams) {})}
}

// list gathers all of a list.
func list[T any](name string, walk func(context.Context, ...client.CallOption) iter.Seq2[T, error]) clientdriver.Call {
	return func(ctx context.Context, s *clientdriver.Step) (any, error) {
		return clientdriver.List(name, func(ctx context.Context, _ *struct{}) iter.Seq2[T, error] { return walk(ctx, options(s)...) })(ctx, s)
	}
}

// describe reports an error in the words of the protocol.
func describe(err error, f *clientdriver.Failure) {
	f.Delivery = mcperrors.DeliveryOf(err).String()
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		f.Outcome, f.Code = "error", rpc.Code
		return
	}
	switch mcperrors.KindOf(err) {
	case mcperrors.KindTimeout:
		f.Outcome = "timeout"
	case mcperrors.KindCanceled:
		f.Outcome = "canceled"
	case mcperrors.KindTransport, mcperrors.KindClosed, mcperrors.KindSessionLost:
		f.Outcome = "closed"
	default: // as the driver has it
	}
}
