package client

import (
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// How long Close waits: for messages on their way to the server, such as the notification
// that a call was canceled, and for handlers to return. The transport has its own bound.
const (
	backgroundGrace = 250 * time.Millisecond
	closeTimeout    = time.Second
)

// closing runs Close once, and keeps its error.
type closing struct {
	once    sync.Once
	err     error
	unwatch func() // ends the reports of the login; nil without one
}

// Close fails every call in flight, tells the server, and waits until
// connections, child process and goroutines are gone. It ends the program's
// process group; see [transport.Command] for descendants that leave the group.
//
// Close waits at most one second for handlers that do not return, and for a
// transport of the application that ignores the end of its context while it
// connects again. It logs a warning then, and closes what such a transport opens
// later. Close may be called more than once.
func (c *Client) Close() error {
	closing := c.closing.Get()
	closing.once.Do(func() {
		c.core.Life.Move(life.Closed, nil)
		l := c.core.Links.Load()
		if l != nil {
			c.core.Life.AwaitBackground(backgroundGrace)
		}
		c.core.Life.End()
		c.calls.Guard.Close()
		if w := c.subscriptions.Peek(); w != nil {
			w.End()
		}
		late := false
		if k := c.calls.Keeper.Peek(); k.Restarting() {
			late = !life.Wait(k.Done(), closeTimeout, nil) // this aborts a start in progress
			l = c.core.Links.Load()
		}
		if l != nil {
			closing.err = l.Conn.Close()
		}
		if closing.unwatch != nil {
			closing.unwatch()
		}
		c.inbound().Notifier().Stop()
		if late || !c.core.Life.Await(closeTimeout) {
			c.core.Log.Warn("[MCP] a handler or the transport did not return within a second of Close", "server", c.core.Server)
		}
		callback.Flush(c.cfg.logger, closeTimeout) // c.core.Log writes to it
	})
	return closing.err
}

// Done returns a channel that is closed when the client can make no more
// calls: after [Client.Close], or in [StateEnded], for which [Client.Outage]
// has the reason. It stays open while the client restarts a program or reopens
// a session.
func (c *Client) Done() <-chan struct{} { return c.core.Life.Done() }

// AfterDone calls f on a goroutine of its own once the client is done, as
// [context.AfterFunc] does for a context: see [Client.Done]. If the client is done
// already, it calls f at once. Until then it needs no goroutine.
func (c *Client) AfterDone(f func()) {
	c.core.Life.AfterDone(func() { callback.Run("AfterDone", c.callbackFailed, f) })
}
