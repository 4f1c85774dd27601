package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	sdkrpc "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// side is one of the two clients, with its default options.
type side struct {
	name  string
	start func(ctx context.Context, p program) (session, error)
	dial  func(ctx context.Context, url string) (session, error)
}

// program is a server to start. It inherits the whole environment from both sides.
type program struct {
	argv []string
	env  []string // in addition
}

// session is an open connection to a server.
type session interface {
	// call returns the text of a tool's result. A result with isError is an error.
	call(ctx context.Context, tool string, args map[string]any) (string, error)
	// revision is the one that the two sides agreed on.
	revision() string
	close() error
}

// sides returns mainstay and go-sdk, in this order.
func sides() [2]side {
	return [2]side{
		{name: "mainstay", start: startOurs, dial: dialOurs},
		{name: "go-sdk", start: startTheirs, dial: dialTheirs},
	}
}

type ours struct{ c *client.Client }

func startOurs(ctx context.Context, p program) (session, error) {
	c, err := client.Connect(ctx, &transport.Command{Argv: p.argv, Inherit: transport.EnvAll, Env: p.env})
	if err != nil {
		return nil, err
	}
	return ours{c}, nil
}

func dialOurs(ctx context.Context, url string) (session, error) {
	c, err := client.Dial(ctx, url)
	if err != nil {
		return nil, err
	}
	return ours{c}, nil
}

func (s ours) call(ctx context.Context, tool string, args map[string]any) (string, error) {
	res, err := s.c.CallTool(ctx, tool, args)
	if err != nil {
		return "", err
	}
	if err := s.c.ToolError(tool, res); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, block := range res.Content {
		if b, is := block.(*mcp.TextContent); is {
			text.WriteString(b.Text)
		}
	}
	return text.String(), nil
}

func (s ours) revision() string { return string(s.c.ProtocolVersion()) }
func (s ours) close() error     { return s.c.Close() }

type theirs struct{ cs *sdk.ClientSession }

func startTheirs(ctx context.Context, p program) (session, error) {
	cmd := exec.Command(p.argv[0], p.argv[1:]...) //nolint:noctx // it lives until close, as the other side's program does
	cmd.Env = append(cmd.Environ(), p.env...)
	return connectTheirs(ctx, &sdk.CommandTransport{Command: cmd})
}

func dialTheirs(ctx context.Context, url string) (session, error) {
	return connectTheirs(ctx, &sdk.StreamableClientTransport{Endpoint: url})
}

func connectTheirs(ctx context.Context, t sdk.Transport) (session, error) {
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "beside", Version: "1"}, nil).Connect(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	return theirs{cs}, nil
}

func (s theirs) call(ctx context.Context, tool string, args map[string]any) (string, error) {
	res, err := s.cs.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, block := range res.Content {
		if b, is := block.(*sdk.TextContent); is {
			text.WriteString(b.Text)
		}
	}
	if res.IsError {
		return "", fmt.Errorf("tool %s: %s", tool, text.String())
	}
	return text.String(), nil
}

func (s theirs) revision() string { return s.cs.InitializeResult().ProtocolVersion }
func (s theirs) close() error     { return s.cs.Close() }

// serverCode returns the code of the JSON-RPC error by which the server answered, and
// false for every error that a client made up.
func serverCode(err error) (code int64, answered bool) {
	if own := (*mcperrors.Error)(nil); errors.As(err, &own) && own.Delivery != mcperrors.Answered {
		return 0, false
	}
	if e := (*jsonrpc.Error)(nil); errors.As(err, &e) {
		return e.Code, true
	}
	if e := (*sdkrpc.Error)(nil); errors.As(err, &e) {
		return e.Code, true
	}
	return 0, false
}
