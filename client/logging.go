package client

import (
	"context"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// SetLogLevel sets the minimum level of the log messages that the server
// sends; see [OnLog]. In the session era it sends a request now and in every
// later session. In the stateless era every later request carries the level,
// and nothing is sent now. Logging is deprecated since 2026-07-28.
func (c *Client) SetLogLevel(ctx context.Context, level mcp.LoggingLevel, opts ...CallOption) error {
	cl := newCall(mcp.MethodLoggingSetLevel, opts)
	if !level.Known() {
		return c.core.About(cl.Subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			"the log level "+jsonrpc.Printable(string(level), 40)+" is not one of the eight from debug to emergency", nil))
	}
	if agreed := c.core.Links.Agreed(); agreed.Era == mcp.EraStateless {
		if err := c.core.Refusal(cl.Subject(), link.CheckDeclared(agreed, "logging")); err != nil {
			return err
		}
		if err := c.watcher().StampLevel(level); err != nil {
			return badOption(err)
		}
		return nil
	}
	if err := c.gate(cl.Subject()); err != nil {
		return err
	}
	cl.Params = jsonrpc.AppendString([]byte(`{"level":`), string(level))
	if _, err := c.send(ctx, &cl); err != nil {
		return err
	}
	c.watcher().LevelSent(level)
	return nil
}
