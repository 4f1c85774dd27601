package ask

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func (d *Dispatcher) checkSampling(from Requester, v mcp.Version, caps *mcp.SamplingCapability, raw json.RawMessage) (question, *Refusal) {
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
	if d.Offer.Sampling == nil {
		return nil, refuse(jsonrpc.CodeMethodNotFound, "The client has no handler for sampling")
	}
	return func(ctx context.Context) (json.RawMessage, *Refusal) {
		res, err := run(d, "OnSampling", func() (*mcp.CreateMessageResult, error) {
			return d.Offer.Sampling(ctx, from, &params)
		})
		if err == nil {
			var raw json.RawMessage
			if raw, err = encodeMessage(res, v); err == nil {
				return raw, nil
			}
		}
		if errors.Is(err, ErrRejected) {
			return nil, &Refusal{rpc: jsonrpc.NewError(mcp.CodeUserRejected, "User rejected sampling request", nil), cause: err}
		}
		if ctx.Err() == nil {
			d.Log.Warn("[MCP] a sampling request of the server was not answered", "server", d.Server, "error", err)
		}
		return nil, handlerFailed(err)
	}, nil
}

// encodeMessage encodes the model's message for the revision.
func encodeMessage(res *mcp.CreateMessageResult, v mcp.Version) (json.RawMessage, error) {
	switch {
	case res == nil || len(res.Content) == 0:
		return nil, errors.New("the sampling handler returned nothing")
	case len(res.Content) > 1 && !v.AtLeast(mcp.Version2025_11_25): // older revisions allow one block
		return nil, errors.New("the sampling handler returned more than one block, which revision " + string(v) + " cannot carry")
	}
	out := *res
	if out.Role == "" {
		out.Role = mcp.RoleAssistant
	}
	return mcp.Marshal(&out)
}

// checkToolTurns checks the order of tool uses: the next message has a result for each tool use,
// and nothing else.
func checkToolTurns(messages []mcp.SamplingMessage) error {
	var open map[string]bool // tool uses of the previous message
	for _, m := range messages {
		var results, others int
		uses := map[string]bool{}
		for _, block := range m.Content {
			switch block := block.(type) {
			case *mcp.ToolResultContent:
				results++
				if m.Role != mcp.RoleUser || !open[block.ToolUseID] {
					return errors.New("a tool result has no tool use in the previous message")
				}
				delete(open, block.ToolUseID)
			case *mcp.ToolUseContent:
				others++
				if m.Role != mcp.RoleAssistant || uses[block.ID] {
					return errors.New("a tool use is not in an assistant message, or its id is used twice in that message")
				}
				uses[block.ID] = true
			default:
				others++
			}
		}
		switch {
		case len(open) > 0:
			return errors.New("a tool use has no result in the next message")
		case results > 0 && others > 0:
			return errors.New("a message with tool results has other content")
		}
		open = uses
	}
	if len(open) > 0 {
		return errors.New("a tool use has no result")
	}
	return nil
}
