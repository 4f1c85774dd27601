package client

import (
	"context"
	"iter"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Resources walks the server's resources over all pages. An error is the last
// value.
func (c *Client) Resources(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.Resource, error] {
	return walk(ctx, c, mcp.MethodResourcesList, func(r mcp.Resource) string { return r.URI }, func(ctx context.Context, cursor *string) (page[mcp.Resource], error) {
		res := &mcp.ListResourcesResult{}
		size, err := c.fetchPage(ctx, mcp.MethodResourcesList, "resources", cursor, res, opts)
		return page[mcp.Resource]{res.Resources, res.NextCursor, size}, err
	})
}

// ListResources returns one page; nil asks for the first.
func (c *Client) ListResources(ctx context.Context, cursor *string, opts ...CallOption) (*mcp.ListResourcesResult, error) {
	res := &mcp.ListResourcesResult{}
	if _, err := c.fetchPage(ctx, mcp.MethodResourcesList, "resources", cursor, res, opts); err != nil {
		return nil, err
	}
	return res, nil
}

// ResourceTemplates walks the server's resource templates over all pages. An
// error is the last value.
func (c *Client) ResourceTemplates(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.ResourceTemplate, error] {
	return walk(ctx, c, mcp.MethodResourceTemplatesList, func(t mcp.ResourceTemplate) string { return t.URITemplate }, func(ctx context.Context, cursor *string) (page[mcp.ResourceTemplate], error) {
		res := &mcp.ListResourceTemplatesResult{}
		size, err := c.fetchPage(ctx, mcp.MethodResourceTemplatesList, "resources", cursor, res, opts)
		return page[mcp.ResourceTemplate]{res.ResourceTemplates, res.NextCursor, size}, err
	})
}

// ListResourceTemplates returns one page; nil asks for the first.
func (c *Client) ListResourceTemplates(ctx context.Context, cursor *string, opts ...CallOption) (*mcp.ListResourceTemplatesResult, error) {
	res := &mcp.ListResourceTemplatesResult{}
	if _, err := c.fetchPage(ctx, mcp.MethodResourceTemplatesList, "resources", cursor, res, opts); err != nil {
		return nil, err
	}
	return res, nil
}

// ReadResource returns what a resource holds: one piece or several, text or
// binary. A resource the server does not have is E206, whatever the revision
// says it with.
func (c *Client) ReadResource(ctx context.Context, uri string, opts ...CallOption) (*mcp.ReadResourceResult, error) {
	cl := newCall(mcp.MethodResourcesRead, opts)
	cl.name = uri
	cl.open = jsonrpc.AppendString([]byte(`{"uri":`), uri)
	if err := c.named(&cl, "URI"); err != nil {
		return nil, err
	}
	res := &mcp.ReadResourceResult{}
	if err := c.ask(ctx, &cl, res); err != nil {
		return nil, err
	}
	return res, nil
}
