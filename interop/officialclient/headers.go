package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// standardHeaders uses one of each that has a name to mirror.
func standardHeaders(ctx context.Context, c *client.Client, _ json.RawMessage) error {
	tools, err := listed(ctx, c)
	if err != nil {
		return err
	}
	for _, tool := range tools {
		if err := called(ctx, c, tool.Name, map[string]any{}); err != nil {
			return err
		}
	}
	for resource, err := range c.Resources(ctx) {
		if err != nil {
			return err
		}
		if _, err := c.ReadResource(ctx, resource.URI); err != nil {
			return err
		}
	}
	for prompt, err := range c.Prompts(ctx) {
		if err != nil {
			return err
		}
		if _, err := c.GetPrompt(ctx, prompt.Name, nil); err != nil {
			return err
		}
	}
	return nil
}

// customHeaders makes the calls the suite asks for, arguments unchanged and
// unjudged: some are null where the schema has no null.
func customHeaders(ctx context.Context, c *client.Client, told json.RawMessage) error {
	var wanted struct {
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if err := jsonrpc.Unmarshal(told, &wanted); err != nil || len(wanted.ToolCalls) == 0 {
		return fmt.Errorf("%s names no calls: %q", envContext, told)
	}
	if _, err := listed(ctx, c); err != nil {
		return err
	}
	for i, call := range wanted.ToolCalls {
		if err := called(ctx, c, call.Name, call.Arguments, client.WithoutValidation()); err != nil {
			return fmt.Errorf("call %d, %s: %w", i+1, call.Name, err)
		}
	}
	return nil
}

// invalidToolHeaders calls every tool that the client let through. The
// arguments fit the valid one only: it is not their schemas that must stop the
// others.
func invalidToolHeaders(ctx context.Context, c *client.Client, _ json.RawMessage) error {
	tools, err := listed(ctx, c)
	if err != nil {
		return err
	}
	for _, tool := range tools {
		if err := called(ctx, c, tool.Name, map[string]any{"region": "us-west1"}, client.WithoutValidation()); err != nil {
			return err
		}
	}
	return nil
}
