package client

import (
	"context"
	"reflect"

	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// lesson is a list of tools that the application walks, on its way to the schema
// cache: headers and results go by the definition of a tool that was seen last,
// whoever asked for it (HDR-09, TOOL-11, CACHE-15). Only a whole list teaches. It
// belongs to one walk.
type lesson struct {
	client *Client
	key    toolcache.Key
	agreed toolcache.Key // for all callers
	tools  []mcp.Tool
	next   string // the cursor of the page that comes next
	lost   bool   // a page is missing
}

// lesson returns the lesson of a walk with some options, nil where its list is
// the caller's alone.
func (c *Client) lesson(ctx context.Context, opts []CallOption) *lesson {
	if o := collect(opts); o.cache == CacheBypass || o.meta != nil || o.input != nil || o.manualInput {
		return nil
	}
	return &lesson{client: c, key: c.cacheKey(ctx), agreed: c.live.Agreed().Key}
}

// page takes the page a cursor led to. What is kept of it is not the caller's.
func (l *lesson) page(cursor *string, tools []mcp.Tool, next *string) {
	switch {
	case l == nil:
		return
	case cursor == nil:
		l.tools, l.lost = l.tools[:0], false
	default:
		l.lost = l.lost || *cursor != l.next
	}
	for i := range tools {
		known, _, ok := l.client.cache().Lookup(l.key, tools[i].Name)
		if !ok || !reflect.DeepEqual(known, &tools[i]) {
			known = tools[i].Clone()
		}
		l.tools = append(l.tools, *known)
	}
	if next != nil {
		l.next = *next
		return
	}
	if !l.lost && l.agreed == l.client.live.Agreed().Key {
		l.client.cache().Learn(l.key, l.tools)
	}
	l.tools = nil
}
