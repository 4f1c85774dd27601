package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const noteURI = "interop://note"

// menu is what the matrix orders from; the server for mcp-go has the same.
type menu struct {
	server    *mcp.Server
	revision  atomic.Int64 // of the note
	cancelled atomic.Int64 // slow calls that saw their client leave
}

func newServer() *mcp.Server {
	m := &menu{}
	m.server = mcp.NewServer(&mcp.Implementation{Name: "interop-gosdk", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler:  complete,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	for _, t := range []struct {
		name, description string
		handle            mcp.ToolHandler
	}{
		{"echo", "Returns message.", echo},
		{"progress", "Reports progress 1, 2 and 3 of 3.", progress},
		{"slow", "Runs until it is cancelled.", m.slow},
		{"cancelled", "Returns how many slow calls were cancelled.", m.countCancelled},
		{"ask", "Asks the user for a name and greets.", ask},
		{"think", "Asks the model and returns its answer.", think},
		{"touch", "Changes the note.", m.touch},
	} {
		schema := json.RawMessage(`{"type":"object"}`)
		if t.name == "echo" {
			schema = json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`)
		}
		m.server.AddTool(&mcp.Tool{Name: t.name, Description: t.description, InputSchema: schema}, t.handle)
	}
	m.server.AddResource(&mcp.Resource{URI: noteURI, Name: "note", MIMEType: "text/plain"}, m.read)
	m.server.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "name", Required: true}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.TextContent{Text: "Greet " + req.Params.Arguments["name"] + "."}},
			}}, nil
		})
	return m.server
}

func text(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

func echo(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var args struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
		return nil, err
	}
	return text("%s", args.Message), nil
}

func progress(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	const total = 3
	for i := 1; i <= total; i++ {
		if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Progress: float64(i), Total: total,
		}); err != nil {
			return nil, err
		}
	}
	return text("done"), nil
}

func (m *menu) slow(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	select {
	case <-ctx.Done():
		m.cancelled.Add(1)
		return nil, ctx.Err()
	case <-time.After(20 * time.Second):
		return text("nobody cancelled"), nil
	}
}

func (m *menu) countCancelled(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return text("%d", m.cancelled.Load()), nil
}

// ask works in both eras: in the session era go-sdk asks the client itself and
// calls again with the answer.
func ask(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer, ok := req.Params.InputResponses["name"].(*mcp.ElicitResult)
	if !ok {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{
			Mode: "form", Message: "What is your name?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
		}}}, nil
	}
	return text("%s: hello %v", answer.Action, answer.Content["name"]), nil
}

func think(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer, ok := req.Params.InputResponses["thought"].(*mcp.CreateMessageWithToolsResult) //nolint:staticcheck // in force in every revision before the last
	if !ok {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"thought": &mcp.CreateMessageParams{ //nolint:staticcheck // as above
			MaxTokens: 100,
			Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "Say something."}}}, //nolint:staticcheck // as above
		}}}, nil
	}
	said := ""
	for _, block := range answer.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			said += t.Text
		}
	}
	return text("%s says: %s", answer.Model, said), nil
}

func (m *menu) touch(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	n := m.revision.Add(1)
	if err := m.server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: noteURI}); err != nil {
		return nil, err
	}
	return text("revision %d", n), nil
}

func (m *menu) read(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
		{URI: noteURI, MIMEType: "text/plain", Text: fmt.Sprintf("revision %d", m.revision.Load())},
	}}, nil
}

func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{}
	for _, name := range []string{"ada", "alan", "grace"} {
		if strings.HasPrefix(name, req.Params.Argument.Value) {
			values = append(values, name)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}
