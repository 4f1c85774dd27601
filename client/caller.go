package client

import (
	"context"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Caller is the part of [Client] that most programs use. Accept it instead of
// a *Client, so that tests can pass a fake with these three methods. No method
// will be added, so fakes stay complete.
type Caller interface {
	// CallTool calls a tool.
	CallTool(ctx context.Context, tool string, args any, opts ...CallOption) (*mcp.CallToolResult, error)
	// GetToolSchema returns a tool's definition.
	GetToolSchema(ctx context.Context, name string, opts ...CallOption) (*mcp.Tool, error)
	// Close ends the connection.
	Close() error
}

var _ Caller = (*Client)(nil)
