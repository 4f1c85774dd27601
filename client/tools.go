package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/client/internal/catalog"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// CallTool calls a tool. args is an object: nil for none, JSON in a
// json.RawMessage or []byte, or any value that encodes to an object. CallTool
// sends nothing and fails if the arguments do not match the tool's schema or
// the server has no such tool. A result that does not match the tool's output
// schema is returned, with a warning; see [WithValidation].
//
// If the server turns the call into a task, CallTool follows it to its end,
// within the call's maximum time. For long tasks use [Client.StartTool].
//
// A result with IsError set is not an error: pass it to the model, or convert
// it with [Client.ToolError].
func (c *Client) CallTool(ctx context.Context, tool string, args any, opts ...CallOption) (*mcp.CallToolResult, error) {
	cl := newCall(mcp.MethodToolsCall, opts)
	cl.Tool = tool
	buf := paramBuffers.Get().(*[]byte)
	err := c.prepareTool(ctx, &cl, (*buf)[:0], args)
	var result json.RawMessage
	if err == nil {
		if runsTasks(c.core.Links.Agreed()) {
			c.obeyTaskSupport(ctx, &cl)
		}
		result, err = c.send(ctx, &cl)
	}
	// Transports keep params over 32 KiB; smaller ones were copied.
	if cap(cl.Params) <= run.MaxBuffer {
		*buf = cl.Params // may have grown
		paramBuffers.Put(buf)
	}
	if err != nil {
		return nil, err
	}
	return c.toolResult(ctx, &cl, cl.Link.Agreed, result)
}

// prepareTool encodes the arguments of a tool call into the memory of buf, and checks
// them and the tool.
func (c *Client) prepareTool(ctx context.Context, cl *call, buf []byte, args any) error {
	cl.Params = buf
	if err := link.CheckDeclared(c.core.Links.Agreed(), "tools"); err != nil {
		return c.core.About(cl.Subject(), err)
	}
	params, start, err := appendToolParams(buf, cl.Tool, args)
	cl.Params = params
	if err != nil {
		return c.core.About(cl.Subject(), errormap.From(err, mcperrors.NotSent))
	}
	cl.Name = cl.Tool
	var repaired json.RawMessage
	tools := cl.Tools(ctx, c.catalog())
	cl.Known, repaired, err = tools.CheckArguments(ctx, cl.Tool, params[start:], cl.opts.unverified)
	cl.Caller = tools.Caller()
	if repaired != nil {
		cl.Params = append(params[:start], repaired...)
	}
	if err != nil {
		return err
	}
	return c.checkPin(ctx, cl)
}

var paramBuffers = sync.Pool{New: func() any { return new([]byte) }}

// appendToolParams appends the params of tools/call but for the closing brace.
// The arguments begin at start; if that is the end, there are none.
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

// OutputError reports that a tool's result does not match the tool's output
// schema, if [Validation].Results is [ValidateStrict]. It is the cause of an error of
// kind protocol.
type OutputError struct {
	// Result is the complete result: the tool has run.
	Result *mcp.CallToolResult
	// Reason tells where and why it does not match, without the values.
	Reason string
}

func (e *OutputError) Error() string { return e.Reason }

// toolResult decodes the answer to tools/call and checks it against the tool's output
// schema.
func (c *Client) toolResult(ctx context.Context, cl *call, agreed *link.Agreement, raw json.RawMessage) (*mcp.CallToolResult, error) {
	res := &mcp.CallToolResult{}
	if err := mcp.Consume(raw, res); err != nil {
		return nil, c.core.Undecodable(cl.Subject(), err)
	}
	if cl.opts.unverified || cl.Known.Listed && cl.Known.Output == nil { // most tools
		return res, nil
	}
	tools := cl.Tools(ctx, c.catalog())
	misfit := tools.CheckResult(ctx, cl.Tool, cl.Known, agreed, res)
	switch {
	case misfit == nil:
		return res, nil
	case c.cfg.validation.Results != ValidateStrict:
		c.emit(OutputMismatch{Tool: cl.Tool, Reason: misfit.Error()})
		return res, nil
	}
	reason := "the result of " + jsonrpc.Printable(cl.Tool, 100) + " does not fit its output schema: " + misfit.Error()
	return nil, c.core.About(cl.Subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered, reason,
		&OutputError{Result: res, Reason: reason}))
}

// CallAs calls a tool and decodes its result into Out. It decodes the
// structured content if there is any, else the first text block as JSON. If
// Out is a string and the text is not JSON, it returns the text. If Out is
// *[mcp.CallToolResult], it returns the whole result.
//
// A result with IsError set is an error here. If a result cannot be decoded,
// CallAs checks the tool's definition. If that has changed, the error names it
// and the client emits [ToolDrift].
func CallAs[Out any](ctx context.Context, c Caller, tool string, in any, opts ...CallOption) (Out, error) {
	var out Out
	res, err := c.CallTool(ctx, tool, in, opts...)
	if err != nil {
		return out, err
	}
	if res.IsError {
		return out, toolErrorOf(c, tool, res)
	}
	if whole, ok := any(&out).(**mcp.CallToolResult); ok {
		*whole = res
		return out, nil
	}
	if res.StructuredContent != nil {
		err = jsonrpc.Unmarshal(res.StructuredContent, &out)
	} else {
		err = decodeText(res, &out)
	}
	if err != nil {
		e := mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
			"the tool's result cannot be decoded into the requested type: "+err.Error(), err)
		e.Method, e.Tool = mcp.MethodToolsCall, tool
		if own, ok := c.(*Client); ok {
			explainMisread(ctx, own, e)
		}
		return out, e
	}
	return out, nil
}

// explainMisread adds to the error of an undecodable result how the tool has changed since
// it was listed, if it has.
func explainMisread(ctx context.Context, c *Client, e *mcperrors.Error) {
	e.Server = c.core.Server
	tools := c.catalog().Ask(ctx, 0)
	if changed := tools.ChangesNow(ctx, e.Tool); len(changed) > 0 {
		e.Message += "; the tool has changed since it was listed: " + jsonrpc.Printable(strings.Join(changed, ", "), 100)
	}
}

// toolErrorOf returns the error of a result with IsError set. A fake of [Caller] may have
// no ToolError.
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

// ToolError returns the error that a tool reports by a result with IsError
// set, of kind [mcperrors.KindTool]. For any other result it returns nil.
func (c *Client) ToolError(tool string, res *mcp.CallToolResult) error {
	if res == nil || !res.IsError {
		return nil
	}
	return c.core.About(outcome.Subject{Method: mcp.MethodToolsCall, Tool: tool}, errormap.FromTool(res.Text(), res.StructuredContent, errormap.Options{
		Method: mcp.MethodToolsCall, Tool: tool, Profile: c.cfg.profile,
	}))
}

// Tools iterates over the server's tools, over all pages; see [CacheMode]. A
// fresh list comes from the cache. If a request fails, the last value is its
// error. A complete walk refreshes the schema cache that later calls are
// validated against.
func (c *Client) Tools(ctx context.Context, opts ...CallOption) iter.Seq2[mcp.Tool, error] {
	return func(yield func(mcp.Tool, error) bool) {
		o := collect(opts)
		who := c.lists().Ask(ctx, o.Wait.Max)
		tools := c.catalog().For(who)
		toolList.walk(ctx, c, opts, who, tools.Walk(!o.Manual && !o.private()).Page)(yield)
	}
}

// ListTools returns one page of tools; nil asks for the first. The caller may
// change the result.
func (c *Client) ListTools(ctx context.Context, cursor *string, opts ...CallOption) (*mcp.ListToolsResult, error) {
	cl := newCall(toolList.method, opts)
	res, _, err := toolList.page(ctx, c, &cl, cursor)
	if err != nil {
		return nil, err
	}
	whole := cursor == nil && res.NextCursor == nil
	tools := cl.Tools(ctx, c.catalog())
	tools.Walk(whole && !cl.Manual && !cl.opts.private()).Page(cursor, res)
	return res, nil
}

// AllTools returns all tools from the schema cache, which asks the server if
// the list is no longer fresh. Concurrent callers share one request. A server
// without tools has an empty list. The tools share memory with the cache and
// must not be changed; [Client.Tools] returns copies.
func (c *Client) AllTools(ctx context.Context) ([]mcp.Tool, error) {
	tools := c.catalog().Ask(ctx, 0)
	return tools.All(ctx)
}

// GetToolSchema returns a copy of a tool from the schema cache. The cache asks
// the server if the list is no longer fresh or lacks the name. If the server
// has no such tool, the error is E204.
func (c *Client) GetToolSchema(ctx context.Context, name string, opts ...CallOption) (*mcp.Tool, error) {
	if len(opts) == 0 {
		tools := c.catalog().Ask(ctx, 0)
		return tools.Get(ctx, name)
	}
	return c.toolWith(ctx, name, opts)
}

// toolWith is GetToolSchema with options. Members of _meta may change the list, so such a
// list is not cached, as with [CacheBypass].
func (c *Client) toolWith(ctx context.Context, name string, opts []CallOption) (*mcp.Tool, error) {
	o := collect(opts)
	if o.Manual || o.private() {
		return c.catalog().FindIn(name, c.Tools(ctx, opts...))
	}
	if o.cache == CacheRefresh {
		c.InvalidateTools()
	}
	tools := c.catalog().Ask(ctx, o.Wait.Max)
	tool, freshness, err := tools.Find(ctx, name, c.toolPages(opts...), o.Wait != jsonrpc.Wait{})
	o.addFreshness(freshness)
	return tool, err
}

// InvalidateTools makes the next use of the schema cache, and the next list of
// tools, ask the server.
func (c *Client) InvalidateTools() { c.lists().InvalidateTools() }

// toolPages returns a function that fetches the pages of the list of tools. The cache keeps
// the pages, so that [Client.ListTools] and [Client.Tools] return the same tools. Nobody
// changes them, so the schema cache shares memory with the pages.
func (c *Client) toolPages(opts ...CallOption) catalog.Page {
	opts = append(slices.Clone(opts), callOptionFunc(func(o *callOptions) { o.cache, o.shared = CacheRefresh, true }))
	return func(ctx context.Context, who *transport.Caller, cursor *string) (p catalog.PageResult, err error) {
		cl := newCall(toolList.method, opts)
		cl.Caller = who
		p.ListToolsResult, p.Size, err = toolList.page(ctx, c, &cl, cursor)
		p.Caller = cl.Caller
		return p, err
	}
}
