package main

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client"
)

// schemaReference lists a tool whose schema points into the network, and looks
// at it: nothing may be fetched.
func schemaReference(ctx context.Context, c *client.Client, _ json.RawMessage) error {
	tools, err := listed(ctx, c)
	if err != nil {
		return err
	}
	for _, tool := range tools {
		if _, err := c.GetToolSchema(ctx, tool.Name); err != nil {
			return err
		}
	}
	return nil
}

// schemaKeywords sends a tool's schema back as it arrived.
func schemaKeywords(ctx context.Context, c *client.Client, _ json.RawMessage) error {
	tool, err := find(ctx, c, "json_schema_2020_12_tool")
	if err != nil {
		return err
	}
	return called(ctx, c, "json_schema_echo", map[string]any{"schema": tool.InputSchema})
}
