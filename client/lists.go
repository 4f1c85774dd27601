package client

import (
	"context"
	"errors"
	"iter"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Bounds on one walk of a list (resilience.md 3.10): what a server needs at
// most, and an end for one that never stops.
const (
	maxPages = 1_000
	maxItems = 100_000
	maxBytes = 64 << 20
)

// page is one page of a list.
type page[T any] struct {
	items []T
	next  *string // nil at the end; an empty string is a cursor (UTIL-13)
	bytes int     // of the page as it came
}

// pages follows the cursors of a list and hands each page to visit, until that
// says no. A cursor that was seen before ends the list with a warning, without
// the page it led to being repeated (UTIL-14). One that the server does not take
// any more begins the list anew, once; anew says that this is the first page
// after that (UTIL-15).
func pages[T any](ctx context.Context, c *Client, method string, fetch func(context.Context, *string) (page[T], error), visit func(p page[T], anew bool) bool) error {
	seen := map[string]bool{}
	count, bytes := 0, 0
	defer func() { c.budget.Give(bytes) }() // with the list
	again := false
	var cursor *string
	for range maxPages {
		p, err := fetch(ctx, cursor)
		switch {
		case err == nil:
		case cursor != nil && !again && badCursor(err):
			again, cursor, seen = true, nil, map[string]bool{}
			continue
		default:
			return err
		}
		if !c.budget.Take(p.bytes) {
			return c.local(mcperrors.New(mcperrors.CodeIncompatible, mcperrors.KindOverloaded, mcperrors.Answered,
				"there is no room for the list beside what else the server makes this client hold; see WithMemoryLimit", nil), method)
		}
		count, bytes = count+len(p.items), bytes+p.bytes
		if bytes > maxBytes {
			return c.endless(method)
		}
		beyond := count > maxItems
		if beyond {
			p.items = p.items[:len(p.items)-(count-maxItems)]
		}
		switch {
		case !visit(p, again && cursor == nil):
			return nil
		case beyond:
			return c.endless(method)
		case p.next == nil:
			return nil
		case seen[*p.next]:
			c.log.Warn("[MCP] the server's list repeats a cursor; the walk ends here", "server", c.server, "method", method)
			return nil
		}
		seen[*p.next] = true
		cursor = p.next
	}
	return c.endless(method)
}

// walk yields the items of a list. What has been yielded when the list begins
// anew is not again, told by its name. An error is the last thing it yields.
func walk[T any](ctx context.Context, c *Client, method string, name func(T) string, fetch func(context.Context, *string) (page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		yielded := map[string]bool{}
		again, stopped := false, false
		err := pages(ctx, c, method, fetch, func(p page[T], anew bool) bool {
			again = again || anew
			for _, item := range p.items {
				if again && yielded[name(item)] {
					continue
				}
				if stopped = !yield(item, nil); stopped {
					return false
				}
				if p.next != nil && !again {
					yielded[name(item)] = true
				}
			}
			return true
		})
		if err != nil && !stopped {
			var zero T
			yield(zero, err)
		}
	}
}

// badCursor reports the answer to a cursor that is not good any more. Cursors
// are opaque, so nothing else can be wrong with the parameters of a list.
func badCursor(err error) bool {
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeInvalidParams
}

func (c *Client) endless(method string) error {
	return c.local(mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
		"the server's list does not end", nil), method)
}

// fetchPage sends one list request, decodes the result into res and returns its
// size.
func (c *Client) fetchPage(ctx context.Context, method, capability string, cursor *string, res any, opts []CallOption) (size int, err error) {
	cl := newCall(method, opts)
	if err := c.require(cl.subject(), capability); err != nil {
		return 0, err
	}
	if cursor != nil {
		cl.open = jsonrpc.AppendString([]byte(`{"cursor":`), *cursor)
	}
	return c.cachedCall(ctx, &cl, pageParam(cursor), res)
}

// require refuses a call that needs a capability the server did not declare,
// without traffic (LC-11).
func (c *Client) require(s subject, capability string) error {
	if agreed := c.live.Agreed(); !agreed.Declared || agreed.Capabilities.Has(capability) {
		return nil
	}
	return c.about(s, mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent,
		"MCP server does not support "+capability+" capability", nil))
}
