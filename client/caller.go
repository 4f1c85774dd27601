package client

import (
	"context"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Caller is the part of [Client] that most programs use. Take it where you would
// take a *Client, and tests can do without a server: anything with these three
// methods will do. It stays this small, so that fakes stay whole.
type Caller interface {
	// CallTool calls a tool.
	CallTool(ctx context.Context, tool string, args any, opts ...CallOption) (*mcp.CallToolResult, error)
	// GetToolSchema returns a tool's definition.
	GetToolSchema(ctx context.Context, name string, opts ...CallOption) (*mcp.Tool, error)
	// Close ends the connection.
	Close() error
}

var _ Caller = (*Client)(nil)
