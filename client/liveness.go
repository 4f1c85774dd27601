package client

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/sleep"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// maxKeepAliveWait is how long a sign of life may take, or the interval where
// that is shorter.
const maxKeepAliveWait = 30 * time.Second

// WithKeepAlive asks the server for a sign of life whenever nothing went on for
// an interval: ping in the session era, server/discover in the stateless one
// . Calls in flight and anything that comes count as life, and
// so does every answer, an error too. No answer is a failure for the breaker and
// a [LivenessFailed] event; the connection is left as it is. The default is 0:
// never.
func WithKeepAlive(interval time.Duration) Option {
	return optionFunc(func(c *config) { c.keepAlive = interval })
}

// pulse counts what came of the server, where somebody wants to know.
type pulse struct{ beats atomic.Int64 }

// watchLife asks for signs of life until the client is closed.
func (c *Client) watchLife() {
	ctx := c.life
	for last := c.pulse.beats.Load(); sleep.For(ctx, c.cfg.keepAlive); {
		now := c.pulse.beats.Load()
		if now == last && c.inFlight.Load() == 0 {
			err := error(link.GoroutineEnded())
			callback.Aside("", nil, func() { err = c.askForLife(ctx, min(c.cfg.keepAlive, maxKeepAliveWait)) }) // a Middleware may end its goroutine
			if err != nil && ctx.Err() == nil {
				c.log.Warn("[MCP] the server gives no sign of life", "server", c.server, "error", err)
				c.emit(LivenessFailed{Reason: err})
			}
			now = c.pulse.beats.Load()
		}
		last = now
	}
}

// Alive asks the server for a sign of life and returns why there is none: ping in
// the session era, server/discover in the stateless one. Any answer is a sign of
// life, a refusal too. It asks even while a circuit is open or the client is full,
// it is not retried, and says nothing to the circuit. ctx bounds it, and 30 s do.
func (c *Client) Alive(ctx context.Context) error {
	if c.isClosed() {
		return c.local(errClosed(), mcp.MethodPing)
	}
	e := c.signOfLife(ctx, c.cfg.nextID(), maxKeepAliveWait).Err
	switch {
	case e == nil, e.RPC != nil:
		return nil //nolint:nilerr // a refusal is a sign of life
	case e.Kind != mcperrors.KindSessionLost:
		return e
	}
	// It lives, and has forgotten the session: a call opens the next one.
	return c.askForLife(ctx, maxKeepAliveWait)
}

// askForLife returns why there was no answer.
func (c *Client) askForLife(ctx context.Context, bound time.Duration) error {
	cl := call{request: request{
		method: mcp.MethodPing, purpose: link.Liveness, opts: callOptions{idle: bound, max: bound, timesSet: true},
	}}
	if c.live.Agreed().Era == mcp.EraStateless {
		cl.method = mcp.MethodDiscover
	}
	_, err := c.do(ctx, &cl)
	var rpc *jsonrpc.Error
	switch {
	case errors.As(err, &rpc):
		return nil // -32601 is an answer too (pain 10)
	case mcperrors.KindOf(err) == mcperrors.KindCircuitOpen:
		return nil // known already
	case mcperrors.KindOf(err) == mcperrors.KindOverloaded && mcperrors.DeliveryOf(err) == mcperrors.NotSent:
		return nil // kept back here: it was not asked
	}
	return err
}
