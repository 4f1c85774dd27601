package client

import (
	"context"
	"encoding/json"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// SetLogLevel sets the least grave level of the log messages the server sends,
// see [OnLog]. In the session era the server is told, and told again in every
// session that follows; in the stateless era every request from now on says it,
// and nothing is sent for it (LOG-04). Logging is deprecated since 2026-07-28.
func (c *Client) SetLogLevel(ctx context.Context, level mcp.LoggingLevel, opts ...CallOption) error {
	cl := newCall(mcp.MethodLoggingSetLevel, opts)
	if !level.Known() {
		return c.about(&cl, mcperrors.New(mcperrors.E203, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			"the log level "+jsonrpc.Printable(string(level), 40)+" is not one of the eight from debug to emergency", nil))
	}
	if c.told().era == mcp.EraStateless {
		if err := c.require(&cl, "logging"); err != nil {
			return err
		}
		return c.stampLogLevel(level)
	}
	if err := c.gate(&cl); err != nil {
		return err
	}
	cl.open = jsonrpc.AppendString([]byte(`{"level":`), string(level))
	if _, err := c.send(ctx, &cl); err != nil {
		return err
	}
	c.logLevel.Store(&level)
	return nil
}

// stampLogLevel makes every request of the stateless era ask for log messages.
func (c *Client) stampLogLevel(level mcp.LoggingLevel) error {
	c.logLevel.Store(&level)
	agreed := *c.told()
	meta, err := c.requestMeta(agreed.version)
	if err != nil {
		return badOption(err)
	}
	agreed.meta = meta
	c.amend(&agreed)
	return nil
}

// stampedLevel is the value that asks for log messages, nil for none.
func (c *Client) stampedLevel() json.RawMessage {
	level := c.logLevel.Load()
	if level == nil {
		return nil
	}
	return jsonrpc.AppendString(nil, string(*level))
}

// repeatLogLevel tells a new session what an earlier one was told (LC-17).
func (c *Client) repeatLogLevel(ctx context.Context) error {
	level := c.logLevel.Load()
	if level == nil || !c.HasCapability("logging") {
		return nil
	}
	_, err := c.do(ctx, &call{
		method: mcp.MethodLoggingSetLevel, open: jsonrpc.AppendString([]byte(`{"level":`), string(*level)), restores: true,
	})
	return err
}
