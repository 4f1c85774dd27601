package client

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// OutputError reports that a tool's result does not match the tool's output
// schema. It is the cause of an error of kind protocol.
type OutputError struct {
	// Result is the complete result: the tool has run.
	Result *mcp.CallToolResult
	// Reason tells where and why it does not match, without the values.
	Reason string
}

func (e *OutputError) Error() string { return e.Reason }

// toolResult decodes the answer to tools/call and checks it against the tool's output
// schema.
func (c *Client) toolResult(ctx context.Context, cl *call, agreed *link.Agreement, raw json.RawMessage) (*mcp.CallToolResult, error) {
	res := &mcp.CallToolResult{}
	if err := mcp.Consume(raw, res); err != nil {
		return nil, c.undecodable(cl.Subject(), err)
	}
	if cl.opts.unverified || cl.Known.Listed && cl.Known.Output == nil { // most tools
		return res, nil
	}
	misfit := c.catalog().CheckResult(ctx, cl.Tool, cl.Known, agreed, res)
	if misfit == nil {
		return res, nil
	}
	reason := "the result of " + jsonrpc.Printable(cl.Tool, 100) + " does not fit its output schema: " + misfit.Error()
	return nil, c.about(cl.Subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered, reason,
		&OutputError{Result: res, Reason: reason}))
}
