package client_test

import (
	"context"
	"fmt"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// canned is a fake of the three methods a program needs.
type canned struct{ text string }

func (f canned) CallTool(context.Context, string, any, ...client.CallOption) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: f.text}}}, nil
}

func (canned) GetToolSchema(_ context.Context, name string, _ ...client.CallOption) (*mcp.Tool, error) {
	return &mcp.Tool{Name: name}, nil
}

func (canned) Close() error { return nil }

// greet is a program that takes a Caller, a *Client in production.
func greet(ctx context.Context, c client.Caller) (string, error) {
	res, err := c.CallTool(ctx, "greet", nil)
	if err != nil {
		return "", err
	}
	return res.Text(), nil
}

func ExampleCaller() {
	fmt.Println(greet(context.Background(), canned{"Hello!"}))
	// Output: Hello! <nil>
}
