package client

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/sleep"
	"github.com/mainstay-mcp/mainstay/client/internal/watch"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// SetLogLevel sets the least grave level of the log messages the server sends,
// see [OnLog]. In the session era the server is told, and told again in every
// session that follows; in the stateless era every request from now on says it,
// and nothing is sent for it. Logging is deprecated since 2026-07-28.
func (c *Client) SetLogLevel(ctx context.Context, level mcp.LoggingLevel, opts ...CallOption) error {
	cl := newCall(mcp.MethodLoggingSetLevel, opts)
	if !level.Known() {
		return c.about(cl.subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			"the log level "+jsonrpc.Printable(string(level), 40)+" is not one of the eight from debug to emergency", nil))
	}
	if c.live.Agreed().Era == mcp.EraStateless {
		if err := c.require(cl.subject(), "logging"); err != nil {
			return err
		}
		return c.stampLogLevel(level)
	}
	if err := c.gate(cl.subject()); err != nil {
		return err
	}
	cl.open = jsonrpc.AppendString([]byte(`{"level":`), string(level))
	if _, err := c.send(ctx, &cl); err != nil {
		return err
	}
	c.parts.get().logLevel.Store(&level)
	return nil
}

// stampLogLevel makes every request of the stateless era ask for log messages.
func (c *Client) stampLogLevel(level mcp.LoggingLevel) error {
	c.parts.get().logLevel.Store(&level)
	for {
		with := c.live.Load()
		if with.Agreed.Era != mcp.EraStateless { // the program was started again, in the other era
			c.within(func() { c.keepLevel(c.life, with) })
			return nil
		}
		agreed := *with.Agreed
		meta, err := c.requestMeta(agreed.Version)
		if err != nil {
			return badOption(err)
		}
		agreed.Meta = meta
		if c.live.Amend(with, &agreed) {
			return nil
		}
	}
}

// stampedLevel is the value that asks for log messages, nil for none.
func (c *Client) stampedLevel() json.RawMessage {
	level := c.levelSet()
	if level == nil {
		return nil
	}
	return jsonrpc.AppendString(nil, string(*level))
}

// levelRestored tells a new session what an earlier one was told (LC-17). It
// reports whether there is nothing more to do about it in this session.
func (c *Client) levelRestored(ctx context.Context, now *link.Link) bool {
	level := c.levelSet()
	if level == nil || !c.HasCapability("logging") || c.replaced(now) {
		return true
	}
	out := c.attempt(ctx, &call{
		request: request{method: mcp.MethodLoggingSetLevel, purpose: link.Restore},
		open:    jsonrpc.AppendString([]byte(`{"level":`), string(*level)),
	})
	err := out.Error()
	switch {
	case err == nil, c.replaced(now):
		return true
	case mcperrors.KindOf(err) == mcperrors.KindSessionLost:
		c.noteLoss(now, err)
		return true
	}
	c.log.Warn("[MCP] the log level could not be set again", "server", c.server, "error", err)
	return watch.Final(err)
}

// keepLevel sets the level until that has worked, as long as the session is the
// same.
func (c *Client) keepLevel(ctx context.Context, now *link.Link) {
	for n := 1; sleep.For(ctx, watch.Pause(n)) && !c.levelRestored(ctx, now); n++ {
	}
}

// levelSet is the log level as it was last set, nil before.
func (c *Client) levelSet() *mcp.LoggingLevel {
	if parts := c.parts.peek(); parts != nil {
		return parts.logLevel.Load()
	}
	return nil
}
