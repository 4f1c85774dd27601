package client

import (
	"context"
	"iter"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Prompts walks the server's prompts over all pages. An error is the last
// value.
func (c *Client) Prompts(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.Prompt, error] {
	return walk(ctx, c, mcp.MethodPromptsList, func(p mcp.Prompt) string { return p.Name }, func(ctx context.Context, cursor *string) (page[mcp.Prompt], error) {
		res := &mcp.ListPromptsResult{}
		size, err := c.fetchPage(ctx, mcp.MethodPromptsList, "prompts", cursor, res, opts)
		return page[mcp.Prompt]{res.Prompts, res.NextCursor, size}, err
	})
}

// ListPrompts returns one page; nil asks for the first.
func (c *Client) ListPrompts(ctx context.Context, cursor *string, opts ...CallOption) (*mcp.ListPromptsResult, error) {
	res := &mcp.ListPromptsResult{}
	if _, err := c.fetchPage(ctx, mcp.MethodPromptsList, "prompts", cursor, res, opts); err != nil {
		return nil, err
	}
	return res, nil
}

// GetPrompt returns a prompt filled in with arguments, nil for none. A name the
// server does not have, and an argument that is missing, are E203.
func (c *Client) GetPrompt(ctx context.Context, name string, arguments map[string]string, opts ...CallOption) (*mcp.GetPromptResult, error) {
	cl := newCall(mcp.MethodPromptsGet, opts)
	cl.name = name
	if err := c.named(&cl, "name"); err != nil {
		return nil, err
	}
	if err := c.params(&cl, &mcp.GetPromptParams{Name: name, Arguments: arguments}); err != nil {
		return nil, err
	}
	res := &mcp.GetPromptResult{}
	if err := c.ask(ctx, &cl, res); err != nil {
		return nil, err
	}
	return res, nil
}
