// Command gosdk is a host with the client of the official go-sdk.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/interop/hosts/orders"
)

func main() {
	h := &host{}
	if err := orders.Serve(context.Background(), os.Stdin, os.Stdout, h.do); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type host struct {
	orders.Record
	session *mcp.ClientSession
	level   string // in _meta of each call: what replaces logging/setLevel in the stateless era
}

func (h *host) do(ctx context.Context, o orders.Order) (a orders.Answer, err error) {
	switch o.Do {
	case "connect":
		a, err = h.connect(ctx, o)
	case "list":
		a, err = h.list(ctx)
	case "call":
		h.Begin()
		a, err = h.call(ctx, o)
	case "cancel":
		ctx, leave := h.Leave(ctx)
		defer leave()
		_, err = h.call(ctx, o)
	case "prompt":
		_, err = h.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: o.Name})
	case "level":
		if h.session.InitializeResult().ProtocolVersion >= "2026" {
			h.level = o.Name
		} else {
			err = h.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(o.Name)}) //nolint:staticcheck // in force in every revision before the last
		}
	case "subscribe":
		err = h.session.Subscribe(ctx, &mcp.SubscribeParams{URI: o.Name})
	case "seen":
		a.Seen, _ = h.Seen()
	case "close":
		err = h.session.Close()
	default:
		err = fmt.Errorf("unknown order %q", o.Do)
	}
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) {
		err = fmt.Errorf("%d %s %s", rpc.Code, rpc.Message, rpc.Data)
	}
	return a, err
}

func (h *host) connect(ctx context.Context, o orders.Order) (orders.Answer, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "gosdk-host", Version: "1"}, &mcp.ClientOptions{
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) { //nolint:staticcheck // as above
			h.Ask("sampling/createMessage")
			return &mcp.CreateMessageResult{Role: "assistant", Model: "model-1", Content: &mcp.TextContent{Text: "a thought"}, StopReason: "endTurn"}, nil //nolint:staticcheck // as above
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			h.Ask("elicitation/create")
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada", "username": "Ada", "email": "ada@example.com"}}, nil
		},
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { h.Update(r.Params.URI) },
		LoggingMessageHandler:       func(_ context.Context, r *mcp.LoggingMessageRequest) { h.Log(string(r.Params.Level)) }, //nolint:staticcheck // as above
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { h.Progress(r.Params.Progress) },
	})
	client.AddRoots(&mcp.Root{Name: "home", URI: "file:///home/ada"}) //nolint:staticcheck // as above
	var to mcp.Transport = &mcp.StreamableClientTransport{Endpoint: o.URL}
	if o.URL == "" {
		to = &mcp.CommandTransport{Command: exec.Command(o.Command[0], o.Command[1:]...)} //nolint:noctx // it ends with the session
	}
	session, err := client.Connect(ctx, to, &mcp.ClientSessionOptions{ProtocolVersion: o.Pinned})
	if err != nil {
		return orders.Answer{}, err
	}
	h.session = session
	got := session.InitializeResult()
	return orders.Answer{Server: got.ServerInfo.Name, Revision: got.ProtocolVersion}, nil
}

func (h *host) list(ctx context.Context) (a orders.Answer, err error) {
	for t, err := range h.session.Tools(ctx, nil) {
		if err != nil {
			return a, err
		}
		a.Names = append(a.Names, "tool "+t.Name)
	}
	for p, err := range h.session.Prompts(ctx, nil) {
		if err != nil {
			return a, err
		}
		a.Names = append(a.Names, "prompt "+p.Name)
	}
	for r, err := range h.session.Resources(ctx, nil) {
		if err != nil {
			return a, err
		}
		a.Names = append(a.Names, "resource "+r.URI)
	}
	for t, err := range h.session.ResourceTemplates(ctx, nil) {
		if err != nil {
			return a, err
		}
		a.Names = append(a.Names, "template "+t.URITemplate)
	}
	return a, nil
}

func (h *host) call(ctx context.Context, o orders.Order) (a orders.Answer, err error) {
	params := &mcp.CallToolParams{Name: o.Name, Arguments: o.Args, Meta: mcp.Meta{}}
	params.SetProgressToken("p")
	if h.level != "" {
		params.Meta[mcp.MetaKeyLogLevel] = h.level //nolint:staticcheck // in force, as above
	}
	result, err := h.session.CallTool(ctx, params)
	if err != nil {
		return a, err
	}
	for _, block := range result.Content {
		if text, is := block.(*mcp.TextContent); is {
			a.Text += text.Text
		}
	}
	a.Failed = result.IsError
	_, a.Progress = h.Seen()
	return a, nil
}
