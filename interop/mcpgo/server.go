package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const noteURI = "interop://note"

// menu is what the matrix orders from; the server for go-sdk has the same.
type menu struct {
	server    *server.MCPServer
	readers   readers
	revision  atomic.Int64 // of the note
	cancelled atomic.Int64 // slow calls that saw their client leave
}

func newServer() *server.MCPServer {
	m := &menu{}
	hooks := &server.Hooks{}
	m.readers.hook(hooks)
	m.server = server.NewMCPServer("interop-mcpgo", "1",
		server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithPromptCapabilities(true),
		server.WithCompletions(), server.WithPromptCompletionProvider(names{}), server.WithElicitation(), server.WithHooks(hooks))
	m.server.EnableSampling()
	m.server.AddTool(mcp.NewTool("echo", mcp.WithDescription("Returns message."), mcp.WithString("message", mcp.Required())), echo)
	m.server.AddTool(mcp.NewTool("progress", mcp.WithDescription("Reports progress 1, 2 and 3 of 3.")), m.progress)
	m.server.AddTool(mcp.NewTool("slow", mcp.WithDescription("Runs until it is cancelled.")), m.slow)
	m.server.AddTool(mcp.NewTool("cancelled", mcp.WithDescription("Returns how many slow calls were cancelled.")), m.countCancelled)
	m.server.AddTool(mcp.NewTool("ask", mcp.WithDescription("Asks the user for a name and greets.")), ask)
	m.server.AddTool(mcp.NewTool("think", mcp.WithDescription("Asks the model and returns its answer.")), think)
	m.server.AddTool(mcp.NewTool("touch", mcp.WithDescription("Changes the note.")), m.touch)
	m.server.AddResource(mcp.NewResource(noteURI, "note", mcp.WithMIMEType("text/plain")), m.read)
	m.server.AddPrompt(mcp.NewPrompt("greet", mcp.WithArgument("name", mcp.RequiredArgument())),
		func(_ context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return mcp.NewGetPromptResult("", []mcp.PromptMessage{
				mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("Greet "+req.Params.Arguments["name"]+".")),
			}), nil
		})
	return m.server
}

func text(format string, args ...any) *mcp.CallToolResult {
	return mcp.NewToolResultText(fmt.Sprintf(format, args...))
}

func echo(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return text("%s", req.GetString("message", "")), nil
}

func (m *menu) progress(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	const total = 3
	if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
		return text("nobody asked"), nil
	}
	for i := 1; i <= total; i++ {
		if err := m.server.SendNotificationToClient(ctx, string(mcp.MethodNotificationProgress), map[string]any{
			"progressToken": req.Params.Meta.ProgressToken, "progress": i, "total": total,
		}); err != nil {
			return nil, err
		}
		// mcp-go loses notifications that come just before the result, and deals
		// those of a session out to its streams, so that two at once overtake.
		<-time.After(20 * time.Millisecond)
	}
	return text("done"), nil
}

func (m *menu) slow(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	select {
	case <-ctx.Done():
		m.cancelled.Add(1)
		return nil, ctx.Err()
	case <-time.After(20 * time.Second):
		return text("nobody cancelled"), nil
	}
}

func (m *menu) countCancelled(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return text("%d", m.cancelled.Load()), nil
}

// ask works in both eras: in the session era mcp-go asks the client itself and
// calls again with the answer.
func ask(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer := server.ElicitationResponse(req.Params.InputResponses, "name")
	if answer == nil {
		return server.NewInputRequestBuilder("").Elicit("name", mcp.ElicitationParams{
			Mode: mcp.ElicitationModeForm, Message: "What is your name?",
			RequestedSchema: map[string]any{
				"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"},
			},
		}).ToolResult(), nil
	}
	content, _ := answer.Content.(map[string]any)
	return text("%s: hello %v", answer.Action, content["name"]), nil
}

func think(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answer := server.SamplingResponse(req.Params.InputResponses, "thought")
	if answer == nil {
		return server.NewInputRequestBuilder("").Sample("thought", mcp.CreateMessageParams{
			MaxTokens: 100,
			Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent("Say something.")}},
		}).ToolResult(), nil
	}
	return text("%s says: %s", answer.Model, mcp.GetTextFromContent(answer.Content)), nil
}

func (m *menu) touch(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	n := m.revision.Add(1)
	m.readers.tell()
	return text("revision %d", n), nil
}

func (m *menu) read(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	return []mcp.ResourceContents{mcp.TextResourceContents{
		URI: noteURI, MIMEType: "text/plain", Text: fmt.Sprintf("revision %d", m.revision.Load()),
	}}, nil
}

type names struct{}

func (names) CompletePromptArgument(_ context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	values := slices.DeleteFunc([]string{"ada", "alan", "grace"}, func(name string) bool { return !strings.HasPrefix(name, argument.Value) })
	return &mcp.Completion{Values: values, Total: len(values)}, nil
}
