package client

import (
	"context"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

// sessionKeeper returns the keeper of a client that loses sessions.
func (c *Client) sessionKeeper() *keeper.Keeper {
	return c.keeper.Make(func() *keeper.Keeper {
		k := c.keeperConfig()
		k.Open, k.Timeout = c.openNewSession, newSessionTimeout
		k.Restore = func(*link.Agreement, error) {
			agreed := c.live.Agreed()
			c.emit(Reinitialized{Server: agreed.Server(), Version: agreed.Version})
			c.watcher().Renewed()
		}
		k.Renewals = &keeper.Renewals{
			Schedule: resilience.NewRenewal(resilience.RenewalSettings{}),
			Allowed: func() error {
				if e := c.guard.Throttle().Refusal(); e != nil { // an initialize is a request, too
					return e
				}
				return nil
			},
			Wanted: c.needsStream,
		}
		return keeper.New(k)
	})
}

// newSessionTimeout bounds opening a session in place of one that was lost.
const newSessionTimeout = time.Minute

// openNewSession opens a session in place of the one that was lost. One whose
// handshake fails half-way is dropped, with what was agreed in it: nothing may be
// sent there, and calls that lost the one before have none yet (LC-04, LC-07).
func (c *Client) openNewSession(ctx context.Context) error {
	before := c.live.Load()
	err := c.openSession(ctx, before.Agreed.Version)
	if err == nil {
		c.lists().Clear()
		return nil
	}
	if s, ok := before.Conn.(transport.Sessions); ok {
		s.DropSession()
	}
	c.live.Store(before)
	return err
}
