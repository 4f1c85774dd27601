package clients

import (
	"context"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// mainstay is our client with everything on that is on by default: breaker,
// deadlines, schema cache, check of the arguments.
type mainstay struct{ c *client.Client }

// lifted is over every message of the workloads.
const lifted = 1 << 30

func dialMainstay(ctx context.Context, o Options) (Client, error) {
	opts := []client.Option{client.WithProtocolVersion(version(o))}
	if o.SkipList {
		opts = append(opts, client.WithCache(client.CacheConfig{NoPreload: true}))
	}
	if o.Listen {
		// Who wants to hear of the server's changes has its stream open.
		opts = append(opts, client.OnListChanged(func(context.Context, string) {}))
	}
	var limits transport.Limits
	if o.Lift {
		limits.MessageBytes = lifted
	}
	var t transport.Transport = &transport.HTTP{URL: o.URL, Limits: limits, RoundTripper: o.Shared}
	if len(o.Argv) > 0 {
		t = &transport.Command{Argv: o.Argv, Limits: limits}
	}
	c, err := client.Connect(ctx, t, opts...)
	if err != nil {
		return nil, err
	}
	return &mainstay{c}, nil
}

// Call implements Client.
func (m *mainstay) Call(ctx context.Context, tool string, args any) (int, error) {
	res, err := m.c.CallTool(ctx, tool, args)
	if err != nil {
		return 0, err
	}
	if len(res.Content) == 1 {
		if text, ok := res.Content[0].(*mcp.TextContent); ok && !res.IsError {
			return len(text.Text), nil
		}
	}
	return 0, failed(Mainstay, tool)
}

// List implements Client.
func (m *mainstay) List(ctx context.Context) (int, error) {
	n := 0
	for _, err := range m.c.Tools(ctx) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Known implements Keeper.
func (m *mainstay) Known(ctx context.Context, tool string) error {
	_, err := m.c.GetToolSchema(ctx, tool)
	return err
}

// Close implements Client.
func (m *mainstay) Close() error { return m.c.Close() }
