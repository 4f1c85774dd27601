package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/catalog"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// CallTool calls a tool. args is an object: nil to leave it out, JSON in a
// json.RawMessage or []byte as it is, or anything that encodes to one. Arguments that do
// not fit the tool's schema, and names the server does not have, are refused
// before anything is sent; see [WithValidation].
//
// A call that the server turns into a task is driven to the task's end, within
// the call's maximum time; see [Client.StartTool] for long ones.
//
// A result with IsError set is a result: give it to the model, or turn it into
// an error with [Client.ToolError].
func (c *Client) CallTool(ctx context.Context, tool string, args any, opts ...CallOption) (*mcp.CallToolResult, error) {
	cl := newCall(mcp.MethodToolsCall, opts)
	cl.tool = tool
	if err := c.require(cl.subject(), "tools"); err != nil {
		return nil, err
	}
	buf := paramBuffers.Get().(*[]byte)
	params, start, err := appendToolParams((*buf)[:0], tool, args)
	if err == nil {
		cl.open, cl.name = params, tool
		err = c.checkArguments(ctx, &cl, params[start:])
		if cl.repaired != nil {
			params = append(params[:start], cl.repaired...)
			cl.open = params
		}
		if err == nil && c.cfg.pins != nil {
			err = c.checkPin(ctx, &cl)
		}
		if runsTasks(c.live.Agreed()) {
			c.obeyTaskSupport(ctx, &cl)
		}
	} else {
		err = c.about(cl.subject(), errormap.From(err, mcperrors.NotSent))
	}
	var result json.RawMessage
	if err == nil {
		result, err = c.send(ctx, &cl)
		params = cl.open // may have grown
	}
	// Transports keep params over 32 KiB; smaller ones were copied.
	if cap(params) <= maxParamBuffer {
		*buf = params
		paramBuffers.Put(buf)
	}
	if err != nil {
		return nil, err
	}
	return c.toolResult(ctx, &cl, cl.link.Agreed, result)
}

// maxParamBuffer is the size up to which a params buffer may be used again.
const maxParamBuffer = 32 << 10

var paramBuffers = sync.Pool{New: func() any { return new([]byte) }}

// appendToolParams appends the params of tools/call but for the closing brace.
// The arguments stand from start on; there are none when that is the end.
func appendToolParams(dst []byte, tool string, args any) (params []byte, start int, err error) {
	dst = append(dst, `{"name":`...)
	dst = jsonrpc.AppendString(dst, tool)
	const member = `,"arguments":`
	named := len(dst)
	dst = append(dst, member...)
	start = len(dst)
	if dst, err = appendObject(dst, "arguments", args); err != nil {
		return dst, start, err
	}
	if len(dst) == start {
		return dst[:named], named, nil
	}
	return dst, start, nil
}

// CallAs calls a tool and decodes what it returns: the structured content,
// else the first text block read as JSON, else that text itself when Out is a
// string. A result with IsError set is an error here. One that cannot be decoded
// has the tool looked at again: a definition that has changed is named in the error
// and emitted as [ToolDrift].
func CallAs[Out any](ctx context.Context, c Caller, tool string, in any, opts ...CallOption) (Out, error) {
	var out Out
	res, err := c.CallTool(ctx, tool, in, opts...)
	if err != nil {
		return out, err
	}
	if res.IsError {
		return out, toolErrorOf(c, tool, res)
	}
	if res.StructuredContent != nil {
		err = jsonrpc.Unmarshal(res.StructuredContent, &out)
	} else {
		err = decodeText(res, &out)
	}
	if err != nil {
		e := mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
			"the tool's result cannot be decoded into the type asked for: "+err.Error(), err)
		e.Method, e.Tool = mcp.MethodToolsCall, tool
		if own, ok := c.(*Client); ok {
			own.explainMisread(ctx, e)
		}
		return out, e
	}
	return out, nil
}

// explainMisread adds to the error of a result that could not be decoded that the
// tool is not the one that was listed, where it is not.
func (c *Client) explainMisread(ctx context.Context, e *mcperrors.Error) {
	e.Server = c.server
	listed, _, ok := c.cache().Lookup(c.cacheKey(ctx), e.Tool)
	tool, err := c.confirm(ctx, e.Tool)
	if !ok || err != nil || tool == nil {
		return // the error says what is known
	}
	if changed := catalog.Changes(listed, tool); len(changed) > 0 {
		e.Message += "; the tool has changed since it was listed: " + jsonrpc.Printable(strings.Join(changed, ", "), 100)
	}
}

// toolErrorOf is the error of a result with IsError set. Fakes need not know how
// to make one.
func toolErrorOf(c Caller, tool string, res *mcp.CallToolResult) error {
	if own, ok := c.(interface {
		ToolError(tool string, res *mcp.CallToolResult) error
	}); ok {
		return own.ToolError(tool, res)
	}
	return errormap.FromTool(res.Text(), res.StructuredContent, errormap.Options{Method: mcp.MethodToolsCall, Tool: tool})
}

var errNoText = errors.New("it has neither structured content nor text")

func decodeText(res *mcp.CallToolResult, out any) error {
	for _, block := range res.Content {
		text, ok := block.(*mcp.TextContent)
		if !ok {
			continue
		}
		err := jsonrpc.Unmarshal([]byte(text.Text), out)
		if s, isString := out.(*string); err != nil && isString {
			*s = text.Text
			return nil
		}
		return err
	}
	return errNoText
}

// ToolError returns the error that a tool's result with IsError set reports,
// nil for any other result. Its kind is [mcperrors.KindTool].
func (c *Client) ToolError(tool string, res *mcp.CallToolResult) error {
	if res == nil || !res.IsError {
		return nil
	}
	return c.about(subject{method: mcp.MethodToolsCall, tool: tool}, c.toolError(tool, res))
}

func (c *Client) toolError(tool string, res *mcp.CallToolResult) *mcperrors.Error {
	return errormap.FromTool(res.Text(), res.StructuredContent, errormap.Options{
		Method: mcp.MethodToolsCall, Tool: tool, Profile: c.cfg.profile,
	})
}

// Tools walks the server's tools over all pages; see [CacheMode]. An error is
// the last value. A list that is fresh is not asked for again. A complete walk
// refreshes the schemas that later calls are checked against.
func (c *Client) Tools(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.Tool, error] {
	observe := c.observeTools(ctx)
	return func(yield func(mcp.Tool, error) bool) {
		lesson := c.lesson(ctx, opts)
		walk(ctx, c, mcp.MethodToolsList, func(t mcp.Tool) string { return t.Name }, func(ctx context.Context, cursor *string) (page[mcp.Tool], error) {
			p, _, err := c.toolPage(ctx, cursor, observe, opts)
			if err == nil {
				lesson.page(cursor, p.items, p.next)
			}
			return p, err
		})(yield)
	}
}

// toolPage fetches one page of a list of tools and has its tools observed, unless
// observe is nil.
func (c *Client) toolPage(ctx context.Context, cursor *string, observe func([]mcp.Tool), opts []CallOption) (page[mcp.Tool], *mcp.ListToolsResult, error) {
	res := &mcp.ListToolsResult{}
	size, err := c.fetchPage(ctx, mcp.MethodToolsList, "tools", cursor, res, opts)
	if observe != nil {
		observe(res.Tools)
	}
	return page[mcp.Tool]{c.withoutMisannotated(res.Tools), res.NextCursor, size}, res, err
}

// ListTools returns one page, which is the caller's; nil asks for the first.
func (c *Client) ListTools(ctx context.Context, cursor *string, opts ...CallOption) (*mcp.ListToolsResult, error) {
	res := &mcp.ListToolsResult{}
	if _, err := c.fetchPage(ctx, mcp.MethodToolsList, "tools", cursor, res, opts); err != nil {
		return nil, err
	}
	if observe := c.observeTools(ctx); observe != nil {
		observe(res.Tools)
	}
	res.Tools = c.withoutMisannotated(res.Tools)
	if cursor == nil && res.NextCursor == nil {
		c.lesson(ctx, opts).page(nil, res.Tools, nil)
	}
	return res, nil
}

// AllTools returns the whole list of tools from the schema cache, which asks the
// server when the list is no longer fresh; concurrent callers share one request. A
// server without tools has an empty list. What the tools point to is the cache's
// and must not be changed. [Client.Tools] returns copies.
func (c *Client) AllTools(ctx context.Context) ([]mcp.Tool, error) {
	if c.isClosed() {
		return nil, c.local(errClosed(), mcp.MethodToolsList)
	}
	if agreed := c.live.Agreed(); agreed.Declared && !agreed.Capabilities.Has("tools") {
		return nil, nil
	}
	tools, err := c.cache().List(ctx, c.cacheKey(ctx), c.fetcher())
	if err != nil {
		return nil, c.cacheError(err, "")
	}
	return tools, nil
}

// GetToolSchema returns a tool from the schema cache, which asks the server
// when the list is no longer fresh or does not have the name. A name
// the server does not have is E204. The tool is a copy, and the caller's.
func (c *Client) GetToolSchema(ctx context.Context, name string, opts ...CallOption) (*mcp.Tool, error) {
	if c.isClosed() {
		return nil, c.local(errClosed(), mcp.MethodToolsList)
	}
	if len(opts) > 0 {
		tool, err := c.toolSchema(ctx, name, opts)
		return tool.Clone(), err
	}
	tool, err := c.cache().Get(ctx, c.cacheKey(ctx), name, c.fetcher())
	if err != nil {
		return nil, c.cacheError(err, name)
	}
	return tool.Clone(), nil
}

// cachedTool is GetToolSchema for the client itself, which changes nothing: what
// the tool points to is the cache's.
func (c *Client) cachedTool(ctx context.Context, name string) (*mcp.Tool, error) {
	if c.isClosed() {
		return nil, c.local(errClosed(), mcp.MethodToolsList)
	}
	tool, err := c.cache().Get(ctx, c.cacheKey(ctx), name, c.fetcher())
	if err != nil {
		return nil, c.cacheError(err, name)
	}
	return tool, nil
}

// toolSchema is GetToolSchema with options. What the caller says in _meta may
// change the list: such a list is the caller's alone, as with [CacheBypass].
func (c *Client) toolSchema(ctx context.Context, name string, opts []CallOption) (*mcp.Tool, error) {
	o := collect(opts)
	if o.cache == CacheBypass || o.meta != nil || o.input != nil || o.manualInput {
		for tool, err := range c.Tools(ctx, opts...) {
			if err != nil {
				return nil, err
			}
			if tool.Name == name {
				return &tool, nil
			}
		}
		return nil, c.cacheError(&toolcache.UnknownToolError{Name: name}, name)
	}
	if o.cache == CacheRefresh {
		c.InvalidateTools()
	}
	tool, freshness, err := c.cache().Find(ctx, c.cacheKey(ctx), name, func(ctx context.Context) (toolcache.Listing, error) {
		tools, err := c.fetchToolsWith(ctx, opts)
		if err != nil && o.timesSet { // with this caller's times: others fetch for themselves
			err = fmt.Errorf("%w: %w", toolcache.ErrFetcherGone, err)
		}
		return tools, err
	})
	o.addFreshness(freshness)
	if err != nil {
		return nil, c.cacheError(err, name)
	}
	return tool, nil
}

// InvalidateTools makes the next use of the schema cache, and the next list of
// tools, ask the server.
func (c *Client) InvalidateTools() {
	for _, key := range c.cacheKeys() {
		c.cache().Invalidate(key)
		c.cache().Forget(key, mcp.MethodToolsList)
	}
}

// pageTimeout bounds one page that is fetched for everybody, whose own patience
// does not count (resilience.md §3.10).
const pageTimeout = 10 * time.Second

// fetchTools is what the schema cache fetches with.
func (c *Client) fetchTools(ctx context.Context) (toolcache.Listing, error) {
	return c.fetchToolsWith(ctx, nil)
}

// fetchBeside is fetchTools for what nobody waits for.
func (c *Client) fetchBeside(ctx context.Context) (toolcache.Listing, error) {
	list, err := c.fetchTools(ctx)
	if err != nil && !c.isClosed() {
		c.listFailed(err)
	}
	return list, err
}

// fetchToolsWith walks the whole list as the server has it now. Its pages are
// kept for [Client.ListTools] and [Client.Tools], so that these say the same. A
// list that begins anew is a new one: nothing of the first attempt is in it. It
// is public when every page is.
func (c *Client) fetchToolsWith(ctx context.Context, opts []CallOption) (toolcache.Listing, error) {
	var list toolcache.Listing
	var fresh freshness
	var seen map[string]bool
	var res *mcp.ListToolsResult
	// The cache's tools are not changed by anybody, so what they share with the
	// pages that are kept need not be there twice.
	shared := callOptionFunc(func(o *callOptions) { o.cache, o.shared = CacheRefresh, true })
	ownTimes := collect(opts).timesSet
	opts = append(slices.Clone(opts), shared)
	observe := c.observeTools(ctx)
	fetch := func(ctx context.Context, cursor *string) (p page[mcp.Tool], err error) {
		if !ownTimes {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, pageTimeout)
			defer cancel()
		}
		p, res, err = c.toolPage(ctx, cursor, observe, opts)
		return p, err
	}
	err := pages(ctx, c, mcp.MethodToolsList, fetch, func(p page[mcp.Tool], anew bool) bool {
		if seen == nil || anew {
			seen, fresh = make(map[string]bool, len(p.items)), freshness{}
			// Most lists are one page, whose memory can hold the list too: a tool
			// is put where it stood, or before that, after it was read there.
			list = toolcache.Listing{Tools: p.items[:0], Public: true}
		}
		if c.live.Agreed().Era == mcp.EraStateless {
			fresh.note(res.TTLMs)
		}
		list.Public = list.Public && res.CacheScope == mcp.CachePublic
		for _, tool := range p.items {
			if seen[tool.Name] { // the cache keeps the first (TOOL-02)
				c.log.Warn("[MCP] the server lists a tool twice; the first counts", "server", c.server,
					"tool", jsonrpc.Printable(tool.Name, 100))
			}
			seen[tool.Name] = true
			list.Tools = append(list.Tools, tool)
		}
		return true
	})
	if err != nil {
		return toolcache.Listing{}, marked(err)
	}
	list.TTL = fresh.left()
	return list, nil
}

// cacheError makes the client's error of the cache's.
func (c *Client) cacheError(err error, tool string) error {
	var already *mcperrors.Error
	var refused *toolcache.RefusedToolError
	switch {
	case errors.As(err, &already):
		own := *already // others may have been given the same
		return &own
	case errors.As(err, &refused):
		return c.about(subject{method: mcp.MethodToolsCall, tool: tool}, mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.NotSent,
			fmt.Sprintf("tool %s cannot be used: its schemas have %d bytes, and %d is the limit",
				jsonrpc.Printable(tool, 100), refused.Bytes, refused.Limit), err))
	case errors.Is(err, toolcache.ErrUnknownTool):
		return c.about(subject{method: mcp.MethodToolsCall, tool: tool}, mcperrors.New(mcperrors.CodeToolNotFound, mcperrors.KindNotFound, mcperrors.NotSent, err.Error(), err))
	}
	return c.local(err, mcp.MethodToolsList)
}
