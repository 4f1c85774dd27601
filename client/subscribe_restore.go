package client

import (
	"context"
	"maps"
	"slices"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// resubscribe asks a new session for what the old one was asked for (RES-05).
// A subscription that cannot be had again ends with the reason; where it only
// cannot be had yet, the session is asked until it is over.
func (t *subscriptions) resubscribe(ctx context.Context, c *Client) {
	now := c.live.Load()
	t.mu.Lock()
	uris := slices.Sorted(maps.Keys(t.users))
	t.mu.Unlock()
	left := slices.DeleteFunc(uris, func(uri string) bool { return t.restored(ctx, c, now, uri) })
	if len(left) > 0 {
		c.within(func() { t.keepRestoring(ctx, c, now, left) })
	}
}

// keepRestoring asks for the resources that are left as long as the session is
// the same. What was told meanwhile is missed (CHG-09).
func (t *subscriptions) keepRestoring(ctx context.Context, c *Client, now *link.Link, left []string) {
	for n := 1; len(left) > 0; n++ {
		if !sleep(ctx, pause(relistenLost, maxRelistenLost, n)) {
			return
		}
		left = slices.DeleteFunc(left, func(uri string) bool {
			// Nobody takes the resource back while it is asked for.
			if take(ctx, t.turn) != nil {
				return true
			}
			defer give(t.turn)
			return t.restored(ctx, c, now, uri)
		})
	}
	if c.live.Load() == now {
		c.missed(errWatchedLate)
	}
}

// restored asks for one resource, and reports whether there is nothing more to
// do about it in this session.
func (t *subscriptions) restored(ctx context.Context, c *Client, now *link.Link, uri string) bool {
	if !t.used(uri) || c.replaced(now) {
		return true
	}
	cl := watchCall(mcp.MethodResourcesSubscribe, uri)
	cl.purpose = link.Restore
	out := c.do(ctx, &cl)
	err := out.Error()
	switch {
	case err == nil, c.replaced(now):
		return true
	case mcperrors.KindOf(err) == mcperrors.KindSessionLost:
		c.noteLoss(now, err)
		return true
	case refusedForGood(err):
		t.refused(uri, err)
		return true
	}
	c.log.Warn("[MCP] a resource cannot be subscribed to in the new session yet", "server", c.server, "error", err)
	return false
}

// replaced reports whether a session is gone, or about to be: the next asks for
// all there is to ask for.
func (c *Client) replaced(now *link.Link) bool {
	k := c.keeper.peek()
	return c.live.Load() != now || k != nil && k.Renewing() || c.isClosed()
}

func (t *subscriptions) used(uri string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.users[uri] > 0
}

// refused ends the subscriptions that are about a URI.
func (t *subscriptions) refused(uri string, reason error) {
	for _, s := range t.all() {
		if slices.Contains(s.Honored().ResourceSubscriptions, uri) {
			s.fail(reason)
		}
	}
}
