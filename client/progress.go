package client

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client/internal/progress"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithProgressTokens says whether every tools/call carries a progress token; the
// default is true. A server that reports progress shows that it works on, which
// resets the call's idle timeout (see [Resilience].IdleTimeout), whether or not
// the call has [WithProgress]. A call with a token of the caller's own in _meta
// gets none.
func WithProgressTokens(on bool) Option { return optionFunc(func(c *config) { c.noTokens = !on }) }

// wantsToken reports whether a call asks for progress that nobody listens to.
func (c *Client) wantsToken(cl *call) bool {
	return cl.method == mcp.MethodToolsCall && !c.cfg.noTokens && cl.opts.progress == nil && !cl.hasToken()
}

// withProgress makes a call whose params carry a progress token.
func (c *Client) withProgress(ctx context.Context, cl *call) (json.RawMessage, error) {
	cl.progress = c.progressTable().Add(cl.opts.progress)
	defer func() {
		c.progressTable().Remove(cl.progress) // the one of the last request
		cl.progress.Finish(ctx)
	}()
	return c.do(ctx, cl)
}

// progressTable knows the calls with progress. Most clients never need it.
func (c *Client) progressTable() *progress.Table {
	return c.progress.made(func() *progress.Table {
		return progress.New(progress.Config{
			Server: c.server, Log: c.log, Budget: &c.budget, Go: c.work.Go, Failed: c.callbackFailed,
			Touch: func(id jsonrpc.ID) { c.live.Load().Conn.Touch(id) },
		})
	})
}
