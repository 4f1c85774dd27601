package client

import (
	"context"
	"iter"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Resources iterates over the server's resources, over all pages. If a request
// fails, the last value is its error.
func (c *Client) Resources(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.Resource, error] {
	return resourceList.walk(ctx, c, opts, nil, nil)
}

// ListResources returns one page of resources; nil asks for the first.
func (c *Client) ListResources(ctx context.Context, cursor *string, opts ...CallOption) (*mcp.ListResourcesResult, error) {
	return resourceList.one(ctx, c, cursor, opts)
}

// ResourceTemplates iterates over the server's resource templates, over all
// pages. If a request fails, the last value is its error.
func (c *Client) ResourceTemplates(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.ResourceTemplate, error] {
	return templateList.walk(ctx, c, opts, nil, nil)
}

// ListResourceTemplates returns one page of resource templates; nil asks for
// the first.
func (c *Client) ListResourceTemplates(ctx context.Context, cursor *string, opts ...CallOption) (*mcp.ListResourceTemplatesResult, error) {
	return templateList.one(ctx, c, cursor, opts)
}

// ReadResource returns the contents of a resource: one or several, text or
// binary. If the server has no such resource, the error is E206 in every
// revision.
func (c *Client) ReadResource(ctx context.Context, uri string, opts ...CallOption) (*mcp.ReadResourceResult, error) {
	cl := newCall(mcp.MethodResourcesRead, opts)
	cl.Name = uri
	cl.Params = jsonrpc.AppendString([]byte(`{"uri":`), uri)
	if err := c.named(&cl, "URI"); err != nil {
		return nil, err
	}
	return fetch[mcp.ReadResourceResult](ctx, c, &cl)
}
