package refserver

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/family"
)

// addTool registers t with go-sdk's untyped AddTool: the typed one would
// answer bad arguments with isError results instead of the family's errors.
func (s *Server) addTool(f *family.Family, t *family.Tool) {
	s.mcp.AddTool(t.MCP(), func(ctx context.Context, req *mcp.CallToolRequest) (_ *mcp.CallToolResult, err error) {
		call := family.NewCall(t.Name, req.Params.Arguments, s.log)
		var failure *family.Error
		defer func() {
			// guard would recover as well, but knows neither the profile nor
			// that the call still owes its last log line.
			if v := recover(); v != nil {
				failure = family.Internal(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
				err = failure.Wire(f.Profile)
			}
			call.Finish(ctx, failure)
		}()
		result, err := t.Handle(ctx, call)
		if err != nil {
			failure = f.Failure(err)
			return nil, failure.Wire(f.Profile)
		}
		answer, ok := result.(*family.Result)
		if !ok {
			answer = &family.Result{Payload: result}
		}
		if answer.IsError {
			call.Failed()
		}
		res := &mcp.CallToolResult{IsError: answer.IsError, Content: []mcp.Content{&mcp.TextContent{Text: answer.Text}}}
		if answer.Payload == nil {
			return res, nil
		}
		payload, err := family.Encode(answer.Payload)
		if err != nil {
			failure = family.Internal(err)
			return nil, failure.Wire(f.Profile)
		}
		if answer.Text == "" {
			res.Content = []mcp.Content{&mcp.TextContent{Text: string(payload)}}
		}
		if p := req.Session.InitializeParams(); p != nil && negotiated(p.ProtocolVersion) >= version20250618 {
			res.StructuredContent = payload // tools.md §1.1: the member is unknown before
		}
		return res, nil
	})
}

func (s *Server) addResource(f *family.Family, r *family.Resource) {
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: r.Name, Description: r.Description, URITemplate: r.URITemplate, MIMEType: r.MIMEType,
	}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		text, err := r.Read(ctx, req.Params.URI)
		if err != nil {
			return nil, f.Failure(err).Wire(f.Profile)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: r.MIMEType, Text: text}}}, nil
	})
}
