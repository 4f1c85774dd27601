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

// Last returns a tool as it was listed last, however long ago. It does no I/O.
func (c *View) Last(name string) Known {
	tool, _, ok := c.Lists.Kept.Lookup(c.Lists.Key(c.who), name)
	if !ok {
		return Known{}
	}
	return knownOf(tool)
}

// Current is [View.Get] for callers that change nothing.
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

// Find is [View.Get] with pages of the caller's own, and how fresh the list is.
// ownTimes says that pages have times of their own: others that wait for the list do
// not fail with them.
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

// All returns the list of tools. What the tools point to is the cache's. A server
// without tools has an empty list.
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

// Annotations returns the hints of a tool as it was listed last, nil for none.
func (c *View) Annotations(name string) *mcp.ToolAnnotations {
	tool, _, ok := c.Lists.Kept.Lookup(c.Lists.Key(c.who), name)
	if !ok {
		return nil
	}
	return tool.Annotations
}

// ChangesNow asks the server for a tool and names the members of its definition that
// have changed since it was listed, none if that is not known.
func (c *View) ChangesNow(ctx context.Context, name string) []string {
	last, _, ok := c.Lists.Kept.Lookup(c.Lists.Key(c.who), name)
	now, err := c.confirm(ctx, name)
	if !ok || err != nil || now == nil {
		return nil
	}
	return Changes(last, now)
}

// FindIn looks for a tool in a list that only one caller gets; each iteration asks the
// server. If the server said meanwhile that its tools have changed, a name that is missing
// may be the new one: the list is fetched again, once.
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

// Preload fetches the list. A server that cannot list its tools just now is no error:
// callers that need the list ask again. The error is that of a caller that does not
// wait any longer.
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

// listFailed reports that the list could not be fetched, which no caller learns.
func (c *Catalog) listFailed(err error) {
	err = c.errorOf(err, "")
	c.Lists.Log.Warn("[MCP] the tools of the server could not be listed", "server", c.Lists.Server, "error", err)
	c.Emit(event.ListFailed{Method: mcp.MethodToolsList, Reason: err})
}

// doubtInterval is how far apart errors make the list stale: models make up names all
// the time.
const doubtInterval = 10 * time.Second

// Doubt makes the list stale after a server's error says that a tool on it does not
// exist, at most once in ten seconds.
func (c *Catalog) Doubt() {
	now, last := time.Now(), c.doubted.Load()
	if (last == nil || now.Sub(*last) >= doubtInterval) && c.doubted.CompareAndSwap(last, &now) {
		c.Lists.InvalidateTools()
	}
}

// renew fetches an expired list in the background: the call that uses it does not
// wait.
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

// confirm returns a tool as the server lists it now, asked at most once in ten
// seconds. It is nil if that cannot be had, which is no reason to refuse a call. The
// error is that the server has no such tool or one that cannot be used, or that the
// caller does not wait any longer.
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
	return nil, nil //nolint:nilnil // nothing is known, and nothing is wrong with the call
}

// Page asks for the page of the list at a cursor, nil for the first, as who.
type Page func(ctx context.Context, who *transport.Caller, cursor *string) (res PageResult, err error)

// PageResult is a page of the list.
type PageResult struct {
	*mcp.ListToolsResult
	Size int // as it arrived
	// Caller is whose request was answered.
	Caller *transport.Caller
}

// pageTimeout bounds a page that is fetched for all callers, whose own times do not
// count.
const pageTimeout = 10 * time.Second

// withinTimeout bounds each page.
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

// list walks the whole list as the server has it now. Of a walk that starts over, only
// the second part counts. The list is public if every page is.
func (c *View) list(ctx context.Context, page Page) (cache.Listing, error) {
	var list cache.Listing
	var expiry lists.Expiry
	var seen map[string]bool
	var res PageResult
	own := false // for this caller only
	walk := c.Walk(false)
	fetch := func(ctx context.Context, cursor *string) (p lists.Page[mcp.Tool], err error) {
		if res, err = page(ctx, c.Caller(), cursor); err != nil {
			return p, err
		}
		if c.latest != nil {
			c.latest.Store(res.Caller)
			// A middleware may have made the request somebody else's.
			own = own || c.Lists.Key(res.Caller).Partition != c.Lists.Key(c.who).Partition
			walk.as(res.Caller)
		}
		p.Items, p.Next, p.Bytes = walk.Page(cursor, res.ListToolsResult), res.NextCursor, res.Size
		return p, nil
	}
	err := lists.Pages(ctx, c.Lists, mcp.MethodToolsList, fetch, func(p lists.Page[mcp.Tool], restarted bool) bool {
		if seen == nil || restarted {
			seen, expiry = make(map[string]bool, len(p.Items)), lists.Expiry{}
			// Most lists are one page, whose memory can hold the list too: each tool is
			// put where it is already, or before that.
			list = cache.Listing{Tools: p.Items[:0], Public: true}
		}
		if c.Lists.Links.Agreed().Era == mcp.EraStateless {
			expiry.Note(res.TTLMs)
		}
		list.Public = list.Public && res.CacheScope == mcp.CachePublic
		for _, tool := range p.Items {
			if seen[tool.Name] { // the cache keeps the first
				c.Lists.Log.Warn("[MCP] the server lists a tool twice; the first counts", "server", c.Lists.Server,
					"tool", jsonrpc.Printable(tool.Name, 100))
			}
			seen[tool.Name] = true
			list.Tools = append(list.Tools, tool)
		}
		return true
	})
	switch {
	case err != nil && c.who != nil && c.who.Err != nil:
		return cache.Listing{}, lists.OnlyCaller(err) // others have their own reasons
	case err != nil:
		return cache.Listing{}, lists.Mark(err)
	}
	list.TTL, list.Own = expiry.Left(), own
	return list, nil
}
