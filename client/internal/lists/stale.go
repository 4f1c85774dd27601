package lists

import (
	"errors"
	"net/http"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// Notifies reports whether a notification can make cached values stale.
func Notifies(method string) bool {
	switch method {
	case mcp.MethodToolsListChanged, mcp.MethodPromptsListChanged, mcp.MethodResourcesListChanged, mcp.MethodResourcesUpdated:
		return true
	}
	return false
}

// Changed drops the values that a notification makes stale, for all callers.
func (c *Cache) Changed(n jsonrpc.Notification) {
	if n.Method == mcp.MethodToolsListChanged {
		c.toolChanges.Add(1)
	}
	for _, key := range c.keys(c.Links.Agreed()) {
		c.changed(key, n)
	}
}

func (c *Cache) changed(key cache.Key, n jsonrpc.Notification) {
	switch n.Method {
	case mcp.MethodToolsListChanged:
		c.Kept.Changed(key)
		c.Kept.Outdate(key, mcp.MethodToolsList)
	case mcp.MethodPromptsListChanged:
		c.Kept.Outdate(key, mcp.MethodPromptsList)
	case mcp.MethodResourcesListChanged:
		c.Kept.Outdate(key, mcp.MethodResourcesList)
		c.Kept.Outdate(key, mcp.MethodResourceTemplatesList)
	case mcp.MethodResourcesUpdated:
		var p mcp.ResourceUpdatedParams
		if mcp.Unmarshal([]byte(n.Params), &p) == nil {
			c.Kept.ForgetOne(cache.ResponseKey{Key: key, Method: mcp.MethodResourcesRead, Param: p.URI})
		}
	}
}

// ToolChanges returns the number of notifications that the tools have changed. If it grows during
// a walk, the list of that walk is stale.
func (c *Cache) ToolChanges() uint64 { return c.toolChanges.Load() }

// InvalidateTools makes the next use of the tool list ask the server, for all callers.
func (c *Cache) InvalidateTools() {
	for _, key := range c.keys(c.Links.Agreed()) {
		c.Kept.Invalidate(key)
		c.Kept.Forget(key, mcp.MethodToolsList)
	}
}

// Clear drops all cached values for all callers: after a reconnect, and when the credentials
// change.
func (c *Cache) Clear() { c.ClearOf(c.Links.Agreed()) }

// ClearOf is Clear for an earlier agreement.
func (c *Cache) ClearOf(a *link.Agreement) {
	for _, key := range c.keys(a) {
		c.Kept.Clear(key)
	}
}

// Status returns the state of the list of tools. ok is false if there is none.
func (c *Cache) Status() (st toolcache.Status, ok bool) {
	return c.Kept.Status(c.AgreedKey(c.Links.Agreed()))
}

// Unreachable reports whether a stale list may be returned instead of an error, because the
// server did not answer. A JSON-RPC error is an answer. A bare HTTP status may come from a
// gateway.
func Unreachable(err error) bool {
	var e *mcperrors.Error
	if errors.As(err, &e) && e.RPC == nil && e.HTTP != nil {
		return e.HTTP.Status == http.StatusTooManyRequests || e.HTTP.Status >= http.StatusInternalServerError
	}
	switch mcperrors.KindOf(err) {
	case mcperrors.KindTransport, mcperrors.KindTimeout, mcperrors.KindCircuitOpen, mcperrors.KindSessionLost, mcperrors.KindOverloaded:
		return true
	default:
		return false
	}
}
