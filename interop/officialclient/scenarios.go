package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/skills"
)

// scenario is what the client does before the suite's server.
type scenario struct {
	// play gets what the suite tells this scenario besides, mostly nothing. Its
	// error is the client's, or says what the server did not have.
	play    func(ctx context.Context, c *client.Client, told json.RawMessage) error
	options []client.Option
}

// scenarios are all the suite has for clients without OAuth (0.2.0-alpha.12), with those
// of extensions.
var scenarios = map[string]scenario{
	"initialize":                          {play: initialize},
	"tools_call":                          {play: toolsCall},
	"request-metadata":                    {play: initialize}, // its server refuses the first request, whichever it is
	"sse-retry":                           {play: sseRetry},
	"elicitation-sep1034-client-defaults": {play: elicitationDefaults, options: []client.Option{filled(nil)}},
	"sep-2322-client-request-state":       {play: requestState, options: []client.Option{filled(map[string]any{"confirmed": true})}},
	"http-standard-headers":               {play: standardHeaders},
	"http-custom-headers":                 {play: customHeaders},
	"http-invalid-tool-headers":           {play: invalidToolHeaders},
	"json-schema-ref-no-deref":            {play: schemaReference},
	"json-schema-2020-12-preservation":    {play: schemaKeywords},
	"sep-2640-client-no-prefetch":         {play: skillsPresented},
	"sep-2640-client-verify-digest":       {play: skillsRefused(skills.FaultDigest)},
	"sep-2640-client-verify-size":         {play: skillsRefused(skills.FaultSize)},
	"sep-2640-client-verify-frontmatter":  {play: skillsRefused(skills.FaultFrontMatter)},
}

// listed returns the tools that the client lists.
func listed(ctx context.Context, c *client.Client) ([]mcp.Tool, error) {
	var tools []mcp.Tool
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// find returns the listed tool of that name.
func find(ctx context.Context, c *client.Client, name string) (mcp.Tool, error) {
	tools, err := listed(ctx, c)
	if err != nil {
		return mcp.Tool{}, err
	}
	for _, tool := range tools {
		if tool.Name == name {
			return tool, nil
		}
	}
	return mcp.Tool{}, fmt.Errorf("the server lists no tool %q", name)
}

// called calls a tool; a result that is an error counts as one.
func called(ctx context.Context, c *client.Client, tool string, args any, opts ...client.CallOption) error {
	res, err := c.CallTool(ctx, tool, args, opts...)
	if err != nil {
		return err
	}
	return c.ToolError(tool, res)
}
