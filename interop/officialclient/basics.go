package main

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client"
)

// initialize has connected by now, and asks for the tools if there are any, so that
// something follows.
func initialize(ctx context.Context, c *client.Client, _ json.RawMessage) error {
	if !c.HasCapability("tools") {
		return nil
	}
	_, err := listed(ctx, c)
	return err
}

func toolsCall(ctx context.Context, c *client.Client, _ json.RawMessage) error {
	tool, err := find(ctx, c, "add_numbers")
	if err != nil {
		return err
	}
	return called(ctx, c, tool.Name, map[string]any{"a": 5, "b": 3})
}

// sseRetry makes a call whose stream the server closes before the answer: the
// client comes back for it after the time the server asked for.
func sseRetry(ctx context.Context, c *client.Client, _ json.RawMessage) error {
	return called(ctx, c, "test_reconnection", map[string]any{})
}
