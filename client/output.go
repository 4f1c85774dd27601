package client

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/object"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithOutputValidation sets what happens to a tool's structured content that
// does not fit the tool's output schema; the default is [ValidateStrict], which
// fails the call with an [*OutputError]. Results with IsError set are not
// judged, and nothing is by a schema that cannot be used.
func WithOutputValidation(v Validation) Option {
	return optionFunc(func(c *config) { c.outputs = v })
}

// OutputError says that a tool's result does not fit the schema the tool
// declared for it. It is the cause of an error of kind protocol.
type OutputError struct {
	// Result is what the tool answered, whole: the tool has run.
	Result *mcp.CallToolResult
	// Reason says where and how it does not fit, without the values.
	Reason string
}

func (e *OutputError) Error() string { return e.Reason }

// errNoOutput is the misfit of a result without structured content.
var errNoOutput = errors.New("it has no structured content")

// toolResult decodes the answer to tools/call and holds it against the tool's
// output schema.
func (c *Client) toolResult(ctx context.Context, cl *call, agreed *link.Agreement, raw json.RawMessage) (*mcp.CallToolResult, error) {
	res := &mcp.CallToolResult{}
	if err := mcp.Consume(raw, res); err != nil {
		return nil, c.undecodable(cl.subject(), err)
	}
	if cl.listed && cl.output == nil { // most tools
		return res, nil
	}
	if err := c.checkOutput(ctx, cl, agreed, res); err != nil {
		return nil, err
	}
	return res, nil
}

// checkOutput judges a result. Output schemas exist since 2025-06-18.
func (c *Client) checkOutput(ctx context.Context, cl *call, agreed *link.Agreement, res *mcp.CallToolResult) error {
	if c.cfg.outputs == ValidateOff || cl.opts.unverified || res.IsError || !agreed.Version.AtLeast(mcp.Version2025_06_18) {
		return nil
	}
	if !cl.listed {
		tool, _, ok := c.cache().Lookup(c.cacheKey(ctx), cl.tool)
		if !ok {
			return nil // nothing is known of it
		}
		cl.knows(tool)
	}
	if c.outputMisfit(cl, agreed.Era, res.StructuredContent) == nil {
		return nil
	}
	// The tool may have changed since it was listed (CACHE-15). If its definition
	// cannot be had, nobody knows, and the answer counts.
	tool, err := c.confirm(ctx, cl.tool)
	if err != nil || tool == nil {
		return nil //nolint:nilerr // the tool has answered
	}
	cl.knows(tool)
	misfit := c.outputMisfit(cl, agreed.Era, res.StructuredContent)
	if misfit == nil {
		return nil
	}
	if c.cfg.outputs == ValidateWarn {
		c.log.Warn("[MCP] the tool's result does not fit its output schema", "server", c.server, "tool", cl.tool, "error", misfit)
		return nil
	}
	reason := "the result of " + jsonrpc.Printable(cl.tool, 100) + " does not fit its output schema: " + misfit.Error()
	return c.about(cl.subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered, reason,
		&OutputError{Result: res, Reason: reason}))
}

// outputMisfit says why structured content does not fit the tool's output
// schema, nil when it does or when there is no schema that can judge. Content
// that is absent is not the same as null.
func (c *Client) outputMisfit(cl *call, era mcp.Era, content json.RawMessage) error {
	if cl.output == nil {
		return nil
	}
	schema, first := c.catalog.get().Results.Get(cl.tool, cl.output)
	switch {
	case schema.Err() != nil:
		if first {
			c.log.Warn("[MCP] the tool's output schema cannot be used to check results", "server", c.server,
				"tool", cl.tool, "error", schema.Err())
		}
		return nil
	case content == nil:
		return errNoOutput
	case era == mcp.EraSession && object.First(content) != '{':
		return errors.New("its structured content is not an object") // TOOL-07
	}
	return schema.Check(content)
}

// knows notes what a tool's definition says about calls of it.
func (k *known) knows(tool *mcp.Tool) {
	k.listed, k.output, k.execution = true, tool.OutputSchema, tool.Execution
}
