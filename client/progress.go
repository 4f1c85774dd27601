package client

import (
	"context"
	"encoding/json"
)

// WithProgressTokens sets whether every tools/call carries a progress token.
// The default is true. Progress shows that the server is still working, and
// resets the call's idle timeout even without [WithProgress]; see
// [Resilience].IdleTimeout. A call whose _meta already has a token keeps it.
func WithProgressTokens(on bool) Option { return optionFunc(func(c *config) { c.noTokens = !on }) }

// withProgress makes a call whose params carry a progress token.
func (c *Client) withProgress(ctx context.Context, cl *call) (json.RawMessage, error) {
	cl.Progress = c.inbound().Progress().Add(cl.opts.progress)
	defer func() {
		c.inbound().Progress().Remove(cl.Progress) // the one of the last request
		cl.Progress.Finish(ctx)
	}()
	return c.do(ctx, cl)
}
