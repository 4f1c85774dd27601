package catalog

import (
	"context"
	"slices"

	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// Headers are the arguments of one call that HTTP headers repeat.
type Headers struct {
	Params []transport.Param
	schema *Mirror // schema of the tool, nil for none
}

// Headers finds the arguments that headers repeat, with the last known schema, however old.
// params are those of the call; the closing brace may be missing. unlisted is set if the tool was
// never listed: then call [View.FindHeaders], which asks the server. It is set once per tool.
func (c *View) Headers(name string, params []byte) (h Headers, unlisted bool, err error) {
	schema, listed := c.headerSchema(name)
	if !listed {
		schema, listed = c.headers.Shown(name)
	}
	if !listed {
		agreed := c.Lists.Links.Agreed()
		return Headers{}, agreed.Declared && agreed.Capabilities.Has("tools") && !c.headers.Unlisted(name), nil
	}
	h, err = c.headersBy(schema, name, params)
	return h, false, err
}

// FindHeaders is [View.Headers] after asking the server for the tool. If the tool is not found,
// the call is sent without headers.
func (c *View) FindHeaders(ctx context.Context, name string, params []byte) (Headers, error) {
	tool, err := c.Lists.Kept.Confirm(ctx, c.Lists.Key(c.who), name, c.fetcher())
	if err != nil {
		return Headers{}, nil //nolint:nilerr // the server decides
	}
	schema, _ := c.headers.Get(name, tool.InputSchema)
	return c.headersBy(schema, name, params)
}

// RenewHeaders lists the tools again after the server rejected the headers of a call, unless
// another call has done so. changed reports whether the headers of the call changed: the same
// headers would be rejected again.
func (c *View) RenewHeaders(ctx context.Context, name string, params []byte, refused Headers) (h Headers, changed bool) {
	if schema, listed := c.headerSchema(name); !listed || schema == refused.schema {
		key := c.Lists.Key(c.who)
		c.Lists.Kept.Invalidate(key)
		if err := c.Lists.Kept.Refresh(ctx, key, c.fetcher()); err != nil {
			return refused, false // the server's error about the call is more useful
		}
	}
	h, _, err := c.Headers(name, params)
	if err != nil {
		return refused, false
	}
	return h, !slices.Equal(h.Params, refused.Params)
}

func (c *View) headerSchema(name string) (schema *Mirror, listed bool) {
	tool, _, ok := c.Lists.Kept.Lookup(c.Lists.Key(c.who), name)
	if !ok {
		return nil, false
	}
	schema, _ = c.headers.Get(name, tool.InputSchema)
	return schema, true
}

func (c *Catalog) headersBy(schema *Mirror, name string, params []byte) (Headers, error) {
	repeated, err := schema.Params(doc.Find(params, "arguments"))
	if err != nil {
		return Headers{}, c.aboutTool(name, mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, err.Error(), err))
	}
	return Headers{repeated, schema}, nil
}
