package client

import (
	"context"
	"iter"

	"github.com/mainstay-mcp/mainstay/client/internal/lists"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// list is one list of a server: its pages are results R, its items T.
type list[R, T any] struct {
	method string
	items  func(*R) (items []T, next *string)
	name   func(T) string // tells items apart
}

var (
	toolList = list[mcp.ListToolsResult, mcp.Tool]{
		mcp.MethodToolsList,
		func(r *mcp.ListToolsResult) ([]mcp.Tool, *string) { return r.Tools, r.NextCursor },
		func(t mcp.Tool) string { return t.Name },
	}
	promptList = list[mcp.ListPromptsResult, mcp.Prompt]{
		mcp.MethodPromptsList,
		func(r *mcp.ListPromptsResult) ([]mcp.Prompt, *string) { return r.Prompts, r.NextCursor },
		func(p mcp.Prompt) string { return p.Name },
	}
	resourceList = list[mcp.ListResourcesResult, mcp.Resource]{
		mcp.MethodResourcesList,
		func(r *mcp.ListResourcesResult) ([]mcp.Resource, *string) { return r.Resources, r.NextCursor },
		func(r mcp.Resource) string { return r.URI },
	}
	templateList = list[mcp.ListResourceTemplatesResult, mcp.ResourceTemplate]{
		mcp.MethodResourceTemplatesList,
		func(r *mcp.ListResourceTemplatesResult) ([]mcp.ResourceTemplate, *string) {
			return r.ResourceTemplates, r.NextCursor
		},
		func(t mcp.ResourceTemplate) string { return t.URITemplate },
	}
	taskList = list[mcp.ListTasksResult, mcp.Task]{
		mcp.MethodTasksList,
		func(r *mcp.ListTasksResult) ([]mcp.Task, *string) { return r.Tasks, r.NextCursor },
		func(t mcp.Task) string { return t.TaskID },
	}
)

// page requests one page, nil for the first, and returns it with its size in bytes.
func (l *list[R, T]) page(ctx context.Context, c *Client, cl *call, cursor *string) (res *R, size int, err error) {
	if err := c.gate(cl.Subject()); err != nil {
		return nil, 0, err
	}
	if cursor != nil {
		cl.Params = jsonrpc.AppendString([]byte(`{"cursor":`), *cursor)
	}
	res = new(R)
	if size, err = c.cachedCall(ctx, cl, lists.PageParam(cursor), res); err != nil {
		return nil, 0, err
	}
	return res, size, nil
}

// one returns one page, nil for the first.
func (l *list[R, T]) one(ctx context.Context, c *Client, cursor *string, opts []CallOption) (*R, error) {
	cl := newCall(l.method, opts)
	res, _, err := l.page(ctx, c, &cl, cursor)
	return res, err
}

// walk iterates over all pages. who is the caller of the first page; nil asks HeaderFunc and
// the Authorizer. Each later page is a separate call. seen, unless it is nil, gets each page
// first and returns its items.
func (l *list[R, T]) walk(ctx context.Context, c *Client, opts []CallOption, who *transport.Caller, seen func(cursor *string, res *R) []T) iter.Seq2[T, error] {
	return lists.Walk(ctx, c.lists(), l.method, l.name, func(ctx context.Context, cursor *string) (lists.Page[T], error) {
		cl := newCall(l.method, opts)
		cl.Caller, who = who, nil
		res, size, err := l.page(ctx, c, &cl, cursor)
		if err != nil {
			return lists.Page[T]{}, err
		}
		p := lists.Page[T]{Bytes: size}
		if p.Items, p.Next = l.items(res); seen != nil {
			p.Items = seen(cursor, res)
		}
		return p, nil
	})
}
