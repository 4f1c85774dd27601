// Command mcpgo is a host with the client of mcp-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

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
	client   *client.Client
	revision string
	listens  chan struct{} // closed once the subscription is acknowledged
}

func (h *host) do(ctx context.Context, o orders.Order) (a orders.Answer, err error) {
	switch o.Do {
	case "connect":
		return h.connect(ctx, o)
	case "list":
		return h.list(ctx)
	case "call":
		h.Begin()
		return h.call(ctx, o)
	case "cancel":
		ctx, leave := h.Leave(ctx)
		defer leave()
		return h.call(ctx, o)
	case "prompt":
		_, err = h.client.GetPrompt(ctx, mcp.GetPromptRequest{Params: mcp.GetPromptParams{Name: o.Name}})
		return a, err
	case "level":
		return a, h.client.SetLevel(ctx, mcp.SetLevelRequest{Params: mcp.SetLevelParams{Level: mcp.LoggingLevel(o.Name)}}) //nolint:staticcheck // in force in every revision before the last
	case "subscribe":
		if h.revision >= mcp.ProtocolVersion20260728 {
			return a, h.listen(ctx, o.Name)
		}
		return a, h.client.Subscribe(ctx, mcp.SubscribeRequest{Params: mcp.SubscribeParams{URI: o.Name}}) //nolint:staticcheck // as above
	case "seen":
		a.Seen, _ = h.Seen()
		return a, nil
	case "close":
		return a, h.client.Close()
	}
	return a, fmt.Errorf("unknown order %q", o.Do)
}

func (h *host) connect(ctx context.Context, o orders.Order) (a orders.Answer, err error) {
	var to transport.Interface
	if o.URL == "" {
		to = transport.NewStdioWithOptions(o.Command[0], nil, o.Command[1:])
	} else if to, err = transport.NewStreamableHTTP(o.URL, listening(o)...); err != nil {
		return a, err
	}
	h.client = client.NewClient(to, client.WithProtocolVersion(o.Pinned),
		client.WithElicitationHandler(h), client.WithSamplingHandler(h), client.WithRootsHandler(h))
	h.client.OnNotification(h.notice)
	if err := h.client.Start(context.WithoutCancel(ctx)); err != nil {
		return a, err
	}
	got, err := h.client.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{ClientInfo: mcp.Implementation{Name: "mcpgo-host", Version: "1"}}})
	if err != nil {
		return a, errors.Join(err, h.client.Close())
	}
	h.revision = got.ProtocolVersion
	return orders.Answer{Server: got.ServerInfo.Name, Revision: got.ProtocolVersion}, nil
}

// listen opens a subscription and waits until the server has it.
func (h *host) listen(ctx context.Context, uri string) error {
	h.listens = make(chan struct{})
	failed := make(chan error, 1)
	filter := mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}}
	if _, err := h.client.ListenAsync(context.WithoutCancel(ctx), filter, func(err error) { failed <- err }); err != nil {
		return err
	}
	select {
	case <-h.listens:
		return nil
	case err := <-failed:
		return err
	case <-time.After(5 * time.Second):
		return errors.New("the subscription is not acknowledged")
	}
}

// listening opens the stream for what the server sends outside calls. With it mcp-go does not
// speak the stateless era.
func listening(o orders.Order) []transport.StreamableHTTPCOption {
	if o.Pinned == "" {
		return nil
	}
	return []transport.StreamableHTTPCOption{transport.WithContinuousListening()} //nolint:staticcheck // in force in the session era
}

func (h *host) notice(n mcp.JSONRPCNotification) {
	fields := n.Params.AdditionalFields
	switch n.Method {
	case "notifications/message":
		h.Log(fmt.Sprint(fields["level"]))
	case "notifications/resources/updated":
		h.Update(fmt.Sprint(fields["uri"]))
	case "notifications/subscriptions/acknowledged":
		close(h.listens)
	case "notifications/progress":
		value, _ := fields["progress"].(float64)
		h.Progress(value)
	}
}

// Elicit fills in the form.
func (h *host) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	h.Ask("elicitation/create")
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"name": "Ada", "username": "Ada", "email": "ada@example.com"},
	}}, nil
}

// CreateMessage answers as a model.
func (h *host) CreateMessage(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	h.Ask("sampling/createMessage")
	return &mcp.CreateMessageResult{
		SamplingMessage: mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: mcp.NewTextContent("a thought")}, Model: "model-1", StopReason: "endTurn",
	}, nil
}

// ListRoots returns one folder.
func (h *host) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	h.Ask("roots/list")
	return &mcp.ListRootsResult{Roots: []mcp.Root{{Name: "home", URI: "file:///home/ada"}}}, nil
}

func (h *host) list(ctx context.Context) (a orders.Answer, err error) {
	tools, err := h.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return a, err
	}
	for _, t := range tools.Tools {
		a.Names = append(a.Names, "tool "+t.Name)
	}
	prompts, err := h.client.ListPrompts(ctx, mcp.ListPromptsRequest{})
	if err != nil {
		return a, err
	}
	for _, p := range prompts.Prompts {
		a.Names = append(a.Names, "prompt "+p.Name)
	}
	resources, err := h.client.ListResources(ctx, mcp.ListResourcesRequest{})
	if err != nil {
		return a, err
	}
	for _, r := range resources.Resources {
		a.Names = append(a.Names, "resource "+r.URI)
	}
	templates, err := h.client.ListResourceTemplates(ctx, mcp.ListResourceTemplatesRequest{})
	if err != nil {
		return a, err
	}
	for _, t := range templates.ResourceTemplates {
		a.Names = append(a.Names, "template "+t.URITemplate.Raw())
	}
	return a, nil
}

func (h *host) call(ctx context.Context, o orders.Order) (a orders.Answer, err error) {
	result, err := h.client.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{
		Name: o.Name, Arguments: o.Args, Meta: &mcp.Meta{ProgressToken: "p"},
	}})
	if err != nil {
		return a, err
	}
	for _, block := range result.Content {
		if text, is := block.(mcp.TextContent); is {
			a.Text += text.Text
		}
	}
	a.Failed = result.IsError
	_, a.Progress = h.Seen()
	return a, nil
}
