package clients

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// goSDK is the official SDK's client.
type goSDK struct {
	session *mcp.ClientSession
	// cmd is set where the SDK was given pipes instead of a command.
	cmd *exec.Cmd
}

func dialGoSDK(ctx context.Context, o Options) (Client, error) {
	g := &goSDK{}
	transport, err := g.transport(ctx, o)
	if err != nil {
		return nil, err
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	g.session, err = c.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version(o)})
	if err != nil {
		return nil, err
	}
	if got := g.session.InitializeResult().ProtocolVersion; got != version(o) {
		return nil, errors.Join(fmt.Errorf("negotiated %s instead of %s", got, version(o)), g.Close())
	}
	return g, nil
}

func (g *goSDK) transport(ctx context.Context, o Options) (mcp.Transport, error) {
	if len(o.Argv) == 0 {
		t := &mcp.StreamableClientTransport{Endpoint: o.URL, HTTPClient: httpClient(o)}
		if o.Lift {
			t.MaxEventSize = -1
		}
		// By default it opens a GET stream after initialize.
		t.DisableStandaloneSSE = !o.Listen
		return t, nil
	}
	// The process outlives ctx, which bounds connecting.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), o.Argv[0], o.Argv[1:]...)
	if !o.Lift {
		return &mcp.CommandTransport{Command: cmd}, nil
	}
	// CommandTransport has no option for the limit of 16 MiB, pipes have.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	g.cmd = cmd
	return &mcp.IOTransport{Reader: stdout, Writer: stdin, MaxLineLength: -1}, nil
}

// Call implements Client.
func (g *goSDK) Call(ctx context.Context, tool string, args any) (int, error) {
	res, err := g.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return 0, err
	}
	if len(res.Content) == 1 {
		if text, ok := res.Content[0].(*mcp.TextContent); ok && !res.IsError {
			return len(text.Text), nil
		}
	}
	return 0, failed(GoSDK, tool)
}

// List implements Client.
func (g *goSDK) List(ctx context.Context) (int, error) {
	n := 0
	for _, err := range g.session.Tools(ctx, nil) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Close implements Client.
func (g *goSDK) Close() error {
	err := g.session.Close()
	if g.cmd != nil {
		err = errors.Join(err, g.cmd.Wait())
	}
	return err
}
