package client

import (
	"context"

	"github.com/mainstay-mcp/mainstay/client/internal/notify"
	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// notifier returns what calls the application's handlers, which the first
// notification or event makes.
func (c *Client) notifier() *notify.Notifier {
	return c.notifiers.made(func() *notify.Notifier {
		return notify.New(notify.Config{
			Handlers: &c.cfg.handlers, Event: func(e any) { c.report(e.(Event), c.cfg.onEvent) },
			Server: c.server, Log: c.log, Life: c.life, Budget: &c.budget, Go: c.work.Go, Run: c.guarded,
		})
	})
}

// report calls functions for an event. One that ends the goroutine does not stop the
// next.
func (c *Client) report(e Event, to []func(context.Context, Event)) {
	if len(to) == 0 {
		return
	}
	failed := c.callbackFailed
	if e, ok := e.(CallbackFailed); ok && e.Callback == callback.LogHandler {
		failed = nil // by a log whose handler fails: that would be an event again, forever
	}
	defer c.report(e, to[1:])
	callback.Run("OnEvent", failed, func() { to[0](c.life, e) })
}
