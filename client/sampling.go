package client

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// SamplingRequest is a server's wish for an answer of the application's model.
type SamplingRequest struct {
	// From is the server that asks.
	From Asker
	// Params is what it asks. MaxTokens must be respected; the rest may be
	// changed or ignored.
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

// OnSampling answers what servers ask the application's model, in every era.
// Let a person see the request and the answer: the server is
// untrusted, and so is what it asks for.
//
// The handler runs on a goroutine of its own, many at once, and may call the
// server. Its ctx ends when the server withdraws the request, the call it
// belongs to ends or the client is closed. [ErrRejected] says that the user
// refused; of any other error, and of a panic, the server learns only that
// there was one, unless it is a [*jsonrpc.Error].
func OnSampling(f func(ctx context.Context, r SamplingRequest) (*mcp.CreateMessageResult, error), features ...SamplingFeature) Option {
	return optionFunc(func(c *config) {
		c.onSampling = f
		c.samplingTools = slices.Contains(features, SamplingTools)
		c.samplingContext = slices.Contains(features, SamplingContext)
	})
}

func (c *Client) prepareSampling(from Asker, caps *mcp.SamplingCapability, raw json.RawMessage) (question, *refusal) {
	var params mcp.CreateMessageParams
	if err := mcp.Unmarshal([]byte(raw), &params); err != nil {
		return nil, refuse(jsonrpc.CodeInvalidParams, "Invalid params: %s", jsonrpc.Printable(err.Error(), 200))
	}
	if (len(params.Tools) > 0 || params.ToolChoice != nil) && caps.Tools == nil {
		return nil, refuse(jsonrpc.CodeInvalidParams, "The client did not declare sampling.tools")
	}
	if err := checkToolTurns(params.Messages); err != nil {
		return nil, refuse(jsonrpc.CodeInvalidParams, "Invalid params: %s", err)
	}
	if c.cfg.onSampling == nil {
		return nil, refuse(jsonrpc.CodeMethodNotFound, "Nobody answers sampling requests")
	}
	return func(ctx context.Context) (json.RawMessage, *refusal) {
		res, err := handled(c, "OnSampling", func() (*mcp.CreateMessageResult, error) {
			return c.cfg.onSampling(ctx, SamplingRequest{From: from, Params: &params})
		})
		if err == nil {
			var raw json.RawMessage
			if raw, err = sampled(res, from.agreed.Version); err == nil {
				return raw, nil
			}
		}
		if errors.Is(err, ErrRejected) {
			return nil, &refusal{rpc: jsonrpc.NewError(mcp.CodeUserRejected, "User rejected sampling request", nil), cause: err}
		}
		if ctx.Err() == nil {
			c.log.Warn("[MCP] a sampling request of the server was not answered", "server", c.server, "error", err)
		}
		return nil, handlerFailed(err)
	}, nil
}

// sampled encodes what the model said, in the words of the revision.
func sampled(res *mcp.CreateMessageResult, v mcp.Version) (json.RawMessage, error) {
	switch {
	case res == nil || len(res.Content) == 0:
		return nil, errors.New("the sampling handler returned nothing")
	case len(res.Content) > 1 && !v.AtLeast(mcp.Version2025_11_25): // SAMP-03
		return nil, errors.New("the sampling handler returned more than one block, which revision " + string(v) + " cannot carry")
	}
	out := *res
	if out.Role == "" {
		out.Role = mcp.RoleAssistant
	}
	return mcp.Marshal(&out)
}

// checkToolTurns holds a conversation to the order of tool calls: every use is
// answered by the message that follows, which holds nothing else (SAMP-02).
func checkToolTurns(messages []mcp.SamplingMessage) error {
	var open map[string]bool // tool uses of the message before
	for _, m := range messages {
		var results, others int
		uses := map[string]bool{}
		for _, block := range m.Content {
			switch block := block.(type) {
			case *mcp.ToolResultContent:
				results++
				if m.Role != mcp.RoleUser || !open[block.ToolUseID] {
					return errors.New("a tool result answers no tool use of the message before")
				}
				delete(open, block.ToolUseID)
			case *mcp.ToolUseContent:
				others++
				if m.Role != mcp.RoleAssistant || uses[block.ID] {
					return errors.New("a tool use is out of place")
				}
				uses[block.ID] = true
			default:
				others++
			}
		}
		switch {
		case len(open) > 0:
			return errors.New("a tool use has no result in the message that follows")
		case results > 0 && others > 0:
			return errors.New("a message with tool results holds something else")
		}
		open = uses
	}
	if len(open) > 0 {
		return errors.New("a tool use has no result")
	}
	return nil
}
