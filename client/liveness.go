package client

import (
	"context"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// maxKeepAliveWait bounds the wait for the answer to a liveness probe. A shorter interval
// between probes bounds it, too.
const maxKeepAliveWait = 30 * time.Second

// probeRegularly sends liveness probes until the client is closed.
func probeRegularly(c *Client) {
	ctx := c.core.Life.Context()
	for last := c.calls.Beats(); life.Sleep(ctx, c.cfg.resilience.KeepAlive); {
		now := c.calls.Beats()
		if now == last && c.calls.Guard.InFlight() == 0 {
			err := error(link.GoroutineEnded())
			callback.Aside("", nil, func() { err = c.probeLiveness(ctx, min(c.cfg.resilience.KeepAlive, maxKeepAliveWait)) }) // a Middleware may end its goroutine
			if err != nil && ctx.Err() == nil {
				c.core.Log.Warn("[MCP] the server does not answer liveness probes", "server", c.core.Server, "error", err)
				c.emit(LivenessFailed{Reason: err})
			}
			now = c.calls.Beats()
		}
		last = now
	}
}

// Alive sends a liveness probe and returns the error if there is no answer. It
// sends ping in the session era and server/discover in the stateless era; any
// answer counts, even a refusal. It is sent even if a circuit is open or the
// client is full. It is not retried, and does not count for the circuit. It
// takes at most 30 s, or until ctx ends.
func (c *Client) Alive(ctx context.Context) error {
	if c.core.Life.Closed() {
		return c.core.Local(life.ErrClosed(), mcp.MethodPing)
	}
	e := c.calls.Ping(ctx, maxKeepAliveWait).Err
	switch {
	case e == nil, e.RPC != nil:
		return nil //nolint:nilerr // a refusal is an answer
	case e.Kind != mcperrors.KindSessionLost:
		return e
	}
	// The server answered that it has lost the session: a call opens a new one.
	return c.probeLiveness(ctx, maxKeepAliveWait)
}

// probeLiveness sends a liveness probe. It returns an error if there is no answer.
func (c *Client) probeLiveness(ctx context.Context, bound time.Duration) error {
	cl := newCall(mcp.MethodPing, nil)
	cl.Purpose = link.Liveness
	cl.Wait = jsonrpc.Wait{Idle: bound, Max: bound}
	if c.core.Links.Agreed().Era == mcp.EraStateless {
		cl.Method = mcp.MethodDiscover
	}
	_, err := c.do(ctx, &cl)
	var rpc *jsonrpc.Error
	switch {
	case errors.As(err, &rpc):
		return nil // -32601 is an answer too
	case mcperrors.KindOf(err) == mcperrors.KindCircuitOpen:
		return nil // the circuit has reported it
	case mcperrors.KindOf(err) == mcperrors.KindOverloaded && mcperrors.DeliveryOf(err) == mcperrors.NotSent:
		return nil // the client refused the probe: nothing was sent
	}
	return err
}
