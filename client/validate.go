package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// Validation says what happens to arguments that do not fit a tool's schema.
type Validation uint8

const (
	// ValidateOff sends every argument as it is.
	ValidateOff Validation = iota
	// ValidateWarn logs what does not fit and sends it.
	ValidateWarn
	// ValidateStrict refuses what does not fit a schema that compiled; a
	// schema that does not compile is logged and judges nothing.
	ValidateStrict
)

// checkArguments judges arguments before they are sent (decisions 11). Nobody is
// refused by a list that may be out of date: what does not fit is judged again by
// what the server lists now. Where that cannot be had, the server judges.
func (c *Client) checkArguments(ctx context.Context, cl *call, args json.RawMessage) error {
	known, fresh, ok := c.cache().Lookup(c.cacheKey(ctx), cl.tool)
	if c.cfg.validation == ValidateOff || cl.opts.unverified {
		c.renewBeside(ctx, ok && !fresh)
		return nil
	}
	confirmed := false
	if !ok {
		// A name that the list does not have is looked up once more.
		if !c.cfg.preload {
			return nil
		}
		tool, err := c.confirm(ctx, cl.tool)
		if err != nil || tool == nil {
			return err
		}
		known, confirmed = tool, true
	}
	cl.knows(known) // an old schema is good enough to let arguments pass (HDR-09)
	misfit := c.misfit(cl, known.InputSchema, args)
	if misfit == nil {
		c.renewBeside(ctx, !confirmed && !fresh)
	} else if !confirmed {
		tool, err := c.confirm(ctx, cl.tool)
		if err != nil || tool == nil {
			return err
		}
		cl.knows(tool)
		misfit = c.misfit(cl, tool.InputSchema, args)
	}
	if err := misfit; err != nil {
		if c.cfg.validation == ValidateWarn {
			c.log.Warn("[MCP] arguments do not fit the tool's schema", "server", c.server, "tool", cl.tool, "error", err)
			return nil
		}
		return c.about(cl.subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			fmt.Sprintf("the arguments do not fit %s: %s", jsonrpc.Printable(cl.tool, 100), err), err))
	}
	return nil
}

// renewBeside has the list of tools fetched again where its time is over. The call
// that found out does not wait for it (AC-004.3).
func (c *Client) renewBeside(ctx context.Context, over bool) {
	if over && c.cfg.preload {
		c.cache().Renew(ctx, c.cacheKey(ctx), c.fetchBeside)
	}
}

// confirm returns the tool of a call as the server lists it now, asked for at
// most once in ten seconds. It is nil when that cannot be had, which is no reason
// to refuse the call. The error is that the server has no such tool or one that
// cannot be used, or that the caller waits no longer.
func (c *Client) confirm(ctx context.Context, name string) (*mcp.Tool, error) {
	if c.isClosed() {
		return nil, c.local(errClosed(), mcp.MethodToolsList)
	}
	tool, err := c.cache().Confirm(ctx, c.cacheKey(ctx), name, c.fetcher())
	var refused *toolcache.RefusedToolError
	switch {
	case err == nil:
		return tool, nil
	case ctx.Err() != nil, c.isClosed(), errors.Is(err, toolcache.ErrUnknownTool), errors.As(err, &refused):
		return nil, c.cacheError(err, name)
	}
	return nil, nil //nolint:nilnil // nothing is known, and nothing is wrong with the call
}

// misfit says why arguments do not fit a schema, nil when they do, or when the
// schema cannot judge, or when the call has repaired ones that do.
func (c *Client) misfit(cl *call, schema, args json.RawMessage) error {
	if schema == nil {
		return nil
	}
	compiled, first := c.catalog.get().Arguments.Get(cl.tool, schema)
	if err := compiled.Err(); err != nil {
		if first {
			c.log.Warn("[MCP] the tool's input schema cannot be used to check arguments", "server", c.server,
				"tool", cl.tool, "error", err)
		}
		return nil
	}
	verdict := compiled.Judge(args)
	if verdict == nil {
		return nil
	}
	if c.cfg.nulls {
		if cl.repaired = compiled.WithoutNulls(args); cl.repaired != nil {
			return nil
		}
	}
	return errors.New(compiled.ExplainArguments(cl.tool, args, verdict))
}
