package client

import (
	"context"
	"iter"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Prompts iterates over the server's prompts, over all pages. If a request
// fails, the last value is its error.
func (c *Client) Prompts(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.Prompt, error] {
	return promptList.walk(ctx, c, opts, nil, nil)
}

// ListPrompts returns one page of prompts; nil asks for the first.
func (c *Client) ListPrompts(ctx context.Context, cursor *string, opts ...CallOption) (*mcp.ListPromptsResult, error) {
	return promptList.one(ctx, c, cursor, opts)
}

// GetPrompt returns a prompt filled in with arguments, nil for none. If the
// server has no such prompt, or an argument is missing, the error is E203.
func (c *Client) GetPrompt(ctx context.Context, name string, arguments map[string]string, opts ...CallOption) (*mcp.GetPromptResult, error) {
	cl := newCall(mcp.MethodPromptsGet, opts)
	cl.Name = name
	if err := c.named(&cl, "name"); err != nil {
		return nil, err
	}
	if err := c.params(&cl, &mcp.GetPromptParams{Name: name, Arguments: arguments}); err != nil {
		return nil, err
	}
	return fetch[mcp.GetPromptResult](ctx, c, &cl)
}
