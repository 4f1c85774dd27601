package catalog

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/lists"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// Last returns a tool from the last list, however old. It does no I/O.
func (c *View) Last(name string) Known {
	tool, _, ok := c.Lists.Kept.Lookup(c.Lists.Key(c.who), name)
	if !ok {
		return Known{}
	}
	return knownOf(tool)
}

// Current is [View.Get] without a copy.
func (c *View) Current(ctx context.Context, name string) (Known, error) {
	if err := c.closed(); err != nil {
		return Known{}, err
	}
	tool, err := c.Lists.Kept.Get(ctx, c.Lists.Key(c.who), name, c.fetcher())
	if err != nil {
		return Known{}, c.errorOf(err, name)
	}
	return knownOf(tool), nil
}

// Get returns a copy of a tool. It asks the server if the list is not fresh or does
// not have the name.
func (c *View) Get(ctx context.Context, name string) (*mcp.Tool, error) {
	if err := c.closed(); err != nil {
		return nil, err
	}
	tool, err := c.Lists.Kept.Get(ctx, c.Lists.Key(c.who), name, c.fetcher())
	if err != nil {
		return nil, c.errorOf(err, name)
	}
	return tool.Clone(), nil
}

// Find is [View.Get] with the caller's own pages, and returns how fresh the list is. ownTimes is
// set if the pages have their own timeouts: others that wait for the list do not fail with them.
func (c *View) Find(ctx context.Context, name string, page Page, ownTimes bool) (*mcp.Tool, toolcache.Freshness, error) {
	if err := c.closed(); err != nil {
		return nil, toolcache.Freshness{}, err
	}
	own := c.fetching()
	tool, freshness, err := c.Lists.Kept.Find(ctx, c.Lists.Key(c.who), name, func(ctx context.Context) (cache.Listing, error) {
		if !ownTimes {
			return own.list(ctx, withinTimeout(page))
		}
		list, err := own.list(ctx, page)
		if err != nil {
			err = lists.OnlyCaller(err)
		}
		return list, err
	})
	if err != nil {
		return nil, freshness, c.errorOf(err, name)
	}
	return tool.Clone(), freshness, nil
}

// All returns the list of tools. The cache owns what the tools point to. The list of a server
// without tools is empty.
func (c *View) All(ctx context.Context) ([]mcp.Tool, error) {
	if err := c.closed(); err != nil {
		return nil, err
	}
	if agreed := c.Lists.Links.Agreed(); agreed.Declared && !agreed.Capabilities.Has("tools") {
		return nil, nil
	}
	tools, err := c.Lists.Kept.List(ctx, c.Lists.Key(c.who), c.fetcher())
	if err != nil {
		return nil, c.errorOf(err, "")
	}
	return tools, nil
}

// Annotations returns the annotations of a tool from the last list, nil for none.
func (c *View) Annotations(name string) *mcp.ToolAnnotations {
	tool, _, ok := c.Lists.Kept.Lookup(c.Lists.Key(c.who), name)
	if !ok {
		return nil
	}
	return tool.Annotations
}

// ChangesNow asks the server for a tool and returns the names of the members that have changed
// since it was listed, none if that is not known.
func (c *View) ChangesNow(ctx context.Context, name string) []string {
	last, _, ok := c.Lists.Kept.Lookup(c.Lists.Key(c.who), name)
	now, err := c.confirm(ctx, name)
	if !ok || err != nil || now == nil {
		return nil
	}
	return Changes(last, now)
}

// FindIn looks for a tool in a list for one caller only; each iteration asks the server. If the
// tools changed during the walk, a missing name may be the change: the list is fetched once more.
func (c *Catalog) FindIn(name string, list iter.Seq2[mcp.Tool, error]) (*mcp.Tool, error) {
	for again := false; ; again = true {
		changes := c.Lists.ToolChanges()
		for tool, err := range list {
			if err != nil {
				return nil, err
			}
			if tool.Name == name {
				return &tool, nil
			}
		}
		if again || c.Lists.ToolChanges() == changes {
			return nil, c.errorOf(&cache.UnknownToolError{Name: name}, name)
		}
	}
}

// Preload fetches the list. If the server cannot list its tools now, that is no error: callers
// that need the list ask again. It returns an error if the caller gives up.
func (c *View) Preload(ctx context.Context) error {
	err := c.Lists.Kept.Refresh(ctx, c.Lists.Key(c.who), c.fetcher())
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return c.errorOf(err, "")
	}
	c.listFailed(err)
	return nil
}

// listFailed reports a failed fetch that no caller waits for.
func (c *Catalog) listFailed(err error) {
	err = c.errorOf(err, "")
	c.Lists.Log.Warn("[MCP] the tools of the server could not be listed", "server", c.Lists.Server, "error", err)
	c.Emit(event.ListFailed{Method: mcp.MethodToolsList, Reason: err})
}

// doubtInterval is the minimum time between two calls of Doubt with an effect: models invent
// names frequently.
const doubtInterval = 10 * time.Second

// Doubt makes the list stale after a server reported that a listed tool does not exist, at most
// once in ten seconds.
func (c *Catalog) Doubt() {
	now, last := time.Now(), c.doubted.Load()
	if (last == nil || now.Sub(*last) >= doubtInterval) && c.doubted.CompareAndSwap(last, &now) {
		c.Lists.InvalidateTools()
	}
}

// renew fetches an expired list in the background, while the call uses the old one.
func (c *View) renew(ctx context.Context) {
	if c.Eager {
		own := c.fetching()
		c.Lists.Kept.Renew(ctx, c.Lists.Key(c.who), own.fetchInBackground)
	}
}

func (c *View) fetchInBackground(ctx context.Context) (cache.Listing, error) {
	list, err := c.fetchList(ctx)
	if err != nil && !c.Life.Closed() {
		c.listFailed(err)
	}
	return list, err
}

// confirm returns a tool from the server's current list, which it fetches at most once in ten
// seconds. It returns nil if the list is not available, which does not reject a call. It returns
// an error if the tool does not exist or cannot be used, or if the caller gives up.
func (c *View) confirm(ctx context.Context, name string) (*mcp.Tool, error) {
	if err := c.closed(); err != nil {
		return nil, err
	}
	tool, err := c.Lists.Kept.Confirm(ctx, c.Lists.Key(c.who), name, c.fetcher())
	var refused *cache.RefusedToolError
	switch {
	case err == nil:
		return tool, nil
	case ctx.Err() != nil, c.Life.Closed(), errors.Is(err, cache.ErrUnknownTool), errors.As(err, &refused):
		return nil, c.errorOf(err, name)
	}
	return nil, nil //nolint:nilnil // not known, so the call is not rejected
}

// Page fetches the page of the list at a cursor, nil for the first, for the caller who.
type Page func(ctx context.Context, who *transport.Caller, cursor *string) (res PageResult, err error)

// PageResult is a page of the list.
type PageResult struct {
	*mcp.ListToolsResult
	Size int // size of the page as received
	// Caller is the caller of the request that was answered.
	Caller *transport.Caller
}

// pageTimeout limits a page that is fetched for all callers, whose own timeouts do not apply.
const pageTimeout = 10 * time.Second

// withinTimeout limits each page in time.
func withinTimeout(page Page) Page {
	return func(ctx context.Context, who *transport.Caller, cursor *string) (PageResult, error) {
		ctx, cancel := context.WithTimeout(ctx, pageTimeout)
		defer cancel()
		return page(ctx, who, cursor)
	}
}

// fetchList fetches the list for all callers.
func (c *View) fetchList(ctx context.Context) (cache.Listing, error) {
	return c.list(ctx, withinTimeout(c.Page))
}

// list walks the whole list of the server. If the walk starts over, only the second part counts.
// The list is public if every page is.
func (c *View) list(ctx context.Context, page Page) (cache.Listing, error) {
	var list cache.Listing
	var expiry lists.Expiry
	var seen map[string]bool
	var res PageResult
	own := false // only for this caller
	walk := c.Walk(false)
	fetch := func(ctx context.Context, cursor *string) (p lists.Page[mcp.Tool], err error) {
		if res, err = page(ctx, c.Caller(), cursor); err != nil {
			return p, err
		}
		if c.latest != nil {
			c.latest.Store(res.Caller)
			// Middleware may have changed the caller of the request.
			own = own || c.Lists.Key(res.Caller).Partition != c.Lists.Key(c.who).Partition
			walk.as(res.Caller)
		}
		p.Items, p.Next, p.Bytes = walk.Page(cursor, res.ListToolsResult), res.NextCursor, res.Size
		return p, nil
	}
	err := lists.Pages(ctx, c.Lists, mcp.MethodToolsList, fetch, func(p lists.Page[mcp.Tool], restarted bool) bool {
		if seen == nil || restarted {
			seen, expiry = make(map[string]bool, len(p.Items)), lists.Expiry{}
			// Most lists are one page, whose memory can hold the list too: no tool moves to a
			// later position.
			list = cache.Listing{Tools: p.Items[:0], Public: true}
		}
		if c.Lists.Links.Agreed().Era == mcp.EraStateless {
			expiry.Note(res.TTLMs)
		}
		list.Public = list.Public && res.CacheScope == mcp.CachePublic
		for _, tool := range p.Items {
			if seen[tool.Name] { // the cache keeps the first
				c.Lists.Log.Warn("[MCP] the server lists a tool twice; the first is used", "server", c.Lists.Server,
					"tool", jsonrpc.Printable(tool.Name, 100))
			}
			seen[tool.Name] = true
			list.Tools = append(list.Tools, tool)
		}
		return true
	})
	switch {
	case err != nil && c.who != nil && c.who.Err != nil:
		return cache.Listing{}, lists.OnlyCaller(err) // the error does not concern other callers
	case err != nil:
		return cache.Listing{}, lists.Mark(err)
	}
	list.TTL, list.Own = expiry.Left(), own
	return list, nil
}
