package client

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client/internal/catalog"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// aim finds out what raw params are about, for headers and errors (HTTP-31,
// HDR-12).
func (cl *call) aim(params json.RawMessage) {
	member := "name"
	switch cl.method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
	case mcp.MethodResourcesRead:
		member = "uri"
	case mcp.MethodTasksGet, mcp.MethodTasksUpdate, mcp.MethodTasksCancel:
		member = "taskId"
	default:
		return
	}
	var value json.RawMessage
	_ = jsonrpc.Members(params, func(name, v []byte) bool { // they were checked
		if string(name) == member {
			value = v
		}
		return value == nil
	})
	if jsonrpc.Unmarshal(value, &cl.name) == nil && cl.method == mcp.MethodToolsCall {
		cl.tool = cl.name
	}
}

// mirrorArguments finds the arguments of a tool call that headers repeat, by
// the schema seen last, whatever its age (HDR-09).
func (c *Client) mirrorArguments(ctx context.Context, cl *call) error {
	if cl.method != mcp.MethodToolsCall || cl.name == "" || !c.live.Load().StatelessHTTP() {
		return nil
	}
	schema := c.headerSchema(ctx, cl)
	if schema == nil {
		cl.schema, cl.mirrored = nil, nil
		return nil
	}
	params, err := schema.Params(cl.arguments())
	if err != nil {
		return c.about(cl.subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, err.Error(), err))
	}
	cl.schema, cl.mirrored = schema, params
	return nil
}

// headerSchema returns what is known of a tool's headers, nil for nothing. A
// tool that was never listed is looked for once; that it cannot be found does
// not keep the call from being made.
func (c *Client) headerSchema(ctx context.Context, cl *call) *catalog.Mirror {
	tool := cl.name
	t, _, ok := c.cache().Lookup(c.cacheKey(ctx), tool)
	if !ok {
		if agreed := c.live.Agreed(); !agreed.Declared || !agreed.Capabilities.Has("tools") || c.catalog.get().Headers.Unlisted(tool) {
			return nil
		}
		cl.waited = true
		ctx, cancel := c.span(cl).Bound(ctx)
		defer cancel()
		found, err := c.cache().Confirm(ctx, c.cacheKey(ctx), tool, c.fetcher())
		if err != nil {
			return nil
		}
		t = found
	}
	schema, _ := c.catalog.get().Headers.Get(tool, t.InputSchema)
	return schema
}

// arguments returns the arguments in the params of a tool call, nil for none.
func (cl *call) arguments() (args json.RawMessage) {
	// Only the closing brace is missing, which stands behind what is looked for.
	_ = jsonrpc.Walk(cl.open, func(name, value []byte) bool {
		if string(name) == "arguments" {
			args = value
		}
		return args == nil
	})
	return args
}

// withoutMisannotated drops the tools whose annotations are not valid, where
// annotations have a meaning (HDR-07).
func (c *Client) withoutMisannotated(tools []mcp.Tool) []mcp.Tool {
	if !c.live.Load().StatelessHTTP() {
		return tools
	}
	kept := tools[:0]
	for _, tool := range tools {
		if !catalog.HasAnnotations(tool.InputSchema) {
			kept = append(kept, tool) // most tools: nothing to remember
			continue
		}
		schema, first := c.catalog.get().Headers.Get(tool.Name, tool.InputSchema)
		if schema.Err() == nil {
			kept = append(kept, tool)
		} else if first {
			c.log.Warn("[MCP] a tool is left out: its header annotations are not valid", "server", c.server,
				"tool", jsonrpc.Printable(tool.Name, 100), "reason", schema.Err())
		}
	}
	return kept
}
