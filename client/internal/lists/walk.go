package lists

import (
	"context"
	"errors"
	"iter"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Limits of one walk of a list: more than any server needs, and an end for a list that has none.
const (
	maxPages = 1_000
	maxItems = 100_000
	maxBytes = 64 << 20
)

// Page is one page of a list.
type Page[T any] struct {
	Items []T
	Next  *string // nil at the end; an empty string is a cursor
	Bytes int     // size of the page as received
}

// Fetch fetches the page at a cursor, nil for the first page.
type Fetch[T any] func(ctx context.Context, cursor *string) (Page[T], error)

// Pages follows the cursors of a list and calls visit with each page, until visit returns false.
// A repeated cursor ends the walk with a warning. If the server rejects a cursor, the walk starts
// over, once; restarted is true for the first page after that.
func Pages[T any](ctx context.Context, c *Cache, method string, fetch Fetch[T], visit func(p Page[T], restarted bool) bool) error {
	seen := map[string]bool{}
	count, bytes := 0, 0
	defer func() { c.Budget.Give(bytes) }() // released with the list
	again := false
	var cursor *string
	for range maxPages {
		p, err := fetch(ctx, cursor)
		switch {
		case err == nil:
		case cursor != nil && !again && rejectsCursor(err):
			again, cursor, seen = true, nil, map[string]bool{}
			continue
		default:
			return err
		}
		if !c.Budget.Take(p.Bytes) {
			return c.Local(mcperrors.New(mcperrors.CodeIncompatible, mcperrors.KindOverloaded, mcperrors.Answered,
				"the list does not fit into the client's memory limit; see WithServerLimits", nil), method)
		}
		count, bytes = count+len(p.Items), bytes+p.Bytes
		if bytes > maxBytes {
			return c.endless(method)
		}
		beyond := count > maxItems
		if beyond {
			p.Items = p.Items[:len(p.Items)-(count-maxItems)]
		}
		switch {
		case !visit(p, again && cursor == nil):
			return nil
		case beyond:
			return c.endless(method)
		case p.Next == nil:
			return nil
		case seen[*p.Next]:
			c.Log.Warn("[MCP] the server's list repeats a cursor; the rest of the list is not read", "server", c.Server, "method", method)
			return nil
		}
		seen[*p.Next] = true
		cursor = p.Next
	}
	return c.endless(method)
}

// Walk yields the items of a list. If the walk starts over, it does not yield items with the same
// name again. An error is the last value.
func Walk[T any](ctx context.Context, c *Cache, method string, name func(T) string, fetch Fetch[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		yielded := map[string]bool{}
		again, stopped := false, false
		err := Pages(ctx, c, method, fetch, func(p Page[T], restarted bool) bool {
			again = again || restarted
			for _, item := range p.Items {
				if again && yielded[name(item)] {
					continue
				}
				if stopped = !yield(item, nil); stopped {
					return false
				}
				if p.Next != nil && !again {
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

// rejectsCursor reports whether the server no longer knows a cursor. Cursors are opaque, and no
// other parameter of a list can be wrong.
func rejectsCursor(err error) bool {
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeInvalidParams
}

func (c *Cache) endless(method string) error {
	return c.Local(mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
		"the server's list does not end: it has too many pages, items or bytes", nil), method)
}
