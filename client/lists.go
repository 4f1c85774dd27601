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

// walk follows the cursors of a list. A cursor that was seen before ends the
// walk with a warning, without the page it led to being repeated (UTIL-14). One
// that the server does not take any more begins the walk anew, once; what has
// been yielded is not again, told by its name (UTIL-15). An error is the last
// thing the walk yields.
func walk[T any](ctx context.Context, c *Client, method string, name func(T) string, fetch func(context.Context, *string) (page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		seen, yielded := map[string]bool{}, map[string]bool{}
		count, bytes := 0, 0
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
				yield(zero, err)
				return
			}
			bytes += p.bytes
			for _, item := range p.items {
				if count++; count > maxItems || bytes > maxBytes {
					yield(zero, c.endless(method))
					return
				}
				if again && yielded[name(item)] {
					continue
				}
				if !yield(item, nil) {
					return
				}
				if p.next != nil && !again {
					yielded[name(item)] = true
				}
			}
			if p.next == nil {
				return
			}
			if seen[*p.next] {
				c.log.Warn("[MCP] the server's list repeats a cursor; the walk ends here", "server", c.server, "method", method)
				return
			}
			seen[*p.next] = true
			cursor = p.next
		}
		yield(zero, c.endless(method))
	}
}

// badCursor reports the answer to a cursor that is not good any more. Cursors
// are opaque, so nothing else can be wrong with the parameters of a list.
func badCursor(err error) bool {
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeInvalidParams
}

func (c *Client) endless(method string) error {
	return c.local(mcperrors.New(mcperrors.E203, mcperrors.KindProtocol, mcperrors.Answered,
		"the server's list does not end", nil), method)
}

// fetchPage sends one list request, decodes the result into res and returns its
// size.
func (c *Client) fetchPage(ctx context.Context, method, capability string, cursor *string, res any, opts []CallOption) (size int, err error) {
	cl := newCall(method, opts)
	if err := c.require(&cl, capability); err != nil {
		return 0, err
	}
	if cursor != nil {
		cl.open = jsonrpc.AppendString([]byte(`{"cursor":`), *cursor)
	}
	return c.cachedCall(ctx, &cl, pageParam(cursor), res)
}

// require refuses a call that needs a capability the server did not declare,
// without traffic (LC-11).
func (c *Client) require(cl *call, capability string) error {
	if agreed := c.told(); !agreed.declared || agreed.capabilities.Has(capability) {
		return nil
	}
	return c.about(cl, mcperrors.New(mcperrors.E205, mcperrors.KindUnsupported, mcperrors.NotSent,
		"MCP server does not support "+capability+" capability", nil))
}
