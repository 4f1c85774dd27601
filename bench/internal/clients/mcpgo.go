package clients

import (
	"context"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mcpGo is mcp-go's client.
type mcpGo struct{ c *client.Client }

func dialMCPGo(ctx context.Context, o Options) (Client, error) {
	t, err := mcpGoTransport(o)
	if err != nil {
		return nil, err
	}
	m := &mcpGo{client.NewClient(t, client.WithProtocolVersion(version(o)))}
	// What Start is given bounds the process and the GET stream, so it must
	// outlive connecting.
	if err := m.c.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	var req mcp.InitializeRequest
	req.Params.ProtocolVersion = version(o)
	req.Params.ClientInfo = mcp.Implementation{Name: "bench", Version: "1"}
	if _, err := m.c.Initialize(ctx, req); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	if got := m.c.ProtocolVersion(); got != version(o) {
		return nil, errors.Join(fmt.Errorf("negotiated %s instead of %s", got, version(o)), m.Close())
	}
	return m, nil
}

func mcpGoTransport(o Options) (transport.Interface, error) {
	if len(o.Argv) > 0 {
		return transport.NewStdio(o.Argv[0], nil, o.Argv[1:]...), nil
	}
	var opts []transport.StreamableHTTPCOption
	if c := httpClient(o); c != nil {
		opts = append(opts, transport.WithHTTPBasicClient(c))
	}
	if o.Listen {
		opts = append(opts, transport.WithContinuousListening()) //nolint:staticcheck // what the 2025 era has, which is what is measured
	}
	return transport.NewStreamableHTTP(o.URL, opts...)
}

// Call implements Client.
func (m *mcpGo) Call(ctx context.Context, tool string, args any) (int, error) {
	var req mcp.CallToolRequest
	req.Params.Name = tool
	req.Params.Arguments = args
	res, err := m.c.CallTool(ctx, req)
	if err != nil {
		return 0, err
	}
	if len(res.Content) == 1 {
		if text, ok := res.Content[0].(mcp.TextContent); ok && !res.IsError {
			return len(text.Text), nil
		}
	}
	return 0, failed(MCPGo, tool)
}

// List implements Client.
func (m *mcpGo) List(ctx context.Context) (int, error) {
	res, err := m.c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return 0, err
	}
	return len(res.Tools), nil
}

// Close implements Client.
func (m *mcpGo) Close() error { return m.c.Close() }
